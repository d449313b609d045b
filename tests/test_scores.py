"""Scores are what their definitions say, with the same bits for one round and for many."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_cases import BALLS, at, bits, data, every, intervals, labelled

from wane.scores import CQR, LAC, Absolute, Normalised, NormBall, OneSided
from wane.scores.sets import Ball, HalfLine, Interval, LabelSet


def inside(score, s, y):
    """Whether the label of that index, number or vector is in the set."""
    return (score.classes[y] if score.finite and score.classes else y) in s


# The definition: a set holds what scores at most the radius.


@every
def test_set_is_what_scores_at_most_the_radius(score):
    outputs, ys, radii, u = data(score, 400)
    inner = outer = 0
    for t in range(400):
        output, r, v = score.output(outputs[t]), at(radii, t), at(u, t)
        s = score.set(output, r, v)
        for y in range(len(output)) if score.finite else (ys[t],):
            y = score.label(y)
            wrong = score.score(output, y, v)
            excess = max(w - q for w, q in zip(wrong, r, strict=True)) if score.sides == 2 else wrong - r
            if score.finite or abs(excess) > 1e-12:
                assert inside(score, s, y) == (excess <= 0.0)
                inner, outer = inner + (excess <= 0.0), outer + (excess > 0.0)
    assert min(inner, outer) > 40


@intervals
@given(a=st.integers(-64, 64), b=st.integers(0, 64), y=st.integers(-64, 64))
def test_ties_are_inside(score, a, b, y):
    """With numbers that floats hold exactly, the label itself is in the set of its own score, and not of a smaller."""
    output = {Normalised: (a / 8, 0.25), CQR: (a / 8, (a + b) / 8)}.get(type(score), a / 8)
    y = y / 8
    r = score.score(output, y)
    less = tuple(x - 0.125 for x in r) if score.sides == 2 else r - 0.125
    assert y in score.set(output, r) and y not in score.set(output, less)


def test_radius_zero():
    assert Absolute().set(1.3, 0.0) == Interval(1.3, 1.3) == Normalised().set((1.3, 7.0), 0.0)
    assert 1.3 in Absolute().set(1.3, 0.0) and Absolute().set(1.3, 0.0).width == 0.0
    ball = NormBall().set(np.array([1.0, 2.0]), 0.0)
    assert [1.0, 2.0] in ball and [1.0, np.nextafter(2.0, 3.0)] not in ball


def test_kinds_of_sets():
    kinds = {type(s): type(s.set(s.output(o), r, 0.5)) for s, o, r in [
        (Absolute(), 1.0, 1.0), (OneSided(), 1.0, 1.0), (LAC(), [0.5, 0.5], 1.0), (NormBall(), [1.0], 1.0),
    ]}  # fmt: skip
    assert kinds == {Absolute: Interval, OneSided: HalfLine, LAC: LabelSet, NormBall: Ball}


# One round and many.


@every
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), rounds=st.integers(0, 12), size=st.sampled_from([2, 3, 8, 9, 100]))
def test_one_and_many(score, seed, rounds, size):
    raw, raw_y, radii, u = data(score, rounds, seed, size)
    for endless in (math.inf, -math.inf):
        if rounds > 3:
            (radii[0] if score.sides == 2 else radii)[rounds - 1 if endless > 0 else rounds - 2] = endless
    outputs = score.outputs(raw)
    assert score.rows(outputs) == rounds
    ys, known = score.labels(raw_y, rounds)
    assert known.all() and known.shape == (rounds,) and known.dtype == bool
    scores, widths, floors = score.score(outputs, ys, u), score.width(outputs, radii, u), score.floor(outputs, u)
    for t in range(rounds):
        one, y, r, v = score.output(raw[t]), score.label(raw_y[t]), at(radii, t), at(u, t)
        assert type(score.row(outputs, t)) is type(one) and bits(score.row(outputs, t)) == bits(one)
        assert bits(y) == bits(ys[t])
        single = score.score(one, y, v)
        if score.sides == 2:
            assert bits(single) == bits([scores[0][t], scores[1][t]]) and {type(x) for x in single} == {float}
        else:
            assert bits(single) == bits(scores[t]) and type(single) is float
        assert bits(score.floor(one, v)) == bits(floors[t]) and type(score.floor(one, v)) is float
        s = score.set(one, r, v)
        assert bits(s.width) == bits(widths[t]) and type(s.width) is float
    if not rounds:
        assert [np.shape(x) for x in (widths, floors)] == [(0,), (0,)]


extremes = st.sampled_from([0.0, 5e-324, 1e-150, 0.1, 1.0, 1e150]).flatmap(lambda x: st.sampled_from([x, -x]))


@intervals
@settings(max_examples=60)
@given(
    first=extremes,
    second=extremes,
    y=extremes,
    radius=extremes | st.sampled_from([1e308, -1e308, math.inf, -math.inf]),
)
def test_extremes(score, first, second, y, radius):
    """Scores are finite and widths are no NaN over the whole range, for one round and for many, bit for bit."""
    second = max(abs(second), 1e-150) if isinstance(score, Normalised) else second
    raw = (first, second) if isinstance(score, (Normalised, CQR)) else first
    one, many = score.output(raw), score.outputs([raw])
    r, rs = ((radius, y), (np.array([radius]), np.array([y]))) if score.sides == 2 else (radius, np.array([radius]))
    assert np.isfinite(score.score(one, y)).all()
    assert bits(score.score(one, y)) == bits(score.score(many, np.array([y])))
    assert bits(score.floor(one)) == bits(score.floor(many)) and bits(score.bounds(one, r)) == bits(
        score.bounds(many, rs)
    )
    width = score.set(one, r).width
    assert bits(width) == bits(score.width(many, rs)) and (width >= 0.0 or isinstance(score, OneSided))


@intervals
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    limits=st.sampled_from([(-1.0, 2.0), (0.0, math.inf), (-math.inf, 0.5), (-math.inf, math.inf)]),
)
def test_limits(score, seed, limits):
    """Limits cut the ends, and nothing else; for one round and for many, bit for bit."""
    raw, _, radii, _ = data(score, 8, seed)
    outputs = score.outputs(raw)
    free_lower, free_upper = score.bounds(outputs, radii)
    lower, upper = score.bounds(outputs, radii, limits)
    assert (lower == np.clip(free_lower, *limits)).all() and (upper == np.clip(free_upper, *limits)).all()
    widths = score.width(outputs, radii, limits=limits)
    for t in range(8):
        s = score.set(score.output(raw[t]), at(radii, t), limits=limits)
        assert bits([s.lower, s.upper]) == bits([lower[t], upper[t]]) and bits(s.width) == bits(widths[t])
        assert type(s.lower) is type(s.upper) is float
        assert all(limits[0] <= end <= limits[1] for end in (s.lower, s.upper))


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 100, 1000])
@pytest.mark.parametrize("score", BALLS.values(), ids=BALLS)
def test_norms_of_rows(score, size):
    rng = np.random.default_rng(size)
    for layout in ("C", "F"):
        a, b = (np.asarray(rng.normal(size=(20, size)), order=layout) for _ in range(2))
        outputs, (ys, _) = score.outputs(a), score.labels(b, 20)
        singles = [score.score(score.output(a[t]), score.label(b[t])) for t in range(20)]
        assert bits(score.score(outputs, ys)) == bits(singles)
        assert singles == pytest.approx(np.linalg.norm(a - b, score.norm, axis=1), rel=1e-12)


@labelled
def test_blocks_of_rows(score):
    """More rows than are worked on at a time."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(300), 2000)
    y, u, r = rng.integers(0, 300, 2000), rng.random(2000), rng.random(2000)
    scores, widths, floors = score.score(p, y, u), score.width(p, r, u), score.floor(p, u)
    for t in (*range(0, 2000, 97), 1999):
        assert scores[t] == score.score(p[t], y[t], u[t]) and floors[t] == score.floor(p[t], u[t])
        assert widths[t] == len(score.set(p[t], r[t], u[t]))
