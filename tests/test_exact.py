"""The learners agree with the pseudocode, evaluated literally with 60 digits, to a relative 1e-9."""

from functools import partial

import numpy as np
import pytest
import reference
from hypothesis import event, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from reference import FLOOR, RTOL, assert_follows, play

from wane import domains, learners

SEEDS = 24  # of one-dimensional streams, per learner
SEEDS_D = 4  # of d-dimensional streams, per learner and dimension
ROUNDS = 150
ROUNDS_D = 100
DIMS = (1, 2, 3, 10, 50)
EXAMPLES = 150  # of hypothesis, per learner

MAY_TIE = 0.2  # share of streams in which a discontinuous test is allowed to be too close to call


# ---------------------------------------------------------------------------------------------------------------------
# Tables of learners: a factory and its reference
# ---------------------------------------------------------------------------------------------------------------------

ERFI_1D = {
    "magnitude": (learners.MagnitudeLearner, reference.algorithm_1),
    "odd": (learners.OddMagnitudeLearner, reference.odd_magnitude),
    "simplified": (learners.SimplifiedMagnitudeLearner, reference.algorithm_5),
    "trac": (learners.TracLearner, reference.trac),
}

# name: (stream of gradients, largest discount, factory of the learner given `dim`, reference). The coin must lie in the
# unit ball, and discounted log-wealth grows geometrically when the discount stays above 1.
ANY_DIM = {
    "adagrad": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.AdaGrad(1.5, dim=dim),
        partial(reference.adagrad, diameter=1.5),
    ),
    "descent": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.GradientDescent(0.3, dim=dim),
        partial(reference.gradient_descent, rate=0.3),
    ),
    "descent, default rate": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.GradientDescent(discount=0.96, diameter=3.0, lipschitz=0.7, dim=dim),
        partial(reference.gradient_descent, rate=3.0 / 0.7 * (1 - mpf(0.96) ** 2) ** 0.5),
    ),
    "descent, horizon": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.GradientDescent(diameter=3.0, lipschitz=0.7, schedule="horizon", dim=dim),
        partial(reference.gradient_descent, rate=(3.0, 0.7)),
    ),
    "linear ftrl": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.LinearFTRL(0.7, dim=dim),
        partial(reference.linear_ftrl, rate=0.7),
    ),
    "regularized descent": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.RegularizedGradientDescent(0.7, dim=dim),
        partial(reference.regularized_descent, rate=0.7),
    ),
    "regularized descent, weight": (
        reference.wild_gradients,
        2.0,
        lambda dim: learners.RegularizedGradientDescent(0.7, 0.2, dim=dim),
        partial(reference.regularized_descent, rate=0.7, weight=0.2),
    ),
    "exponential potential": (
        reference.unit_gradients,
        1.2,
        lambda dim: learners.ExponentialPotential(0.6, 1.3, constant=3.0, dim=dim),
        partial(reference.exponential_potential, eps=0.6, lipschitz=1.3, constant=3.0),
    ),
    "coin betting": (
        reference.unit_gradients,
        1.05,
        lambda dim: learners.CoinBetting(0.6, 1.3, dim=dim),
        partial(reference.coin_betting, eps=0.6, lipschitz=1.3),
    ),
}


# ---------------------------------------------------------------------------------------------------------------------
# One dimension
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ERFI_1D)
def test_magnitude_learners_follow_the_pseudocode(name):
    make, literal = ERFI_1D[name]
    ties = moved = compared = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng([1, seed])
        eps = 10.0 ** rng.uniform(-3, 3)
        g = reference.wild_gradients(rng, ROUNDS)
        lam = reference.mixed_discounts(rng, ROUNDS)
        path = literal(g, lam, eps=eps, last=True)
        compared += assert_follows(play(make(epsilon=eps), g, lam), path)
        ties += path.tie is not None
        moved += sum(x != 0 for x in path.predictions)
    assert ties <= MAY_TIE * SEEDS
    assert moved > 0.1 * compared, "the streams do not exercise the rule"


