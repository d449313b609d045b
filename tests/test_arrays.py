"""The learners on arrays, in numpy, torch and jax: the same as ``wane.learners``, over the whole range of floats."""

import contextlib
import doctest
import importlib.util
import math

import numpy as np
import pytest
import reference
from mpmath import mp, mpf

from wane.integrations import arrays
from wane.integrations.arrays import Arrays
from wane.learners import AdaGrad, MagnitudeLearner, TracLearner, trac
from wane.learners.hint import Hint
from wane.learners.rule import erfi_rule, simple_erfi_rule

NAMESPACES = [
    pytest.param(name, marks=pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"needs {name}"))
    for name in ("numpy", "torch", "jax")
]
DISCOUNTS = [0.5, 0.99, 1.0, 1.02]
POINTS = np.concatenate(
    [
        [0.0, 1e-300, 1e-20, 1e-8, 0.9241388730, 5.999999999, 6.0, 6.000000001],
        np.linspace(-8.0, 8.0, 161),
        np.arange(0.25, 6.1, 0.25) - 1e-9,
        np.geomspace(1e-6, 9.0, 40),
    ]
)


class Space:
    """A namespace with its arrays, and functions that run as they are or compiled."""

    def __init__(self, name, single=False):
        self.name, self.single = name, single
        self.kind = np.float32 if single else np.float64
        if name == "torch":
            import torch

            self.xp, self.array = torch, lambda x: torch.tensor(np.asarray(x, dtype=self.kind))
        elif name == "jax":
            import jax

            self.xp, self.array = jax.numpy, lambda x: jax.numpy.asarray(np.asarray(x, dtype=self.kind))
        else:
            self.xp, self.array = np, lambda x: np.array(x, dtype=self.kind)
        self.arrays = Arrays(self.xp, self.array, single)

    def compiled(self, function):
        if self.name != "jax":
            return function
        import jax

        return jax.jit(function)


@pytest.fixture(params=NAMESPACES)
def space(request):
    with wide(request.param):
        yield Space(request.param)


def wide(name):
    """Jax has float64 only where it is asked for."""
    if name != "jax":
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def exact(x):
    """The paper's erfi and Dawson's function."""
    with mp.workdps(40):
        big = reference.erfi(mpf(float(x)))
        return big, big * mp.exp(-(mpf(float(x)) ** 2))


def worst(found, wanted):
    pairs = list(zip(np.asarray(found, dtype=float).tolist(), wanted, strict=True))
    return max(abs(float((mpf(a) - b) / b)) if b else abs(a) for a, b in pairs)


@pytest.mark.parametrize("name", NAMESPACES)
@pytest.mark.parametrize(("single", "close"), [(False, 1e-12), (True, 1e-6)])
def test_special_functions(name, single, close):
    with wide(name):
        space = Space(name, single)
        x = space.array(POINTS)
        seen = np.asarray(x)  # what the type holds of it
        wanted = [exact(c) for c in seen]
        assert worst(space.compiled(space.arrays.erfi)(x), [w[0] for w in wanted]) < close
        assert worst(space.compiled(space.arrays.dawson)(x), [w[1] for w in wanted]) < close
        ends = space.compiled(space.arrays.erfi)(space.array([math.inf, -math.inf, 1e20, math.nan]))
        assert np.array_equal(np.asarray(ends), [math.inf, -math.inf, math.inf, math.nan], equal_nan=True)


def play(space, gradients, discounts, epsilon=0.7):
    """The predictions of one learner a column of discounts, after each round, and the last memory."""
    a = space.arrays
    step = space.compiled(lambda was, g, d: a.magnitude_step(was, epsilon, g, abs(g), d))
    was, found = a.magnitude(space.array(np.zeros(len(discounts[0])))), []
    for g, d in zip(gradients, discounts, strict=True):
        was = step(was, space.array(np.full(len(d), g)), space.array(d))
        found.append(np.asarray(was.x))
    return np.array(found), was


def by_learners(gradients, discounts, epsilon=0.7):
    learners = [MagnitudeLearner(epsilon) for _ in discounts[0]]
    found = []
    for g, row in zip(gradients, discounts, strict=True):
        for learner, d in zip(learners, row, strict=True):
            learner.update(g, d)
        found.append([learner.x for learner in learners])
    return np.array(found)


def test_magnitude_is_the_learner(space):
    gradients = np.random.default_rng(0).normal(size=200) - 0.4
    discounts = np.tile(DISCOUNTS, (200, 1))
    np.testing.assert_allclose(play(space, gradients, discounts)[0], by_learners(gradients, discounts), rtol=1e-10)


def test_magnitude_with_wild_sizes_and_discounts(space):
    """Sizes over the whole range, discounts of 0, far above 1 and far below."""
    rng = np.random.default_rng(1)
    gradients = np.where(rng.random(150) < 0.3, 0.0, -np.exp(rng.uniform(-690.0, 690.0, size=150)))
    gradients[::7] *= -1.0
    discounts = rng.choice([0.0, 1e-300, 1e-9, 0.9, 1.0, 1.5, 1e9, 1e300], size=(150, 4))
    found = play(space, gradients, discounts)[0]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, by_learners(gradients, discounts), rtol=1e-10)


