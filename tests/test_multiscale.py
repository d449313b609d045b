"""The sum of learners over a grid of discounts, against references; the arguments that all such learners refuse."""

import math

import numpy as np
import pytest
import reference
from multiscale_games import GRID, Odd, on_streams, reward_and_betray, slow_drift, turned

from wane import domains, learners, theory


@pytest.mark.parametrize("dim", [None, 2])
def test_the_sum_is_the_sum(dim):
    """Against the references of the single learners, with discounts that come on top of the grid."""
    rng = np.random.default_rng(0)
    g = reference.unit_gradients(rng, 60, dim) - 0.3
    extra = rng.choice([1.0, 0.95, 0.0], p=[0.8, 0.17, 0.03], size=60)
    one = reference.odd_magnitude if dim is None else reference.algorithm_3
    paths = [np.array(one(g, lam * extra, 2.0 / len(GRID), dps=30).predictions, dtype=float) for lam in GRID]
    got = learners.MultiscaleLearner(dim, 2.0, GRID).run(g, extra)
    assert np.abs(got).max() > 0.1
    np.testing.assert_allclose(got, sum(paths), rtol=1e-9, atol=1e-12)


@on_streams
def test_center_and_domain_literally(stream):
    """On the line: shift, cut, and drop the gradients that push out further."""
    g, low, high, center = stream(300), -0.5, 2.0, 0.75
    parts, want = [Odd(1.0 / len(GRID), lam) for lam in GRID], []
    for gradient in g:
        free = center + sum(part.predict() for part in parts)
        x = min(max(free, low), high)
        want.append(x)
        pushes_out = gradient * (free - x) < 0.0
        for part in parts:
            part.update(0.0 if pushes_out else gradient)
    learner = learners.MultiscaleLearner(None, 1.0, GRID, center, domains.Box(low, high))
    np.testing.assert_allclose(learner.run(g), want, rtol=1e-9, atol=1e-12)
    assert learner.predict() == pytest.approx(min(max(center + learner.components().sum(), low), high), rel=1e-12)


@pytest.mark.parametrize("dim", [None, 3])
@pytest.mark.parametrize("make", [learners.MultiscaleLearner, learners.DiscountHedge])
def test_a_grid_of_one_is_that_learner(make, dim):
    g = turned(reward_and_betray(200), dim)
    alone = learners.OddMagnitudeLearner(0.7, 0.95) if dim is None else learners.AdaptiveLearner(dim, 0.7, 0.95)
    assert make(dim, 0.7, [0.95]).run(g).tobytes() == (alone.run(g) + 0.0).tobytes()


@pytest.mark.parametrize("make", [learners.MultiscaleLearner, learners.DiscountHedge])
def test_a_discount_multiplies_the_grid(make):
    g = reward_and_betray(200)
    want = make(discounts=[0.5 * lam for lam in GRID]).run(g)
    assert make(discounts=GRID).run(g, 0.5).tobytes() == want.tobytes()
    learner = make(discounts=GRID)
    learner.run(g)
    learner.update(-1.0, discount=0.0)  # a restart
    fresh = make(discounts=GRID)
    fresh.update(-1.0)
    assert learner.run(g).tobytes() == fresh.run(g).tobytes()


@pytest.mark.parametrize("make", [learners.MultiscaleLearner, learners.DiscountHedge])
@pytest.mark.parametrize("dim", [None, 2])
def test_symmetries(make, dim):
    g = turned(slow_drift(300) + 0.3 * reward_and_betray(300), dim)
    x = make(dim, 0.5, GRID).run(g)
    assert make(dim, 0.5, GRID).run(-g).tobytes() == (-x + 0.0).tobytes()
    for k in (-300, 5, 300):
        assert make(dim, 0.5, GRID).run(np.ldexp(g, k)).tobytes() == x.tobytes()
    assert make(dim, 1.0, GRID).run(g).tobytes() == (2.0 * x).tobytes()
    np.testing.assert_allclose(make(dim, 0.5, GRID[::-1]).run(g), x, rtol=1e-9, atol=1e-9 * np.abs(x).max())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: learners.MultiscaleLearner(discounts=()),
        lambda: learners.MultiscaleLearner(discounts=(0.9, 1.1)),
        lambda: learners.MultiscaleLearner(discounts=(0.9, -0.1)),
        lambda: learners.MultiscaleLearner(discounts=0.9),
        lambda: learners.MultiscaleLearner(discounts="0.9"),
        lambda: learners.MultiscaleLearner(epsilon=0.0),
        lambda: learners.MultiscaleLearner(2, center=1.0),
        lambda: learners.MultiscaleLearner(center=-1.0, domain=domains.Nonnegative()),
        lambda: learners.DiscountHedge(discounts=[math.nan]),
        lambda: learners.DiscountHedge(2, domain="ball"),
        lambda: learners.StronglyAdaptive(3),
        lambda: learners.StronglyAdaptive(learners.LinearFTRL()),
        lambda: learners.StronglyAdaptive(learners.LinearFTRL(), diameter=-1.0),
        lambda: learners.StronglyAdaptive(learners.LinearFTRL(), lipschitz=0.0, diameter=1.0),
        lambda: learners.StronglyAdaptive(learners.LinearFTRL(), diameter=1.0, levels=0),
        lambda: theory.multiscale_bound(0.0, [1.0], [[0.0]], [0.9], k=1),
        lambda: theory.multiscale_bound(0.0, [1.0], [[0.0, 0.0]], [0.9], k=0),
        lambda: theory.multiscale_bound([0.0], [1.0], [[0.0]], [0.9], k=0),
        lambda: theory.multiscale_bound(0.0, [1.0], [[0.0]], [1.5], k=0),
        lambda: theory.multiscale_bound(0.0, [1.0], [[0.0]], [0.9], k=0, anchors=[0.0, 1.0]),
        lambda: theory.change_of_discount([], 0.5, 1.0),
        lambda: theory.covering(5, 5),
        lambda: theory.covering(-1, 5),
    ],
)
def test_bad_arguments(wrong):
    with pytest.raises((ValueError, TypeError)) as caught:
        wrong()
    assert len(str(caught.value)) > 15
