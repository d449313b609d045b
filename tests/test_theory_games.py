"""Literal learners against the theorems: no bound is ever exceeded, and the lower bound is always reached."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import theory

SETTINGS = settings(max_examples=80, deadline=None)

discount = st.one_of(st.sampled_from([0.0, 0.5, 0.99, 1.0, 1.5]), st.floats(0.01, 0.999), st.floats(1.001, 3.0))
size = st.one_of(  # the literal learners below square h, so no denormals
    st.sampled_from([0.0, 1.0, -1.0]),
    st.floats(-5, 5).map(lambda x: round(x, 6)),
    st.sampled_from([1e-4, -1e-4, 1e4, -1e4, 1e-9]),
)
rounds_1d = st.lists(st.tuples(size, discount), min_size=1, max_size=30)
constant = st.one_of(st.floats(0.3, 1.0), st.just(1.0))
comparators = st.sampled_from([0.0, 1e-3, 0.5, 1.0, 7.0, 1e3])


def erfi_rule(v, s, h, eps):
    """Algorithm 1, line 3, as printed."""
    if h == 0:
        return 0.0
    e = v + 2 * h * s + 16 * h * h
    z = s / (2 * math.sqrt(e))
    erfi = math.sqrt(math.pi) / 2 * float(mpmath.erfi(z))
    return eps * erfi - eps * h / math.sqrt(e) * math.exp(z * z)


class Algorithm1:
    """The magnitude learner, line by line; `hinted` is the variant inside Algorithm 3."""

    def __init__(self, eps=1.0, hinted=False):
        self.eps, self.hinted = eps, hinted
        self.v = self.s = self.h = 0.0

    def predict(self):
        return max(0.0, erfi_rule(self.v, self.s, self.h, self.eps))

    def update(self, g, lam, hint=None):
        unprojected = erfi_rule(self.v, self.s, self.h, self.eps)
        x = max(0.0, unprojected)
        if self.hinted:
            clip, h = g, hint
        else:
            clip, h = max(-lam * self.h, min(lam * self.h, g)), max(lam * self.h, abs(g))
        if clip * unprojected < clip * x:
            clip = 0.0
        self.v, self.s, self.h = lam**2 * self.v + clip**2, lam * self.s - clip, h
        assert self.s >= -1e-9 * self.h  # step 1 of the proof


class GradientDescent:
    """x <- projection of x - rate * g; rate "horizon", "variance" or a number."""

    def __init__(self, rate, diameter, lipschitz=1.0, dim=None):
        self.rate, self.D, self.lipschitz = rate, diameter, lipschitz
        self.x = 0.0 if dim is None else np.zeros(dim)
        self.H = self.V = 0.0

    def predict(self):
        return self.x

    def update(self, g, lam):
        self.H, self.V = lam**2 * self.H + 1, lam**2 * self.V + np.sum(np.square(g))
        if self.rate == "horizon":
            eta = self.D / (self.lipschitz * math.sqrt(self.H))
        elif self.rate == "variance":
            eta = self.D / math.sqrt(self.V) if self.V > 0 else 0.0
        else:
            eta = self.rate
        x = self.x - eta * g
        norm = float(np.linalg.norm(x))
        self.x = x * min(1.0, self.D / 2 / norm) if norm > 0 else x


class Algorithm3:
    """The learner on R^d, line by line, around 0; `project` (with Cutkosky's surrogate gradients) constrains it."""

    def __init__(self, dim, eps=1.0, project=None):
        self.magnitude, self.direction = Algorithm1(eps, hinted=True), GradientDescent("variance", 2.0, dim=dim)
        self.h, self.project = 0.0, project
        self.sizes = []

    def predict(self):
        self.free = self.direction.predict() * self.magnitude.predict()
        return self.free if self.project is None else self.project(self.free)

    def update(self, g, lam):
        x = self.predict()
        out = self.free - x
        if np.dot(g, out) < 0:
            n = out / np.linalg.norm(out)
            g = g - np.dot(g, n) * n
        self.sizes.append(float(np.linalg.norm(self.free)))
        h = max(lam * self.h, float(np.linalg.norm(g)))
        clip = g * (lam * self.h / h) if h > 0 else 0.0 * g
        c = float(np.dot(clip, self.direction.predict()))
        self.magnitude.update(c, lam, hint=h)
        self.direction.update(clip, lam)
        self.h = h


def slack(record, u):
    """Room for rounding: relative to the sum of what was added up."""
    w = theory.weights(record.discounts)
    xs, gs = record.predictions, record.gradients
    xs, gs = xs.reshape(len(xs), -1), gs.reshape(len(gs), -1)
    return 1e-9 * float(w @ (np.linalg.norm(gs, axis=1) * (np.linalg.norm(xs, axis=1) + np.linalg.norm(u))))


def one_dimensional(game, eps):
    gs, lams = (list(column) for column in zip(*game, strict=True))
    return theory.play(Algorithm1(eps), lambda t, x: gs[t], discounts=lams)


@SETTINGS
@given(rounds_1d, comparators, st.sampled_from([0.1, 1.0, 10.0]))
def test_base_bound_holds_for_every_window(game, u, eps):
    record = one_dimensional(game, eps)
    regret, T = record.regret(u), len(game)
    bounds = [
        theory.base_bound(u, record.gradients, record.predictions, record.discounts, eps, window=tau)
        for tau in range(1, T + 1)
    ]
    assert regret <= min(bounds) + slack(record, u)
    best = theory.base_bound(u, record.gradients, record.predictions, record.discounts, eps)
    assert best == pytest.approx(min(bounds), rel=1e-12)


@SETTINGS
@given(st.lists(size, min_size=1, max_size=30), comparators, st.sampled_from([0.1, 1.0, 10.0]))
def test_base_undiscounted_bound_holds(gs, u, eps):
    record = one_dimensional([(g, 1.0) for g in gs], eps)
    assert record.regret(u) <= theory.base_undiscounted_bound(u, gs, record.predictions, eps) + slack(record, u)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 1.2), st.integers(1, 60), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([1, 5, 40]))
