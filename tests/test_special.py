"""Dawson's function and erfi against mpmath."""

import math

import numpy as np
import pytest
import reference
from mpmath import mp, mpf

from wane import special

GRID = 4001  # points of an even grid on [-26.5, 26.5]
RANDOM = 2000
LIMIT = 26.5

DAWSON_RTOL = 1e-14
ERFI_RTOL = 1e-13


def near_multiples():
    """Multiples of 0.25 (where tables and series are likely to switch) with their neighbours, near and less near."""
    for base in np.arange(0.0, LIMIT + 0.01, 0.25):
        low = high = base
        yield base
        for _ in range(3):
            low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
            yield from (low, high)
        yield from (base - 1e-9, base + 1e-9, base - 1e-5, base + 1e-5)


def points():
    rng = np.random.default_rng(2024)
    near = np.array(list(near_multiples()))
    x = np.concatenate(
        [
            np.linspace(-LIMIT, LIMIT, GRID),
            rng.uniform(-LIMIT, LIMIT, RANDOM),
            rng.uniform(0.0, 3.0, RANDOM),
            10.0 ** rng.uniform(-20, 1.4, RANDOM),
            near,
            -near,
        ]
    )
    return x[np.abs(x) <= LIMIT]


@pytest.fixture(scope="module")
def table():
    """Points, the paper's erfi there, Dawson's function there."""
    x = points()
    with mp.workdps(40):
        big = [reference.erfi(mpf(float(c))) for c in x]
        small = [e * mp.exp(-(mpf(float(c)) ** 2)) for c, e in zip(x, big, strict=True)]
    return x, big, small


def worst(function, x, want):
    """The largest relative error, computed in high precision, and where it is."""
    with mp.workdps(40):
        errors = [
            float(abs(mpf(function(float(c))) - y) / abs(y)) if y else abs(function(float(c)))
            for c, y in zip(x, want, strict=True)
        ]
    at = int(np.argmax(errors))
    return errors[at], float(x[at])


def test_dawson_is_accurate(table):
    x, _, want = table
    error, at = worst(special.dawson, x, want)
    assert error < DAWSON_RTOL, f"at {at!r}"


def test_erfi_is_accurate(table):
    x, want, _ = table
    error, at = worst(special.erfi, x, want)
    assert error < ERFI_RTOL, f"at {at!r}"


def test_reference_values():
    """Published digits and a power series, which check the reference as well."""
    assert special.dawson(1.0) == pytest.approx(0.53807950691276841914, rel=DAWSON_RTOL)
    assert special.dawson(0.92413887300459176701) == pytest.approx(0.54104422463518169847, rel=DAWSON_RTOL)  # maximum
    assert special.erfi(1.0) == pytest.approx(1.4626517459071816088, rel=ERFI_RTOL)
    series = math.fsum(0.5 ** (2 * k + 1) / math.factorial(k) / (2 * k + 1) for k in range(20))
    assert special.erfi(0.5) == pytest.approx(series, rel=ERFI_RTOL)


def test_derivatives_are_what_the_definitions_say(table):
    """D' = 1 - 2 x D and erfi' = exp(x^2), by central differences: independent of any library."""
    step = 1e-4
    for x in np.linspace(-4.0, 4.0, 81):
        slope = (special.dawson(x + step) - special.dawson(x - step)) / (2 * step)
        assert slope == pytest.approx(1 - 2 * x * special.dawson(x), abs=1e-7)
        slope = (special.erfi(x + step) - special.erfi(x - step)) / (2 * step)
        assert slope == pytest.approx(math.exp(x * x), rel=1e-6)


def test_both_are_odd_bit_for_bit():
    for x in [*points(), 0.0, 5e-324, 1e-300, 26.6, 30.0, 1e10, 1e300]:
        x = float(x)
        assert special.dawson(-x) == -special.dawson(x)
        assert special.erfi(-x) == -special.erfi(x)


def test_tiny_arguments_are_returned():
    """Both are x (1 + O(x^2))."""
    for x in (5e-324, 3 * 5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-100, 1e-30, 1e-17, 1e-12):
        for sign in (-1.0, 1.0):
            assert special.dawson(sign * x) == pytest.approx(sign * x, rel=DAWSON_RTOL, abs=0)
            assert special.erfi(sign * x) == pytest.approx(sign * x, rel=DAWSON_RTOL, abs=0)
    assert special.dawson(0.0) == special.erfi(0.0) == 0.0


@pytest.mark.parametrize("x", [27.0, 50.0, 200.0, 1e3, 1e5, 1e7, 6.7e7, 1e8, 1e10, 1e100, 1e154, 1e155, 1e300, 1.7e308])
def test_dawson_of_large_arguments(x):
    """1/(2x) times the asymptotic series 1 + 1/(2x^2) + 3/(4x^4) + ..."""
    with mp.workdps(60):
        q = 1 / (2 * mpf(x) ** 2)
        series = (1 + q + 3 * q**2 + 15 * q**3 + 105 * q**4 + 945 * q**5 + 10395 * q**6) / (2 * mpf(x))
    assert special.dawson(x) == pytest.approx(float(series), rel=DAWSON_RTOL, abs=0)
    if x >= 1e10:
        assert special.dawson(x) == pytest.approx(0.5 / x, rel=4e-16, abs=0)


def test_erfi_overflows_to_infinity_and_not_before():
    """The true value leaves the range of floating point at 26.72; the function may give up from 26.6 on."""
    for x in (26.73, 27.0, 30.0, 1e3, 1e154, 1e155, 1e300, math.inf):
        assert special.erfi(x) == math.inf
        assert special.erfi(-x) == -math.inf
    for x in np.linspace(LIMIT, 26.6, 21):
        assert 1e300 < special.erfi(float(x)) < math.inf
    for x in np.linspace(26.6, 26.71, 56):
        got = special.erfi(float(x))
        with mp.workdps(40):
            assert got == math.inf or got == pytest.approx(float(reference.erfi(mpf(float(x)))), rel=1e-12)


def test_both_increase_where_they_should():
    x = np.linspace(0.0, LIMIT, 20001)
    assert np.all(np.diff([special.erfi(float(c)) for c in x]) > 0)
    rise = [special.dawson(float(c)) for c in np.linspace(0.0, 0.92, 2001)]
    fall = [special.dawson(float(c)) for c in np.linspace(0.93, LIMIT, 20001)]
    assert np.all(np.diff(rise) > 0)
    assert np.all(np.diff(fall) < 0)