@pytest.mark.parametrize("name", ERFI_1D)
@pytest.mark.parametrize("discount", [1.0, 0.999, 0.95, 1.01])
def test_the_learners_own_discount_is_the_default_of_every_round(name, discount):
    make, literal = ERFI_1D[name]
    rng = np.random.default_rng(7)
    g = reference.unit_gradients(rng, ROUNDS) - 0.2
    path = literal(g, [discount] * ROUNDS, last=True)
    assert assert_follows(play(make(discount=discount), g), path) > ROUNDS // 2


def test_defaults_are_the_papers():
    g = reference.unit_gradients(np.random.default_rng(3), ROUNDS) - 0.2
    assert_follows(play(learners.MagnitudeLearner(), g), reference.algorithm_1(g, [1] * ROUNDS, last=True))
    assert_follows(play(learners.OddMagnitudeLearner(), g), reference.odd_magnitude(g, [1] * ROUNDS, last=True))
    simplified = reference.algorithm_5(g, [0.999] * ROUNDS, initial_variance=1, last=True)
    assert_follows(play(learners.SimplifiedMagnitudeLearner(), g), simplified)
    assert_follows(play(learners.TracLearner(), g), reference.trac(g, [0.99] * ROUNDS, last=True))


@pytest.mark.parametrize("initial_variance", [1e-8, 0.3, 40.0, 1e9])
def test_the_initial_variance_ages_like_the_rest(initial_variance):
    rng = np.random.default_rng(11)
    g = reference.unit_gradients(rng, ROUNDS)
    lam = rng.uniform(0.8, 1.1, size=ROUNDS)  # the first one ages v_1, too
    path = reference.algorithm_5(g, lam, eps=2.5, initial_variance=initial_variance, last=True)
    learner = learners.SimplifiedMagnitudeLearner(2.5, initial_variance=initial_variance)
    assert_follows(play(learner, g, lam), path)


MAGNITUDES = st.sampled_from([1e-12, 1e-6, 0.1, 0.25, 1.0, 1.0, 1.0, 3.0, 1e6, 1e12])
NASTY = st.one_of(
    st.just(0.0),
    st.builds(lambda m, sign: sign * m, MAGNITUDES, st.sampled_from([-1.0, -1.0, 1.0])),
    st.floats(1e-12, 1e12),
    st.floats(-1e12, -1e-12),
)
DISCOUNTS = st.one_of(
    st.sampled_from([1.0, 1.0, 1.0, 1.0, 0.99, 0.9, 0.5, 0.0, 1e-3, 1.1, 1e3]),
    st.floats(0.9, 1.1),
)


@st.composite
def nasty_streams(draw):
    """Blocks of one repeated gradient (long enough to push the predictions off zero) and single surprises."""
    block = st.builds(lambda g, lam, n: [(g, lam)] * n, NASTY, DISCOUNTS, st.integers(1, 15))
    rows = [row for rows in draw(st.lists(block, min_size=1, max_size=6)) for row in rows]
    rows += draw(st.lists(st.tuples(NASTY, DISCOUNTS), max_size=10))
    return [g for g, _ in rows], [lam for _, lam in rows]


@pytest.mark.parametrize("name", ERFI_1D)
@given(stream=nasty_streams())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_magnitude_learners_follow_the_pseudocode_on_nasty_streams(name, stream):
    make, literal = ERFI_1D[name]
    g, lam = stream
    path = literal(g, lam, last=True)
    event(f"{name}: {'tie' if path.tie is not None else 'no tie'}")
    event(f"{name}: {'moves' if any(path.predictions) else 'stays at zero'}")
    assert_follows(play(make(), g, lam), path)


def test_run_is_predict_and_update_in_turn():
    rng = np.random.default_rng(5)
    g, lam = reference.wild_gradients(rng, ROUNDS), reference.mixed_discounts(rng, ROUNDS)
    for make, _ in ERFI_1D.values():
        batch, single = make(), make()
        predictions = batch.run(g, lam)
        for t in range(ROUNDS):
            assert single.predict() == predictions[t]
            single.update(g[t], lam[t])
        assert single.predict() == batch.predict()


