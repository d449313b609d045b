"""Learners that choose the discount themselves: the sum over a grid, the hedge, and coin betting over intervals."""

import itertools
import json
import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfi, gammaln

from wane import domains, learners, theory

GRID = (0.9, 0.99, 0.999, 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Streams: one that rewards a short memory and then betrays it, a constant, a slow drift, bursts
# ---------------------------------------------------------------------------------------------------------------------


def reward_and_betray(rounds):
    """Blocks of ten with one sign, over and over; then blocks in which the sign turns as soon as it is believed."""
    t = np.arange(rounds)
    return np.where(t < rounds // 2, np.where(t // 10 % 2, 1.0, -1.0), np.where(t // 3 % 2, 1.0, -1.0))


def constant(rounds):
    return np.full(rounds, -1.0)


def slow_drift(rounds):
    return -np.cos(np.arange(rounds) * (2.5 * np.pi / rounds))


def bursts(rounds):
    rng = np.random.default_rng(1)
    return np.where(np.arange(rounds) % 60 < 5, -1.0, 0.02) * rng.uniform(0.5, 1.0, size=rounds)


STREAMS = [reward_and_betray, constant, slow_drift, bursts]
on_streams = pytest.mark.parametrize("stream", STREAMS, ids=lambda s: s.__name__)


def turned(g, dim):
    """The same stream in R^d, along an axis that turns slowly."""
    if dim is None:
        return g
    angle = np.arange(len(g)) / 500.0
    return g[:, None] * np.stack([np.cos(angle), np.sin(angle), *[0.0 * angle] * (dim - 2)], axis=1)


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


# ---------------------------------------------------------------------------------------------------------------------
# The sum over a grid
# ---------------------------------------------------------------------------------------------------------------------


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


class Odd:
    """The odd learner, literally."""

    def __init__(self, eps, lam):
        self.eps, self.lam, self.v, self.s, self.h = eps, lam, 0.0, 0.0, 0.0

    def predict(self):
        s, h = abs(self.s), self.h
        if h == 0.0:
            return 0.0
        e = self.v + 2.0 * h * s + 16.0 * h * h
        z = s / (2.0 * math.sqrt(e))
        x = self.eps * (math.sqrt(math.pi) / 2.0 * erfi(z) - h / math.sqrt(e) * math.exp(z * z))
        return math.copysign(max(0.0, x), self.s)

    def update(self, g):
        clipped = min(max(g, -self.lam * self.h), self.lam * self.h)
        self.v = self.lam**2 * self.v + clipped**2
        self.s = self.lam * self.s - clipped
        self.h = max(self.lam * self.h, abs(g))


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


# ---------------------------------------------------------------------------------------------------------------------
# What is proved about it
# ---------------------------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------------------------
# The hedge
# ---------------------------------------------------------------------------------------------------------------------


class Bet:
    """Algorithm 1 with a hint of its own, scaled as in Algorithm 3, literally."""

    def __init__(self, lam):
        self.lam, self.v, self.s, self.h = lam, 0.0, 0.0, 0.0

    def free(self):
        if self.h == 0.0:
            return 0.0
        e = self.v + 2.0 * self.h * self.s + 16.0 * self.h**2
        z = self.s / (2.0 * math.sqrt(e))
        return math.sqrt(math.pi) / 2.0 * erfi(z) - self.h / math.sqrt(e) * math.exp(z * z)

    def predict(self):
        return max(0.0, self.free())

    def update(self, g, size):
        before, self.h = self.lam * self.h, max(self.lam * self.h, size)
        c = g * before / self.h if self.h > 0.0 else 0.0
        c = 0.0 if c > 0.0 and self.free_before < 0.0 else c
        self.v = self.lam**2 * self.v + c**2
        self.s = self.lam * self.s - c


def literal_hedge(targets, full):
    """Absolute losses; the played points."""
    experts, bets, played = [Odd(1.0, lam) for lam in GRID], [Bet(lam) for lam in GRID], []
    for target in targets:
        points = [expert.predict() for expert in experts]
        stakes = [bet.predict() for bet in bets]
        total = sum(stakes)
        x = sum(y / total * p for y, p in zip(stakes, points, strict=True)) if total > 0 else sum(points) / len(points)
        played.append(x)
        g = float(np.sign(x - target))
        regrets = [abs(x - target) - abs(p - target) if full else g * (x - p) for p in points]
        for expert, bet, p, r in zip(experts, bets, points, regrets, strict=True):
            bet.free_before = bet.free()
            bet.update(-r, max(map(abs, regrets)))
            expert.update(float(np.sign(p - target)) if full else g)
    return np.array(played)


@pytest.mark.parametrize("full", [False, True])
def test_the_hedge_literally(full):
    rng = np.random.default_rng(4)
    targets = np.repeat([1.0, -0.5, 3.0], 60) + 0.3 * rng.normal(size=180)
    learner, got = learners.DiscountHedge(discounts=GRID), []
    for target in targets:
        x = learner.predict()
        got.append(x)
        assert x == pytest.approx(float(learner.weights() @ learner.components()), rel=1e-12, abs=1e-15)
        assert learner.weights().sum() == pytest.approx(1.0) and (learner.weights() >= 0.0).all()
        if full:
            learner.update_with(theory.Absolute(target))
        else:
            learner.update(float(np.sign(x - target)))
    assert np.ptp(got) > 1.0 and np.ptp(learner.weights()) > 0.1
    np.testing.assert_allclose(got, literal_hedge(targets, full), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dim", [None, 2])
def test_linear_losses_are_what_update_takes_them_for(dim):
    g = turned(slow_drift(200) + 0.5 * reward_and_betray(200), dim)
    a, b = learners.DiscountHedge(dim, discounts=GRID), learners.DiscountHedge(dim, discounts=GRID)
    for gradient in g:
        a.update(gradient)
        b.update_with(theory.Linear(gradient if dim else float(gradient)))
        np.testing.assert_allclose(a.predict(), b.predict(), rtol=1e-6, atol=1e-9)


def test_a_bad_loss_leaves_the_hedge_alone():
    class Broken:
        def value(self, x):
            return math.nan

        def gradient(self, x):
            return 1.0

    learner = learners.DiscountHedge()
    learner.run([-1.0, 0.5, -1.0])
    before = json.dumps(learner.state_dict())
    with pytest.raises(ValueError, match="finite"):
        learner.update_with(Broken())
    with pytest.raises(ValueError, match="discount"):
        learner.update_with(theory.Absolute(1.0), discount=-1.0)
    with pytest.raises(TypeError, match=r"value\(x\)"):
        learner.update_with(1.0)
    assert json.dumps(learner.state_dict()) == before


def test_the_hedge_stays_in_its_domain():
    for domain in (domains.Ball(0.5), domains.Simplex(), domains.Nonnegative()):
        learner = learners.DiscountHedge(2, 5.0, GRID, domain=domain)
        for g in turned(reward_and_betray(300) - 0.2, 2):
            assert learner.predict() in domain
            learner.update(g)


# ---------------------------------------------------------------------------------------------------------------------
# Coin betting over intervals
# ---------------------------------------------------------------------------------------------------------------------


class Descent:
    """Gradient descent on [-1, 1] with the rate 2 / sqrt(t), literally."""

    def __init__(self):
        self.x, self.t = 0.0, 0

    def update(self, g):
        self.t += 1
        self.x = min(max(self.x - 2.0 / math.sqrt(self.t) * g, -1.0), 1.0)


def literal_cbce(gradients):
    """Every interval of the covering by name (first, last), rounds from 1; a dictionary of those that are awake."""
    copies, coins, wealth, played = {}, {}, {}, []
    for t, g in enumerate(gradients, start=1):
        awake = [(t // 2**j * 2**j, t // 2**j * 2**j + 2**j - 1) for j in range(t.bit_length())]
        for interval in awake:
            if interval[0] == t:
                copies[interval], coins[interval], wealth[interval] = Descent(), [], 1.0
        bets = {i: sum(coins[i]) / (t - i[0] + 1) * wealth[i] for i in awake}
        prior = {i: 1.0 / (i[0] ** 2 * (1 + math.floor(math.log2(i[0])))) for i in awake}
        stakes = {i: prior[i] * max(0.0, bets[i]) for i in awake}
        stakes = stakes if sum(stakes.values()) > 0.0 else prior
        x = sum(stakes[i] * copies[i].x for i in awake) / sum(stakes.values())
        played.append(x)
        for i in awake:
            r = g * (x - copies[i].x) / 2.0
            c = r if bets[i] > 0.0 else max(r, 0.0)
            coins[i].append(c)
            wealth[i] += c * bets[i]
            copies[i].update(g)
    return np.array(played)


def descent():
    return learners.GradientDescent(domain=domains.Ball(1.0), schedule="horizon")


@pytest.mark.parametrize(
    "memory", [{"wealth": [-1.0] * 4}, {"sums": [1e6] * 4}, {"rounds": -1}, {"rounds": 0.5}, {"copy_0": {}}], ids=str
)
def test_a_corrupted_memory_is_refused(memory):
    learner = learners.StronglyAdaptive(descent(), levels=4)
    learner.run([-1.0, 0.5, -1.0])
    state = learner.state_dict()
    assert learners.load(state).predict() == learner.predict()
    with pytest.raises(ValueError):
        learners.load({**state, "memory": {**state["memory"], **memory}})


@on_streams
def test_coin_betting_literally(stream):
    g = stream(300)
    np.testing.assert_allclose(
        learners.StronglyAdaptive(descent()).run(g), literal_cbce(g.tolist()), rtol=1e-9, atol=1e-12
    )


def test_the_copies_know_nothing_of_the_past_of_the_base():
    base = descent()
    base.run(-np.ones(50))
    want = learners.StronglyAdaptive(descent()).run(constant(40))
    assert learners.StronglyAdaptive(base).run(constant(40)).tobytes() == want.tobytes()


def test_coin_betting_says_when_its_assumptions_fail():
    learner = learners.StronglyAdaptive(learners.LinearFTRL(), diameter=1.0)
    before = json.dumps(learner.state_dict())
    with pytest.raises(ValueError, match=r"exceeds lipschitz=1\.0"):
        learner.update(1.5)
    assert json.dumps(learner.state_dict()) == before
    with pytest.raises(ValueError, match=r"further apart than diameter=1\.0"):
        learner.run([-1.0] * 20)
    assert json.dumps(learner.state_dict()) == before


@given(start=st.integers(0, 3000), length=st.integers(1, 3000), levels=st.sampled_from([1, 4, 24]))
def test_the_covering(start, length, levels):
    pieces = theory.covering(start, start + length, levels)
    assert pieces[0][0] == start and pieces[-1][1] == start + length
    assert all(a[1] == b[0] for a, b in itertools.pairwise(pieces))
    longest = 2 ** (levels - 1)
    for first, end in pieces:
        whole = min((first + 1) & -(first + 1), longest)  # the longest interval of the covering that starts here
        assert 1 <= end - first <= whole
    sizes = [end - first for first, end in pieces[:-1]]
    if length < longest:
        assert all(b >= 2 * a for a, b in itertools.pairwise(sizes))
        assert len(pieces) <= 2 + math.log2(length)


def test_krichevsky_and_trofimov_from_below():
    """Step 4 of the proof of ``strongly_adaptive_bound``."""
    for n in (1, 2, 3, 10, 100, 1000, 100_000):
        x = np.linspace(-n, n, 201)
        log_f = n * math.log(2.0) + gammaln((n + 1 + x) / 2) + gammaln((n + 1 - x) / 2) - math.log(math.pi)
        log_f -= gammaln(n + 1)
        slack = log_f - (x**2 / (2 * n) - 0.5 * math.log(n + 1) - 0.5 * math.log(math.pi / 2) - 0.125)
        assert slack.min() >= -1e-6 and slack.min() < 0.2


@pytest.mark.parametrize("against", [None, 1, 3, -1])
@on_streams
def test_the_regret_to_every_copy_keeps_the_bound_of_betting(stream, against):
    """The bound with a base that is for free; and step 2 of its proof: the priors bound the wealth.

    With ``against``, gradients turn against the mixture and favour the copy of that level.
    """
    rounds = 256
    g, learner = stream(rounds), learners.StronglyAdaptive(descent())
    regret, worst = np.zeros(24), 0.0
    for t in range(rounds):
        copies, x = learner.components(), learner.predict()
        if against is not None and against < len(copies) and x != copies[against]:
            g[t] = math.copysign(1.0, x - copies[against])
        starts = [(t + 1) % 2**j == 0 for j in range(len(copies))]
        regret[: len(copies)] = np.where(starts, 0.0, regret[: len(copies)]) + g[t] * (x - copies)
        for j in range(len(copies)):
            born = (t + 1) // 2**j * 2**j - 1
            bound = theory.strongly_adaptive_bound(born, t + 1, 2.0, 1.0, lambda n: 0.0)
            assert len(theory.covering(born, t + 1)) == 1 and regret[j] <= bound
            worst = max(worst, regret[j] / bound)
        learner.update(g[t])
        first = [(t + 2) // 2**j * 2**j for j in range((t + 2).bit_length())]
        assert sum(learner.wealth[j] / (b**2 * b.bit_length()) for j, b in enumerate(first)) <= math.pi**2 / 6
    assert worst > (0.03 if against is None else 0.1)


@pytest.mark.parametrize("levels", [24, 5])
@on_streams
def test_coin_betting_keeps_its_bound_on_every_interval(stream, levels):
    rounds = 160
    g = stream(rounds)
    x = learners.StronglyAdaptive(descent(), levels=levels).run(g)
    worst = 0.0
    for start in range(0, rounds, 7):
        for stop in range(start + 1, rounds + 1, 5):
            bound = theory.strongly_adaptive_bound(
                start, stop, 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n), levels=levels
            )
            regret = float((g * x)[start:stop].sum() + abs(g[start:stop].sum()))  # against the better end of [-1, 1]
            assert regret <= bound
            worst = max(worst, regret / bound)
    assert worst > 0.03


@given(g=st.lists(st.sampled_from([-1.0, 1.0, 0.0, 0.3]), min_size=1, max_size=40), start=st.integers(0, 39))
def test_coin_betting_keeps_its_bound_on_any_gradients(g, start):
    start %= len(g)
    x = learners.StronglyAdaptive(descent(), levels=6).run(g)[start:]
    bound = theory.strongly_adaptive_bound(start, len(g), 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n), levels=6)
    assert float(np.dot(g[start:], x)) + abs(sum(g[start:])) <= bound


@on_streams
def test_coin_betting_keeps_the_discounted_bound_for_every_discount(stream):
    rounds = 200
    g = stream(rounds)
    x = learners.StronglyAdaptive(descent()).run(g)
    bounds = [
        theory.strongly_adaptive_bound(t, rounds, 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n))
        for t in range(rounds)
    ]
    for lam in (0.5, 0.9, 0.99, 1.0):
        for u in (-1.0, 0.0, 0.4, 1.0):
            regret = theory.discounted_regret(g * x, g * u, lam)
            assert regret <= theory.interval_regrets_to_discounted(bounds, lam)
