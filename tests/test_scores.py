"""Scores: what their definitions say, with the same bits for one round and for many."""

import copy
import inspect
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import wane.scores
from wane.learners.state import subclasses
from wane.scores import (
    APS,
    CQR,
    LAC,
    RAPS,
    Absolute,
    Normalised,
    NormBall,
    OneSided,
    Score,
    Signed,
    UserScore,
    as_score,
    make,
    names,
    uniforms,
)
from wane.sets import Ball, HalfLine, Interval, LabelSet, UserSet


def gap(output, y):
    return abs(y - output)


def gap_set(output, radius):
    return output - radius, output + radius


INTERVALS = {
    "absolute": Absolute(),
    "signed": Signed(),
    "normalised": Normalised(),
    "cqr": CQR(),
    "upper": OneSided("upper"),
    "lower": OneSided("lower"),
}
LABELS = {
    "lac": LAC(),
    "aps": APS(),
    "aps-random": APS(seed=7),
    "aps-full": APS(seed=7, allow_empty=False),
    "raps": RAPS(0.05),
    "raps-random": RAPS(0.05, k_reg=2, seed=3, allow_empty=False),
    "raps-published": RAPS(0.05, k_reg=1, seed=3, published=True),
}
BALLS = {"ball": NormBall(), "ball-1": NormBall(1), "ball-inf": NormBall(math.inf)}
SCORES = {**INTERVALS, **LABELS, **BALLS, "user": UserScore(gap, gap_set)}
ONE_END = {k: s for k, s in SCORES.items() if s.sides == 1}

every = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
one_end = pytest.mark.parametrize("score", ONE_END.values(), ids=ONE_END)
intervals = pytest.mark.parametrize("score", INTERVALS.values(), ids=INTERVALS)
labelled = pytest.mark.parametrize("score", LABELS.values(), ids=LABELS)


