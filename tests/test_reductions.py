"""Learners made of learners, the schedules of gradient descent, and errors that leave the state alone."""

import copy
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import Halved

from wane import domains, learners
from wane.learners import Learner
from wane.learners.constrained import surrogate

DIMS = (1, 2, 3, 4)


def full_state(learner):
    return json.dumps(learner.state_dict())


def stream(seed, rounds, dim=None):
    """Gradients with a drift, of changing size, and discounts below, at and above 1."""
    rng = np.random.default_rng([seed, dim or 0])
    shape = rounds if dim is None else (rounds, dim)
    g = rng.normal(size=shape) - 0.5 * rng.normal(size=() if dim is None else dim)
    g *= 10.0 ** rng.uniform(-1, 1, size=rounds if dim is None else (rounds, 1))
    return g, rng.choice([0.5, 0.9, 0.99, 1.0, 1.1], p=[0.05, 0.2, 0.3, 0.3, 0.15], size=rounds)


class Spy(Learner):
    """Discounted gradient descent in plain Python, which writes down what it was sent."""

    parameters = ("rate", "discount", "dim")
    memory = ("x",)

    def __init__(self, rate=0.7, discount=1.0, dim=None):
        super().__init__(discount, dim)
        self.rate = rate
        self.x = 0.0 if dim is None else np.zeros(dim)
        self.seen = []

    def _predict(self):
        return self.x

    def _update(self, gradient, discount):
        self.seen.append((np.copy(gradient), discount))
        self.x = discount * self.x - self.rate * gradient


DOMAINS = {
    "ball": lambda d: domains.Ball(1.5),
    "ball off 0": lambda d: domains.Ball(1.0, np.linspace(1.0, 2.0, d)),
    "box": lambda d: domains.Box(np.linspace(-1.0, -0.2, d), np.linspace(0.5, 1.0, d)),
    "open box": lambda d: domains.Box([-1.0] * d, [math.inf] * d),
    "simplex": lambda d: domains.Simplex(2.0),
    "half space": lambda d: domains.HalfSpace(np.linspace(1.0, -0.5, d), 0.3),
    "half space off 0": lambda d: domains.HalfSpace(np.linspace(-1.0, 2.0, d), -0.5),
    "nonnegative": lambda d: domains.Nonnegative(),
    "a user's": lambda d: Halved(),
}
in_every_domain = pytest.mark.parametrize("name", DOMAINS)


def members(name, dim, rng, count=30):
    """Points of the domain, near its corner and far away."""
    domain = domains.as_domain(DOMAINS[name](dim))
    return np.array(
        [domain.project(x) for x in 10.0 ** rng.uniform(-1, 1.5, (count, 1)) * rng.normal(size=(count, dim))]
    )


@in_every_domain
@pytest.mark.parametrize("dim", DIMS)
def test_the_surrogate_gradient_keeps_its_promise(name, dim):
    """|g~| <= |g| and <g, x - u> <= <g~, x~ - u> for every member u, on what the inner learner really received."""
    changed = 0
    for seed in range(3):
        g, lam = stream(seed, 120, dim)
        inner = Spy(dim=dim)
        outer = learners.Constrained(inner, DOMAINS[name](dim))
        project = domains.as_domain(DOMAINS[name](dim)).project
        rng = np.random.default_rng(seed)
        for t in range(len(g)):
            free = copy.deepcopy(outer.learner).predict()
            x = outer.predict()
            assert x.tobytes() == project(free).tobytes()
            outer.update(g[t], lam[t])
            sent, discount = inner.seen[t]
            assert discount == lam[t] and len(inner.seen) == t + 1
            length, gap = np.linalg.norm(g[t]), np.linalg.norm(free - x)
            assert np.linalg.norm(sent) <= length * (1 + 1e-15)
            # the direction of free - x is known up to the rounding of free and x
            blurred = 1e-15 * (1.0 + np.linalg.norm(free) / gap) if gap > 0.0 else 0.0
            for u in members(name, dim, rng, 8):
                room = (1e-13 + blurred) * length * (np.linalg.norm(x - u) + np.linalg.norm(free - u))
                assert g[t] @ (x - u) <= sent @ (free - u) + room
            if g[t] @ (free - x) >= 0.0:
                assert sent.tobytes() == g[t].tobytes()
            else:
                changed += 1
                assert abs(sent @ (free - x)) <= (1e-13 + blurred) * length * gap
    assert changed > 10 or dim == 1