def test_the_prediction_is_the_derivative_of_the_potential():
    """n equal gradients at discount 1: the first is clipped to 0, so v = s = n - 1 and h = 1."""
    learner = learners.MagnitudeLearner(epsilon=1.5)
    learner.run(-np.ones(60))
    with mp.workdps(30):
        want = mp.diff(lambda s: reference.potential(59, s, 1, 1.5), 59)
    assert learner.predict() == pytest.approx(float(want), rel=RTOL)
    assert learner.predict() > 1.0


def test_algorithm_1_without_discount_is_algorithm_2():
    ties = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng([2, seed])
        eps = 10.0 ** rng.uniform(-2, 2)
        g = reference.wild_gradients(rng, ROUNDS)
        path = reference.algorithm_2(g, eps=eps, last=True)
        assert_follows(play(learners.MagnitudeLearner(epsilon=eps, discount=1.0), g), path)
        ties += path.tie is not None
    assert ties <= MAY_TIE * SEEDS


def test_line_7_keeps_the_sum_from_drifting_below_zero():
    """However many gradients push down at zero, the way up is as long as from the start."""
    up = -np.ones(20)
    fresh = learners.MagnitudeLearner().run(up)
    learner = learners.MagnitudeLearner()
    learner.run(np.ones(500))
    # The first gradient of a fresh learner only sets the hint: one round later the two coincide.
    np.testing.assert_allclose(learner.run(up)[:-1], fresh[1:], rtol=RTOL)
    assert fresh[-1] > 0


def test_line_7_tests_the_clipped_gradient_after_the_hint_has_seen_the_raw_one():
    """A rejected gradient still raises the hint."""
    learner = learners.MagnitudeLearner()
    learner.run([-1.0, -1.0, 8.0])  # x~ < 0 before the 8, which line 7 rejects; the hint becomes 8, s stays 1
    later = learner.run(-8.0 * np.ones(30))
    path = reference.algorithm_1([-1.0, -1.0, 8.0] + [-8.0] * 30, [1] * 33)
    np.testing.assert_allclose(later, np.array(path.predictions[3:], dtype=float), rtol=RTOL)
    assert later[-1] > 0


@pytest.mark.parametrize("name", ["magnitude", "odd"])
def test_discount_zero_forgets_everything_but_the_hint(name):
    make, _ = ERFI_1D[name]
    learner, fresh = make(epsilon=2.0), make(epsilon=2.0)
    learner.run(-np.ones(50))
    assert learner.predict() > 0
    learner.update(-3.0, 0.0)
    fresh.update(-3.0)
    assert learner.predict() == fresh.predict() == 0.0
    tail = -3.0 * np.ones(30)
    np.testing.assert_array_equal(learner.run(tail), fresh.run(tail))
    assert learner.predict() > 0
    learner.update(0.0, 0.0)  # nothing is left, not even a hint
    assert learner.predict() == 0.0


def test_simplified_predicts_zero_once_everything_is_forgotten():
    learner = learners.SimplifiedMagnitudeLearner()
    learner.run(-np.ones(10))
    assert learner.predict() > 0
    learner.update(0.0, 0.0)
    assert learner.predict() == 0.0
    learner.update(-2.0, 1.0)  # v = 4, s = 2: erfi(1/2)
    with mp.workdps(30):
        assert learner.predict() == pytest.approx(float(reference.erfi(mpf(0.5))), rel=RTOL)


def test_simplified_at_an_unprojected_prediction_of_zero_accepts_the_gradient():
    """s = 0 exactly: line 6 of Algorithm 5 is not strict, so the gradient enters; below zero it does not."""
    learner = learners.SimplifiedMagnitudeLearner(discount=1.0, initial_variance=1.0)
    learner.update(1.0)  # accepted: v = 2, s = -1
    assert learner.predict() == 0.0
    learner.update(1.0)  # rejected: v = 2, s = -1
    learner.update(-1.0)  # accepted: v = 3, s = 0
    assert learner.predict() == 0.0
    learner.update(-1.0)  # v = 4, s = 1
    with mp.workdps(30):
        assert learner.predict() == pytest.approx(float(reference.erfi(mpf(0.25))), rel=RTOL)


