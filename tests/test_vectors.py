"""Sums over vectors against exact arithmetic, over the whole range of floating point."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from wane.vectors import copy, distance, dot, finite, lift, nonzero, norm

UNIT = 2.0**-53  # the rounding error of one operation
LENGTHS = range(21)

sign = st.sampled_from([-1.0, 1.0])
ordinary = st.floats(-1e6, 1e6)
wide = st.builds(lambda s, m, e: s * m * 10.0**e, sign, st.floats(1.0, 9.0), st.integers(-319, 299)) | st.sampled_from(
    [0.0, -0.0, 5e-324, -5e-324, 1e-320, 2.2250738585072014e-308, 1e-135, 1e135, 1e-154, 1.3e154, 1e300, -1e300]
)


def lists(numbers, **size):
    return st.lists(numbers, min_size=size.get("min_size", 0), max_size=20)


def buffer(values):
    return np.array(values, dtype=float).data


def exact_dot(x, y):
    return sum((Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)), Fraction(0))


def exact_norm(x):
    with mp.workdps(60):
        total = sum((Fraction(a) ** 2 for a in x), Fraction(0))
        return mp.sqrt(mpf(total.numerator) / mpf(total.denominator))


def check_norm(got, x, errors):
    """Up to so many rounding errors, and half the smallest number where the norm itself is subnormal."""
    with mp.workdps(60):
        want = exact_norm(x)
        assert abs(mpf(got) - want) <= errors * UNIT * want + mpf(2) ** -1075


def random_vectors(n):
    rng = np.random.default_rng(n)
    for spread in (0, 3, 100, 300):
        yield (rng.normal(size=n) * 10.0 ** rng.uniform(-spread, min(spread, 299), size=n)).tolist()


@pytest.mark.parametrize("n", LENGTHS)
def test_the_inner_product_at_every_length(n):
    for x in random_vectors(n):
        y = np.random.default_rng(n + 100).normal(size=n).tolist()
        products = [a * b for a, b in zip(x, y, strict=True)]
        error = abs(Fraction(dot(buffer(x), buffer(y))) - exact_dot(x, y))
        assert error <= 2 * (n + 1) * Fraction(UNIT) * Fraction(math.fsum(map(abs, products)))
        assert dot(buffer(x), buffer(y)) == dot(buffer(y), buffer(x))


@given(st.lists(st.tuples(st.integers(-(2**20), 2**20), st.integers(-(2**20), 2**20)), max_size=20))
def test_the_inner_product_of_whole_numbers_is_exact(pairs):
    assert dot(buffer([a for a, _ in pairs]), buffer([b for _, b in pairs])) == sum(a * b for a, b in pairs)


@pytest.mark.parametrize("n", LENGTHS)
def test_the_norm_at_every_length(n):
    for x in random_vectors(n):
        check_norm(norm(buffer(x)), x, errors=8)
    assert norm(buffer([0.0] * n)) == 0.0


@given(lists(wide))
def test_the_norm_of_extreme_numbers(x):
    check_norm(norm(buffer(x)), x, errors=8)


@pytest.mark.parametrize(
    "size", [5e-324, 1e-320, 1e-314, 1e-311, 1e-308, 1e-200, 1e-135, 1e-100, 1.0, 1e100, 1e135, 1e200, 1e300]
)
def test_the_norm_of_one_number_is_its_absolute_value_bit_for_bit(size):
    for factor in (1.0, -1.0, 1.1, -1.7, 2.9):
        for zeros in (0, 1, 7):
            assert norm(buffer([0.0] * zeros + [factor * size])) == abs(factor * size)


@given(lists(wide, min_size=1), st.permutations(range(20)))
def test_the_norm_does_not_know_the_order(x, order):
    shuffled = [x[i] for i in order if i < len(x)]
    a, b = norm(buffer(x)), norm(buffer(shuffled))
    assert abs(a - b) <= max(1e-15 * a, 5e-324)


@given(lists(st.floats(-9.0, 9.0).filter(lambda x: x == 0.0 or abs(x) > 1e-3), min_size=1), st.integers(-1000, 1000))
def test_a_power_of_two_scales_the_norm_bit_for_bit(x, k):
    assert norm(buffer(np.ldexp(x, k))) == math.ldexp(norm(buffer(x)), k)


def test_a_power_of_two_scales_the_norm_bit_for_bit_across_the_switches():
    """The entries span many orders, and the powers walk the sum of squares through every change of method."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=rng.integers(1, 21))
        x *= 10.0 ** rng.uniform(-25, 0, size=len(x))
        want = norm(x.data)
        for k in range(-930, 990, 7):
            assert norm(np.ldexp(x, k).data) == math.ldexp(want, k)