def data(score, rounds, seed=0, size=4):
    """Outputs, labels, radii and uniforms for a score, some of them on a coarse grid, where ties are exact."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return np.where(rng.random(shape) < 0.3, rng.integers(-8, 9, shape) / 4.0, rng.normal(size=shape) * 3.0)

    if score.finite:
        p = rng.dirichlet(np.full(size, 0.4), rounds)
        p[::3] = np.eye(size)[rng.integers(0, size, len(p[::3]))]  # certain
        p[1::3] = 1.0 / size  # all tied
        return p, rng.integers(0, size, rounds), rng.random(rounds) * 1.2, rng.random(rounds)
    outputs = draw(rounds)
    if isinstance(score, NormBall):
        outputs = draw(rounds, size)
        return outputs, outputs + draw(rounds, size), 3.0 * abs(draw(rounds)), None
    if isinstance(score, Normalised):
        outputs = np.column_stack((outputs, rng.choice([0.5, 1.0, 3.7], rounds)))
    if isinstance(score, CQR):
        outputs = np.column_stack((outputs, outputs + draw(rounds) + 1.0))
    radius = draw(rounds) if score.signed else abs(draw(rounds))
    return outputs, draw(rounds), (draw(rounds), draw(rounds)) if score.sides == 2 else radius, None


def at(value, t):
    """Round t of what ``data`` gave."""
    if isinstance(value, tuple):
        return tuple(float(v[t]) for v in value)
    return value if value is None else float(value[t])


def bits(x):
    return np.asarray(x, dtype=float).tobytes()


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


# Labels.


def literal(p, u, penalty=0.0, k_reg=0, published=False):
    """The scores of all labels, by the words of the definition."""
    ranked = sorted(range(len(p)), key=lambda k: (-p[k], -k if published else k))
    scores, total = {}, 0.0
    for i, k in enumerate(ranked):
        total += p[k]
        beyond = max(0, (i if published else i + 1) - k_reg)
        scores[k] = min(1.0, total - u * p[k]) + penalty * (math.sqrt(beyond) if published else beyond)
    return [scores[k] for k in range(len(p))]


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
@given(
    weights=st.lists(st.integers(0, 5), min_size=2, max_size=30).filter(any),
    u=st.floats(0, 1, exclude_max=True),
    penalty=st.sampled_from([0.0, 0.01, 1.0]),
    k_reg=st.sampled_from([None, 0, 1, 3, 50]),
)
@settings(max_examples=40)
def test_adaptive_scores_literally(seed, published, weights, u, penalty, k_reg):
    p = np.array(weights) / sum(weights)
    free = max(1, len(p) // 10) if k_reg is None else k_reg
    score = RAPS(penalty, k_reg, seed=seed, published=published)
    wanted = literal(p, 0.0 if seed is None else u, penalty, free, published)
    assert [score.score(p, y, u) for y in range(len(p))] == wanted
    assert max(wanted) <= score.largest(len(p))
    assert len(score.set(p, score.largest(len(p)), u)) == len(p)
    radius = sorted(wanted)[len(p) // 2]
    chosen = score.set(p, radius, u).labels
    assert {*chosen} == {k for k in range(len(p)) if wanted[k] <= radius}
    assert list(chosen) == sorted(chosen, key=lambda k: (-p[k], k))
    if penalty == 0.0 and not published:
        assert [APS(seed=seed).score(p, y, u) for y in range(len(p))] == wanted


def test_largest_is_reached():
    p = np.eye(30)[0]
    score = RAPS(0.01, k_reg=5)
    assert max(score.score(p, y) for y in range(30)) == score.largest(30) == 1.0 + 0.01 * 25
    assert APS().largest(30) == LAC().largest(30) == 1.0


def test_published_penalty():
    """Rank k_reg, counted from 0, is still free; and the bound is the one of the published experiment."""
    score = RAPS(0.01, k_reg=20, published=True)
    p = np.linspace(2.0, 1.0, 200)
    p /= p.sum()
    extra = [score.score(p, y) - APS().score(p, y) for y in (19, 20, 21, 24)]
    assert extra == pytest.approx([0.0, 0.0, 0.01, 0.02], abs=1e-14)
    assert score.largest(200) == pytest.approx(1.1342, abs=1e-4)


def test_randomised_score_is_uniform():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(6, 0.5), 20_000)
    y = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    score = APS(seed=5)
    assert stats.kstest(score.score(p, y, uniforms(5, 0, 20_000)), "uniform").pvalue > 0.01
    assert stats.kstest(APS().score(p, y), "uniform").pvalue < 1e-6


def test_lac_is_one_minus_the_probability():
    p = np.array([0.5, 0.125, 0.375])
    assert [LAC().score(p, y) for y in range(3)] == [0.5, 0.875, 0.625]
    assert LAC().set(p, 0.625).labels == (0, 2) and LAC().set(p, 0.4).labels == ()


@labelled
def test_rounded_probabilities(score):
    """Half precision does not add up to 1; scores stay within [0, largest] all the same."""
    logits = np.random.default_rng(0).normal(size=(50, 200)) * 3
    p = np.exp(logits)
    p = score.outputs((p / p.sum(axis=1, keepdims=True)).astype(np.float16))
    assert (p.sum(axis=1) != 1.0).any()
    p = np.vstack((p, [1.0005, *[0.0] * 199], [1.0, 5e-4, *[0.0] * 198]))
    for y in (0, 1, 199):
        s = score.score(score.outputs(p), np.full(len(p), y), np.full(len(p), 0.9999999))
        assert s.min() >= 0.0 and s.max() <= score.largest(200)


@pytest.mark.parametrize("classes", [["cat", "dog", "cow"], np.array(["cat", "dog", "cow"]), (7, 3, 5), [0.5, 1.5, -1]])
@pytest.mark.parametrize("kind", [LAC, APS, RAPS])
def test_names(kind, classes):
    named, plain = kind(classes=classes), kind()
    p = np.array([0.2, 0.5, 0.3])
    for k, name in enumerate(classes):
        assert named.label(name) == k and type(named.label(name)) is int
    assert named.set(p, 1.0).labels == tuple(classes[k] for k in plain.set(p, 1.0))
    assert all(type(name) in (str, int, float) for name in named.set(p, 1.0))
    ys, known = named.labels([classes[2], None, classes[0], math.nan], 4)
    assert ys.tolist() == [2, 0, 0, 0] and known.tolist() == [True, False, True, False]


# Uniforms.


def split_mix(seed, count):
    """The reference algorithm, in whole numbers."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        out.append(z ^ (z >> 31))
    return out


