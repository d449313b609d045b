"""What is proved about the sum over a grid: identities of discounted regret, and its bound at every discount."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from multiscale_games import GRID, on_streams, turned
from scipy.special import erfi

from wane import domains, learners, theory


def with_components(learner, gradients):
    """Predictions, and what each learner of the grid plays, before each gradient."""
    xs, parts = [], []
    for g in gradients:
        xs.append(learner.predict())
        parts.append(learner.components())
        learner.update(g)
    return np.array(xs), np.array(parts)


def lost(gradients, points):
    """<g_t, x_t>; x may be one point."""
    return np.sum((gradients * points).reshape(len(gradients), -1), axis=1)


numbers = st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=40)
factors = st.sampled_from([0.0, 0.3, 0.9, 1.0])


@given(r=numbers, data=st.data())
def test_change_of_discount_is_an_identity(r, data):
    def some(label):
        return data.draw(st.lists(factors, min_size=len(r), max_size=len(r)), label)

    own, wanted = some("own"), some("wanted")
    path = theory.discounted_regret_path(r, np.zeros(len(r)), own)
    direct = theory.discounted_regret(r, np.zeros(len(r)), wanted)
    assert theory.change_of_discount(path, own, wanted) == pytest.approx(direct, rel=1e-9, abs=1e-8)


@given(r=numbers, data=st.data())
def test_regret_on_intervals_is_discounted_regret(r, data):
    lam = data.draw(factors | st.lists(factors, min_size=len(r), max_size=len(r)))
    suffixes = np.cumsum(r[::-1])[::-1]
    direct = theory.discounted_regret(r, np.zeros(len(r)), lam)
    assert theory.interval_regrets_to_discounted(suffixes, lam) == pytest.approx(direct, rel=1e-9, abs=1e-8)


def test_a_root_on_intervals_is_a_root_of_the_window():
    for lam in (0.5, 0.9, 0.99):
        roots = np.sqrt(np.arange(2000, 0, -1.0))
        bound = theory.interval_regrets_to_discounted(roots, lam)
        assert 0.85 / math.sqrt(1.0 - lam) < bound <= 1.0 / math.sqrt(1.0 - lam)
    assert theory.interval_regrets_to_discounted([], 0.5) == 0.0


COMPARATORS = (-1e4, -50.0, -1.0, -0.1, 0.0, 0.3, 2.0, 100.0, 1e6)


@on_streams
@pytest.mark.parametrize("lam", [1.0, 0.98, 0.9])
def test_the_odd_learner_keeps_the_bound_of_algorithm_1(stream, lam):
    for scale in (np.ones(200), 10.0 ** (np.arange(200) / 40.0)):  # growing gradients: clipping errors count
        g = stream(200) * scale
        x = learners.OddMagnitudeLearner(0.7, lam).run(g)
        for u in (*COMPARATORS, float(x.max()), float(x.min())):
            regret = theory.discounted_regret(g * x, g * u, lam)
            bound = theory.odd_bound(u, g, x, lam, 0.7)
            assert regret <= bound + 1e-9 * np.abs(g * x).sum()


def test_the_odd_learner_keeps_its_one_step_inequality():
    """The heart of the proof of ``odd_bound``: Psi(v + c^2, s - c) <= Psi(v, s) - c x, at random places."""

    def phi(v, s):  # h = 1, epsilon = 1
        root = math.sqrt(v + 2.0 * s + 16.0)
        return float(reference.potential(v, s, 1, 1)) if root else 0.0

    def rule(v, s):
        e = v + 2.0 * s + 16.0
        z = s / (2.0 * math.sqrt(e))
        return math.sqrt(math.pi) / 2.0 * erfi(z) - math.exp(z * z) / math.sqrt(e)

    def lowest(v):
        low, high = 0.0, 100.0
        for _ in range(60):
            low, high = (0.5 * (low + high), high) if rule(v, 0.5 * (low + high)) < 0.0 else (low, 0.5 * (low + high))
        return high

    def psi(v, s):
        return phi(v, max(abs(s), lowest(v)))

    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(150):
        v = float(rng.choice([0.0, 0.5, 5.0, 50.0]))
        s = float(rng.uniform(-1.0, 1.0) * rng.choice([1.0, 5.0, 20.0]))
        c = float(rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)]))
        x = math.copysign(max(0.0, rule(v, abs(s))), s)
        gaps.append(psi(v, s) - c * x - psi(v + c * c, s - c))
    assert min(gaps) >= -1e-9 and max(gaps) > 1e-3


@pytest.mark.parametrize("dim", [None, 2])
@on_streams
def test_the_sum_keeps_its_bound_at_every_discount(stream, dim):
    g = turned(stream(250), dim)
    x, parts = with_components(learners.MultiscaleLearner(dim, 1.0, GRID), g)
    some = [*COMPARATORS, float(np.abs(x).max())]
    axis = 1.0 if dim is None else np.eye(dim)[0]
    worst = 0.0
    for k, lam in enumerate(GRID):
        for u in some:
            point = u * axis
            regret = theory.discounted_regret(lost(g, x), lost(g, point), lam)
            bound = theory.multiscale_bound(point, g, parts, GRID, k)
            assert regret <= bound + 1e-9 * np.abs(lost(g, x)).sum()
            assert bound <= theory.multiscale_bound(point, g, parts, GRID, k, anchors=0.0 * parts[0])
            worst = max(worst, regret / bound)
    assert worst > 0.05


@pytest.mark.parametrize("domain", [domains.Ball(1.5), domains.Box(-0.2, 3.0)], ids=repr)
@on_streams
def test_the_sum_keeps_its_bound_in_a_domain_and_with_more_discounts(stream, domain):
    g = turned(stream(250), 2)
    extra = np.where(np.arange(250) % 90 == 89, 0.3, 1.0)
    learner = learners.MultiscaleLearner(2, 1.0, GRID, center=[0.5, 0.0], domain=domain)
    xs, parts = [], []
    for gradient, factor in zip(g, extra, strict=True):
        xs.append(learner.predict())
        parts.append(learner.components())
        learner.update(gradient, factor)
    rng = np.random.default_rng(0)
    for u in [domain.project(size * rng.normal(size=2)) for size in (0.1, 1.0, 100.0, 100.0)]:
        for k, lam in enumerate(GRID):
            regret = theory.discounted_regret(lost(g, np.array(xs)), lost(g, u), lam * extra)
            assert regret <= theory.multiscale_bound(u - [0.5, 0.0], g, parts, GRID, k, extra) + 1e-9 * 250.0


@given(data=st.data())
def test_the_sum_keeps_its_bound_on_any_gradients(data):
    g = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0, 0.0, 1e3, -1e-3]), min_size=1, max_size=60)))
    x, parts = with_components(learners.MultiscaleLearner(None, 1.0, (0.7, 0.95, 1.0)), g)
    u = data.draw(st.floats(-1e3, 1e3))
    for k, lam in enumerate((0.7, 0.95, 1.0)):
        regret = theory.discounted_regret(g * x, g * u, lam)
        assert regret <= theory.multiscale_bound(u, g, parts, (0.7, 0.95, 1.0), k) + 1e-9 * np.abs(g * x).sum()


def test_where_the_slow_ones_stand_costs_only_what_they_move():
    """After a long constant stream that turns: the fast learner is charged u - (where the slow ones are)."""
    g = np.concatenate([-np.ones(120), np.tile([-1.0, 1.0], 20)])
    grid = (0.9, 1.0)
    _, parts = with_components(learners.MultiscaleLearner(None, 1.0, grid), g)
    stands = float(parts[-1, 1])
    anchored = theory.multiscale_bound(stands, g, parts, grid, 0)
    assert stands > 10.0 and anchored < 0.2 * theory.multiscale_bound(stands, g, parts, grid, 0, anchors=[0.0, 0.0])


def test_a_fast_learner_can_be_robbed_for_ever():
    """Six up, six down: the loss of the sum is linear in the number of rounds, as the price in its bound is."""

    def loss(rounds):
        g = np.where(np.arange(rounds) // 6 % 2 == 0, -1.0, 1.0)
        return float(g @ learners.MultiscaleLearner(discounts=(0.9, 1.0)).run(g))

    few, many = loss(4000), loss(16000)
    assert few > 20.0 and many > 3.4 * few
