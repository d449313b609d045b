"""Prediction sets: closed, measured, comparable."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane.scores.sets import Ball, HalfLine, Interval, LabelSet, UserSet, distance

numbers = st.floats(-1e6, 1e6)
SETS = {
    "interval": Interval(1.0, 2.0),
    "half-line": HalfLine(-math.inf, 2.0, width=1.0),
    "labels": LabelSet((2, 0)),
    "names": LabelSet(("cat", "dog")),
    "ball": Ball(np.array([1.0, 2.0]), 0.5, norm=2),
    "user": UserSet({1, 2, 3}),
}


@given(a=numbers, b=numbers, y=numbers)
def test_interval(a, b, y):
    s = Interval(a, b)
    assert (y in s) == (a <= y <= b)
    assert s.width == max(0.0, b - a)
    assert a not in s or (b in s and (a + b) / 2 in s)


@pytest.mark.parametrize(
    ("lower", "upper", "width"),
    [
        (-math.inf, math.inf, math.inf),
        (math.inf, -math.inf, 0.0),
        (math.inf, math.inf, 0.0),
        (1.0, math.inf, math.inf),
        (1.0, 1.0, 0.0),
    ],
)
def test_infinite_ends(lower, upper, width):
    assert Interval(lower, upper).width == width
    assert (1.0 in Interval(lower, upper)) == (lower <= 1.0 <= upper)


@given(upper=numbers, y=numbers)
def test_half_line(upper, y):
    assert (y in HalfLine(-math.inf, upper, width=1.0)) == (y <= upper)


def test_label_set():
    s = LabelSet(("b", "a"))
    assert list(s) == ["b", "a"] and len(s) == s.width == 2 and isinstance(s.width, float)
    assert "a" in s and "c" not in s and None not in s
    assert np.int64(2) in LabelSet((2, 0)) and 2.0 in LabelSet((2, 0)) and 1 not in LabelSet((2, 0))
    assert not list(LabelSet(())) and LabelSet(()).width == 0.0


@given(
    center=st.lists(numbers, min_size=1, max_size=5),
    direction=st.lists(st.floats(-1, 1), min_size=5, max_size=5),
    radius=st.floats(0, 1e3),
    norm=st.sampled_from([1, 2, math.inf]),
)
def test_ball(center, direction, radius, norm):
    """What lies in a ball lies in its box, the box is touched, and norms order the balls."""
    center = np.array(center)
    s = Ball(center, radius, norm)
    assert center in s and s.width == 2 * radius
    assert (s.lower == center - radius).all() and (s.upper == center + radius).all()
    y = center + radius * np.array(direction[: len(center)])
    assert (y in s) == (distance(center, y, norm) <= radius)
    if y in s:
        slack = 1e-9 * (1.0 + abs(center) + radius)
        assert (s.lower - slack <= y).all() and (y <= s.upper + slack).all()
        assert y in Ball(center, radius * (1 + 1e-12) + 1e-300, 2 if norm == 1 else math.inf)


@given(x=st.lists(numbers, min_size=1, max_size=9), y=st.lists(numbers, min_size=9, max_size=9))
def test_distance(x, y):
    a, b = np.array(x), np.array(y[: len(x)])
    for norm in (1, 2, math.inf):
        d = distance(a, b, norm)
        assert type(d) is float and d == distance(b, a, norm) and distance(a, a, norm) == 0.0
        assert d == pytest.approx(np.linalg.norm(a - b, norm), rel=1e-12, abs=1e-150)


def test_ball_edges():
    tiny = Ball(np.zeros(2), 5e-200, norm=2)
    assert [3e-200, 4e-200] in tiny and [3e-200, 5e-200] not in tiny
    assert Ball(np.zeros(2), -1.0, 2).width == 0.0 and np.zeros(2) not in Ball(np.zeros(2), -1.0, 2)
    assert Ball(np.zeros(2), math.inf, 2).width == math.inf and [1e150, -1e150] in Ball(np.zeros(2), math.inf, 2)
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        _ = [1.0, 2.0, 3.0] in tiny


@pytest.mark.parametrize(("inside", "width"), [({1, 2}, 2.0), (range(5), 5.0), (frozenset(), 0.0)])
def test_user_set(inside, width):
    s = UserSet(inside)
    assert s.width == width
    assert all((y in s) == (y in inside) for y in range(-1, 7))


def test_user_set_without_length():
    class Positive:
        def __contains__(self, y):
            return y > 0

    s = UserSet(Positive())
    assert 1.0 in s and -1.0 not in s and math.isnan(s.width)


@pytest.mark.parametrize("name", SETS)
def test_nan_is_nowhere(name):
    nan = [math.nan, math.nan] if name == "ball" else math.nan
    assert nan not in SETS[name]
    assert math.nan not in LabelSet((math.nan,)) and math.nan not in UserSet({math.nan})


@pytest.mark.parametrize("name", SETS)
def test_equality(name):
    s = SETS[name]
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert other == s and repr(other) == repr(s)
    for key, other in SETS.items():
        assert (s == other) == (key == name)
    assert s != 1.0 and repr(s).startswith(type(s).__name__ + "(")
    with pytest.raises(TypeError, match="hash"):
        hash(s)


def test_unequal_parts():
    assert Interval(1.0, 2.0) != Interval(1.0, 3.0) and LabelSet((0, 1)) != LabelSet((1, 0))
    assert Ball(np.zeros(2), 1.0, 2) != Ball(np.zeros(3), 1.0, 2) != Ball(np.zeros(3), 1.0, 1)