def test_base_bound_holds_against_an_environment_that_first_lures_and_then_punishes(lam, T, u, lure):
    record = theory.play(Algorithm1(), lambda t, x: -1.0 if t < lure else 2.0 ** (t % 7), discounts=lam, rounds=T)
    for target in (u, record.predictions.max()):
        bound = theory.base_bound(target, record.gradients, record.predictions, lam)
        assert record.regret(target) <= bound + slack(record, target)


def test_the_steps_of_the_proof_that_the_paper_leaves_to_its_references():
    """One step of the potential (any |c| <= h, s >= 0), a larger hint, and Phi'(V, S) >= u."""
    rng = np.random.default_rng(0)
    n = 20_000
    h = 10.0 ** rng.uniform(-2, 1, n)
    v, s = h**2 * 10.0 ** rng.uniform(-3, 4, n), h * 10.0 ** rng.uniform(-3, 3, n) * (rng.random(n) > 0.1)
    keep = s**2 / (4 * (v + 2 * h * s + 16 * h**2)) < 300
    h, v, s = h[keep], v[keep], s[keep]
    c = h * rng.choice([-1.0, 1.0, 0.9, 0.1, -0.3], len(h))
    before, bet, after = (
        theory.potential(v, s, h),
        theory.prediction_rule(v, s, h),
        theory.potential(v + c**2, s - c, h),
    )
    room = 1e-10 * (np.abs(before) + np.abs(c * bet))
    assert (after <= before - c * bet + room).all()
    assert (theory.potential(v, s, 1.1 * h) <= before + room).all()
    assert (np.diff(theory.prediction_rule(3.0, np.linspace(0, 200, 4001), 1.0)) > 0).all()  # convex in s
    for u in (0.0, 1e-6, 0.1, 1.0, 100.0, 1e12):
        L = math.sqrt(math.log(2 * u + 1))
        S = 8 * h * (1 + L) ** 2 + 2 * np.sqrt(v + 16 * h**2) * (1 + L)
        assert (theory.prediction_rule(v, S, h) >= u).all()


vectors = st.lists(st.tuples(st.tuples(size, size, size), discount), min_size=1, max_size=25)
POINTS = [np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([-0.3, 0.2, 0.9]), np.array([-40.0, 100.0, 3.0])]


@SETTINGS
@given(vectors, st.sampled_from([0.1, 1.0, 10.0]))
def test_main_bound_holds_for_every_window(game, eps):
    gs, lams = np.array([g for g, _ in game]), [lam for _, lam in game]
    learner = Algorithm3(3, eps)
    record = theory.play(learner, lambda t, x: gs[t], discounts=lams)
    for u in POINTS:
        bounds = [theory.main_bound(u, gs, learner.sizes, lams, eps, window=tau) for tau in range(1, len(gs) + 1)]
        assert record.regret(u) <= min(bounds) + slack(record, u)
        assert theory.main_bound(u, gs, learner.sizes, lams, eps) == pytest.approx(min(bounds), rel=1e-12)
        distance = float(np.linalg.norm(u))
        assert theory.main_bound(distance, gs, learner.sizes, lams, eps, 1) == pytest.approx(bounds[0], rel=1e-12)


def unit_ball(x):
    return x / max(1.0, float(np.linalg.norm(x)))


def orthant(x):
    return np.maximum(x, 0.0)


