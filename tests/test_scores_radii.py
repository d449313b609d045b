"""Sets grow with the radius, from the floor on they hold something; symmetries of the intervals."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from score_cases import INTERVALS, LABELS, SCORES, at, data

from wane.scores import APS, CQR, LAC, RAPS, Absolute, Normalised, NormBall, OneSided, Signed
from wane.scores.sets import Ball

ONE_END = {k: s for k, s in SCORES.items() if s.sides == 1}

one_end = pytest.mark.parametrize("score", ONE_END.values(), ids=ONE_END)


# Radii.


def covers(score, s, big):
    if isinstance(s, Ball):
        return s.radius <= big.radius
    return {*s} <= {*big} if score.finite else s.lower > s.upper or (big.lower <= s.lower and s.upper <= big.upper)


@one_end
@given(seed=st.integers(0, 2**32), more=st.floats(0.0, 2.0))
@settings(max_examples=25)
def test_sets_grow_with_the_radius(score, seed, more):
    raw, _, radii, u = data(score, 4, seed)
    for t in range(4):
        output, v = score.output(raw[t]), at(u, t)
        for r in (at(radii, t), score.floor(output, v)):
            small, big = score.set(output, r, v), score.set(output, r + more, v)
            assert covers(score, small, big)
            assert covers(score, big, score.set(output, math.inf, v))


numbers = st.floats(-1e150, 1e150) | st.floats(-10, 10) | st.sampled_from([0.0, 0.1, 0.3, 5e-324, 1e150, -1e150])


@settings(max_examples=300)
@given(low=numbers, high=numbers, more=st.floats(0.0, 1e-9))
@example(low=0.1, high=0.3, more=0.0)
@example(low=5e-324, high=0.0, more=0.0)
@example(low=-1e150, high=1e150, more=0.0)
def test_cqr_floor(low, high, more):
    """From the floor on the midpoint is in the set, whatever is rounded; below it nothing is."""
    score = CQR()
    output = score.output((low, high))
    floor, middle = score.floor(output), 0.5 * (low + high)
    assert math.isfinite(floor) and math.isfinite(score.score(output, -low))
    assert middle in score.set(output, floor) and middle in score.set(output, floor + more)
    assert covers(score, score.set(output, floor), score.set(output, floor + more))
    below = score.set(output, np.nextafter(floor, -math.inf).item())
    assert below.width == 0.0 and below.lower > below.upper


@pytest.mark.parametrize(
    ("score", "output"), [(Absolute(), 0.1), (Normalised(), (0.1, 3.0)), (NormBall(), np.array([0.1, 7.0]))], ids=str
)
def test_floor_zero(score, output):
    center = output[0] if isinstance(score, Normalised) else output
    assert score.floor(output) == 0.0 and center in score.set(output, 0.0)
    assert center not in score.set(output, -1e-300) and score.set(output, -1e-300).width == 0.0


@pytest.mark.parametrize("score", [APS(allow_empty=False), LABELS["aps-full"], LABELS["raps-random"]], ids=str)
def test_floor_of_labels(score):
    """The floor keeps the most probable label, and nothing less does."""
    p, _, _, u = data(score, 60)
    for t in range(60):
        floor = score.floor(p[t], u[t])
        smallest = score.set(p[t], floor, u[t])
        assert int(np.argmax(p[t])) in smallest and floor == score.score(p[t], int(np.argmax(p[t])), u[t])
        assert len(score.set(p[t], np.nextafter(floor, -1.0), u[t])) == 0
    assert LAC().floor(p[0]) == APS().floor(p[0]) == RAPS().floor(p[0]) == -math.inf


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_one_sided_width(seed):
    """The width is the distance from the forecast to the bound; a bound beyond a limit is the limit."""
    raw, _, radii, _ = data(OneSided(), 6, seed)
    for t in range(6):
        m, r = float(raw[t]), float(radii[t])
        for limits in ((-math.inf, math.inf), (-1.0, 1.5)):
            above, below = OneSided("upper").set(m, r, limits=limits), OneSided("lower").set(m, r, limits=limits)
            assert above.width == pytest.approx(above.upper - m) and below.width == pytest.approx(m - below.lower)
            assert above.lower == limits[0] and below.upper == limits[1]
        assert OneSided("upper").set(m, r).width == OneSided("lower").set(m, r).width == r
    assert OneSided("upper").set(1.0, math.inf, limits=(0.0, 3.0)).width == 2.0


# Symmetries of the interval scores, exact for powers of two.


@given(m=st.integers(-99, 99), b=st.integers(0, 99), y=st.integers(-99, 99), shift=st.integers(-99, 99))
def test_translation_and_scale(m, b, y, shift):
    for name, score in INTERVALS.items():
        pair = {"cqr": (m, m + b), "normalised": (m, 2.0)}.get(name)
        moved = {"cqr": (m + shift, m + b + shift), "normalised": (m + shift, 2.0)}.get(name)
        grown = {"cqr": (8 * m, 8 * (m + b)), "normalised": (8 * m, 16.0)}.get(name)
        one, two, three = (score.output(o) for o in (pair or m, moved or m + shift, grown or 8 * m))
        s = score.score(one, float(y))
        unit = 1.0 if name == "normalised" else 8.0
        bigger = tuple(unit * x for x in s) if score.sides == 2 else unit * s
        assert score.score(two, float(y + shift)) == s and score.score(three, 8.0 * y) == bigger
        first, second, third = score.bounds(one, s), score.bounds(two, s), score.bounds(three, bigger)
        assert tuple(x + shift for x in first) == second and tuple(8 * x for x in first) == third


@given(m=st.floats(-1e3, 1e3), y=st.floats(-1e3, 1e3), r=st.floats(-10, 10))
def test_mirrors(m, y, r):
    """Upper and lower bounds mirror each other; two of them are the signed score; CQR of one number is the distance."""
    above, below = OneSided("upper"), OneSided("lower")
    assert above.score(m, y) == below.score(-m, -y) and above.set(m, r).upper == -below.set(-m, r).lower
    assert Signed().score(m, y) == (below.score(m, y), above.score(m, y))
    assert Signed().set(m, (r, r)).lower == below.set(m, r).lower
    assert CQR().score((m, m), y) == Absolute().score(m, y) == Normalised().score((m, 1.0), y)
    assert CQR().set((m, m), abs(r)) == Absolute().set(m, abs(r)) == Normalised().set((m, 1.0), abs(r))
