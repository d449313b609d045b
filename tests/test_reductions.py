"""Learners made of learners: constraints by the surrogate gradient, shifts of the centre, domains of a user's own."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reduction_cases import DIMS, DOMAINS, Spy, full_state, in_every_domain, stream

from wane import domains, learners
from wane.learners.constrained import surrogate


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
        with pytest.raises((KeyError, ValueError), match=r"(in round|row) [1-9]"):
            learner.run(g[t : t + 40], lam[t : t + 40])
        assert full_state(learner) == before
        domain.left = math.inf
        sound = WITH_DOMAIN[kind](dim, domains.Ball(1.0))
        assert learner.run(g[t:], lam[t:]).tobytes() == sound.run(g, lam)[t:].tobytes()


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