# ---------------------------------------------------------------------------------------------------------------------
# d dimensions
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("centered", [False, True])
def test_adaptive_learner_follows_algorithm_3(dim, centered):
    ties = moved = compared = 0
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([3, dim, centered, seed])
        eps = 10.0 ** rng.uniform(-2, 2)
        center = rng.normal(size=dim) if centered else None
        g = reference.wild_gradients(rng, ROUNDS_D, dim)
        lam = reference.mixed_discounts(rng, ROUNDS_D)
        path = reference.algorithm_3(g, lam, eps=eps, center=center, last=True)
        learner = learners.AdaptiveLearner(dim, epsilon=eps, center=center)
        compared += assert_follows(play(learner, g, lam), path)
        ties += path.tie is not None
        moved += sum(x != path.predictions[0] for x in path.predictions)
    assert ties <= MAY_TIE * SEEDS_D
    assert moved > 0.05 * compared, "the streams do not exercise the rule"


def constraints(kind, dim, rng):
    """A domain of the package and the reference's own. Both are small enough that the learner leaves them."""
    where = rng.normal(size=dim)
    if kind == "ball at 0":
        return domains.Ball(0.7), reference.Ball(0.7, np.zeros(dim))
    if kind == "ball away from 0":
        return domains.Ball(0.4, where), reference.Ball(0.4, where)
    if kind == "box at a corner":
        return domains.Box(np.zeros(dim), np.full(dim, 0.6)), reference.Box(np.zeros(dim), np.full(dim, 0.6))
    return domains.Box(where - 0.2, where + 0.3), reference.Box(where - 0.2, where + 0.3)


@pytest.mark.parametrize("kind", ["ball at 0", "ball away from 0", "box at a corner", "box away from 0"])
@pytest.mark.parametrize("dim", [1, 2, 3, 10])
def test_adaptive_learner_on_a_domain_follows_the_reduction(kind, dim):
    ties = outside = compared = 0
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([4, dim, seed])
        domain, literal_domain = constraints(kind, dim, rng)
        eps = rng.uniform(0.3, 3.0)
        g = reference.unit_gradients(rng, ROUNDS_D, dim)
        lam = np.full(ROUNDS_D, rng.choice([1.0, 0.99]))
        lam[rng.random(ROUNDS_D) < 0.02] = 1.2
        path = reference.algorithm_3(g, lam, eps=eps, domain=literal_domain, last=True)
        learner = learners.AdaptiveLearner(dim, epsilon=eps, domain=domain)
        got = play(learner, g, lam)
        compared += assert_follows(got, path)
        ties += path.tie is not None
        start = path.predictions[0]
        outside += sum(literal_domain.near_boundary(x) for x in path.predictions if x != start)
        feasible = np.array([domain.project(x) for x in got])
        np.testing.assert_allclose(got, feasible, rtol=0, atol=1e-12)
    assert ties <= max(1, MAY_TIE * SEEDS_D)
    assert compared > 0.75 * SEEDS_D * ROUNDS_D
    assert outside > 0.03 * compared, "the constraint is hardly ever active"


def test_adaptive_learner_with_a_center_on_a_domain():
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([5, seed])
        center = rng.uniform(-0.3, 0.3, size=3)
        g = reference.unit_gradients(rng, ROUNDS_D, 3)
        lam = np.full(ROUNDS_D, 0.995)
        path = reference.algorithm_3(g, lam, center=center, domain=reference.Ball(0.6, np.zeros(3)), last=True)
        learner = learners.AdaptiveLearner(3, center=center, domain=domains.Ball(0.6))
        assert_follows(play(learner, g, lam), path)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ANY_DIM)
def test_learners_in_any_dimension_follow_their_definition(name, dim):
    stream, top, make, literal = ANY_DIM[name]
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([6, dim, seed])
        g = stream(rng, ROUNDS_D, dim)
        lam = reference.mixed_discounts(rng, ROUNDS_D, top=top)
        assert assert_follows(play(make(dim), g, lam), literal(g, lam, last=True)) == ROUNDS_D + 1


