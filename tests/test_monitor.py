"""The record of coverage against its definitions, written out over lists."""

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.conformal.monitor import Monitor
from wane.state.data import load
from wane.state.stateful import Stateful

WINDOWS = [1, 2, 7, 100]
widths = st.sampled_from([0.0, 1.0, math.inf, -math.inf, math.nan, 1e300]) | st.floats(-1e6, 1e6)
discounts = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0.0, 1.2)
rounds = st.tuples(st.booleans(), widths, discounts)
# Long and short runs of one kind, so that windows of every length fill, and leave their band on both sides.
stretches = st.lists(st.tuples(rounds, st.integers(1, 40)), max_size=12)
streams = stretches.map(lambda parts: [r for r, n in parts for _ in range(n)])
levels = st.sampled_from([0.1, 0.5, 0.25])
BANDS = [(None, None), (0.4, None), (None, 0.95), (0.5, 0.75), (0.9, 2.0), (-1.0, 0.5), (0.6, 0.6), (0.0, 1.0)]
bands = st.sampled_from(BANDS)


def columns(stream):
    return [np.array([r[i] for r in stream]) for i in range(3)]


def memory(monitor):
    return json.dumps(monitor.state_dict())


def longest_run(missed):
    return max((len(run) for run in "".join("x" if m else " " for m in missed).split()), default=0)


def mean(numbers):
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def alarms_of(counts, window, low, high):
    """Of the covered rounds in each full window: where the side of the band changes, and not to its inside."""
    sides = [0] + [-1 if k / window < low else 1 if k / window > high else 0 for k in counts]
    return [new if new != old else 0 for old, new in itertools.pairwise(sides)]


@settings(max_examples=300)
@given(stream=streams, window=st.sampled_from(WINDOWS), alpha=levels, band=bands)
def test_definitions(stream, window, alpha, band):
    monitor = Monitor(alpha, window, 1.0, *band)
    alarms = [monitor.add(*r) for r in stream]
    missed = [not covered for covered, _, _ in stream]
    n, last = len(stream), stream[-window:]

    assert (monitor.rounds, monitor.misses) == (n, sum(missed))
    assert monitor.longest_misses == longest_run(missed)
    assert monitor.current_misses == n - max((t + 1 for t in range(n) if not missed[t]), default=0)
    np.testing.assert_equal(monitor.coverage, (n - sum(missed)) / n if n else math.nan)
    np.testing.assert_equal(monitor.local_coverage, np.mean([r[0] for r in last]) if n else math.nan)

    counts = [window - sum(missed[t + 1 - window : t + 1]) for t in range(window - 1, n)]  # of the full windows
    worst = min(counts, default=None)
    assert monitor.worst_round == (-1 if worst is None else window - 1 + counts.index(worst))
    np.testing.assert_equal(monitor.worst_local_coverage, math.nan if worst is None else worst / window)
    assert alarms == [0] * (n - len(counts)) + alarms_of(counts, window, *monitor.band)

    finite = [[w for _, w, _ in rs if math.isfinite(w)] for rs in (stream, last)]
    assert monitor.unbounded == sum(abs(w) == math.inf for _, w, _ in stream) and monitor.bounded == len(finite[0])
    means = [mean(f) for f in finite]
    np.testing.assert_allclose([monitor.width, monitor.local_width], means, rtol=1e-9, atol=1e-9)

    ages = [math.prod(d for _, _, d in stream[t + 1 :]) for t in range(n)]
    terms = [age * (m - alpha) for age, m in zip(ages, missed, strict=True)]
    assert monitor.coverage_error == pytest.approx(math.fsum(terms), rel=1e-9, abs=1e-9 * sum(map(abs, terms)))
    assert monitor.sound()