@in_every_domain
@pytest.mark.parametrize("dim", DIMS)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_surrogate_by_its_formula(name, dim, seed):
    rng = np.random.default_rng(seed)
    domain = domains.as_domain(DOMAINS[name](dim))
    free, g = 3.0 * rng.normal(size=dim), rng.normal(size=dim)
    x = domain.project(free)
    out = np.empty(dim)
    surrogate(g.data, free.data, x.data, out.data)
    gap = free - x
    want = g if g @ gap >= 0.0 or not gap.any() else g - (g @ gap) / (gap @ gap) * gap
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-9)
    surrogate(g.data, free.data, x.data, x.data)  # in place
    assert x.tobytes() == out.tobytes()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([1.0, -1.0, 0.0, 1e-200, -1e200, 5e-324]) | st.floats(-1e3, 1e3),
            st.sampled_from([0.0, 0.5, 1.0, 1.5]),
        ),
        max_size=40,
    )
)
def test_on_the_half_line_the_reduction_is_line_7(rounds):
    """The inner learner is sent 0 when it is below 0 and would be sent further down, and otherwise g itself."""
    inner = Spy(rate=1.0)
    outer = learners.Constrained(inner, domains.Nonnegative())
    for g, lam in rounds:
        free = inner.x
        assert outer.predict() == max(free, 0.0)
        outer.update(g, lam)
        sent, _ = inner.seen[-1]
        assert sent == (0.0 if free < 0.0 and g > 0.0 else g)


@pytest.mark.parametrize("dim", [1, 3])
@in_every_domain
def test_the_adaptive_learner_on_a_domain_is_the_reduction(name, dim):
    """Built in or by Constrained around the same center: the same game."""
    g, lam = stream(7, 200, dim)
    built_in = learners.AdaptiveLearner(dim, domain=DOMAINS[name](dim))
    reduced = learners.Constrained(learners.AdaptiveLearner(dim, center=built_in.center), DOMAINS[name](dim))
    assert built_in.run(g, lam).tobytes() == reduced.run(g, lam).tobytes()
    assert built_in.unprojected().tobytes() == reduced.learner.predict().tobytes()


def test_constrained_plays_in_the_domain():
    for name, make in DOMAINS.items():
        for dim in DIMS:
            g, lam = stream(1, 150, dim)
            domain = domains.as_domain(make(dim))
            x = learners.Constrained(learners.CoinBetting(1.0, 1e3, dim=dim), make(dim)).run(g, np.minimum(lam, 1.0))
            assert all(p in domain for p in x), name
            assert len(np.unique(x, axis=0)) > 5 or dim == 1, name


CENTERED = {
    "linear": lambda d: learners.LinearFTRL(0.3, 0.9, dim=d),
    "coin": lambda d: learners.CoinBetting(1.0, 1e4, 0.9, dim=d),
    "adagrad": lambda d: learners.AdaGrad(1.0, dim=d),
    "python": lambda d: Spy(dim=d),
}


@pytest.mark.parametrize("name", CENTERED)
@pytest.mark.parametrize("dim", [None, 1, 3])
def test_centered_shifts_exactly(name, dim):
    g, lam = stream(2, 100, dim)
    center = 2.25 if dim is None else np.linspace(-1.5, 8.0, dim)
    lam = np.minimum(lam, 1.0)
    plain = CENTERED[name](dim).run(g, lam)
    assert (learners.Centered(CENTERED[name](dim), center).run(g, lam) == plain + center).all()
    forgetting = learners.Centered(learners.LinearFTRL(0.3, dim=dim), center)
    forgetting.run(g)
    forgetting.update(0.0 * g[0], 0.0)
    assert np.all(forgetting.predict() == center)


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


def test_the_adaptive_learner_returns_from_huge_gradients():
    """Powers of two that take the gradients past 2^768. In a process of its own: an endless loop cannot be stopped."""
    code = """
import numpy as np
from wane.learners import AdaptiveLearner
g = np.array([[1.5, 0.0], [3.6, 0.3], [-1.6, 9.0], [1.0, 1.0]])
for k in range(700, 990):
    assert AdaptiveLearner(2).run(np.ldexp(g, k)).tobytes() == AdaptiveLearner(2).run(g).tobytes(), k
"""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail("it does not return")
    assert done.returncode == 0, done.stderr