@pytest.mark.parametrize("name", ANY_DIM)
def test_scalars_are_one_dimension(name):
    stream, top, make, literal = ANY_DIM[name]
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([7, seed])
        g = stream(rng, ROUNDS_D)
        lam = reference.mixed_discounts(rng, ROUNDS_D, top=top)
        got = play(make(None), g, lam)
        assert got.shape == (ROUNDS_D + 1,)
        assert np.ndim(make(None).predict()) == 0
        assert make(1).predict().shape == (1,)
        path = reference.scalars(literal(g[:, None], lam, last=True))
        assert_follows(got, path)
        both = np.stack([got, play(make(1), g[:, None], lam)[:, 0]])
        allowed = RTOL * np.abs(both[0]) + FLOOR * np.array(path.scales, dtype=float)
        assert np.all(np.abs(both[0] - both[1]) <= allowed)


@pytest.mark.parametrize("dim", [1, 3, 10])
@pytest.mark.parametrize("kind", ["ball at 0", "ball away from 0", "box at a corner", "box away from 0"])
def test_descent_on_a_domain_starts_where_told_and_projects(kind, dim):
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([8, dim, seed])
        domain, literal_domain = constraints(kind, dim, rng)
        start = domain.project(rng.normal(size=dim))
        g = reference.unit_gradients(rng, ROUNDS_D, dim)
        lam = reference.mixed_discounts(rng, ROUNDS_D)
        path = reference.adagrad(g, lam, 1.4, start=start, domain=literal_domain, last=True)
        assert_follows(play(learners.AdaGrad(1.4, dim=dim, start=start, domain=domain), g, lam), path)
        path = reference.gradient_descent(g, lam, 0.2, start=start, domain=literal_domain, last=True)
        assert_follows(play(learners.GradientDescent(0.2, dim=dim, start=start, domain=domain), g, lam), path)


def test_adagrad_does_not_move_before_the_first_gradient_that_is_not_zero():
    learner = learners.AdaGrad(2.0, dim=2, start=[0.25, 0.5])
    learner.run(np.zeros((5, 2)))
    np.testing.assert_array_equal(learner.predict(), [0.25, 0.5])
    learner.update([3.0, 4.0])  # a step of length D
    np.testing.assert_allclose(learner.predict(), [0.25 - 1.2, 0.5 - 1.6], rtol=1e-12)
    learner.update([0.0, 0.0], 0.0)  # V = 0 again
    np.testing.assert_allclose(learner.predict(), [0.25 - 1.2, 0.5 - 1.6], rtol=1e-12)


COORDINATES = st.lists(st.lists(NASTY, min_size=2, max_size=2), min_size=1, max_size=6)


@st.composite
def nasty_vector_streams(draw):
    rows = []
    for g in draw(COORDINATES):
        rows += [(g, draw(DISCOUNTS))] * draw(st.integers(1, 12))
    return [g for g, _ in rows], [lam for _, lam in rows]


@given(stream=nasty_vector_streams())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_adaptive_learner_follows_algorithm_3_on_nasty_streams(stream):
    g, lam = stream
    path = reference.algorithm_3(g, lam, last=True)
    event("tie" if path.tie is not None else "no tie")
    event("moves" if any(map(any, path.predictions)) else "stays at zero")
    assert_follows(play(learners.AdaptiveLearner(2), g, lam), path)


@given(stream=nasty_vector_streams())
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_adagrad_follows_its_definition_on_nasty_streams(stream):
    g, lam = stream
    path = reference.adagrad(g, lam, 1.0, last=True)
    assert_follows(play(learners.AdaGrad(1.0, dim=2), g, lam), path)


