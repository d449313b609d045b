"""Projections: nearest points of closed convex sets, against their definition and against other methods."""

import copy
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from wane import domains, learners
from wane.domains import Ball, Box, Custom, Domain, HalfSpace, Nonnegative, Simplex

INF = math.inf
DIMS = (1, 2, 3, 4, 5, 6, 50)


def wave(dim, low, high, shift=0.0):
    """Different numbers between low and high, one a coordinate."""
    return low + (high - low) * (0.5 + 0.5 * np.sin(1.7 * np.arange(dim) + shift))


def infinite_box(dim):
    low, high = wave(dim, -2.0, -0.5), wave(dim, 0.0, 1.5)
    low[::2], high[::3] = -INF, INF
    return Box(low, high)


CASES = {
    "ball": lambda d: Ball(),
    "small ball": lambda d: Ball(0.3),
    "centered ball": lambda d: Ball(2.5, wave(d, -2.0, 3.0)),
    "far ball": lambda d: Ball(0.5, wave(d, 10.0, 20.0)),
    "scalar box": lambda d: Box(-1.0, 0.5),
    "box": lambda d: Box(wave(d, -2.0, -0.5), wave(d, -0.5, 1.5, 1.0)),
    "half infinite box": infinite_box,
    "flat box": lambda d: Box(wave(d, 0.0, 1.0), wave(d, 0.0, 1.0)),
    "mixed box": lambda d: Box(0.0, wave(d, 0.1, 2.0)),
    "simplex": lambda d: Simplex(),
    "large simplex": lambda d: Simplex(7.5),
    "half space": lambda d: HalfSpace(wave(d, -1.0, 2.0, 0.5), 0.7),
    "half space off 0": lambda d: HalfSpace(wave(d, -3.0, 1.0, 0.5), -2.0),
    "nonnegative": lambda d: Nonnegative(),
}
ROOMY = [name for name in CASES if "simplex" not in name]  # sets whose inner points the projection does not touch

each = pytest.mark.parametrize("name", CASES)
dims = st.sampled_from(DIMS)
seeds = st.integers(0, 2**32 - 1)
scales = st.sampled_from([1e-3, 0.3, 1.0, 3.0, 30.0])
coordinate = st.sampled_from([0.0, 0.5, -0.5, 1.0, -1.0, 0.3]) | st.floats(-5.0, 5.0)


def limits(box, dim):
    return (np.broadcast_to(np.asarray(limit, dtype=float), (dim,)) for limit in (box.lower, box.upper))


def members(domain, dim, rng, count):
    """Points of the set, a third of them on its boundary, by formulas of the sets themselves."""
    x = 2.0 * rng.normal(size=(count, dim))
    edge = rng.random(count) < 1 / 3
    if isinstance(domain, Ball):
        length = domain.radius * np.where(edge, 1.0, rng.random(count))
        x *= (length / np.linalg.norm(x, axis=1))[:, None]
        return x if domain.center is None else x + domain.center
    if isinstance(domain, Box):
        low, high = (np.clip(limit, -9.0, 9.0) for limit in limits(domain, dim))
        share = rng.random((count, dim))
        share[edge] = np.rint(share[edge])
        return low + share * (high - low)
    if isinstance(domain, Simplex):
        x = rng.exponential(size=(count, dim))
        x[edge] *= np.arange(dim) == rng.integers(dim, size=(edge.sum(), 1))  # the corners
        return domain.total * x / x.sum(axis=1, keepdims=True)
    if isinstance(domain, HalfSpace):
        a = domain.normal / np.linalg.norm(domain.normal)
        wanted = domain.offset / np.linalg.norm(domain.normal) - np.where(edge, 0.0, rng.exponential(size=count))
        return x + np.outer(wanted - x @ a, a)
    x = np.abs(x)
    x[edge] *= rng.random((edge.sum(), dim)) < 0.5
    return x


def excess(domain, p):
    """How far p is from satisfying the conditions that define the set; at most 0 inside."""
    if isinstance(domain, Ball):
        center = np.zeros(len(p)) if domain.center is None else domain.center
        return math.hypot(*(p - center)) - domain.radius
    if isinstance(domain, Box):
        low, high = limits(domain, len(p))
        return float(max((low - p).max(), (p - high).max()))
    if isinstance(domain, Simplex):
        return max(abs(math.fsum(p) - domain.total), -p.min())
    if isinstance(domain, HalfSpace):
        return math.fsum(domain.normal * p) - domain.offset
    return -p.min()