@given(st.lists(st.tuples(wide, wide), min_size=1, max_size=20))
def test_the_distance_of_extreme_points(pairs):
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    apart = [a - b for a, b in pairs]  # each difference is rounded, as any user of floats would expect
    check_norm(distance(buffer(x), buffer(y)), apart, errors=len(x) + 4)
    assert distance(buffer(x), buffer(y)) == distance(buffer(y), buffer(x))
    assert distance(buffer(x), buffer(x)) == 0.0


@given(st.lists(st.tuples(ordinary, ordinary), min_size=1, max_size=20), st.permutations(range(20)))
def test_the_distance_does_not_know_the_order(pairs, order):
    shuffled = [pairs[i] for i in order if i < len(pairs)]
    a, b = (distance(*(buffer(column) for column in zip(*rows, strict=True))) for rows in (pairs, shuffled))
    assert abs(a - b) <= 3e-15 * a


@given(st.lists(st.tuples(ordinary, ordinary, ordinary), min_size=1, max_size=20))
def test_the_distance_is_a_metric(triples):
    x, y, z = (buffer(column) for column in zip(*triples, strict=True))
    assert distance(x, z) <= (distance(x, y) + distance(y, z)) * (1 + 1e-14)
    check_norm(distance(x, buffer([0.0] * len(triples))), x.tolist(), errors=len(triples) + 4)


@pytest.mark.parametrize("n", LENGTHS)
def test_every_function_at_every_length(n):
    x = np.arange(1.0, n + 1.0)
    out = np.full(n, -1.0)
    assert distance(x.data, np.zeros(n).data) == pytest.approx(math.sqrt(math.fsum(x**2)), rel=1e-15)
    assert lift(x.data, out.data) == 0 and (out == x).all()
    out[:] = -1.0
    copy(x.data, out.data)
    assert (out == x).all()
    assert finite(x.data) and bool(nonzero(x.data)) == (n > 0) and not nonzero((0.0 * x).data)
    for i in range(n):
        for bad in (math.nan, math.inf, -math.inf):
            y = x.copy()
            y[i] = bad
            assert not finite(y.data)
        y = np.zeros(n)
        y[i] = -5e-324
        assert nonzero(y.data) and finite(y.data)


@given(lists(wide))
def test_a_lifted_vector_is_the_vector_times_a_power_of_two(x):
    out = np.empty(len(x))
    k = lift(buffer(x), out.data)
    assert k in (0, -1, -2)
    for a, b in zip(x, out.tolist(), strict=True):
        assert Fraction(b) * Fraction(2) ** (512 * k) == Fraction(a)  # not a bit is lost
    size = norm(out.data)
    assert k == 0 or 2.0**-256 <= size < 2.0**256
    assert size == 0.0 or size >= 2.0**-256  # so that its square is an ordinary number
    assert (k == 0) == (norm(buffer(x)) >= 2.0**-256 or not any(x))


def test_lifting_in_place():
    x = np.array([3e-310, -4e-310])
    want = np.empty(2)
    assert lift(x.data, want.data) == lift(x.data, x.data) == -2
    assert (x == want).all()