# ---------------------------------------------------------------------------------------------------------------------
# Identities between learners
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.9, 0.97, 1.0, 1.04, None])
def test_algorithm_1_is_algorithm_2_on_rescaled_gradients(discount):
    """Section 2.2; discount None: a new one each round."""
    moved = 0
    for seed in range(SEEDS // 4):
        rng = np.random.default_rng([9, seed])
        g = reference.unit_gradients(rng, ROUNDS) - 0.3
        lam = rng.uniform(0.85, 1.1, size=ROUNDS) if discount is None else np.full(ROUNDS, discount)
        path = reference.algorithm_1(g, lam, last=True)
        rescaled = play(learners.Rescaled(learners.MagnitudeLearner(discount=1.0)), g, lam)
        assert_follows(rescaled, path)
        assert_follows(play(learners.MagnitudeLearner(), g, lam), path)
        moved += max(path.predictions) > 0
    assert moved > SEEDS // 8, "the streams do not exercise the rule"


def test_rescaling_starts_after_the_first_round():
    """The first round's discount has nothing to age: any value of it gives the same predictions."""
    g = np.array([-1.0, -0.5, -1.0, -1.0, -0.7])
    for first in (0.5, 1.0, 3.0):
        lam = np.array([first, 0.5, 0.8, 1.1, 0.9])
        got = play(learners.Rescaled(learners.LinearFTRL(2.0)), g, lam)
        factors = np.cumprod([1.0, 0.5, 0.8, 1.1, 0.9])
        want = np.concatenate([[0.0], 2.0 * np.cumsum(-g / factors)])
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_rescaled_adagrad_is_discounted_adagrad():
    """Theorem 2.2 is AdaGrad on the rescaled gradients: the learning rate D/sqrt(V) undoes the factors."""
    for seed in range(SEEDS_D):
        rng = np.random.default_rng([10, seed])
        g = reference.unit_gradients(rng, ROUNDS, 3)
        lam = rng.uniform(0.85, 1.1, size=ROUNDS)
        path = reference.adagrad(g, lam, 1.0, last=True)
        assert_follows(play(learners.Rescaled(learners.AdaGrad(1.0, dim=3)), g, lam), path)


@pytest.mark.parametrize("dim", [None, 1, 3, 10])
@pytest.mark.parametrize("rate", [0.05, 1.0, 7.0])
def test_discounted_linear_ftrl_is_regularized_descent(dim, rate):
    """Section 2.2: eta = c and gamma = (1 - lambda)/eta, given as a number or left to the learner."""
    for discount in (0.5, 0.9, 0.999, 1.0):
        rng = np.random.default_rng([11, dim or 0])
        g = reference.wild_gradients(rng, ROUNDS, dim)
        rows = g if dim else g[:, None]
        path = reference.linear_ftrl(rows, [discount] * ROUNDS, rate=rate, last=True)
        path = path if dim else reference.scalars(path)
        assert_follows(play(learners.LinearFTRL(rate, discount, dim=dim), g), path)
        assert_follows(play(learners.RegularizedGradientDescent(rate, discount=discount, dim=dim), g), path)
        if discount < 1:
            weight = (1.0 - discount) / rate
            assert_follows(play(learners.RegularizedGradientDescent(rate, weight, dim=dim), g), path)


def test_coin_betting_without_discount_is_the_kt_bettor():
    for seed in range(SEEDS):
        rng = np.random.default_rng([12, seed])
        eps, lipschitz = 10.0 ** rng.uniform(-2, 2, size=2)
        g = lipschitz * reference.unit_gradients(rng, ROUNDS)
        path = reference.kt_wealth(g, eps, lipschitz, last=True)
        assert_follows(play(learners.CoinBetting(eps, lipschitz), g), path)


def test_coin_betting_never_loses_more_than_its_wealth():
    """epsilon minus the sum of g * x, what is left to bet with, stays positive whatever the coins."""
    for seed in range(SEEDS):
        rng = np.random.default_rng([13, seed])
        g = rng.choice([-1.0, 1.0], size=ROUNDS, p=[0.3, 0.7] if seed % 2 else [0.5, 0.5])
        x = learners.CoinBetting(2.0).run(g)
        wealth = 2.0 - np.cumsum(g * x)
        assert np.all(wealth > 0)
        assert np.count_nonzero(g * x > 0) > ROUNDS // 10, "too few bets are lost"
