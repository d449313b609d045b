"""The statistics of the magnitude learner: those of Algorithm 1, never NaN, their sum never negative."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane import learners

extreme = st.sampled_from([0.0, 1.0, -1.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324]) | st.floats(-1e3, 1e3)
any_discount = st.sampled_from([0.0, 5e-324, 0.5, 0.99, 1.0, 1.001, 2.0, 1e300]) | st.floats(0.0, 3.0)


@given(st.lists(st.tuples(extreme, any_discount), max_size=60), st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_sum_of_the_magnitude_learner_is_never_negative(rounds, epsilon):
    learner = learners.MagnitudeLearner(epsilon)
    for g, lam in rounds:
        positive = learner.x >= 0.0 and learner.h.mantissa > 0.0
        assert learner.a >= (2.0 - 1e-12 if positive else 0.0)  # step 1 of the proof of theory.base_undiscounted_bound
        learner.update(g, lam)
        assert learner.a >= 0.0 and learner.b >= 0.0
        assert not math.isfinite(learner.h.value) or learner.statistics[1] >= 0.0


def test_statistics_that_overflow_are_not_nan():
    learner = learners.MagnitudeLearner()
    learner.run([1e300, 0.0], [1.0, 1e300])
    assert learner.statistics == (0.0, 0.0, math.inf)


@pytest.mark.parametrize("lure", [-1.0, -0.3, -1e5])
def test_the_sum_stays_up_when_the_world_turns(lure):
    """Long lures, then pushes as hard as the hint allows: the sum falls to the zero of the rule and stops there."""
    learner = learners.MagnitudeLearner()
    for n in (1, 3, 10, 100, 1000):
        learner.run([lure] * n)
        for discount in (1.0, 1.3, 0.9):
            for _ in range(2 * n):
                learner.update(learner.h.value, discount)
                assert learner.a >= 0.0


@given(
    st.lists(
        st.tuples(
            st.floats(-100.0, 100.0).map(lambda x: round(x, 3)), st.sampled_from([0.0, 0.3, 0.9, 0.99, 1.0, 1.2])
        ),
        min_size=1,
        max_size=40,
    )
)
def test_statistics_are_those_of_algorithm_1(rounds):
    """Lines 6 to 8 as printed; only the sign of the unprojected prediction is taken from the learner."""
    learner = learners.MagnitudeLearner(0.7)
    v = s = h = 0.0
    for g, lam in rounds:
        below = learner.x < 0.0
        learner.update(g, lam)
        clipped = min(max(g, -lam * h), lam * h)
        h = max(lam * h, abs(g))
        if clipped > 0.0 and below:
            clipped = 0.0
        v, s = lam * lam * v + clipped * clipped, lam * s - clipped
        assert learner.statistics == pytest.approx((v, s, h), rel=1e-11, abs=1e-11 * h)