@settings(max_examples=150)
@given(stream=streams, cut=st.floats(0, 1), window=st.sampled_from(WINDOWS), alpha=levels, band=bands)
def test_one_by_one_is_one_run_is_two_runs(stream, cut, window, alpha, band):
    made = [Monitor(alpha, window, 0.9, *band) for _ in range(3)]
    single = [made[0].add(*r) for r in stream]
    hits, sizes, rates = columns(stream)
    whole, local = made[1].run(hits, sizes, rates)
    k = int(cut * len(stream))
    parts = np.concatenate([made[2].run(hits[s], sizes[s], rates[s])[0] for s in (slice(k), slice(k, None))])
    assert local.tolist() == [np.mean(hits[max(0, t + 1 - window) : t + 1]) for t in range(len(hits))]
    assert whole.dtype == np.int8 and single == whole.tolist() == parts.tolist()
    assert memory(made[0]) == memory(made[1]) == memory(made[2])


@settings(max_examples=150)
@given(stream=streams, cut=st.floats(0, 1), window=st.sampled_from(WINDOWS), band=bands)
def test_continues_from_plain_data(stream, cut, window, band):
    hits, sizes, rates = columns(stream)
    k = int(cut * len(stream))
    monitor = Monitor(0.1, window, 0.9, *band)
    monitor.run(hits[:k], sizes[:k], rates[:k])
    before = memory(monitor)
    others = [load(Stateful, json.loads(before), {}), copy.copy(monitor), pickle.loads(pickle.dumps(monitor))]
    alarms, _ = monitor.run(hits[k:], sizes[k:], rates[k:])
    for other in others:
        assert memory(other) == before
        assert (other.run(hits[k:], sizes[k:], rates[k:])[0] == alarms).all() and memory(other) == memory(monitor)
    monitor.reset()
    assert memory(monitor) == memory(Monitor(0.1, window, 0.9, *band))


def test_nothing_seen():
    monitor = Monitor(0.1)
    shares = [monitor.coverage, monitor.local_coverage, monitor.worst_local_coverage]
    assert np.isnan([*shares, monitor.width, monitor.local_width]).all()
    assert monitor.worst_round == -1 and monitor.coverage_error == 0.0
    assert monitor.run([], [])[0].shape == (0,)
    assert memory(monitor) == memory(Monitor(0.1))


