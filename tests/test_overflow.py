"""Numbers that would end: huge gradients and discounts above 1 are played, or refused with the state left alone."""

import subprocess
import sys

import numpy as np
import pytest
from reduction_cases import full_state

from wane import learners


def test_the_adaptive_learner_returns_from_huge_gradients():
    """Powers of two that take the gradients past 2^768. In a process of its own: an endless loop cannot be stopped."""
    code = """
import numpy as np
from wane.learners import AdaptiveLearner
g = np.array([[1.5, 0.0], [3.6, 0.3], [-1.6, 9.0], [1.0, 1.0]])
for k in range(700, 990):
    assert AdaptiveLearner(2).run(np.ldexp(g, k)).tobytes() == AdaptiveLearner(2).run(g).tobytes(), k
"""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail("it does not return")
    assert done.returncode == 0, done.stderr


CURES = ("discounts of at most 1", "smaller gradients", "AdaptiveLearner")
OVERFLOWING = {
    "linear": lambda d: learners.LinearFTRL(0.5, 2.0, dim=d),
    "exponential": lambda d: learners.ExponentialPotential(1.0, 1.0, 2.0, dim=d),
    "coin": lambda d: learners.CoinBetting(1.0, 1.0, 2.0, dim=d),
    "regularized": lambda d: learners.RegularizedGradientDescent(0.5, discount=2.0, dim=d),
    "user's": lambda d: learners.FTRL(lambda s, v, h: s / (1.0 + v), 2.0, dim=d),
}


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("name", OVERFLOWING)
def test_discounts_above_one_end_in_an_error(name, dim):
    """Finite predictions until then, the state untouched, in update and in run; a restart goes on."""
    learner = OVERFLOWING[name](dim)
    one = -0.5 if dim is None else np.array([-0.5, 0.25])
    with pytest.raises(OverflowError) as caught:
        rounds = 0
        while rounds < 2000:
            assert np.isfinite(learner.predict()).all()
            before = full_state(learner)
            learner.update(one)
            rounds += 1
    assert rounds > 30
    assert full_state(learner) == before and np.isfinite(learner.predict()).all()
    assert all(cure in str(caught.value) for cure in CURES)
    again = OVERFLOWING[name](dim)
    with pytest.raises(OverflowError, match=f"in round {rounds}: "):
        again.run(np.array([one] * 2000))
    assert again.state_dict()["memory"] == OVERFLOWING[name](dim).state_dict()["memory"]
    learner.update(one, 0.0)
    learner.update(one, 1.0)
    assert np.isfinite(learner.predict()).all()


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("name", ["linear", "exponential", "regularized", "user's"])
def test_gradients_too_large_are_an_error(name, dim):
    learner = OVERFLOWING[name](dim)
    learner.update(1.0 if dim is None else [1.0, 1.0])
    before = full_state(learner)
    huge = -1.7e308 if dim is None else [-1e300, 0.0]
    with pytest.raises(OverflowError) as caught:
        for discount in (1.0, 1.0, *[1e5] * 100):
            before = full_state(learner)
            learner.update(huge, discount)
    assert full_state(learner) == before
    assert all(cure in str(caught.value) for cure in CURES)


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("size", [1.0 + 1e-13, 2.0, 1e300])
def test_a_coin_that_is_too_large_is_an_error(dim, size):
    learner = learners.CoinBetting(dim=dim)
    learner.update(-1.0 if dim is None else [0.6, -0.8])
    before = full_state(learner)
    with pytest.raises(ValueError, match="larger lipschitz") as caught:
        learner.update(size if dim is None else [0.0, size])
    assert "MagnitudeLearner" in str(caught.value)
    assert full_state(learner) == before
    learner.update(-1.0 if dim is None else [0.0, 1.0])


@pytest.mark.parametrize("dim", [None, 2])
def test_linear_ftrl_never_plays_infinity(dim):
    learner = learners.LinearFTRL(1e10, dim=dim)
    try:
        learner.update(-1e300 if dim is None else [-1e300, 0.0])
    except OverflowError:
        pass
    assert np.isfinite(learner.predict()).all()