def test_rescaled_refuses_a_product_that_ends_though_the_weight_does_not():
    for g, lam in ((1e200, 1e-150), (1e-200, 1e150)):
        rescaled = learners.Rescaled(learners.MagnitudeLearner())
        rescaled.run([g, g], [1.0, 1.0])
        before = full_state(rescaled)
        with pytest.raises(OverflowError):
            rescaled.update(g, lam)
        assert full_state(rescaled) == before


class Project:
    """The projection of another domain, as a user's object; in one round it fails."""

    def __init__(self, domain, failure=None, after=math.inf):
        self.domain, self.failure, self.left = domain, failure, after

    def project(self, x):
        self.left -= 1
        if self.left < 0:
            if isinstance(self.failure, Exception):
                raise self.failure
            return np.full(len(x), self.failure)
        return self.domain.project(x)


WITH_DOMAIN = {
    "adagrad": lambda dim, domain: learners.AdaGrad(2.0, 0.9, dim=dim, domain=domain),
    "adaptive": lambda dim, domain: learners.AdaptiveLearner(dim, 1.0, 0.9, domain=domain),
    "constrained": lambda dim, domain: learners.Constrained(learners.LinearFTRL(0.2, 0.9, dim=dim), domain),
    "descent": lambda dim, domain: learners.GradientDescent(0.2, 0.9, dim=dim, domain=domain),
}
with_domain = pytest.mark.parametrize("kind", WITH_DOMAIN)


@with_domain
@in_every_domain
def test_a_users_domain_equals_the_built_in_one(kind, name):
    for dim in (1, 3):
        g, lam = stream(5, 150, dim)
        mine, built_in = (
            WITH_DOMAIN[kind](dim, d)
            for d in (Project(domains.as_domain(DOMAINS[name](dim))), domains.as_domain(DOMAINS[name](dim)))
        )
        want = built_in.run(g, lam)
        assert mine.run(g, lam).tobytes() == want.tobytes()
        assert mine.state_dict()["memory"] == built_in.state_dict()["memory"]


@with_domain
@pytest.mark.parametrize("failure", [KeyError("lost"), math.nan, math.inf], ids=repr)
def test_a_domain_that_fails_leaves_the_learner_as_it_was(kind, failure):
    dim = 3
    g, lam = stream(6, 60, dim)
    for t in (0, 1, 2, 17):
        domain = Project(domains.Ball(1.0), failure)
        learner = WITH_DOMAIN[kind](dim, domain)
        learner.run(g[:t], lam[:t])
        before = full_state(learner)
        domain.left = 0
        with pytest.raises((KeyError, ValueError), match=r"lost|finite"):
            learner.update(g[t], lam[t])
        assert full_state(learner) == before
        domain.left = 20  # projections from now on
        with pytest.raises((KeyError, ValueError), match=r"in round [1-9]"):
            learner.run(g[t : t + 40], lam[t : t + 40])
        assert full_state(learner) == before
        domain.left = math.inf
        sound = WITH_DOMAIN[kind](dim, domains.Ball(1.0))
        assert learner.run(g[t:], lam[t:]).tobytes() == sound.run(g, lam)[t:].tobytes()


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_the_constant_rate_of_gradient_descent(discount):
    """D sqrt(1 - lambda^2) / G, Theorem "ogd", second part."""
    for D, G in ((2.0, 1.0), (0.5, 3.0)):
        learner = learners.GradientDescent(diameter=D, lipschitz=G, discount=discount, start=0.25)
        eta = D * math.sqrt(1.0 - discount**2) / G
        assert learner.rate == pytest.approx(eta, rel=1e-14)
        g, lam = stream(8, 50)
        want = 0.25 - eta * np.concatenate([[0.0], np.cumsum(g)[:-1]])
        np.testing.assert_allclose(learner.run(g, lam), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [None, 2])
def test_the_horizon_schedule_of_gradient_descent(dim):
    """D / (G sqrt(H_t)) with H_t = lambda_{t-1}^2 H_{t-1} + 1, first part; a discount of 0 starts H anew."""
    D, G = 3.0, 2.0
    g, lam = stream(9, 100, dim)
    lam[[20, 60]] = 0.0
    x = 0.0 * g[0]
    learner = learners.GradientDescent(dim=dim, schedule="horizon", diameter=D, lipschitz=G)
    played = learner.run(g, lam)
    for t in range(len(g)):
        np.testing.assert_allclose(played[t], x, rtol=1e-12, atol=1e-12)
        ages = np.cumprod(np.concatenate([[1.0], lam[t:0:-1]]))  # lambda_t, lambda_t lambda_{t-1}, ...
        x = x - D / (G * math.sqrt(math.fsum(ages**2))) * g[t]
    assert learner.rate is None