@pytest.mark.parametrize("k", [-900, 7])
def test_a_power_of_two_changes_no_bit(space, k):
    gradients = np.random.default_rng(2).normal(size=60) - 0.4
    discounts = np.tile(DISCOUNTS, (60, 1))
    one, other = (play(space, gradients * c, discounts)[0] for c in (1.0, 2.0**k))
    assert (one > 0.0).any() and np.array_equal(one, other)


@pytest.mark.parametrize("discount", [0.5**1000, 2.0**1000])
def test_a_million_silent_rounds_change_nothing_but_the_hint(space, discount):
    """A thousand rounds with the discount of a thousand: h is as far away as after a million."""
    first = np.concatenate([np.random.default_rng(3).normal(size=40) - 0.8])
    before, _ = play(space, first, np.ones((40, 1)))
    gradients = np.concatenate([first, np.zeros(1000), [-1.0, -1.0]])
    discounts = np.concatenate([np.ones(40), np.full(1000, discount), [1.0, 1.0]])[:, None]
    found, memory = play(space, gradients, discounts)
    assert before[-1] > 0.0 and (found[39:1040] == before[-1]).all()
    np.testing.assert_allclose(found, by_learners(gradients, discounts), rtol=1e-10)
    exponent = float(memory.exponent[0])
    assert exponent == 0.0 if discount < 1.0 else exponent == pytest.approx(1e6 / 512, abs=1.0)


def test_the_hint_is_that_of_the_learners(space):
    """The same bits; only a ratio below 2^-512, a difference that no prediction shows, may be 0 here."""
    rng, a = np.random.default_rng(8), space.arrays
    sizes = np.where(rng.random(400) < 0.3, 0.0, np.exp(rng.uniform(-690.0, 690.0, size=400)))
    discounts = rng.choice([0.0, 1e-300, 1e-9, 0.9, 1.0, 1.5, 1e9, 1e300], size=400)
    grow, divide, hint = space.compiled(a.grow), space.compiled(a.divide), Hint()
    mantissa = exponent = space.array(0.0)
    for size, discount in zip(sizes.tolist(), discounts.tolist(), strict=True):
        mantissa, exponent, r = grow(mantissa, exponent, space.array(discount), space.array(size))
        want = hint.grow(discount, size)
        assert (float(mantissa), float(exponent)) == (hint.mantissa, hint.exponent if hint.mantissa else 0)
        assert float(r) == want or max(float(r), want) < 2.0**-510
        for x in (size, -0.3 * size):
            assert float(divide(space.array(x), mantissa, exponent)) == pytest.approx(
                hint.divide(x), rel=1e-15, abs=1e-150
            )


def test_rules_are_those_of_the_learners(space):
    """Over all that a learner can reach: flat, steep and beyond the cap, on both sides where the rule has two."""
    a, b = (part.ravel() for part in np.meshgrid(np.geomspace(1e-9, 1e5, 60), np.geomspace(1e-9, 1e5, 20)))
    want = [erfi_rule(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert 1e150 in want and min(want) < 0.0
    found = space.compiled(space.arrays.erfi_rule)(space.array(a), space.array(b))
    np.testing.assert_allclose(np.asarray(found), want, rtol=1e-11, atol=1e-13)
    s = np.concatenate([-a, a])
    z = (s / (np.sqrt(2.0 * np.tile(b, 2)) + trac.TINY)).tolist()
    want = np.array([simple_erfi_rule(2.0 * x, 1.0) for x in z]) / trac.UNIT
    assert want.max() == -want.min() == 1e150 / trac.UNIT
    found = space.compiled(space.arrays.trac_rule)(space.array(s), space.array(np.tile(b, 2)))
    np.testing.assert_allclose(np.asarray(found), want, rtol=1e-11)


def play_trac(space, gradients):
    """TRAC's predictions after each round, one learner a discount."""
    a, d = space.arrays, space.array(DISCOUNTS)
    step = space.compiled(lambda was, g: a.trac_step(was, 0.3, g, d))
    was, found = a.trac(space.array(np.zeros(4))), []
    for g in gradients:
        was = step(was, space.array(np.full(4, g)))
        found.append(np.asarray(was.x))
    return np.array(found)


def by_trac(gradients):
    learners, found = [TracLearner(0.3, d) for d in DISCOUNTS], []
    for g in gradients:
        for learner in learners:
            learner.update(g)
        found.append([learner.x for learner in learners])
    return np.array(found)


def test_trac_is_the_learner(space):
    gradients = np.random.default_rng(4).normal(size=150) - 0.3
    np.testing.assert_allclose(play_trac(space, gradients), by_trac(gradients), rtol=1e-10)


def test_trac_with_silence_and_wild_sizes(space):
    """Down to where the constants of 1e-8 count, far up, and deep below 0."""
    rng = np.random.default_rng(9)
    gradients = np.where(rng.random(100) < 0.2, 0.0, rng.normal(size=100) * np.exp(rng.uniform(-25.0, 25.0, size=100)))
    gradients[60:] = 1e11
    want = by_trac(gradients)
    assert want.min() < -100.0 and want.max() > 0.1
    np.testing.assert_allclose(play_trac(space, gradients), want, rtol=1e-10)


def play_norm(space, gradients, discounts):
    """On the line a step of AdaGrad with diameter 1 is q in the direction of the gradient."""
    a = space.arrays
    step = space.compiled(a.norm_step)
    was, x, found = a.norm(space.array(np.zeros(4))), np.zeros(4), []
    for g, d in zip(gradients, discounts, strict=True):
        was, q = step(was, space.array(np.full(4, abs(g))), space.array(d))
        x = x - np.sign(g) * np.asarray(q)
        found.append(x)
    return np.array(found)


def by_adagrad(gradients, discounts):
    learners, found = [AdaGrad(1.0) for _ in range(4)], []
    for g, row in zip(gradients, discounts, strict=True):
        for learner, d in zip(learners, row, strict=True):
            learner.update(g, d)
        found.append([learner.predict() for learner in learners])
    return np.array(found)


def test_norm_is_adagrad(space):
    """Also with discounts of 0, far above 1 and far below."""
    rng = np.random.default_rng(5)
    gradients = rng.normal(size=100) * np.exp(rng.uniform(-300.0, 300.0, size=100)) * (rng.random(100) < 0.8)
    for discounts in (np.tile(DISCOUNTS, (100, 1)), rng.choice([0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300], size=(100, 4))):
        found, want = play_norm(space, gradients, discounts), by_adagrad(gradients, discounts)
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMESPACES)
def test_single_precision_follows_and_stays_finite(name):
    with wide(name):
        space = Space(name, single=True)
        rng = np.random.default_rng(6)
        gradients, discounts = rng.normal(size=80) - 0.4, np.tile(DISCOUNTS, (80, 1))
        found = play(space, gradients, discounts)[0]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, by_learners(gradients, discounts), rtol=1e-3, atol=1e-3)
        wild = -np.exp(rng.uniform(-80.0, 80.0, size=80))
        assert np.isfinite(play(space, wild, rng.choice([0.0, 1e-30, 1.0, 1e30], size=(80, 4)))[0]).all()
        assert np.isfinite(play(space, -np.ones(700), np.ones((700, 1)))[0]).all()