def test_uniforms_are_split_mix():
    assert split_mix(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # the published outputs
    for seed in (0, 1, 12345, 2**64 - 1):
        assert uniforms(seed, 0, 50).tolist() == [(z >> 11) / 2**53 for z in split_mix(seed, 50)]


@given(seed=st.integers(0, 2**64 - 1), start=st.integers(0, 10**6), count=st.integers(0, 20))
def test_uniforms_have_no_memory(seed, start, count):
    ahead = uniforms(seed, start, count + 5)
    assert (uniforms(seed, start + 5, count) == ahead[5:]).all() and ((ahead >= 0.0) & (ahead < 1.0)).all()
    assert start > 2000 or (uniforms(seed, 0, start + count)[start:] == ahead[:count]).all()
    assert uniforms(seed, 2**63 - 1, 1).shape == (1,)


def test_uniforms_are_uniform():
    u = uniforms(3, 0, 100_000)
    assert stats.kstest(u, "uniform").pvalue > 0.01
    for other in (u[1:], uniforms(4, 0, 99_999)):  # the round before, the next seed
        assert abs(np.corrcoef(u[:-1], other)[0, 1]) < 4 / math.sqrt(len(other))


# What the boundary lets in.


@every
def test_outputs_are_independent_of_the_caller(score):
    raw, raw_y, _, _ = data(score, 3)
    one, y = score.output(raw[0]), score.label(raw_y[0])
    row = score.row(score.outputs(raw.copy()), 0)
    raw[0], raw_y[0] = raw[2] + 1.0, raw_y[2] + 1
    before, before_y, _, _ = data(score, 3)
    assert bits(one) == bits(row) == bits(before[0]) and bits(y) == bits(before_y[0])
    outputs = score.outputs(before)
    if score.finite or isinstance(score, NormBall):
        score.row(outputs, 0)[:] = 9.0
        assert bits(outputs) == bits(data(score, 3)[0])


@pytest.mark.parametrize("kind", [list, tuple, np.float32, np.int64])
def test_kinds_of_numbers(kind):
    values = [1, 2, 3]
    given = kind(values) if kind in (list, tuple) else np.array(values, dtype=kind)
    assert Absolute().outputs(given).tolist() == [1.0, 2.0, 3.0] and Absolute().outputs(given).dtype == np.float64
    assert type(Absolute().output(given[0])) is type(Absolute().label(given[0])) is float
    assert LAC().labels(given, 3)[0].tolist() == values


@pytest.mark.parametrize("score", [CQR(), Normalised()], ids=str)
def test_pairs_as_rows_and_columns(score):
    first, second = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    wanted = bits(first) + bits(second)
    for pairs in (np.column_stack((first, second)), list(zip(first, second, strict=True)), (first, second)):
        columns = score.outputs(pairs)
        assert bits(columns[0]) + bits(columns[1]) == wanted
        again = score.outputs(columns)
        assert bits(again[0]) + bits(again[1]) == wanted
    assert score.output(np.array([1.0, 4.0])) == score.row(columns, 0) == (1.0, 4.0)


@pytest.mark.parametrize("score", [Absolute(), LAC(), UserScore(gap, gap_set)], ids=["real", "class", "user"])
@pytest.mark.parametrize(
    "values",
    [
        [1, None, 0, math.nan],
        np.array([1.0, math.nan, 0.0, math.nan]),
        np.array([1, None, 0, math.nan], dtype=object),
        [np.float32(1.0), np.float32("nan"), 0, np.array(math.nan)],
    ],
    ids=["list", "floats", "objects", "scalars"],
)
def test_missing_labels(score, values):
    ys, known = score.labels(values, 4)
    assert known.tolist() == [True, False, True, False] and ys[known].tolist() == [1, 0]
    outputs = score.outputs(np.full((4, 2), 0.5) if score.finite else np.zeros(4))
    assert score.score(outputs, ys).shape == (4,)
    for t in (1, 3):
        with pytest.raises(ValueError, match=r"y is missing .*leave this label out"):
            score.label(values[t])


def test_missing_vectors():
    score = NormBall()
    rows = [[1.0, 2.0], None, [math.nan, 1.0], np.array([3.0, 4.0]), math.nan]
    ys, known = score.labels(rows, 5)
    assert known.tolist() == [True, False, False, True, False] and ys[known].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert score.score(score.outputs(np.zeros((5, 2))), ys)[known].tolist() == [math.sqrt(5.0), 5.0]
    array = np.array([[1.0, 2.0], [math.nan, 1.0], [3.0, 4.0]])
    ys, known = score.labels(array, 3)
    assert known.tolist() == [True, False, True] and ys.tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    nothing, known = score.labels([None] * 3, 3)
    assert not known.any() and score.score(np.zeros((3, 2)), nothing).shape == (3,)
    for row in rows[1:3]:
        with pytest.raises(ValueError, match="y is missing"):
            score.label(row)


BAD = [
    (Absolute(), "output", math.nan, ValueError, "output must be finite.*clean it"),
    (Absolute(), "output", math.inf, ValueError, "output must be finite"),
    (Absolute(), "output", 1e151, ValueError, "at most 1e.150.*larger unit"),
    (Absolute(), "output", "1", TypeError, "output must be one real number, got '1'"),
    (Absolute(), "output", [1.0], TypeError, "output must be one real number"),
    (Absolute(), "outputs", [1.0, math.nan], ValueError, r"outputs\[1\] must be finite"),
    (Absolute(), "outputs", [1.0, 2.0, -1e151], ValueError, r"outputs\[2\] must be finite, of at most"),
    (Absolute(), "outputs", [1.0, "2", 3.0], TypeError, r"outputs\[1\] must be one real number, got '2'"),
    (Absolute(), "outputs", [1.0, None], TypeError, r"outputs\[1\] must be one real number, got None"),
    (Absolute(), "outputs", [[1.0, 2.0]], ValueError, r"outputs must have shape \(rounds,\).*got \(1, 2\)"),
    (Absolute(), "outputs", 1.0, ValueError, r"outputs must have shape \(rounds,\)"),
    (Absolute(), "outputs", np.ma.array([1.0, 2.0], mask=[0, 1]), TypeError, "masked"),
    (Absolute(), "label", math.inf, ValueError, "y must be finite"),
    (Absolute(), "label", "a", TypeError, "y must be one real number"),
    (Normalised(), "output", 1.0, TypeError, "output must be a pair of numbers, got 1.0"),
    (Normalised(), "output", (1.0, 2.0, 3.0), TypeError, "output must be a pair"),
    (Normalised(), "output", (1.0, 0.0), ValueError, r"the scale of output must be a number in \[1e-150, 1e.150\]"),
    (Normalised(), "output", (math.nan, 1.0), ValueError, "the forecast of output must be finite"),
    (Normalised(), "outputs", [(1.0, 1.0), (1.0, -1.0)], ValueError, r"the scale of outputs\[1\] must be"),
    (Normalised(), "outputs", ([1.0, 2.0], [0.0, 1.0]), ValueError, r"the scale of outputs\[0\] must be"),
    (CQR(), "output", (1.0, math.inf), ValueError, "the upper quantile of output must be finite"),
    (CQR(), "outputs", [(1.0, 2.0), (math.nan, 2.0)], ValueError, r"the lower quantile of outputs\[1\] must be finite"),
    (CQR(), "outputs", [(1.0, 2.0), 3.0], TypeError, r"outputs\[1\] must be a pair"),
    (CQR(), "outputs", np.zeros((3, 4)), ValueError, r"outputs must have shape \(rounds, 2\).*got \(3, 4\)"),
    (CQR(), "outputs", ([1.0], [1.0, 2.0]), ValueError, "two columns of one length.*rows as a list or an array"),
    (CQR(), "outputs", ([1.0, 2.0],) * 3, ValueError, "two columns"),
    (LAC(), "output", [0.5, 0.6], ValueError, "output must hold probabilities that add up to 1, got 1.1: divide"),
    (LAC(), "output", [0.5, 1.5, -1.0], ValueError, "got 1.5 for class 1: of logits take the softmax"),
    (LAC(), "output", [1.0, math.nan], ValueError, "got nan for class 1"),
    (LAC(), "output", [1e308, 1e308], ValueError, r"got 1e\+308 for class 0"),
    (LAC(), "outputs", [[0.5, 0.5], [1e308, 1e308]], ValueError, r"outputs\[1\] must hold probabilities, got 1e\+308"),
    (LAC(), "outputs", [[0.5, 0.5], [1.0005, -0.0005]], ValueError, r"outputs\[1\] must hold .* got -0.0005"),
    (LAC(), "output", [1.0], ValueError, r"at least 2 probabilities, one for each class, got shape \(1,\)"),
    (LAC(), "output", ["a", "b"], TypeError, "output must hold real numbers"),
    (LAC(), "outputs", [[0.5, 0.5], [0.5, 0.4]], ValueError, r"outputs\[1\] must hold probabilities that add up"),
    (LAC(), "outputs", [[0.5, 0.5], [math.nan, 0.4]], ValueError, r"outputs\[1\] must hold probabilities, got nan"),
    (LAC(), "outputs", [[1.0], [1.0]], ValueError, r"outputs\[0\] must hold at least 2"),
    (LAC(), "outputs", [0.5, 0.5], ValueError, r"outputs must have shape \(rounds, entries\)"),
    (LAC(), "outputs", [[0.5, 0.5], [1.0, 0.0, 0.0]], ValueError, "rows differ in length"),
    (LAC(classes=["a", "b"]), "output", [0.5, 0.25, 0.25], ValueError, "must hold 2 probabilities"),
    (LAC(classes=["a", "b"]), "outputs", np.full((2, 4), 0.25), ValueError, r"shape \(rounds, 2\).*got \(2, 4\)"),
    (LAC(), "label", 1.5, ValueError, "y must be the index of a class, a whole number >= 0, got 1.5"),
    (LAC(), "label", -1, ValueError, "whole number >= 0"),
    (LAC(), "label", 1e300, ValueError, "whole number >= 0"),
    (LAC(), "label", "cat", TypeError, r"y must be the index of a class, got 'cat'.*classes=\[...\]"),
    (LAC(classes=["a", "b"]), "label", "c", ValueError, r"y must be one of the classes, got 'c'.*LAC\(classes="),
    (LAC(classes=["a", "b"]), "label", [1], ValueError, "y must be one of the classes"),
    (NormBall(), "output", 1.0, ValueError, "output must be a vector, got shape"),
    (NormBall(), "output", [], ValueError, "output must be a vector"),
    (NormBall(), "output", [1.0, math.inf], ValueError, "output must be finite, with entries up to"),
    (NormBall(), "outputs", [[], []], ValueError, r"outputs\[0\] must be a vector"),
    (NormBall(), "outputs", [[1.0, 2.0], [1e151, 1.0]], ValueError, r"outputs\[1\] must be finite"),
    (NormBall(), "outputs", [[1.0, 2.0], ["a", 1.0]], TypeError, r"outputs\[1\] must hold real numbers"),
    (NormBall(), "label", [1e151], ValueError, "y must be finite"),
    (UserScore(gap, gap_set), "outputs", 1.0, TypeError, "outputs must be a sequence, one entry a round"),
    (UserScore(gap, gap_set), "outputs", "abc", TypeError, "outputs must be a sequence"),
]  # fmt: skip


@pytest.mark.parametrize(("score", "method", "value", "error", "text"), BAD)
def test_refusals(score, method, value, error, text):
    with pytest.raises(error, match=text):
        getattr(score, method)(value)


BAD_LABELS = [
    (Absolute(), [1.0, 2.0], ValueError, "y must hold 3 labels, one a round, got 2: None or NaN for an unknown"),
    (Absolute(), [1.0, None, math.inf], ValueError, r"y\[2\] must be finite"),
    (Absolute(), [math.nan, "a", 1.0], TypeError, r"y\[1\] must be one real number, got 'a'"),
    (Absolute(), 1.0, TypeError, "y must be a sequence, one entry a round"),
    (Absolute(), np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), TypeError, "masked entries: fill them with NaN"),
    (Absolute(), np.zeros((3, 2)), ValueError, r"y must have shape \(rounds,\)"),
    (LAC(), [0, None, 0.5], ValueError, r"y\[2\] must be the index of a class"),
    (LAC(), ["a", "b", "c"], TypeError, r"y\[0\] must be the index of a class.*classes="),
    (LAC(classes=["a", "b"]), ["a", "b", "c"], ValueError, r"y\[2\] must be one of the classes, got 'c'"),
    (NormBall(), [[1.0], [2.0], [1.0, 2.0]], ValueError, r"vectors of one length, got lengths \[1, 2\]"),
    (NormBall(), [[1.0], None, [1e151]], ValueError, r"y\[2\] must be finite"),
    (NormBall(), np.array([[1.0], [math.nan], [1e151]]), ValueError, r"y\[2\] must be finite"),
    (NormBall(), [1.0, 2.0, 3.0], ValueError, r"y\[0\] must be a vector"),
    (NormBall(), np.zeros(3), ValueError, r"y must have shape \(rounds, entries\)"),
    (UserScore(gap, gap_set), "abc", TypeError, "y must be a sequence"),
]