@SETTINGS
@given(vectors, st.sampled_from([(unit_ball, POINTS[:3]), (orthant, [POINTS[0], POINTS[1], abs(POINTS[3])])]))
def test_main_bound_holds_for_a_constrained_learner_at_its_unprojected_points(game, domain):
    project, points = domain
    gs, lams = np.array([g for g, _ in game]), [lam for _, lam in game]
    learner = Algorithm3(3, project=project)
    record = theory.play(learner, lambda t, x: gs[t], discounts=lams)
    for u in points:
        bounds = [theory.main_bound(u, gs, learner.sizes, lams, window=tau) for tau in range(1, len(gs) + 1)]
        assert record.regret(u) <= min(bounds) + slack(record, u)


@SETTINGS
@given(vectors, st.sampled_from([0.5, 2.0]))
def test_adagrad_bound_holds(game, D):
    gs, lams = np.array([g for g, _ in game]), [lam for _, lam in game]
    record = theory.play(GradientDescent("variance", D, dim=3), lambda t, x: gs[t], discounts=lams)
    bound = theory.adagrad_bound(D, record.statistics().V[-1])
    for u in POINTS[:3]:
        u = u / max(1.0, 2 * np.linalg.norm(u) / D)
        assert record.regret(u) <= bound + slack(record, u)


@SETTINGS
@given(rounds_1d, st.sampled_from([0.5, 2.0]))
def test_ogd_bound_holds_on_true_losses(game, D):
    gs, lams = np.clip([g for g, _ in game], -1, 1), [lam for _, lam in game]
    for environment in (lambda t, x: gs[t], lambda t, x: theory.Absolute(gs[t] * D / 2)):
        record = theory.play(GradientDescent("horizon", D), environment, discounts=lams)
        bound = theory.ogd_bound(diameter=D, lipschitz=1.0, horizon=record.statistics().H[-1])
        for u in (-D / 2, 0.0, D / 3, D / 2):
            assert record.regret(u) <= record.linear_regret(u) + slack(record, u)  # convexity
            assert record.linear_regret(u) <= bound + slack(record, u)


@SETTINGS
@given(st.lists(size, min_size=1, max_size=30), st.floats(0.01, 0.98))
def test_constant_ogd_bound_holds_at_any_length(gs, lam):
    gs = np.clip(gs, -1, 1)
    D, T = 2.0, len(gs)
    record = theory.play(GradientDescent(D * math.sqrt(1 - lam**2), D), lambda t, x: gs[t], discounts=lam, rounds=T)
    first = theory.constant_ogd_bound(diameter=D, lipschitz=1.0, discount=lam)
    for u in (-1.0, 0.0, 0.4, 1.0):
        assert record.regret(u) <= first + slack(record, u)
    if T >= 0.5 / (1 - lam):
        assert first <= theory.constant_ogd_bound(D, 1.0, lam, rounds=T) * (1 + 1e-12)
    else:
        with pytest.raises(ValueError, match="leave rounds out"):
            theory.constant_ogd_bound(D, 1.0, lam, rounds=T)


LOWER_GAMES = [
    (0.9, 8, 1.0),
    (1.0, 9, 4.0),
    ([5.0, 0.5, 0.0, 1.5, 0.9, 1.0, 2.0, 0.7], 8, 0.3),
    (1.0, 1, 2.0),
    (1.0, 2, 2.0),  # Khintchine's inequality is an equality here
]


@pytest.mark.parametrize(("discounts", "T", "V"), LOWER_GAMES)
@pytest.mark.parametrize("comparator", [0.7, np.array([1.0, -2.0, 0.5])], ids=["number", "vector"])
@pytest.mark.parametrize("learner", ["free", "adagrad", "zero"])
def test_lower_bound_over_all_signs(discounts, T, V, comparator, learner):
    """The mean over all 2^T sign sequences reaches the bound, hence so does one of them; and V_T = V for each."""
    dim = None if np.ndim(comparator) == 0 else 3
    worst = []
    for signs in itertools.product([-1, 1], repeat=T):
        game = theory.RandomSigns(comparator, V, discounts, T, signs=signs)
        player = {
            "free": lambda: Algorithm3(3) if dim else Algorithm1(),
            "adagrad": lambda: GradientDescent("variance", 5.0, dim=dim),
            "zero": lambda: GradientDescent(0.0, 5.0, dim=dim),
        }[learner]()
        record = theory.play(player, game, game.discounts)
        assert record.statistics().V[-1] == pytest.approx(V, rel=1e-12)
        worst.append(max(record.regret(comparator), record.regret(-comparator)))
    bound = theory.lower_bound(comparator, V)
    assert game.bound == bound
    assert np.mean(worst) >= bound * (1 - 1e-12)
    assert max(worst) >= bound * (1 - 1e-12)
    if (T, learner) == (2, "zero"):
        assert np.mean(worst) == pytest.approx(bound, rel=1e-12)
