"""The number that cannot under- or overflow, against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane.learners.hint import Hint

LOW, HIGH = 2.0**-256, 2.0**256
TINY, HUGE = 5e-324, 1.7e308
PRECISE = Fraction(1, 10**9)

DISCOUNTS = [0.0, TINY, 1e-300, 1e-80, 0.5, 0.9, 1.0, 1.001, 2.0, 1e80, 1e300, HUGE]
SIZES = [0.0, TINY, 1e-320, 1e-308, 1e-200, LOW, 1.0, 3.7, HIGH, 1e200, 1e300, HUGE]


def power(exponent):
    return Fraction(2) ** (512 * exponent)


def exactly(scale):
    return Fraction(scale.mantissa) * power(scale.exponent)


def close(got, want, tolerance=PRECISE):
    return abs(got - want) <= tolerance * abs(want)


def to_float(x):
    """A fraction as a float, infinite where it is too large."""
    return math.inf if x >= Fraction(2) ** 1024 else float(x)


class Follower:
    """A Hint beside the exact discounted maximum, compared after every round.

    The exact value is rounded to 200 bits after each round, which keeps thousands of rounds cheap.
    """

    def __init__(self):
        self.scale, self.want = Hint(), Fraction(0)

    def grow(self, discount, size, exponent=0):
        r = self.scale.grow(discount, size, exponent)
        aged = Fraction(discount) * self.want
        new = max(aged, Fraction(size) * power(exponent))
        ratio = aged / new if new else Fraction(0)
        got = exactly(self.scale)
        assert close(got, new), (discount, size)
        assert new == 0 or LOW <= self.scale.mantissa < HIGH
        assert new > 0 or self.scale.mantissa == 0.0
        assert close(Fraction(self.scale.shrink) * power(self.scale.shrink_exponent), ratio)
        assert 0.0 <= r <= 1.0
        assert close(Fraction(r), ratio) if ratio >= Fraction(1, 10**300) else r <= 1.1e-300
        assert (r == 1.0) if ratio == 1 else True
        self.want = rounded(new)


def rounded(x, bits=200):
    if x == 0:
        return x
    shift = bits - (x.numerator.bit_length() - x.denominator.bit_length())
    unit = Fraction(2) ** shift
    return Fraction(round(x * unit)) / unit


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_random_rounds(seed):
    rng = np.random.default_rng(seed)
    follower = Follower()
    for _ in range(1500):
        discount = float(rng.choice([0.5, 0.99, 1.0, 1.001, 1.5, rng.uniform(0, 2)]))
        size = 0.0 if rng.random() < 0.3 else float(10.0 ** rng.uniform(-5, 5))
        if rng.random() < 0.03:
            discount = float(rng.choice(DISCOUNTS))
        if rng.random() < 0.03:
            size = float(rng.choice(SIZES))
        follower.grow(discount, size)


@pytest.mark.parametrize(
    ("discount", "rounds"),
    [(TINY, 60), (1e-300, 60), (0.5, 3000), (0.999, 3000), (1.001, 3000), (3.0, 3000), (HUGE, 60)],
)
def test_silence(discount, rounds):
    """Many rounds without a gradient: the value leaves the floats, its digits stay right."""
    follower = Follower()
    follower.grow(1.0, 1.7)
    for _ in range(rounds):
        follower.grow(discount, 0.0)
        assert follower.scale.shrink == 1.0
    assert abs(follower.scale.exponent) > 4 or 0.99 < discount < 1.01
    follower.grow(1.0, TINY)
    follower.grow(1.0, HUGE)


@given(st.lists(st.tuples(st.sampled_from(DISCOUNTS), st.sampled_from(SIZES), st.integers(-3, 3)), max_size=40))
def test_extremes_in_any_order(rounds):
    follower = Follower()
    for discount, size, exponent in rounds:
        follower.grow(discount, size, exponent)


def test_what_grow_returns():
    h = Hint()
    assert h.grow(0.5, 0.0) == 0.0 and h.value == 0.0  # nothing yet
    assert h.grow(0.5, 4.0) == 0.0 and h.value == 4.0  # nothing before
    assert h.grow(0.5, 2.0) == 1.0 and h.value == 2.0  # a tie: discount * h stays the maximum
    assert h.grow(0.5, 4.0) == 0.25 and h.value == 4.0
    assert h.grow(0.0, 3.0) == 0.0 and h.value == 3.0  # forgotten
    assert h.grow(0.0, 0.0) == 0.0 and h.value == 0.0 and h.mantissa == 0.0
    assert h.grow(1e300, 1e-5) == 0.0 and h.value == 1e-5


@given(
    st.lists(st.tuples(st.sampled_from([0.5, 0.7, 1.0, 1.3]), st.floats(0.5, 100.0)), min_size=1, max_size=30),
    st.integers(-900, 900),
)
def test_a_power_of_two_changes_no_ratio_by_a_bit(rounds, k):
    a, b = Hint(), Hint()
    for discount, size in rounds:
        assert a.grow(discount, size) == b.grow(discount, math.ldexp(size, k))
        assert a.divide(0.3 * size) == b.divide(math.ldexp(0.3 * size, k))
        assert exactly(b) == exactly(a) * Fraction(2) ** k


@pytest.mark.parametrize("exponent", range(-4, 5))
@pytest.mark.parametrize("mantissa", [LOW, 1e-50, 0.7, 3.0, 1e50, float(np.nextafter(HIGH, 0.0))])
def test_the_value_as_a_float(mantissa, exponent):
    want = to_float(Fraction(mantissa) * power(exponent))
    assert Hint(mantissa, exponent).value == pytest.approx(want, rel=1e-15, abs=5e-324)


def test_assign_takes_the_value():
    a, b = Hint(3.0, 2), Hint(5.0, -1)
    a.assign(b)
    assert (a.mantissa, a.exponent) == (5.0, -1)
    b.grow(1.0, 1e300)
    assert (a.mantissa, a.exponent) == (5.0, -1)


MANTISSAS = [LOW, 1.3e-40, 0.7, 1.0, 3.3, 1.1e40, float(np.nextafter(HIGH, 0.0))]


@pytest.mark.parametrize("mantissa", MANTISSAS)
def test_division(mantissa):
    """x 2^(512 k) / h for every x that is not much larger than h; ratios below 1e-70 may be lost, but not invented."""
    seen = 0
    for e in range(-4, 5):
        h = Hint(mantissa, e)
        for k in range(-4, 5):
            for x in (TINY, 1e-320, 1e-200, -1e-100, 0.3, -1.0, 2.5, 1e100, -1e200, HUGE):
                want = Fraction(x) * power(k - e) / Fraction(mantissa)
                if abs(want) > 10:
                    continue
                got = Fraction(h.divide(x, k))
                if abs(want) >= Fraction(1, 10**70):
                    seen += 1
                    assert close(got, want, Fraction(1, 10**15))
                else:
                    assert abs(got) <= abs(want) * (1 + PRECISE) + Fraction(TINY)
                    assert got * want >= 0
    assert seen > 10
    assert Hint().divide(1.0) == 0.0 and Hint(2.0).divide(0.0) == 0.0


@given(
    st.sampled_from(MANTISSAS),
    st.integers(-4, 4),
    st.integers(-2, 2),
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 1.0)), min_size=1, max_size=5),
    st.floats(0.01, 10.0),
    st.floats(0.01, 1.0),
)
def test_descent(mantissa, e, apart, rows, rate, ratio):
    """x - rate * g * factor * 2^(512 k) / h for steps of ordinary size, though g, factor and h are not."""
    k = e - apart
    x, g = (np.array(column) for column in zip(*rows, strict=True))
    part = max(-1, min(1, apart))
    g *= 2.0 ** (512 * part)
    factor = ratio * 2.0 ** (512 * (apart - part)) * mantissa
    out = np.empty(len(x))
    Hint(mantissa, e).descend(x.data, rate, g.data, factor, k, out.data)
    for a, b, got in zip(x.tolist(), g.tolist(), out.tolist(), strict=True):
        step = Fraction(rate) * Fraction(b) * Fraction(factor) * power(-apart) / Fraction(mantissa)
        assert Fraction(1, 10**6) < step < 20
        assert abs(Fraction(got) - (Fraction(a) - step)) <= Fraction(1, 10**15) * (abs(Fraction(a)) + step)


def test_descent_of_a_gradient_that_is_tiny_beside_the_scale():
    x = np.array([1.0, -2.0])
    out = np.zeros(2)
    for h in (Hint(), Hint(1.0, 3), Hint(1.0, 400)):
        h.descend(x.data, 1.0, np.array([1.0, 1.0]).data, 1.0, 0, out.data)
        assert (out == x).all()
    Hint(4.0).descend(x.data, 2.0, x.data, 0.5, 0, x.data)  # in place, and the gradient may be x itself
    assert x.tolist() == [0.75, -1.5]