@pytest.mark.parametrize("name", NAMESPACES)
def test_single_precision_of_trac_and_norm(name):
    with wide(name):
        space = Space(name, single=True)
        gradients = np.random.default_rng(7).normal(size=80) - 0.3
        found = play_trac(space, gradients)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, by_trac(gradients), rtol=1e-3, atol=1e-3)
        found = play_norm(space, gradients, np.tile(DISCOUNTS, (80, 1)))
        np.testing.assert_allclose(found, by_adagrad(gradients, np.tile(DISCOUNTS, (80, 1))), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_scale_that_fell_to_zero_begins_lower(name):
    """In units of epsilon: three times the mean of late, never more than 1; a scale that stands keeps its factor."""
    with wide(name):
        space = Space(name)
        arrays, horizon = space.arrays, 10.0
        rise, mean, factor = arrays.rise(space.array([0.0])), 1.0, 1.0
        for total in (2.0, 0.5, 0.0, 0.0, *[0.0] * 40, 3.0, 3.0, 0.0):
            rise = arrays.rise_step(rise, space.array([total]), horizon, space.array([1.0]))
            mean += (factor * total - mean) / horizon
            factor = factor if total > 0.0 else min(1.0, max(1e-9, 3.0 * mean))
            found = [float(np.asarray(x)[0]) for x in rise]
            np.testing.assert_allclose(found, [mean, factor], rtol=1e-12)
        assert factor < 0.2
        for x in arrays.rise_step(rise, space.array([1.0]), math.inf, space.array([0.0])):  # a discount of 0 restarts
            assert float(np.asarray(x)[0]) == 1.0


@pytest.mark.parametrize("name", NAMESPACES)
def test_roots(name):
    with wide(name):
        space = Space(name)
        found = np.asarray(space.arrays.root(space.array([0.0, 4.0, 1e-300])))
        np.testing.assert_allclose(found, [0.0, 2.0, 1e-150], rtol=1e-15)


def test_every_rule_is_held_to_its_learner():
    """A rule that is added to ``Arrays`` needs a line here, and a test that compares it."""
    compared = {
        "dawson erfi exp_square": test_special_functions,
        "split grow divide": test_the_hint_is_that_of_the_learners,
        "erfi_rule trac_rule": test_rules_are_those_of_the_learners,
        "magnitude magnitude_step": test_magnitude_is_the_learner,
        "trac trac_step": test_trac_is_the_learner,
        "norm norm_step": test_norm_is_adagrad,
        "root": test_roots,
        "rise rise_step": test_a_scale_that_fell_to_zero_begins_lower,
    }
    public = {name for name, value in vars(Arrays).items() if callable(value) and not name.startswith("_")}
    assert public == {name for names in compared for name in names.split()}


def test_doctests():
    result = doctest.testmod(arrays)
    assert result.attempted > 0 and not result.failed
