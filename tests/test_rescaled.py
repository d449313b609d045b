"""The rescaling trick: an undiscounted learner on weighted gradients is the discounted one, until the weights end."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reduction_cases import Spy, full_state, stream

from wane import domains, learners

SCALE_FREE = {
    "magnitude": (learners.MagnitudeLearner, None),
    "odd": (learners.OddMagnitudeLearner, None),
    "adagrad": (lambda **k: learners.AdaGrad(1.5, **k), None),
    "adagrad, dim 3": (lambda **k: learners.AdaGrad(1.5, dim=3, domain=domains.Ball(2.0), **k), 3),
    "adaptive, dim 1": (lambda **k: learners.AdaptiveLearner(1, 0.7, **k), 1),
    "adaptive, dim 3": (lambda **k: learners.AdaptiveLearner(3, 0.7, center=[1.0, 0.0, 2.0], **k), 3),
    "adaptive, box": (lambda **k: learners.AdaptiveLearner(2, domain=domains.Box([-2.0, -3.0], 2.5), **k), 2),
}
scale_free = pytest.mark.parametrize("name", SCALE_FREE)


def same_game(a, b):
    """Equal up to the rounding of the weights; near a zero crossing relative to the largest prediction."""
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * (1.0 + np.abs(b).max()))


@scale_free
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), mean=st.sampled_from([0.5, 0.9, 1.0, 1.1, 2.0]))
def test_the_rescaling_trick(name, seed, mean):
    """The undiscounted learner on g_t / (lambda_1 ... lambda_{t-1}) is the discounted one, for any discounts."""
    make, dim = SCALE_FREE[name]
    rng = np.random.default_rng(seed)
    g, _ = stream(seed, 80, dim)
    lam = mean * rng.uniform(0.8, 1.25, size=80)
    lam[rng.random(80) < 0.2] = 1.0
    want = make().run(g, lam)
    rescaled = learners.Rescaled(make())
    same_game(rescaled.run(g, lam), want)
    weights = np.concatenate([[1.0], 1.0 / np.cumprod(lam[1:])])
    assert rescaled.weight == pytest.approx(weights[-1], rel=1e-12)
    same_game(make().run(g * (weights if dim is None else weights[:, None])), want)


def test_a_learner_with_a_limit_is_refused_at_once():
    for limited in (learners.CoinBetting(), learners.StronglyAdaptive(learners.AdaGrad(2.0), diameter=2.0)):
        with pytest.raises(ValueError, match="gradients of any size") as caught:
            learners.Rescaled(limited)
        assert caught.value.argument == "learner" and "MagnitudeLearner" in caught.value.cure


@scale_free
def test_rescaled_hands_a_discount_of_zero_on(name):
    make, dim = SCALE_FREE[name]
    g, lam = stream(3, 300, dim)
    lam = np.where(lam < 1.0, 0.01, lam)
    lam[::40] = 0.0  # often enough for the weights never to end
    rescaled = learners.Rescaled(make())
    same_game(rescaled.run(g, lam), make().run(g, lam))
    rescaled.update(g[0], 0.0)
    assert rescaled.weight == 1.0
    spy = Spy(dim=dim)
    learners.Rescaled(spy).run(g[:3], [0.25, 0.5, 0.0])
    assert [discount for _, discount in spy.seen] == [1.0, 1.0, 0.0]
    assert all((sent == w * row).all() for (sent, _), w, row in zip(spy.seen, (1.0, 2.0, 1.0), g, strict=False))


@scale_free
@pytest.mark.parametrize("discount", [0.01, 0.5, 3.0, 1e4])
def test_weights_that_end_are_an_error_before_anything_is_wrong(name, discount):
    make, dim = SCALE_FREE[name]
    g, _ = stream(4, 2000, dim)
    want = make().run(g, discount)
    rescaled = learners.Rescaled(make(), discount)
    played = []
    with pytest.raises(OverflowError) as caught:
        for row in g:
            played.append(rescaled.predict())
            before = full_state(rescaled)
            rescaled.update(row)
    assert full_state(rescaled) == before
    assert len(played) > 600 / abs(math.log10(discount)) * 0.48  # no sooner than the floats end
    same_game(np.array(played), want[: len(played)])
    for cure in ("discount of 0", "reset()", "own discount"):
        assert cure in str(caught.value)

    end = len(played) - 1
    batch = learners.Rescaled(make(), discount)
    batch.run(g[:5])
    before = full_state(batch)
    with pytest.raises(OverflowError, match=f"in round {end - 5}: "):
        batch.run(g[5 : end + 3])
    assert full_state(batch) == before
    same_game(batch.run(g[5:end]), want[5:end])

    rescaled.update(g[0], 0.0)  # the first cure
    batch.reset()  # the second
    assert full_state(batch) == full_state(learners.Rescaled(make(), discount))
    same_game(batch.run(g[:end]), want[:end])


def test_rescaled_refuses_a_product_that_ends_though_the_weight_does_not():
    for g, lam in ((1e200, 1e-150), (1e-200, 1e150)):
        rescaled = learners.Rescaled(learners.MagnitudeLearner())
        rescaled.run([g, g], [1.0, 1.0])
        before = full_state(rescaled)
        with pytest.raises(OverflowError):
            rescaled.update(g, lam)
        assert full_state(rescaled) == before