def another_method(domain, x):
    """The projection, computed in a way of its own."""
    if isinstance(domain, Ball):  # the multiplier of the constraint, by bisection
        center = np.zeros(len(x)) if domain.center is None else domain.center
        low, high = 0.0, 1.0
        for _ in range(80):
            share = 0.5 * (low + high)
            low, high = (share, high) if np.linalg.norm(share * (x - center)) <= domain.radius else (low, share)
        return center + low * (x - center)
    if isinstance(domain, Box):
        low, high = limits(domain, len(x))
        return np.median([low, x, high], axis=0)
    if isinstance(domain, Simplex):  # by sorting: Held, Wolfe, Crowder 1974
        down = np.sort(x)[::-1]
        threshold = (np.cumsum(down) - domain.total) / np.arange(1, len(x) + 1)
        return np.maximum(x - threshold[np.flatnonzero(down > threshold)[-1]], 0.0)
    if isinstance(domain, HalfSpace):  # the nearest point of the hyperplane, by least squares
        if domain.normal @ x <= domain.offset:
            return x
        step, *_ = np.linalg.lstsq(domain.normal[None, :], [domain.offset - domain.normal @ x], rcond=None)
        return x + step
    return 0.5 * (x + np.abs(x))


def size(*points):
    return 1.0 + sum(float(np.linalg.norm(p)) for p in points)


@each
@settings(max_examples=40)
@given(dim=dims, seed=seeds, scale=scales)
def test_the_projection_is_the_nearest_member(name, dim, seed, scale):
    """p lies in the set, and <x - p, u - p> <= 0 for its members u: this characterises the nearest point."""
    rng = np.random.default_rng(seed)
    domain = CASES[name](dim)
    x = scale * rng.normal(size=dim)
    p = domain.project(x)
    assert p.shape == (dim,) and p.dtype == np.float64
    assert excess(domain, p) <= 1e-14 * dim * size(x, p)
    u = members(domain, dim, rng, 60)
    assert max(excess(domain, v) for v in u) <= 1e-13 * dim * size(*u[:1])
    assert ((u - p) @ (x - p)).max() <= 1e-13 * dim * size(x, p) * (size(p) + np.abs(u).max())
    np.testing.assert_allclose(p, another_method(domain, x), rtol=0, atol=1e-13 * size(x, p))


@each
@settings(max_examples=60)
@given(x=st.lists(coordinate, min_size=1, max_size=6))
def test_points_with_ties_and_zeros(name, x):
    domain = CASES[name](len(x))
    x = np.array(x)
    p = domain.project(x)
    assert excess(domain, p) <= 1e-13 * size(x, p)
    np.testing.assert_allclose(p, another_method(domain, x), rtol=0, atol=1e-13 * size(x, p))
    np.testing.assert_allclose(domain.project(p), p, rtol=0, atol=1e-15 * size(x, p))


@each
@settings(max_examples=40)
@given(dim=dims, seed=seeds, scale=scales)
def test_projections_bring_points_no_further_apart(name, dim, seed, scale):
    rng = np.random.default_rng(seed)
    domain = CASES[name](dim)
    x = scale * rng.normal(size=dim)
    y = x + 10.0 ** rng.uniform(-6, 1) * rng.normal(size=dim)
    p, q = domain.project(x), domain.project(y)
    assert np.linalg.norm(p - q) <= np.linalg.norm(x - y) + 1e-14 * size(x, y, p)


@pytest.mark.parametrize("name", ROOMY)
@settings(max_examples=40)
@given(dim=dims, seed=seeds)
def test_points_inside_stay_bit_for_bit(name, dim, seed):
    domain = CASES[name](dim)
    u = members(domain, dim, np.random.default_rng(seed), 30)
    inside = [v for v in u if excess(domain, v) < (-1e-12 if isinstance(domain, (Ball, HalfSpace)) else 0.0)]
    for v in inside:
        assert domain.project(v).tobytes() == v.tobytes()
    assert len(inside) > 3 or name == "flat box"
    for v in u:
        once = domain.project(v)
        np.testing.assert_allclose(once, v, rtol=0, atol=1e-14 * dim * size(v))