@pytest.mark.parametrize(("score", "values", "error", "text"), BAD_LABELS)
def test_label_refusals(score, values, error, text):
    with pytest.raises(error, match=text):
        score.labels(values, 3)


def test_score_refusals():
    p = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="y must be below 2, the number of classes of its output, got 2"):
        LAC().score(p[0], 2)
    with pytest.raises(ValueError, match=r"y\[1\] must be below 2"):
        LAC().score(p, np.array([0, 3, 2]))
    with pytest.raises(ValueError, match=r"shape of its output, \(2,\), got \(3,\)"):
        NormBall().score(np.zeros(2), np.zeros(3))
    for call in (lambda s: s.score(p[0], 0), lambda s: s.set(p[0], 1.0), lambda s: s.width(p, np.ones(3))):
        with pytest.raises(TypeError, match=r"needs u, a uniform in \[0, 1\).*wane.scores.uniforms"):
            call(APS(seed=1))
    for score, output in ((LAC(), p[0]), (NormBall(), np.zeros(2))):
        with pytest.raises(ValueError, match=r"limits cut intervals.*leave them out"):
            score.set(output, 1.0, limits=(0.0, 1.0))
        with pytest.raises(ValueError, match="limits cut intervals"):
            score.width(np.atleast_2d(output), np.ones(1), limits=(0.0, 1.0))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: OneSided("up"), ValueError, "side must be 'upper' or 'lower'.*got 'up'"),
        (lambda: NormBall(3), ValueError, "norm must be 1, 2 or inf, got 3"),
        (lambda: NormBall(True), ValueError, "norm must be"),
        (lambda: RAPS(-0.1), ValueError, "penalty must be a number in .*0 is APS"),
        (lambda: RAPS(math.nan), ValueError, "penalty must be"),
        (lambda: RAPS(k_reg=-1), ValueError, "k_reg must be a whole number, in"),
        (lambda: RAPS(k_reg=1.5), ValueError, "k_reg must be a whole number"),
        (lambda: APS(seed=-1), ValueError, "seed must be a whole number, in"),
        (lambda: APS(seed=True), ValueError, "seed must be a whole number"),
        (lambda: uniforms(0, -1, 2), ValueError, "start must be a whole number"),
        (lambda: uniforms(0, 1, 2.5), ValueError, "count must be a whole number"),
        (lambda: LAC(classes="ab"), TypeError, "classes must be a sequence of names"),
        (lambda: LAC(classes=3), TypeError, "classes must be a sequence of names"),
        (lambda: LAC(classes=["a"]), ValueError, "at least 2 different names"),
        (lambda: LAC(classes=["a", "b", "a"]), ValueError, "at least 2 different names"),
        (lambda: LAC(classes=["a", ("b",)]), TypeError, r"classes\[1\] must be text or a number"),
        (lambda: LAC(classes=[1.0, math.nan]), TypeError, r"classes\[1\] must be"),
        (lambda: UserScore(1, gap_set), TypeError, "score_function must be a function, got 1"),
        (lambda: UserScore(gap, None), TypeError, "set_function must be a function"),
        (lambda: make("absolut"), ValueError, "no score is called 'absolut'.*known are absolute, aps"),
        (lambda: make(3), ValueError, "no score is called 3"),
        (lambda: make("absolute", side=1), TypeError, "absolute: .*side.*it takes"),
        (lambda: make("user"), TypeError, "user: missing a required argument"),
        (lambda: as_score(3), TypeError, "score must be one of wane.scores or a name of one, got 3"),
    ],
)
def test_argument_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


