"""Gradients and discounts from the ends of floating point, in any order: always finite, and errors change nothing."""

import json

import numpy as np
import pytest
from table import IDS, MAKERS

from wane import domains, learners

SIZES = [0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 1e-300, 1e-160, -1e-20, 1e20, -1e150, 1e200, -1e299, 1e300, 3.0, -7.5]
FACTORS = [None, 0.0, 5e-324, 1e-320, 1e-300, 1e-20, 0.5, 0.9, 0.999, 1.0, 1.5, 1e10, 1e150, 1e300, 1.7e308]
LARGE = {
    "AdaGrad, 1e150": lambda: learners.AdaGrad(1e150, dim=2),
    "MagnitudeLearner, 1e150": lambda: learners.MagnitudeLearner(1e150),
    "AdaptiveLearner, 5 dimensions": lambda: learners.AdaptiveLearner(5, 1e-150),
    "AdaptiveLearner on a simplex": lambda: learners.AdaptiveLearner(5, 1e150, domain=domains.Simplex(1e-3)),
    "LinearFTRL, 1e10": lambda: learners.LinearFTRL(1e10),
    "ExponentialPotential": lambda: learners.ExponentialPotential(1e150, 1e-150),
    "CoinBetting": lambda: learners.CoinBetting(1e150, 1e150),
}


@pytest.mark.parametrize("make", [*MAKERS, *LARGE.values()], ids=[*IDS, *LARGE])
def test_extremes(make):
    refused = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        learner = make()
        factors = FACTORS if seed % 2 else FACTORS[6:10]
        for _ in range(40):
            g = rng.choice(SIZES, size=() if learner.dim is None else learner.dim)
            before = json.dumps(learner.state_dict())
            try:
                learner.update(g, factors[rng.integers(len(factors))])
            except (OverflowError, ValueError):
                refused += 1
                assert json.dumps(learner.state_dict()) == before
            x = learner.predict()
            assert np.isfinite(x).all()
            assert "NaN" not in json.dumps(learner.state_dict()["memory"])
            assert "Infinity" not in json.dumps(learner.state_dict()["memory"])
    if isinstance(learner, (learners.MagnitudeLearner, learners.OddMagnitudeLearner, learners.AdaptiveLearner)):
        assert refused == 0