@each
@settings(max_examples=40)
@given(dim=dims, seed=seeds, scale=scales)
def test_projecting_twice_is_projecting_once(name, dim, seed, scale):
    domain = CASES[name](dim)
    once = domain.project(scale * np.random.default_rng(seed).normal(size=dim))
    twice = domain.project(once)
    np.testing.assert_allclose(twice, once, rtol=0, atol=(3.0 + 0.2 * dim) * 1e-16 * size(once))
    if isinstance(domain, (Box, Nonnegative)):
        assert twice.tobytes() == once.tobytes()


TIES = [
    [-1.1, -0.8, -0.8, -0.9, -0.1],
    [-2.0, 1.1, 1.5, -1.0, 0.3, 1.6, 1.2],
    [0.0, -0.1232982180791492, -0.41460535694772915, -0.12051785276403837],
    [0.08893365163261982, 0.0, 0.9110663483673801, 0.0],
    [0.0, 0.0, 0.0, 0.4496372213650659, 0.550362778634934],
]


IN_A_PROCESS = """
import json, sys
from wane.domains import Simplex
print(json.dumps([Simplex().project(x).tolist() for x in json.load(sys.stdin)]))
"""


def test_simplex_with_coordinates_at_the_threshold():
    """Among them projections, projected again. In a process of its own: an endless loop cannot be interrupted."""
    rng = np.random.default_rng(0)
    points = TIES + [another_method(Simplex(), rng.normal(size=rng.integers(2, 9))).tolist() for _ in range(5000)]
    points += (rng.integers(-20, 21, size=(5000, 5)) / 10).tolist()
    try:
        done = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS], input=json.dumps(points), capture_output=True, text=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        pytest.fail("it does not end")
    assert done.returncode == 0, done.stderr
    for x, p in zip(points, json.loads(done.stdout), strict=True):
        np.testing.assert_allclose(p, another_method(Simplex(), np.array(x)), rtol=0, atol=1e-15 * size(x))


