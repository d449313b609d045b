"""Points of domains: numbers and arrays of every kind, membership, and the largest distance."""

import math

import numpy as np
import pytest
from domain_cases import CASES, INF, another_method, dims, each, excess, limits, members, seeds, size
from hypothesis import given, settings

from wane.domains import Ball, Box, HalfSpace, Nonnegative, Simplex


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
