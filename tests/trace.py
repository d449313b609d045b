"""Print, in hexadecimal, what the algorithms do: the same text compiled and uncompiled."""

import sys
import warnings

import numpy as np
from table import IDS, MAKERS, shaped

from wane import trackers
from wane.special import dawson, erfi
from wane.vectors import norm

rng = np.random.default_rng(0)
sizes = 10.0 ** rng.integers(-3, 3, size=600)
stream = rng.normal(size=600) * np.where(rng.random(600) < 0.1, 0.0, sizes)
factors = rng.choice([0.9, 0.99, 1.0, 1.01, 0.0], p=[0.3, 0.3, 0.3, 0.09, 0.01], size=600)

for name, make in zip(IDS, MAKERS, strict=True):
    learner = make()
    gradients = shaped(learner, list(stream))
    xs = learner.run(gradients, factors[: len(gradients)])
    print(name, " ".join(x.hex() for x in xs.ravel().tolist()))
scores = np.abs(stream[stream != 0.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", trackers.CoverageWarning)
    for name in trackers.names():
        needs = {"max_score": 50.0} if name in ("sf-ogd", "saocp", "bayes") else {}
        for domain in ("nonnegative", "real"):
            if domain == "real" and name == "magdis":
                continue
            more = {} if name == "magdis" else {"domain": domain}
            tracker = trackers.make(name, 0.1, **more, **needs)
            print(name, " ".join(x.hex() for x in tracker.run(scores if domain == "nonnegative" else stream).tolist()))
print(" ".join(dawson(x).hex() + erfi(x).hex() for x in np.linspace(-8, 8, 999).tolist()))
print(" ".join(norm((rng.normal(size=n) * 10.0 ** (37 * n - 300)).data).hex() for n in range(1, 16)))
sys.exit(0)