@each
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_a_general_solver_agrees(name, dim):
    domain = CASES[name](dim)
    rng = np.random.default_rng(dim)
    bounds, constraints = None, ()
    if isinstance(domain, Ball):
        center = np.zeros(dim) if domain.center is None else domain.center
        constraints = {
            "type": "ineq",
            "fun": lambda p: domain.radius**2 - np.sum((p - center) ** 2),
            "jac": lambda p: -2.0 * (p - center),
        }
    elif isinstance(domain, Box):
        bounds = list(zip(*limits(domain, dim), strict=True))
    elif isinstance(domain, HalfSpace):
        constraints = LinearConstraint(domain.normal[None, :], -INF, domain.offset)
    else:
        bounds = [(0.0, INF)] * dim
        constraints = LinearConstraint(np.ones((1, dim)), domain.total, domain.total) if "simplex" in name else ()
    start = members(domain, dim, rng, 1)[0]
    for _ in range(5):
        x = 3.0 * rng.normal(size=dim)
        solved = minimize(
            lambda p, x=x: 0.5 * np.sum((p - x) ** 2),
            start,
            jac=lambda p, x=x: p - x,
            bounds=bounds,
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(domain.project(x), solved.x, rtol=0, atol=1e-5 * size(x))


EXTREMES = [1e-300, 1e-200, 1e-100, 1e-20, 1e20, 1e100, 1e150]


@each
@pytest.mark.parametrize("extreme", EXTREMES)
def test_extreme_points(name, extreme):
    for dim in (1, 2, 3, 50):
        domain = CASES[name](dim)
        rng = np.random.default_rng(dim)
        mixed = rng.normal(size=dim) * extreme ** rng.random(dim)
        for x in (extreme * rng.normal(size=dim), -extreme * np.ones(dim), mixed):
            p = domain.project(x)
            assert np.isfinite(p).all()
            of = np.abs(x).max() if isinstance(domain, HalfSpace) else 0.0
            assert excess(domain, p) <= 1e-13 * dim * (size(p) + of)
            if isinstance(domain, (Box, Nonnegative)):
                assert (p == another_method(domain, x)).all()


@pytest.mark.parametrize("extreme", [1e-150, 1e-100, 1e100, 1e150])
def test_extreme_sets(extreme):
    """All lengths times a number: the projections times that number."""
    rng = np.random.default_rng(0)
    for dim in (1, 2, 5):
        c, x = rng.normal(size=dim), 3.0 * rng.normal(size=dim)
        for make in (
            lambda k: Ball(k),
            lambda k, c=c: Ball(k, k * c),
            lambda k: Box(-k, k),
            lambda k, c=c: Box(k * (c - 0.1), k * (c + 0.2)),
            lambda k: Simplex(k),
            lambda k, c=c: HalfSpace(c, k),
            lambda k, c=c: HalfSpace(k * c, k * k / 7.0) if 1e-120 < k < 1e120 else HalfSpace(c, k / 7.0),
        ):
            want = make(1.0).project(x)
            np.testing.assert_allclose(make(extreme).project(extreme * x), extreme * want, rtol=1e-13)


@each
def test_numbers_in_numbers_out(name):
    domain = CASES[name](1)
    for x in (-3.0, 0.1, 2, np.float64(0.7), np.float32(4.0), np.array(5.0), True):
        p = domain.project(x)
        assert type(p) is float
        assert p == domain.project([float(x)])[0]


@each
def test_any_array_in_and_a_new_array_out(name):
    domain = CASES[name](3)
    x = np.array([3.0, -2.0, 1.0])
    kept = x.copy()
    want = domain.project(x)
    assert (x == kept).all()
    want_bits = want.tobytes()
    want += 1.0
    assert domain.project(x).tobytes() == want_bits
    x.flags.writeable = False
    wide = np.zeros((3, 2))
    wide[:, 1] = x
    for same in (x, wide[:, 1], x.tolist(), tuple(x.tolist()), x.astype(int), x.astype(">f8"), x.astype(np.float32)):
        assert domain.project(same).tobytes() == want_bits


def bad_points(good):
    yield [math.nan] * 3, ValueError, "finite"
    yield [1.0, INF, 0.0], ValueError, "finite"
    yield [1.0, -INF, 0.0], ValueError, "finite"
    yield [[1.0, 2.0, 3.0]], ValueError, "shape"
    yield np.ones((3, 1)), ValueError, "shape"
    yield [[1.0], [2.0, 3.0]], ValueError, "length"
    yield "text", TypeError, "text"
    yield ["a", "b", "c"], TypeError, "real numbers"
    yield b"xyz", TypeError, "real numbers"
    yield None, TypeError, "real numbers"
    yield [1j, 0.0, 0.0], TypeError, "complex"
    yield {}, TypeError, "real numbers"
    if good.size is not None:
        yield [1.0, 2.0], ValueError, r"shape \(3,\), got \(2,\)"
        yield [1.0] * 4, ValueError, r"shape \(3,\), got \(4,\)"
        yield 1.0, ValueError, "shape"


@each
def test_bad_points_are_refused(name):
    domain = CASES[name](3)
    for bad, error, words in bad_points(domain):
        with pytest.raises(error, match=words):
            domain.project(bad)


@pytest.mark.parametrize("domain", [Ball(), Box(0.0, 1.0), Nonnegative(), Simplex()], ids=repr)
def test_a_point_without_coordinates_is_refused(domain):
    with pytest.raises(ValueError, match="shape"):
        domain.project([])


@each
@settings(max_examples=20)
@given(dim=dims, seed=seeds)
def test_membership(name, dim, seed):
    rng = np.random.default_rng(seed)
    domain = CASES[name](dim)
    inner = members(domain, dim, rng, 4)
    assert all(p in domain and p.tolist() in domain for p in inner)
    for x in 5.0 * rng.normal(size=(6, dim)):
        assert (x in domain) == (np.linalg.norm(another_method(domain, x) - x) <= 1e-9 * size(x))


def test_membership_of_numbers_and_errors():
    assert 0.5 in Ball() and 2.0 not in Ball() and 3 in Nonnegative() and -1 not in Nonnegative()
    assert 1.0 in Simplex() and 0.5 not in Simplex() and 0 in HalfSpace([1.0]) and 1 not in HalfSpace([1.0])
    for bad in ([[1.0]], math.nan, "text", [1.0, 2.0, 3.0]):
        with pytest.raises((ValueError, TypeError)):
            assert bad not in Ball(1.0, [0.0, 0.0])


@pytest.mark.parametrize(
    ("x", "domain"),
    [
        ([1e200, 1e200], Ball()),
        ([1e200, -1e200], Nonnegative()),
        ([1e-12, 0.0], Ball(1e-100)),
        ([1e-12, 0.0], Simplex(1e-100)),
    ],
    ids=str,
)
def test_membership_at_any_scale(x, domain):
    assert x not in domain


def test_text_is_no_member():
    with pytest.raises(TypeError):
        assert "0.5" in Ball()


@pytest.mark.parametrize("dim", [2, 3, 6])
@pytest.mark.parametrize(
    "name", ["ball", "small ball", "far ball", "box", "flat box", "mixed box", "simplex", "large simplex"]
)
def test_the_diameter_is_the_largest_distance(name, dim):
    domain = CASES[name](dim)
    u = members(domain, dim, np.random.default_rng(0), 200)
    apart = np.linalg.norm(u[:, None] - u[None, :], axis=2)
    assert apart.max() <= domain.diameter * (1 + 1e-12)
    if isinstance(domain, Ball):
        center = np.zeros(dim) if domain.center is None else domain.center
        ends = [center + domain.radius * np.eye(dim)[0], center - domain.radius * np.eye(dim)[0]]
    elif isinstance(domain, Box):
        ends = list(limits(domain, dim))
    else:
        ends = domain.total * np.eye(dim)[:2]
    assert max(excess(domain, p) for p in ends) <= 1e-14 * size(*ends)
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(domain.diameter, rel=1e-13)


@pytest.mark.parametrize("name", ["scalar box", "half infinite box", "half space", "nonnegative"])
def test_unbounded_sets_have_no_diameter(name):
    assert CASES[name](3).diameter == INF


@pytest.mark.parametrize(
    "k",
    [
        1e-100,
        1e100,
        1e-200,
        1e200,
    ],
)
def test_the_diameter_of_an_extreme_box(k):
    assert Box([0.0, 0.0], [3.0 * k, 4.0 * k]).diameter == pytest.approx(5.0 * k, rel=1e-12, abs=0.0)


@each
def test_repr_pickle_and_copies(name):
    domain = CASES[name](3)
    x = np.array([3.0, -2.0, 1.0])
    evaluated = eval(repr(domain), {**vars(domains), "inf": INF})
    for same in (evaluated, pickle.loads(pickle.dumps(domain)), copy.copy(domain), copy.deepcopy(domain)):
        assert type(same) is type(domain) and repr(same) == repr(domain)
        assert same.project(x).tobytes() == domain.project(x).tobytes()
        assert (same.diameter, same.size) == (domain.diameter, domain.size)


@each
def test_a_learner_saves_its_domain(name):
    domain = CASES[name](3)
    learner = learners.AdaptiveLearner(3, domain=domain)
    g = np.random.default_rng(0).normal(size=(40, 3))
    learner.run(g)
    again = learners.load(json.loads(json.dumps(learner.state_dict(), allow_nan=False)))
    assert again.run(g).tobytes() == learner.run(g).tobytes()
    assert repr(again.domain) == repr(domain)


def test_parameters_are_copied():
    center, normal, x = np.zeros(2), np.array([1.0, 0.0]), np.array([5.0, 5.0])
    ball, half = Ball(1.0, center), HalfSpace(normal, 1.0)
    before = [(repr(d), pickle.dumps(d), d.project(x).tolist()) for d in (ball, half)]
    center += 100.0
    normal[:] = [0.0, -1.0]
    assert [(repr(d), pickle.dumps(d), d.project(x).tolist()) for d in (ball, half)] == before


def test_limits_are_copied():
    low, high = np.zeros(2), np.ones(2)
    box = Box(low, high)
    before = repr(box), box.project([5.0, -5.0]).tolist(), copy.deepcopy(box).project([5.0, -5.0]).tolist()
    low -= 100.0
    high += 100.0
    assert (repr(box), box.project([5.0, -5.0]).tolist(), copy.deepcopy(box).project([5.0, -5.0]).tolist()) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ball(0.0), "radius"),
        (lambda: Ball(-1.0), "radius"),
        (lambda: Ball(math.nan), "radius"),
        (lambda: Ball(INF), "radius"),
        (lambda: Ball("1"), "radius"),
        (lambda: Ball(1.0, [[1.0]]), "center"),
        (lambda: Ball(1.0, []), "center"),
        (lambda: Ball(1.0, [math.nan]), "center"),
        (lambda: Ball(1.0, "ab"), "center"),
        (lambda: Box(1.0, 0.0), "lower"),
        (lambda: Box([0.0, 2.0], 1.0), "lower"),
        (lambda: Box(math.nan, 1.0), "lower"),
        (lambda: Box(0.0, [1.0, math.nan]), "upper"),
        (lambda: Box(INF, INF), "lower"),
        (lambda: Box(-INF, -INF), "upper"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), "length"),
        (lambda: Box([], []), "lower"),
        (lambda: Box([[0.0]], 1.0), "lower"),
        (lambda: Box("a", 1.0), "lower"),
        (lambda: Simplex(0.0), "total"),
        (lambda: Simplex(-1.0), "total"),
        (lambda: Simplex(math.nan), "total"),
        (lambda: HalfSpace([0.0, 0.0]), "normal"),
        (lambda: HalfSpace([math.nan]), "normal"),
        (lambda: HalfSpace([]), "normal"),
        (lambda: HalfSpace(1.0), "normal"),
        (lambda: HalfSpace([1.0], INF), "offset"),
        (lambda: HalfSpace([1.0], "x"), "offset"),
        (lambda: Custom(3), "project"),
        (lambda: Custom(None), "project"),
    ],
)
def test_bad_parameters_are_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


