"""Print, in hexadecimal, what the algorithms do: the same text compiled and uncompiled."""

import sys

import numpy as np
from table import IDS, MAKERS, shaped

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
print(" ".join(dawson(x).hex() + erfi(x).hex() for x in np.linspace(-8, 8, 999).tolist()))
print(" ".join(norm((rng.normal(size=n) * 10.0 ** (37 * n - 300)).data).hex() for n in range(1, 16)))
sys.exit(0)