# The user's own.


def test_user_score_is_the_score_it_imitates():
    outputs, ys, radii, _ = data(Absolute(), 30)
    user, own = UserScore(gap, gap_set), Absolute()
    columns = user.outputs(outputs)
    labels, _ = user.labels(ys, 30)
    assert bits(user.score(columns, labels)) == bits(own.score(outputs, ys))
    limits = (-1.0, 1.0)
    assert bits(user.width(columns, radii, limits=limits)) == bits(own.width(outputs, radii, limits=limits))
    for t in range(30):
        m, r = float(outputs[t]), float(radii[t])
        assert user.set(m, r) == own.set(m, r) and user.set(m, r, limits=limits) == own.set(m, r, limits=limits)


def edits(a, b):
    return sum(x != y for x, y in itertools.zip_longest(a, b))


def test_user_score_of_any_objects():
    words = ["cat", "cot", "dog"]
    score = UserScore(edits, lambda word, radius: {w for w in words if edits(word, w) <= radius})
    columns = score.outputs(words)
    ys, known = score.labels(["cot", None, "dog"], 3)
    assert score.rows(columns) == 3 and score.row(columns, 1) == "cot" and known.tolist() == [True, False, True]
    assert score.score(columns, ys).tolist() == [1.0, 0.0, 0.0]
    assert score.set("cat", 1.0) == UserSet({"cat", "cot"}) and "dog" not in score.set("cat", 1.0)
    assert score.width(columns, np.array([0.0, 1.0, 3.0])).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="limits cut intervals"):
        score.set("cat", 1.0, limits=(0.0, 1.0))
    balls = UserScore(NormBall().score, NormBall().set)
    assert isinstance(balls.set(np.zeros(2), 1.0), Ball)  # a set of this package is taken as it is


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda m, y: -1.0, ValueError, r"score_function\(output, y\) must be >= 0, got -1.0.*signed=True"),
        (lambda m, y: math.nan, ValueError, r"score_function\(output, y\) must be finite"),
        (lambda m, y: None, TypeError, r"score_function\(output, y\) must be one real number"),
    ],
)
def test_bad_user_scores(function, error, text):
    with pytest.raises(error, match=text):
        UserScore(function, gap_set).score(0.0, 1.0)
    score = UserScore(lambda m, y: function(m, y) if y == 2 else 1.0, gap_set)
    with pytest.raises(error, match=r"score_function\(outputs\[1\], y\[1\]\)"):
        score.score(score.outputs([0, 0]), score.labels([1, 2], 2)[0])
    assert UserScore(lambda m, y: y - m, gap_set, signed=True).score(1.0, 0.0) == -1.0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([1.0, 2.0], TypeError, r"tuple \(lower, upper\), or a container such as a Python set, got \[1.0, 2.0\]"),
        (np.array([1.0, 2.0]), TypeError, r"must give a tuple \(lower, upper\)"),
        ((1.0, 2.0, 3.0), TypeError, r"must give a tuple \(lower, upper\)"),
        (5.0, TypeError, r"must give a tuple \(lower, upper\)"),
        (("a", "b"), TypeError, "the lower end of your set must be one real number"),
        ((1.0, math.nan), ValueError, "must give two ends"),
    ],
)
def test_bad_user_sets(given, error, text):
    with pytest.raises(error, match=text):
        UserScore(gap, lambda m, r: given).set(0.0, 1.0)