@in_every_domain
@pytest.mark.parametrize("schedule", ["constant", "horizon"])
def test_gradient_descent_stays_in_the_domain(name, schedule):
    for dim in DIMS:
        g, lam = stream(10, 80, dim)
        domain = domains.as_domain(DOMAINS[name](dim))
        learner = learners.GradientDescent(dim=dim, discount=0.9, schedule=schedule, diameter=2.0, domain=domain)
        x = learner.run(g, lam)
        assert all(p in domain for p in x)
        assert (x[0] == domain.project(np.zeros(dim))).all()


def test_gradient_descent_refuses_an_extreme_rate_of_its_own():
    with pytest.raises(ValueError, match="the rate from diameter and lipschitz"):
        learners.GradientDescent(diameter=1e-100, lipschitz=1e100, discount=0.5)


@pytest.mark.parametrize("dim", DIMS)
def test_the_center_of_the_adaptive_learner_is_a_shift(dim):
    for seed in range(4):
        g, lam = stream(seed, 200, dim)
        center = np.random.default_rng(seed).normal(size=dim)
        plain = learners.AdaptiveLearner(dim).run(g, lam)
        shifted = learners.AdaptiveLearner(dim, center=center).run(g, lam)
        np.testing.assert_allclose(shifted, center + plain, rtol=1e-12, atol=1e-12)
        centered = learners.Centered(learners.AdaptiveLearner(dim), center).run(g, lam)
        assert centered.tobytes() == shifted.tobytes()
        assert np.abs(plain).max() > 0.01


@pytest.mark.parametrize("dim", DIMS)
def test_a_restart_plays_exactly_the_center(dim):
    """Forgetting the data is not forgetting the prior."""
    center = np.linspace(0.1, 0.7, dim)
    for domain in (None, domains.Ball(2.0), domains.Box([0.0] * dim, [0.9] * dim), domains.Nonnegative()):
        for zero in (False, True):
            learner = learners.AdaptiveLearner(dim, center=center, domain=domain)
            learner.run(np.full((60, dim), -1.0))
            assert np.abs(learner.predict() - center).max() > 0.05
            learner.update(np.zeros(dim) if zero else np.ones(dim), discount=0.0)
            assert learner.predict().tobytes() == center.tobytes()
            assert learner.unprojected().tobytes() == center.tobytes()
            learner.update(-np.ones(dim))
            assert np.isfinite(learner.predict()).all()


CURES = ("discounts of at most 1", "smaller gradients", "AdaptiveLearner")
OVERFLOWING = {
    "linear": lambda d: learners.LinearFTRL(0.5, 2.0, dim=d),
    "exponential": lambda d: learners.ExponentialPotential(1.0, 1.0, 2.0, dim=d),
    "coin": lambda d: learners.CoinBetting(1.0, 1.0, 2.0, dim=d),
    "regularized": lambda d: learners.RegularizedGradientDescent(0.5, discount=2.0, dim=d),
    "user's": lambda d: learners.FTRL(lambda s, v, h: s / (1.0 + v), 2.0, dim=d),
}


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("name", OVERFLOWING)
def test_discounts_above_one_end_in_an_error(name, dim):
    """Finite predictions until then, the state untouched, in update and in run; a restart goes on."""
    learner = OVERFLOWING[name](dim)
    one = -0.5 if dim is None else np.array([-0.5, 0.25])
    with pytest.raises(OverflowError) as caught:
        rounds = 0
        while rounds < 2000:
            assert np.isfinite(learner.predict()).all()
            before = full_state(learner)
            learner.update(one)
            rounds += 1
    assert rounds > 30
    assert full_state(learner) == before and np.isfinite(learner.predict()).all()
    assert all(cure in str(caught.value) for cure in CURES)
    again = OVERFLOWING[name](dim)
    with pytest.raises(OverflowError, match=f"in round {rounds}: "):
        again.run(np.array([one] * 2000))
    assert again.state_dict()["memory"] == OVERFLOWING[name](dim).state_dict()["memory"]
    learner.update(one, 0.0)
    learner.update(one, 1.0)
    assert np.isfinite(learner.predict()).all()


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("name", ["linear", "exponential", "regularized", "user's"])
def test_gradients_too_large_are_an_error(name, dim):
    learner = OVERFLOWING[name](dim)
    learner.update(1.0 if dim is None else [1.0, 1.0])
    before = full_state(learner)
    huge = -1.7e308 if dim is None else [-1e300, 0.0]
    with pytest.raises(OverflowError) as caught:
        for discount in (1.0, 1.0, *[1e5] * 100):
            before = full_state(learner)
            learner.update(huge, discount)
    assert full_state(learner) == before
    assert all(cure in str(caught.value) for cure in CURES)


