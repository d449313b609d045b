"""Symmetries: the unit of the gradients, the unit of epsilon, rotations, reflections and permutations."""

import numpy as np
import pytest
import reference
from reference import RTOL, play

from wane import domains, learners

SEEDS = 6
ROUNDS = 200
POWERS = (-600, -333, -1, 1, 52, 600)  # of two

# The scale-free learners: name -> (factory, dimension).
SCALE_FREE = {
    "magnitude": (lambda: learners.MagnitudeLearner(epsilon=1.7), None),
    "odd": (lambda: learners.OddMagnitudeLearner(epsilon=1.7), None),
    "adaptive, dim 1": (lambda: learners.AdaptiveLearner(1, epsilon=1.7), 1),
    "adaptive, dim 3": (lambda: learners.AdaptiveLearner(3, epsilon=1.7, center=[0.1, 0.2, -0.3]), 3),
    "adaptive, dim 10": (lambda: learners.AdaptiveLearner(10, epsilon=1.7), 10),
    "adaptive, ball": (lambda: learners.AdaptiveLearner(3, domain=domains.Ball(0.5)), 3),
    "adaptive, box": (lambda: learners.AdaptiveLearner(3, domain=domains.Box([-0.3] * 3, [0.4] * 3)), 3),
    "multiscale, line": (lambda: learners.MultiscaleLearner(epsilon=1.7), None),
    "multiscale, ball": (lambda: learners.MultiscaleLearner(3, domain=domains.Ball(0.5)), 3),
    "hedge, line": (lambda: learners.DiscountHedge(discounts=(0.9, 0.99, 1.0)), None),
    "hedge, dim 3": (lambda: learners.DiscountHedge(3, discounts=(0.9, 0.99, 1.0)), 3),
    "adagrad, scalar": (lambda: learners.AdaGrad(1.5), None),
    "adagrad, dim 3": (lambda: learners.AdaGrad(1.5, dim=3, start=[0.1, 0.2, -0.3]), 3),
    "adagrad, ball": (lambda: learners.AdaGrad(1.5, dim=3, domain=domains.Ball(0.75)), 3),
}


def stream(seed, dim, span=3.0):
    """Gradients of sizes within 10^-span..10^span and discounts around 1 with a few restarts."""
    rng = np.random.default_rng([seed, dim or 0])
    g = reference.unit_gradients(rng, ROUNDS, dim) - 0.2
    size = 10.0 ** np.repeat(rng.uniform(-span, span, size=ROUNDS // 40), 40)
    g *= size if dim is None else size[:, None]
    g[rng.random(ROUNDS) < 0.05] = 0.0
    lam = rng.choice([1.0, 0.999, 0.9, 1.05, 0.0], p=[0.6, 0.25, 0.07, 0.07, 0.01], size=ROUNDS)
    return g, lam


def bits(x):
    return (x + 0.0).tobytes()  # -0.0 is 0.0


@pytest.mark.parametrize("name", SCALE_FREE)
def test_powers_of_two_change_no_bit(name):
    make, dim = SCALE_FREE[name]
    moving = 0
    for seed in range(SEEDS):
        g, lam = stream(seed, dim)
        want = play(make(), g, lam)
        moving += len(np.unique(want, axis=0)) > ROUNDS // 10
        for k in POWERS:
            scaled = np.ldexp(g, k)
            assert np.all(np.ldexp(scaled, -k) == g), "the stream itself has lost bits"
            assert bits(play(make(), scaled, lam)) == bits(want), f"seed {seed}, 2**{k}"
    assert moving > SEEDS // 2, "the streams do not exercise the learner"


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e290])
@pytest.mark.parametrize("name", SCALE_FREE)
def test_no_unit_of_the_gradients_matters(name, factor):
    make, dim = SCALE_FREE[name]
    for seed in range(SEEDS):
        g, lam = stream(seed, dim)
        want = play(make(), g, lam)
        # Rounding g * factor is a perturbation of the input: the zero crossings shift by as much.
        np.testing.assert_allclose(play(make(), g * factor, lam), want, rtol=RTOL, atol=1e-11 * np.abs(want).max())


@pytest.mark.parametrize("name", SCALE_FREE)
@pytest.mark.parametrize("discount", [1.0, 0.98])
def test_subnormal_gradients_are_gradients_like_any_other(name, discount):
    """Multiples of the smallest positive number, against the same multiples of one.

    In one dimension small multiples will do. In more, the norm is no multiple: it has a rounding error of half a unit,
    so there the gradients are of 1e12 units, which is still far below the normal numbers.
    """
    make, dim = SCALE_FREE[name]
    rng = np.random.default_rng(dim)
    whole = np.rint((400 if dim is None else 1e12) * (reference.unit_gradients(rng, ROUNDS, dim) - 0.4))
    lam = np.full(ROUNDS, discount)
    tiny = whole * 5e-324
    assert np.all(tiny / 5e-324 == whole) and 0 < np.abs(tiny).max() < 2.3e-308
    got, want = play(make(), tiny, lam), play(make(), whole, lam)
    assert np.all(np.isfinite(got))
    np.testing.assert_allclose(got, want, rtol=RTOL, atol=1e-11 * np.abs(want).max())
    assert len(np.unique(want, axis=0)) > ROUNDS // 10


