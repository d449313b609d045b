"""Section 3 and Appendix C of the paper, as functions: on games of adversaries, and by their definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import learners, theory

D = 20.0
ROUNDING = 1e-9
LOSSES = {  # subgradients of losses that are smallest at the score, at most 0 there
    "pinball": lambda r, s, a: a if r > s else a - 1.0,
    "skewed quadratic": lambda r, s, a: (a if r > s else 1.0 - a) * (r - s),
    "steps": lambda r, s, a: math.ceil(r - s) * a if r > s else -math.ceil(s - r + 1e-3),
}
ADVERSARIES = {
    "random": lambda r, s, rng: min(abs(rng.normal()) * 3.0, D),
    "on the radius": lambda r, s, rng: min(r, D),
    "below it": lambda r, s, rng: max(0.0, min(r, D) - 1e-6),
    "pushes up": lambda r, s, rng: D,
    "pushes on": lambda r, s, rng: D if s >= 0.0 else 0.0,
    "zero or all": lambda r, s, rng: D * float(rng.random() < 0.05),
}


def game(loss, adversary, alpha, discounts, epsilon, rng):
    """Algorithm 4 by the pseudocode of Algorithm 1; after each round (r, g, S*, clipped sum, V of the clipped, G)."""
    learner = learners.MagnitudeLearner(epsilon)
    total = 0.0
    for a in discounts:
        r = learner.predict()
        g = LOSSES[loss](r, ADVERSARIES[adversary](r, total, rng), alpha)
        learner.update(g, a)
        total = a * total - g
        v, s, h = learner.statistics
        yield r, g, total, s, v, h, learner.predict()


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(sorted(LOSSES)),
    adversary=st.sampled_from(sorted(ADVERSARIES)),
    alpha=st.sampled_from([0.01, 0.1, 0.5, 0.9]),
    epsilon=st.sampled_from([0.01, 1.0, 30.0]),
    kept=st.sampled_from([(1.0,), (0.95,), (0.0, 0.9, 1.0, 1.02)]),
)
def test_the_three_lemmas_and_the_theorem_hold(seed, loss, adversary, alpha, epsilon, kept):
    rng = np.random.default_rng(seed)
    discounts = rng.choice(kept, size=80)
    radii, gradients = [], []
    for t, (r, g, total, s, v, h, ahead) in enumerate(game(loss, adversary, alpha, discounts, epsilon, rng)):
        radii.append(r)
        gradients.append(g)
        slack = ROUNDING * (1.0 + h)
        assert abs(s) <= theory.coverage_bound(v, h, ahead, epsilon=epsilon, clipped=True) + slack
        assert abs(total) <= theory.coverage_bound(v, h, ahead, epsilon=epsilon) + slack
        assert abs(s) <= theory.coverage_bound(v, h, max_score=D, epsilon=epsilon, clipped=True) + slack
        assert abs(total) <= theory.coverage_bound(v, h, max_score=D, epsilon=epsilon) + slack
        if t % 20 == 19:
            u = float(rng.uniform(0.0, 2.0 * D))
            found = theory.ocp_main_bound(u, gradients, radii, discounts[: t + 1], D, epsilon)
            w = theory.weights(discounts[: t + 1])
            assert abs(total) <= found.coverage + slack
            assert float(w @ (np.array(gradients) * (np.array(radii) - u))) <= found.regret + slack * D


@pytest.mark.parametrize(
    ("radius", "score", "clipped", "k"), [(3, None, 1, 13), (3, None, 0, 14), (None, 3, 1, 14), (None, 3, 0, 15)]
)
def test_the_constants_are_those_of_the_paper(radius, score, clipped, k):
    one = 1.0 + math.sqrt(math.log(1.0 + 2.0 * 3.0 / 0.5))
    want = 2.0 * math.sqrt(50.0) * one + k * 0.9 * one**2
    assert theory.coverage_bound(50.0, 0.9, radius, score, 0.5, bool(clipped)) == pytest.approx(want, rel=1e-14)


def test_a_gradient_above_zero_at_the_score_breaks_the_lemmas():
    """Why the loss must be right at a tie: scores of 0 at a radius of 0, learned as covered."""
    learner, total = learners.OddMagnitudeLearner(), 0.0
    for _ in range(2000):
        learner.update(0.1)
        total -= 0.1
    v, _, h = learner.statistics
    assert abs(total) > theory.coverage_bound(v, h, max_score=0.0)


def test_a_radius_at_the_cap_says_nothing():
    assert theory.coverage_bound(1.0, 1.0, radius=1e150) == math.inf
    assert theory.coverage_bound(1.0, 1.0, radius=1e149) < math.inf
    assert theory.coverage_bound(1.0, 1.0, radius=1e150, epsilon=10.0) < math.inf


def test_what_coverage_bound_asks_for():
    for arguments in ({}, {"radius": 1.0, "max_score": 1.0}):
        with pytest.raises(TypeError, match="and not both"):
            theory.coverage_bound(1.0, 1.0, **arguments)
    with pytest.raises(ValueError, match="at most 1/2"):
        theory.late_coverage_bounds(0.7, 1.0, 1.0)
    with pytest.raises(ValueError, match="levels that grow"):
        theory.nested_coverage_bounds([0.2, 0.1], [1.0, 1.0], 1.0)
    with pytest.raises(ValueError, match="one variance for each"):
        theory.nested_coverage_bounds([0.1, 0.2], [1.0], 1.0)
    with pytest.raises(ValueError, match="discount <= 1"):
        theory.forgetting_bound(1.1, 3)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("adversary", sorted(ADVERSARIES))
def test_the_coverage_sum_is_bounded_before_the_game(alpha, adversary):
    """Target-rate adaptivity: at every length, for every adversary."""
    rng = np.random.default_rng(0)
    for t, (_, _, total, *_) in enumerate(game("pinball", adversary, alpha, np.ones(1500), 1.0, rng)):
        assert abs(total) <= theory.target_rate_bound(alpha, t + 1, D) + ROUNDING


def test_the_rate_grows_with_the_root_of_alpha_times_its_complement():
    n = 10**12
    one = 1.0 + math.sqrt(math.log(1.0 + 2.0 * D))
    for alpha in (0.001, 0.1, 0.5, 0.9):
        assert theory.target_rate_bound(alpha, n, D) / (
            2.0 * one * math.sqrt(alpha * (1.0 - alpha) * n)
        ) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("tolerance", [0.2, 0.01, 0.0003])
def test_the_rounds_that_a_tolerance_needs(alpha, tolerance):
    """The first length from which on the rate is proved; of the order alpha / tolerance^2, not alpha tolerance^2."""
    T = theory.target_rate_rounds(alpha, tolerance, D)
    assert theory.target_rate_bound(alpha, T, D) <= tolerance * T
    assert T == 1 or theory.target_rate_bound(alpha, T - 1, D) > tolerance * (T - 1)
    for later in (T + 1, 2 * T, 100 * T):
        assert theory.target_rate_bound(alpha, later, D) <= tolerance * later
    tiny = [theory.target_rate_rounds(alpha, t, D) for t in (1e-7, 1e-8)]
    assert tiny[1] / tiny[0] == pytest.approx(100.0, rel=0.02)


@given(kept=st.floats(0.0, 1.0), window=st.floats(0.0, 1e6))
def test_lemma_e(kept, window):
    assert kept**window <= theory.forgetting_bound(kept, window) * (1.0 + 1e-9)


def test_lemma_e_is_met_in_the_limit():
    for kept in (0.9, 0.999, 0.999999):
        window = 1.0 / (1.0 - kept)
        assert theory.forgetting_bound(kept, window) == pytest.approx(math.exp(-1.0))
        assert kept**window == pytest.approx(math.exp(-1.0), rel=1.0 - kept)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    rate=st.sampled_from([0.001, 0.1, 10.0]),
    kept=st.sampled_from([0.5, 0.95, 1.0]),
    push=st.booleans(),
)
def test_any_constant_rate_has_its_bound(seed, rate, kept, push):
    rng = np.random.default_rng(seed)
    x, xs, gs = 0.0, [], []
    for _ in range(60):
        g = math.copysign(2.0, x) if push else float(rng.uniform(-2.0, 2.0))
        xs.append(x)
        gs.append(g)
        x = min(max(x - rate * g, -1.5), 1.5)
        w = theory.weights(kept, rounds=len(gs))
        worst = float(w @ (np.array(gs) * xs)) + 1.5 * abs(float(w @ np.array(gs)))  # the best u is an end
        assert worst <= theory.ogd_rate_bound(rate, 3.0, 2.0, kept, len(gs)) + ROUNDING
        if kept < 1.0:
            assert worst <= theory.ogd_rate_bound(rate, 3.0, 2.0, kept) + ROUNDING


def test_a_wrong_rate_costs_in_proportion_and_a_wrong_epsilon_a_logarithm():
    right = math.sqrt(1.0 - 0.99**2)
    assert theory.ogd_rate_bound(right, 1.0, 1.0, 0.99) <= theory.constant_ogd_bound(1.0, 1.0, 0.99)
    costs = [theory.ogd_rate_bound(right * k, 1.0, 1.0, 0.99) for k in (1e-3, 1e3)]
    assert min(costs) > 300.0 * theory.ogd_rate_bound(right, 1.0, 1.0, 0.99)
    g, x = np.tile([1.0, -1.0], 5000), np.zeros(10_000)
    guesses = [theory.base_bound(1.0, g, x, 1.0, epsilon) for epsilon in (1.0, 1e-3)]
    assert guesses[1] < 5.0 * guesses[0]


def test_errors_about_rates():
    for arguments in ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.5, 10)):
        with pytest.raises(ValueError, match="discount"):
            theory.ogd_rate_bound(*arguments)
