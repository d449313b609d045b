"""Every streaming metric gives the number of its function, on every prefix; its state is plain data, and small."""

import copy
import json
import math
import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import metrics
from wane.metrics.base import Total
from wane.state.data import load, name_of, subclasses
from wane.state.stateful import Stateful

NAN, INF = math.nan, math.inf
K = 7


class Row(NamedTuple):
    """How the class is made, what the function gives, which columns of a stream both take, how near they are."""

    make: Any
    function: Any
    columns: tuple[str, ...]
    rtol: float = 1e-12


def recovery(covered, shifts):
    return metrics.recovery(covered, np.flatnonzero(shifts), 0.3, K, 0.1)[-1:]


TABLE = {
    "Coverage": Row(metrics.Coverage, metrics.coverage, ("covered",), 0.0),
    "LocalCoverage": Row(
        lambda: metrics.LocalCoverage(K), lambda c: metrics.local_coverage(c, K)[-1:], ("covered",), 0.0
    ),
    "LCE": Row(lambda: metrics.LCE(0.3, K), lambda c: metrics.lce(c, 0.3, K), ("covered",), 0.0),
    "SmoothedLCE": Row(
        lambda: metrics.SmoothedLCE(0.3, K, 1.5), lambda c: metrics.lce_smoothed(c, 0.3, K, sigma=1.5), ("covered",)
    ),
    "MeanLCE": Row(lambda: metrics.MeanLCE(0.3, K), lambda c: metrics.mean_lce(c, 0.3, K), ("covered",), 0.0),
    "DiscountedCoverageError": Row(
        lambda: metrics.DiscountedCoverageError(0.3, 0.5),
        lambda c, d: metrics.discounted_coverage_error(c, 0.3, d),
        ("covered", "discount"),
        0.0,
    ),
    "LongestRun": Row(metrics.LongestRun, metrics.longest_run, ("covered",), 0.0),
    "Recovery": Row(lambda: metrics.Recovery(0.3, K, 0.1), recovery, ("covered", "shift"), 0.0),
    "Width": Row(metrics.Width, metrics.width, ("width",)),
    "LocalWidth": Row(lambda: metrics.LocalWidth(K), lambda w: metrics.local_width(w, K)[-1:], ("width",)),
    "BestFixedLocalWidth": Row(
        lambda: metrics.BestFixedLocalWidth(0.3, K),
        lambda w: metrics.best_fixed_local_width(w, 0.3, K)[-1:],
        ("width",),
        0.0,
    ),
    "MeanPinball": Row(lambda: metrics.MeanPinball(0.3), lambda r, s: metrics.pinball(r, s, 0.3), ("radius", "score")),
    "Regret": Row(lambda: metrics.Regret(0.3), lambda r, s: metrics.regret(r, s, 0.3), ("radius", "score")),
    "WindowRegret": Row(
        lambda: metrics.WindowRegret(0.3, K),
        lambda r, s: metrics.window_regret(r, s, 0.3, K)[-1:],
        ("radius", "score"),
    ),
    "Winkler": Row(
        lambda: metrics.Winkler(0.3), lambda a, b, y: metrics.winkler(a, b, y, 0.3), ("lower", "radius", "score")
    ),
    "SizeCounts": Row(metrics.SizeCounts, metrics.set_sizes, ("size",), 0.0),
}
NAMES = sorted(TABLE)