@pytest.mark.parametrize("normal", [[3e-200, 4e-200], [3e200, 4e200], [3e-300, 0.0]])
def test_a_normal_of_any_length(normal):
    length = math.hypot(*normal)
    p = HalfSpace(normal, 0.0).project(np.array(normal) / length)
    assert np.abs(p).max() <= 1e-15


class Moved:
    """A domain of a user's, x <= 1/2 in every coordinate, that spoils its argument and looks at what it was given."""

    def __init__(self):
        self.seen = []

    def project(self, x):
        self.seen.append((type(x), x.dtype, x.shape))
        out = np.minimum(x, 0.5)
        x[:] = math.nan
        return out


class Answers:
    """A domain whose projection is whatever it was told."""

    def __init__(self, answer):
        self.answer = answer

    def project(self, x):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_custom_wraps_any_object_with_project():
    mine = Moved()
    domain = Custom(mine)
    x = np.array([3.0, 0.25, -1.0])
    assert domain.project(x).tolist() == [0.5, 0.25, -1.0]
    assert x.tolist() == [3.0, 0.25, -1.0]
    assert mine.seen == [(np.ndarray, np.dtype(float), (3,))]
    assert domain.object is mine and domain.size is None and domain.diameter == INF
    assert domain.project(4.0) == 0.5 and type(domain.project(4.0)) is float
    assert [0.5, 0.5] in domain and 0.6 not in domain
    assert pickle.loads(pickle.dumps(domain)).project([2.0, 0.0]).tolist() == [0.5, 0.0]
    assert repr(Custom(Ball(2.0))) == "Custom(object=Ball(radius=2.0, center=None))"
    x = [[0.7], [1.0, 2.0, 3.0]]
    for point in x:
        assert Custom(Simplex()).project(point).tobytes() == Simplex().project(point).tobytes()


