"""FTRL with a user's function: the function is given exactly the discounted sum, variance and Lipschitz constant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane import learners, theory


def weighted(gradients, discounts):
    """s, v, h by the definition, from scratch."""
    w = theory.weights(discounts, len(gradients)).reshape(-1, *[1] * (gradients.ndim - 1))
    sizes = np.abs(w * gradients) if gradients.ndim == 1 else np.linalg.norm(w * gradients, axis=1)
    return -(w * gradients).sum(axis=0), (sizes**2).sum(), sizes.max(initial=0.0)


@given(seed=st.integers(0, 999), dim=st.sampled_from([None, 1, 3]), rounds=st.integers(1, 20))
def test_the_function_sees_the_statistics(seed, dim, rounds):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(rounds,) if dim is None else (rounds, dim))
    discounts = rng.choice([0.0, 0.5, 0.9, 1.0, 1.1], size=rounds)
    seen = []

    def prediction(s, v, h):
        seen.append((s, v, h))
        return s

    x = learners.FTRL(prediction, dim=dim).run(g, discounts)
    for t, (s, v, h) in enumerate(seen):
        if t == 0:
            assert not np.any(s) and v == h == 0.0
            continue
        want = weighted(g[:t], discounts[:t])
        np.testing.assert_allclose(s, want[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([v, h], want[1:], rtol=1e-12)
        np.testing.assert_array_equal(x[t], s)


def test_it_can_be_any_ftrl_of_the_package():
    g = np.random.default_rng(0).normal(size=200)
    ours = learners.LinearFTRL(0.3, 0.9).run(g)
    np.testing.assert_allclose(learners.FTRL(lambda s, v, h: 0.3 * s, 0.9).run(g), ours, rtol=1e-12)
    g = -np.abs(g)  # no sum below zero: Algorithm 1 without clipping errors after a first, largest gradient
    g[0] = -10.0
    learner = learners.FTRL(
        lambda s, v, h: max(0.0, float(theory.prediction_rule(v - 100.0, s - 10.0, h))) if h else 0.0
    )
    np.testing.assert_allclose(learner.run(g), learners.MagnitudeLearner().run(g), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("dim", [None, 2])
def test_errors_leave_the_state(dim):
    learner = learners.FTRL(lambda s, v, h: s, dim=dim)
    learner.update(1.0 if dim is None else [1.0, 2.0])
    before = learner.state_dict()
    with pytest.raises(OverflowError, match="not learned"):
        learner.update(1e200 if dim is None else [1e200, 0.0])
    assert learner.state_dict() == before
    wrong = learners.FTRL(lambda s, v, h: np.nan if dim is None else [np.nan] * dim, dim=dim)
    with pytest.raises(ValueError, match="the prediction must be finite"):
        wrong.predict()
    with pytest.raises(ValueError, match="in round 0: the prediction"):
        wrong.run([1.0] if dim is None else [[1.0, 2.0]])