# State, names.


@every
def test_state(score):
    objects = {"score_function": gap, "set_function": gap_set} if isinstance(score, UserScore) else {}
    state = json.loads(json.dumps(score.state_dict()))
    raw, raw_y, radii, u = data(score, 5)
    outputs, (ys, _) = score.outputs(raw), score.labels(raw_y, 5)
    for other in (
        type(score).from_state_dict(state, **objects),
        copy.deepcopy(score),
        copy.copy(score),
        pickle.loads(pickle.dumps(score)),
    ):
        assert other.state_dict() == score.state_dict() and repr(other) == repr(score)
        assert bits(other.score(outputs, ys, u)) == bits(score.score(outputs, ys, u))
        assert bits(other.width(outputs, radii, u)) == bits(score.width(outputs, radii, u))
        other.reset()
        assert other.state_dict() == score.state_dict()
    if objects:
        with pytest.raises(TypeError, match="plain data cannot hold"):
            type(score).from_state_dict(state)


def test_state_of_names():
    score = RAPS(0.02, classes=np.array(["cat", "dog"]), seed=3, k_reg=1, allow_empty=False, published=True)
    other = RAPS.from_state_dict(json.loads(json.dumps(score.state_dict())))
    assert other.classes == ("cat", "dog") and other.randomised and not other.allow_empty and other.published
    assert other.label("dog") == 1


def test_registry():
    assert names() == sorted(wane.scores.SCORES) and len(names()) == 10
    for name, kind in wane.scores.SCORES.items():
        arguments = {"score_function": gap, "set_function": gap_set} if name == "user" else {}
        score = make(name, **arguments)
        assert type(score) is kind and as_score(score) is score
        assert arguments or type(as_score(name)) is kind
        assert tuple(inspect.signature(kind).parameters) == score.parameters
    final = {cls for cls in subclasses(Score) if cls.__module__.startswith("wane.")}
    assert final - set(wane.scores.SCORES.values()) == {cls for cls in final if cls.__name__ in ABSTRACT}


ABSTRACT = ("IntervalScore", "PairScore", "LabelScore")


def test_a_score_must_say_what_it_does():
    for name in ("output", "outputs", "row", "label", "labels", "score", "floor", "set", "width"):
        arguments = (1.0,) if name in ("output", "outputs", "label", "floor") else (1.0, 1)
        with pytest.raises(NotImplementedError, match=f"Score must define {name}"):
            getattr(Score(), name)(*arguments)