def test_the_smallest_gradient_there_is():
    for dim in (None, 1, 4):
        g = np.full(60 if dim is None else (60, dim), -5e-324)
        for make in SCALE_FREE_FACTORIES:
            learner = make(dim)
            if learner is None:
                continue
            x = play(learner, g)
            assert np.all(np.isfinite(x))
            np.testing.assert_allclose(x, play(make(dim), g * 2.0**600), rtol=RTOL)
            assert np.all(x[-1] > 0)


SCALE_FREE_FACTORIES = (
    lambda dim: learners.MagnitudeLearner() if dim is None else learners.AdaptiveLearner(dim),
    lambda dim: learners.OddMagnitudeLearner() if dim is None else None,
    lambda dim: learners.AdaGrad(1.0, dim=dim),
)


@pytest.mark.parametrize("epsilon", [1e-100, 1e-6, 0.3, 7.0, 1e8, 1e100])
def test_predictions_are_proportional_to_epsilon(epsilon):
    for seed in range(SEEDS):
        for make, dim in (
            (learners.MagnitudeLearner, None),
            (learners.OddMagnitudeLearner, None),
            (learners.SimplifiedMagnitudeLearner, None),
            (lambda epsilon=1.0: learners.TracLearner(epsilon), None),
            (learners.CoinBetting, None),
            (learners.ExponentialPotential, None),
            (lambda epsilon=1.0: learners.AdaptiveLearner(3, epsilon=epsilon), 3),
        ):
            g, lam = stream(seed, dim, span=0.0)  # coin betting wants gradients of at most 1
            g /= max(1.0, np.abs(g).max())
            one = play(make(), g, lam)
            np.testing.assert_allclose(play(make(epsilon=epsilon), g, lam), epsilon * one, rtol=1e-12)
            assert np.any(one != 0)


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_rotations_rotate_the_predictions(dim):
    for seed in range(SEEDS):
        g, lam = stream(seed, dim)
        rng = np.random.default_rng(seed)
        q, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
        center = rng.normal(size=dim)
        for make in (
            lambda c, dim=dim: learners.AdaptiveLearner(dim, center=c),
            lambda c, dim=dim: learners.AdaptiveLearner(dim, center=c, domain=domains.Ball(2.0 + dim)),
            lambda c, dim=dim: learners.AdaGrad(1.0, dim=dim, start=c),
        ):
            want = play(make(center), g, lam) @ q.T
            got = play(make(q @ center), g @ q.T, lam)
            np.testing.assert_allclose(got, want, rtol=RTOL, atol=RTOL * np.abs(want).max())


def uneven_box(order):
    return domains.Box(-0.1 - order / len(order), 0.2 + order / len(order))


@pytest.mark.parametrize("dim", [2, 3, 10])
def test_permuting_the_coordinates_permutes_the_predictions(dim):
    for seed in range(SEEDS):
        g, lam = stream(seed, dim)
        order = np.random.default_rng(seed).permutation(dim)
        for make in (
            lambda order, dim=dim: learners.AdaptiveLearner(dim),
            lambda order, dim=dim: learners.AdaptiveLearner(dim, domain=uneven_box(order)),
            lambda order, dim=dim: learners.AdaGrad(1.0, dim=dim),
        ):
            want = play(make(np.arange(dim)), g, lam)[:, order]
            got = play(make(order), np.ascontiguousarray(g[:, order]), lam)
            np.testing.assert_allclose(got, want, rtol=RTOL, atol=1e-11 * np.abs(want).max())


def test_negated_gradients_negate_the_odd_learner_bit_for_bit():
    both_signs = 0
    for seed in range(4 * SEEDS):
        g, lam = stream(seed, None)
        g[ROUNDS // 2 :] *= -1
        x = play(learners.OddMagnitudeLearner(), g, lam)
        assert bits(play(learners.OddMagnitudeLearner(), -g, lam)) == bits(-x)
        both_signs += x.min() < 0 < x.max()
    assert both_signs > 0


def test_negated_gradients_negate_the_adaptive_learner():
    for dim in (1, 3):
        for seed in range(SEEDS):
            g, lam = stream(seed, dim)
            x = play(learners.AdaptiveLearner(dim), g, lam)
            assert bits(play(learners.AdaptiveLearner(dim), -g, lam)) == bits(-x)
            assert np.any(x != 0)


def test_the_odd_learner_is_the_magnitude_learner_while_the_sum_stays_up():
    """Gradients that never push below zero: line 7 never rejects, and the two coincide bit for bit."""
    g = -np.random.default_rng(0).uniform(0.1, 1.0, size=ROUNDS)
    up = play(learners.MagnitudeLearner(discount=0.99), g)
    assert bits(play(learners.OddMagnitudeLearner(discount=0.99), g)) == bits(up)
    assert up[-1] > 0


def test_coordinates_that_are_always_zero_change_nothing():
    for seed in range(SEEDS):
        g, lam = stream(seed, 3)
        wide = np.zeros((ROUNDS, 6))
        wide[:, [0, 2, 5]] = g
        got = play(learners.AdaptiveLearner(6), wide, lam)
        want = play(learners.AdaptiveLearner(3), g, lam)
        np.testing.assert_allclose(got[:, [0, 2, 5]], want, rtol=RTOL, atol=1e-11 * np.abs(want).max())
        assert not got[:, [1, 3, 4]].any()