@pytest.mark.parametrize("dim", [None, 2])
@pytest.mark.parametrize("size", [1.0 + 1e-13, 2.0, 1e300])
def test_a_coin_that_is_too_large_is_an_error(dim, size):
    learner = learners.CoinBetting(dim=dim)
    learner.update(-1.0 if dim is None else [0.6, -0.8])
    before = full_state(learner)
    with pytest.raises(ValueError, match="larger lipschitz") as caught:
        learner.update(size if dim is None else [0.0, size])
    assert "MagnitudeLearner" in str(caught.value)
    assert full_state(learner) == before
    learner.update(-1.0 if dim is None else [0.0, 1.0])


@pytest.mark.parametrize("dim", [None, 2])
def test_linear_ftrl_never_plays_infinity(dim):
    learner = learners.LinearFTRL(1e10, dim=dim)
    try:
        learner.update(-1e300 if dim is None else [-1e300, 0.0])
    except OverflowError:
        pass
    assert np.isfinite(learner.predict()).all()


extreme = st.sampled_from([0.0, 1.0, -1.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324]) | st.floats(-1e3, 1e3)
any_discount = st.sampled_from([0.0, 5e-324, 0.5, 0.99, 1.0, 1.001, 2.0, 1e300]) | st.floats(0.0, 3.0)


@given(st.lists(st.tuples(extreme, any_discount), max_size=60), st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_sum_of_the_magnitude_learner_is_never_negative(rounds, epsilon):
    learner = learners.MagnitudeLearner(epsilon)
    for g, lam in rounds:
        positive = learner.x >= 0.0 and learner.h.mantissa > 0.0
        assert learner.a >= (2.0 - 1e-12 if positive else 0.0)  # step 1 of the proof of theory.base_undiscounted_bound
        learner.update(g, lam)
        assert learner.a >= 0.0 and learner.b >= 0.0
        assert not math.isfinite(learner.h.value) or learner.statistics[1] >= 0.0


def test_statistics_that_overflow_are_not_nan():
    learner = learners.MagnitudeLearner()
    learner.run([1e300, 0.0], [1.0, 1e300])
    assert learner.statistics == (0.0, 0.0, math.inf)


@pytest.mark.parametrize("lure", [-1.0, -0.3, -1e5])
def test_the_sum_stays_up_when_the_world_turns(lure):
    """Long lures, then pushes as hard as the hint allows: the sum falls to the zero of the rule and stops there."""
    learner = learners.MagnitudeLearner()
    for n in (1, 3, 10, 100, 1000):
        learner.run([lure] * n)
        for discount in (1.0, 1.3, 0.9):
            for _ in range(2 * n):
                learner.update(learner.h.value, discount)
                assert learner.a >= 0.0


@given(
    st.lists(
        st.tuples(
            st.floats(-100.0, 100.0).map(lambda x: round(x, 3)), st.sampled_from([0.0, 0.3, 0.9, 0.99, 1.0, 1.2])
        ),
        min_size=1,
        max_size=40,
    )
)
def test_statistics_are_those_of_algorithm_1(rounds):
    """Lines 6 to 8 as printed; only the sign of the unprojected prediction is taken from the learner."""
    learner = learners.MagnitudeLearner(0.7)
    v = s = h = 0.0
    for g, lam in rounds:
        below = learner.x < 0.0
        learner.update(g, lam)
        clipped = min(max(g, -lam * h), lam * h)
        h = max(lam * h, abs(g))
        if clipped > 0.0 and below:
            clipped = 0.0
        v, s = lam * lam * v + clipped * clipped, lam * s - clipped
        assert learner.statistics == pytest.approx((v, s, h), rel=1e-11, abs=1e-11 * h)