def test_custom_takes_every_kind_of_array():
    for answer in ([1, 2], (1.0, 2.0), np.array([1.0, 2.0], dtype=np.float32), np.array([9, 1, 9, 2])[1::2]):
        assert Custom(Answers(answer)).project([0.0, 0.0]).tolist() == [1.0, 2.0]
    assert Custom(Answers(2.5)).project(0.0) == 2.5


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ([1.0], ValueError, "2 finite numbers"),
        ([1.0, 2.0, 3.0], ValueError, "2 finite numbers"),
        (1.0, ValueError, "2 finite numbers"),
        ([], ValueError, "2 finite numbers"),
        ([1.0, math.nan], ValueError, "2 finite numbers"),
        ([INF, 1.0], ValueError, "2 finite numbers"),
        (None, TypeError, "projection"),
        ("ab", TypeError, "projection"),
        ([1j, 1.0], TypeError, "projection"),
        (KeyError("of the user"), KeyError, "of the user"),
        ([[1.0], [2.0]], ValueError, "2 finite numbers"),
    ],
)
def test_custom_refuses_what_is_no_point(answer, error, words):
    with pytest.raises(error, match=words):
        Custom(Answers(answer)).project([0.0, 0.0])


def test_a_set_without_a_projection():
    with pytest.raises(NotImplementedError, match="must define _project"):
        Domain().project([1.0])


def test_a_subclass_may_define_project():
    class Half(Domain):
        def project(self, x):
            return np.minimum(x, 0.5)

    g = np.full((60, 2), -1.0)
    want = learners.AdaptiveLearner(2, domain=Custom(Half())).run(g)
    assert want.max() == 0.5
    assert learners.AdaptiveLearner(2, domain=Half()).run(g).tobytes() == want.tobytes()
