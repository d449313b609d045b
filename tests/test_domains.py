"""Projections: nearest points of closed convex sets, against their definition and against other methods."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from domain_cases import CASES, INF, another_method, dims, each, excess, limits, members, seeds, size
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from wane.domains import Ball, Box, HalfSpace, Nonnegative, Simplex

ROOMY = [name for name in CASES if "simplex" not in name]  # sets whose inner points the projection does not touch

scales = st.sampled_from([1e-3, 0.3, 1.0, 3.0, 30.0])
coordinate = st.sampled_from([0.0, 0.5, -0.5, 1.0, -1.0, 0.3]) | st.floats(-5.0, 5.0)


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


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # the solver of SciPy before 1.16
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


@pytest.mark.parametrize("normal", [[3e-200, 4e-200], [3e200, 4e200], [3e-300, 0.0]])
def test_a_normal_of_any_length(normal):
    length = math.hypot(*normal)
    p = HalfSpace(normal, 0.0).project(np.array(normal) / length)
    assert np.abs(p).max() <= 1e-15