def stream(rounds, seed=0, infinite=False):
    """Columns with missing labels, ties, stretches of misses, and from the middle on infinite numbers."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.choice([0.3, 0.7, 1.0], size=-(-rounds // 20)), 20)[:rounds]
    columns = {
        "covered": np.where(rng.random(rounds) < level, 1.0, 0.0),
        "score": np.round(rng.normal(size=rounds), 1),
        "width": rng.random(rounds) * 10.0 ** rng.integers(-3, 4, size=rounds),
        "size": rng.integers(0, 6, size=rounds).astype(float),
    }
    for column in columns.values():
        column[rng.random(rounds) < 0.15] = NAN
    columns["radius"] = np.round(rng.normal(size=rounds) + 1.0, 1)
    columns["lower"] = -np.round(rng.random(rounds), 1)
    columns["discount"] = rng.choice([0.0, 0.9, 1.0], size=rounds, p=[0.02, 0.49, 0.49])
    columns["shift"] = rng.random(rounds) < 0.05
    if infinite:
        for name in ("width", "size", "radius"):
            columns[name][rounds // 2 :][rng.random(rounds - rounds // 2) < 0.1] = INF
    return columns


def feed(metric, name, columns, start=0, stop=None):
    """Add rounds; shifts are marked, not added. Returns the value after each round."""
    values = []
    for row in list(zip(*(columns[c].tolist() for c in TABLE[name].columns), strict=True))[start:stop]:
        if name == "Recovery":
            if row[1]:
                metric.shift()
            metric.add(row[0])
        else:
            metric.add(*row)
        values.append(metric.value)
    return values


def number(name, columns, t):
    """What the function gives for the first t rounds; NaN where it has no number."""
    row = TABLE[name]
    try:
        got = row.function(*(columns[c][:t] for c in row.columns))
    except ValueError as error:
        assert "no window" in str(error) or "missing (NaN) in all" in str(error)
        return NAN
    got = got[0] if isinstance(got, (list, np.ndarray)) and len(got) else NAN if np.size(got) == 0 else got
    return NAN if got is None else got


def agree(value, want, rtol, size=0.0):
    if isinstance(want, metrics.SetSizes):
        return value == want
    if isinstance(value, metrics.SetSizes):
        return math.isnan(want) and math.isnan(value.mean) and value.histogram == {}
    if math.isnan(want) or math.isinf(want):
        return value == want or (math.isnan(value) and math.isnan(want))
    return abs(value - want) <= rtol * max(abs(want), size)


def memory(metric):
    return json.dumps(metric.state_dict(), allow_nan=False)


def test_every_streaming_class_is_in_the_table():
    classes = {n for n in metrics.__all__ if isinstance(getattr(metrics, n), type)}
    assert classes - {"SetSizes", "GroupMetrics"} == TABLE.keys()  # these two are results
    for name in NAMES:
        assert type(TABLE[name].make()) is getattr(metrics, name)


def test_a_state_names_one_class():
    """A state says which class it is of by its bare name, so no two classes of the package may share one."""
    ours = [name_of(cls) for cls in subclasses(Stateful) if cls.__module__.startswith("wane.")]
    assert set(NAMES) <= set(ours) and len(set(ours)) == len(ours)


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_same_number_on_every_prefix(name, infinite):
    columns = stream(260, seed=1, infinite=infinite)
    metric = TABLE[name].make()
    size = 0.0
    if name in ("Regret", "WindowRegret"):  # a difference of two sums: as near as the sums
        size = 260 * np.abs(columns["radius"][np.isfinite(columns["radius"])]).max()
    found = 0
    for t, value in enumerate(feed(metric, name, columns), 1):
        want = number(name, columns, t)
        assert agree(value, want, TABLE[name].rtol, size), f"{t} rounds: {value}, the function gives {want}"
        found += isinstance(want, metrics.SetSizes) or not math.isnan(want)
    assert found > (50 if name == "Recovery" else 200)


@settings(max_examples=60)
@given(hits=st.lists(st.sampled_from([0.0, 1.0, 1.0, NAN]), min_size=1, max_size=60), k=st.integers(1, 6))
@pytest.mark.parametrize("sigma", [0.1, 0.4, 2.0])
def test_smoothed_error_with_few_windows(hits, k, sigma):
    """Fewer windows than the filter is wide: the ends are mirrors of each other, again and again."""
    metric = metrics.SmoothedLCE(0.2, k, sigma)
    for t, hit in enumerate(hits, 1):
        metric.add(hit)
        known = sum(not math.isnan(h) for h in hits[:t])
        want = metrics.lce_smoothed(hits[:t], 0.2, k, sigma=sigma) if known >= k else NAN
        assert agree(metric.value, want, 1e-12, 1.0)


@pytest.mark.parametrize("infinite", [False, True])
def test_largest_window_regret(infinite):
    columns = stream(200, seed=2, infinite=infinite)
    metric = metrics.WindowRegret(0.3, K)
    for t in range(1, 201):
        metric.add(columns["radius"][t - 1], columns["score"][t - 1])
        want = NAN
        if not np.isnan(columns["score"][:t]).all():
            regrets = metrics.window_regret(columns["radius"][:t], columns["score"][:t], 0.3, K)
            want = regrets.max() if len(regrets) else NAN
        assert agree(metric.largest, want, 1e-12, 100.0)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("hit", [True, False])
def test_one_sided_runs(alpha, hit):
    for make in (metrics.LCE, metrics.MeanLCE, metrics.SmoothedLCE):
        metric = make(alpha, K)
        for _ in range(20):
            metric.add(hit)
        assert metric.value == pytest.approx(alpha if hit else 1 - alpha, rel=1e-13)


def test_regret_keeps_the_small_losses_beside_a_large_one():
    radii, scores = [0.0] * 102, [2.0**53] + [1.0, 3.0, 4.0] * 33 + [1.0, 1.0]
    metric = metrics.Regret(0.5)
    for r, s in zip(radii, scores, strict=True):
        metric.add(r, s)
    exact = [sum(abs(Fraction(q) - Fraction(s)) / 2 for s in scores) for q in [0.0, *scores]]
    assert metric.value == metrics.regret(radii, scores, 0.5) == exact[0] - min(exact) == 83


def test_there_is_no_recovery_without_a_shift():
    metric = metrics.Recovery(0.5, 2, 0.0)
    for hit in [True, False, True]:
        metric.add(hit)
    assert math.isnan(metric.value) and math.isnan(metric.shift()) and (metric.shifts, metric.recovered) == (1, 0)
    metric.add(True)
    assert math.isnan(metric.value)
    metric.add(False)
    assert metric.value == 0 and metric.shift() == 0 and math.isnan(metric.value)


def test_recovery_of_every_shift():
    columns = stream(400, seed=3)
    columns["shift"][0] = True
    metric, ended = metrics.Recovery(0.3, K, 0.1), []
    for hit, shift in zip(columns["covered"], columns["shift"], strict=True):
        if shift:
            ended.append(metric.shift())
        metric.add(hit)
    want = metrics.recovery(columns["covered"], np.flatnonzero(columns["shift"]), 0.3, K, 0.1)
    assert [None if math.isnan(n) else n for n in [*ended[1:], metric.value]] == want
    assert metric.shifts == len(want) and metric.recovered == sum(n is not None for n in want)
    assert None in want and 0 in want and max(n or 0 for n in want) > 0


@pytest.mark.parametrize("cut", [0, 3, 90, 173])
@pytest.mark.parametrize("name", NAMES)
def test_continues_bit_for_bit_from_plain_data(name, cut):
    columns = stream(200, seed=4, infinite=True)
    metric = TABLE[name].make()
    feed(metric, name, columns, 0, cut)
    before = memory(metric)
    others = [
        load(Stateful, json.loads(before), {}),
        type(metric).from_state_dict(json.loads(before)),
        pickle.loads(pickle.dumps(metric)),
        copy.copy(metric),
    ]
    assert [memory(other) for other in others] == [before] * 4
    want = feed(metric, name, columns, cut)
    for other in others:
        assert repr(feed(other, name, columns, cut)) == repr(want)
        assert memory(other) == memory(metric)


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_independent_and_reset_is_new(name):
    columns = stream(120, seed=5)
    metric = TABLE[name].make()
    feed(metric, name, columns, 0, 60)
    before, other = memory(metric), copy.deepcopy(metric)
    feed(other, name, columns, 60)
    assert memory(metric) == before != memory(other)
    other.reset()
    assert memory(other) == memory(TABLE[name].make())


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_bounded(name):
    columns = stream(1000, seed=6, infinite=True)
    metric, counts = TABLE[name].make(), []
    for part in [(0, 300), (300, None)]:
        feed(metric, name, columns, *part)
        counts.append(numbers_in(metric.state_dict()["memory"]))
    assert (counts[1] > counts[0] + 500) if name == "Regret" else counts[1] == counts[0]


def numbers_in(value):
    if isinstance(value, dict):
        return sum(map(numbers_in, value.values()))
    return sum(map(numbers_in, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_seen_and_nothing_but_missing(name):
    metric = TABLE[name].make()
    assert agree(metric.value, NAN, 0.0)
    last = {"covered": NAN, "width": NAN, "score": NAN, "size": NAN, "radius": 1.0, "lower": 0.0, "discount": 1.0}
    row = [last[c] for c in TABLE[name].columns if c != "shift"]
    before = memory(metric)
    metric.add(*row)
    assert agree(metric.value, NAN, 0.0) and memory(metric) == before


BAD = {
    "covered": (0.5, INF, "yes", None),
    "width": (-INF, 1e291, "wide", None),
    "size": (0.5, -1.0, 1e20, None),
    "score": (INF, 1e291, "high", None),
    "radius": (NAN, 1e291, None),
    "lower": (NAN, -1e291, None),
    "discount": (-1.0, NAN, "slow"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_round_changes_nothing(name):
    columns = stream(50, seed=7)
    metric = TABLE[name].make()
    feed(metric, name, columns)
    before = memory(metric)
    good = {"covered": True, "width": 1.0, "size": 2, "score": 1.0, "radius": 1.0, "lower": 0.0, "discount": 1.0}
    names = [c for c in TABLE[name].columns if c != "shift"]
    for bad in names:
        for value in BAD[bad]:
            with pytest.raises((ValueError, TypeError), match=r"must"):
                metric.add(*(value if c == bad else good[c] for c in names))
    assert memory(metric) == before
    metric.add(*(good[c] for c in names))
    assert memory(metric) != before


def test_an_overflow_changes_nothing():
    metric = metrics.DiscountedCoverageError(0.1, 1e200)
    metric.add(True)
    metric.add(True)
    before = memory(metric)
    with pytest.raises(OverflowError, match="at most 1"):
        metric.add(True)
    assert memory(metric) == before


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("LocalCoverage", lambda m: m.update(misses=m["misses"] + 1)),
        ("LCE", lambda m: m["local"].update(misses=m["local"]["misses"] + 1)),
        ("Recovery", lambda m: m["local"]["window"]["ring"].__setitem__(0, 0.5)),
        ("Regret", lambda m: m["losses"].update(count=3)),
        ("WindowRegret", lambda m: m["scores"].update(seen=3)),
        ("SizeCounts", lambda m: m["tally"].__setitem__(0, 0)),
        ("SizeCounts", lambda m: m["sizes"].__setitem__(0, 0.5)),
        ("SizeCounts", lambda m: m.update(sizes=m["sizes"][:1] * len(m["sizes"]))),
        ("Width", lambda m: m["total"].update(main=INF)),
    ],
)
def test_a_corrupted_state_is_refused(name, change):
    metric = TABLE[name].make()
    feed(metric, name, stream(60, seed=8))
    state = metric.state_dict()
    assert memory(load(Stateful, state, {})) == memory(metric)
    change(state["memory"])
    with pytest.raises(ValueError):
        load(Stateful, state, {})


@pytest.mark.parametrize("name", NAMES)
def test_saved_to_a_file(name, tmp_path):
    metric = TABLE[name].make()
    feed(metric, name, stream(80, seed=9, infinite=True))
    wane.save(tmp_path / "metric.wane", metric)
    again = wane.load(tmp_path / "metric.wane")
    assert memory(again) == memory(metric) and repr(again) == repr(metric)


def test_sums_do_not_drift():
    """Scales that change by 1e12 and back, for a long run: a running sum that adds and subtracts would be far off."""
    rng = np.random.default_rng(10)
    widths = rng.random(100_000) * np.repeat(10.0 ** rng.choice([-6, 6], size=500), 200)
    mean, local = metrics.Width(), metrics.LocalWidth(100)
    want = metrics.local_width(widths, 100)
    for t, w in enumerate(widths.tolist()):
        mean.add(w)
        local.add(w)
        if t >= 99 and t % 97 == 0:
            assert local.value == pytest.approx(want[t - 99], rel=1e-12)
    assert mean.value == pytest.approx(math.fsum(widths) / len(widths), rel=1e-15)
    assert want.min() < 1e-6 and want.max() > 1e5


@given(st.lists(st.floats(-1e20, 1e20), max_size=50))
def test_a_total_is_the_exact_sum(terms):
    total = Total()
    for x in terms:
        total.add(x)
    assert total.sum == pytest.approx(math.fsum(terms), rel=1e-15, abs=1e-28 * sum(map(abs, terms)))


def test_an_undiscounted_error_is_exact_for_ever():
    metric = metrics.DiscountedCoverageError(0.1)
    hits = np.random.default_rng(11).random(50_000) < 0.9
    for hit in hits.tolist():
        metric.add(hit)
    assert metric.value == int((~hits).sum()) - 0.1 * len(hits)