def test_an_alarm_when_the_band_is_left_and_not_while_it_is_outside():
    """Local coverage, in quarters: 2 2 1 1 2 3 4 4 3 3 3 3 4, from the first full window on."""
    hits = [0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1]
    alarms = Monitor(0.5, 4, low=0.5, high=0.75).run(hits, np.ones(16))[0].tolist()
    assert alarms == [0, 0, 0, 0, 0, -1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    crossing = Monitor(0.5, 1, low=0.4, high=0.6)
    assert crossing.run([0, 0, 1, 1, 0], np.ones(5))[0].tolist() == [-1, 0, 1, 0, -1]


@pytest.mark.parametrize("window", [3, 10, 49, 100, 1000])
def test_the_ends_belong_to_the_band(window):
    """k / window is inside [k / window, k / window] for every k, one round more or less is outside."""
    for k in range(1, window, 1 + window // 10):
        for covered, alarm in ((k, 0), (k - 1, -1), (k + 1, 1)):
            monitor = Monitor(0.5, window, low=k / window, high=k / window)
            assert monitor.run(np.arange(window) < covered, np.ones(window))[0][-1] == alarm


@given(alpha=st.floats(1e-9, 1 - 1e-9), window=st.integers(1, 3000))
def test_the_band_unless_it_is_given(alpha, window):
    monitor = Monitor(alpha, window)
    deviation = math.sqrt(alpha * (1 - alpha) / window)
    np.testing.assert_allclose(monitor.band, [1 - alpha - 3 * deviation, 1 - alpha + 3 * deviation], rtol=1e-12)
    assert (monitor.low, monitor.high) == (None, None)
    assert Monitor(alpha, window, low=-1, high=2).band == (-1.0, 2.0)


@given(hits=st.lists(st.booleans(), max_size=300), window=st.sampled_from(WINDOWS))
def test_a_band_around_everything_is_silent(hits, window):
    assert not Monitor(0.1, window, low=-1.0, high=2.0).run(hits, np.ones(len(hits)))[0].any()


@given(covered=st.lists(st.booleans(), min_size=1, max_size=50), rate=st.floats(0.0, 1.0))
def test_the_discount_of_a_round_is_the_parameter_unless_it_is_given(covered, rate):
    ones = np.ones(len(covered))
    own, step, one, each = Monitor(0.1, 7, rate), Monitor(0.1, 7, rate), Monitor(0.1, 7), Monitor(0.1, 7)
    own.run(covered, ones)
    for hit in covered:
        step.add(hit, 1.0)
    one.run(covered, ones, rate)
    each.run(covered, ones, rate * ones)
    assert own.coverage_error == step.coverage_error == one.coverage_error == each.coverage_error


@pytest.mark.parametrize("window", WINDOWS)
def test_without_discounts_the_error_is_the_excess_of_misses(window):
    hits = np.random.default_rng(0).random(1000) < 0.75
    monitor = Monitor(0.25, window)
    monitor.run(hits, np.ones(1000))
    assert monitor.coverage_error == monitor.misses - 250  # 0.25 is exact


def test_huge_numbers_stay_finite():
    monitor = Monitor(0.5, 3)
    monitor.run(np.zeros(50), np.full(50, 1e300), np.full(50, 1e300))
    assert monitor.width == 1e300 and monitor.local_width == pytest.approx(1e300)
    monitor.add(False, np.finfo(float).max, 1e300)  # wider than what is called finite
    assert monitor.width == 1e300 and monitor.unbounded == 1
    assert monitor.coverage_error == 1e300
    assert memory(load(Stateful, json.loads(memory(monitor)), {})) == memory(monitor)
    monitor.add(True, 0.0, 0.0)
    assert monitor.coverage_error == -0.5


def test_kinds_of_input():
    """Bools, whole numbers, floats and numpy's scalars mean the same; nothing given is written to."""
    expected = Monitor(0.1, 2)
    expected.add(True, 2.0)
    expected.add(False, 3.0)
    for hit, kind in ((bool, float), (int, int), (float, np.float64), (np.bool_, np.float32), (np.int8, np.array)):
        monitor = Monitor(0.1, 2)
        monitor.add(hit(True), kind(2))
        monitor.add(hit(False), kind(3))
        assert memory(monitor) == memory(expected)
    hits, sizes = np.array([0.0, 1.0, 0.0])[1:], np.array([3.0, 0.0, 2.0])[::-2]
    hits.flags.writeable = sizes.flags.writeable = False
    monitor = Monitor(0.1, 2)
    monitor.run(hits, sizes)
    assert memory(monitor) == memory(expected)


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ((2, 1.0), ValueError, "covered"),
        ((0.5, 1.0), ValueError, "covered"),
        ((math.nan, 1.0), ValueError, "covered"),
        ((None, 1.0), TypeError, "covered"),
        (("True", 1.0), TypeError, "covered"),
        ((np.array([True]), 1.0), TypeError, "covered"),
        ((True, None), TypeError, "width"),
        ((True, 1.0, -0.5), ValueError, "discount"),
        ((True, 1.0, math.nan), ValueError, "discount"),
        ((True, 1.0, "1"), TypeError, "discount"),
    ],
)
def test_a_bad_round(arguments, error, match):
    monitor = Monitor(0.1, 2)
    monitor.run([True, False, True], [1.0, 2.0, math.inf])
    before = memory(monitor)
    with pytest.raises(error, match=match):
        monitor.add(*arguments)
    assert memory(monitor) == before


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        (([1, 0, 2], [1.0] * 3), ValueError, r"covered\[2\]"),
        (([1, math.nan], [1.0] * 2), ValueError, r"covered\[1\]"),
        (([1, 0], [1.0, None]), TypeError, "widths"),
        ((["a"], [1.0]), TypeError, "covered"),
        (([1, 0], [1.0] * 3), ValueError, r"\(2,\) and \(3,\)"),
        (([[1, 0]], [[1.0, 1.0]]), ValueError, "shape"),
        ((True, 1.0), ValueError, "shape"),
        (([1, 0], [1.0] * 2, [1.0]), ValueError, "discounts"),
        (([1, 0], [1.0] * 2, [1.0, -1.0]), ValueError, r"discounts\[1\]"),
    ],
)
def test_a_bad_run(arguments, error, match):
    monitor = Monitor(0.1, 2)
    monitor.add(False, 1.0)
    before = memory(monitor)
    with pytest.raises(error, match=match):
        monitor.run(*arguments)
    assert memory(monitor) == before


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"alpha": 0.0}, ValueError, "alpha"),
        ({"alpha": "0.1"}, TypeError, "alpha"),
        ({"window": 0}, ValueError, "window"),
        ({"window": 2.0}, ValueError, "window"),
        ({"window": True}, ValueError, "window"),
        ({"discount": -1.0}, ValueError, "discount"),
        ({"discount": None}, TypeError, "discount"),
        ({"low": math.nan}, ValueError, "low"),
        ({"high": math.inf}, ValueError, "high"),
        ({"low": 0.9, "high": 0.8}, ValueError, "low <= high"),
        ({"low": 1.5, "high": 2.0}, ValueError, "low <= 1"),
        ({"low": -2.0, "high": -1.0}, ValueError, "high >= 0"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        Monitor(**{"alpha": 0.1, **arguments})


SHORT = [False, True, False]  # fewer rounds than the window
LONG = [True, False, False, False, True, False, True, True, False]  # the worst window ends in round 3
COUNTS = ["rounds", "misses", "local_misses", "most_local_misses", "worst_round", "place", "side"]
COUNTS += ["current_misses", "longest_misses", "bounded", "unbounded"]
EXACT = ["rounds", "local_misses", "place", "side", "current_misses"]  # those that the ring and the rounds tell


@pytest.mark.parametrize("hits", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    "name, change",
    [
        *((name, by) for name in COUNTS for by in (-9, 9)),
        *((name, by) for name in EXACT for by in (-1, 1)),
        ("most_local_misses", -1),
        ("most_local_misses", 2),  # more than a window holds
        ("worst_round", 5),  # the last round, with another number of misses
        ("longest_misses", 1),
        ("mean_width", 1e301),
        *((name, at) for name in ("missed", "widths") for at in range(4)),
    ],
)
def test_impossible_memory_is_refused(hits, name, change):
    monitor = Monitor(0.5, 4)
    monitor.run(hits, [1.0, math.inf, math.nan, *[2.0] * 6][: len(hits)])
    state = json.loads(memory(monitor))
    load(Stateful, state, {})
    if name in ("missed", "widths"):
        state["memory"][name][change] = {"missed": 0.5, "widths": 1e301}[name]
    else:
        state["memory"][name] += change
    with pytest.raises(ValueError, match="the memory of Monitor"):
        load(Stateful, state, {})


def test_impossible_memory_of_the_wrong_kind():
    monitor = Monitor(0.5, 4)
    monitor.run(LONG, np.ones(9))
    for name, bad in (("missed", [0.0]), ("widths", [math.nan] * 4), ("coverage_error", math.inf), ("rounds", None)):
        state = monitor.state_dict()
        state["memory"][name] = bad
        with pytest.raises(ValueError, match=name):
            load(Stateful, state, {})
    state = monitor.state_dict()
    state["memory"]["missed"] = [1.0 - m for m in state["memory"]["missed"]]  # rounds that other counts contradict
    with pytest.raises(ValueError, match="does not fit"):
        load(Stateful, state, {})
    state = monitor.state_dict()
    state["memory"]["coverage_error"] = 1e301
    with pytest.raises(ValueError, match="does not fit"):
        load(Stateful, state, {})
