"""The metrics of arrays against their definitions, written out over lists and fractions."""

import itertools
import math
import re
import statistics
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import metrics
from wane.metrics import base

NAN, INF = math.nan, math.inf
runs = st.lists(st.tuples(st.booleans(), st.integers(1, 12)), min_size=1, max_size=12).map(
    lambda parts: [hit for hit, n in parts for _ in range(n)]  # stretches, so that windows are one-sided too
)
levels = st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.9])
lengths = st.integers(1, 9)
numbers = st.sampled_from([0.0, 1.0, 1.0, 2.0]) | st.floats(-100, 100)
columns = st.lists(numbers, min_size=1, max_size=40)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40)


def windows(values, k):
    return [values[t : t + k] for t in range(len(values) - k + 1)]


def loss(r, s, alpha):
    return alpha * (r - s) if r > s else (1 - alpha) * (s - r)


def total_loss(radii, scores, alpha):
    return math.fsum(loss(r, s, alpha) for r, s in zip(radii, scores, strict=True))


def quantile(values, alpha):
    """The smallest w with at least a share 1 - alpha of the values at or below it; alpha as the decimal it shows."""
    needed = (1 - Fraction(str(alpha))) * len(values)
    return min(w for w in values if sum(v <= w for v in values) >= needed)


def deviations(hits, alpha, k):
    return [abs(alpha - (k - sum(w)) / k) for w in windows(hits, k)]


def filtered(values, sigma):
    """A Gaussian filter cut at 4 sigma; the ends are mirrors: d c b a | a b c d | d c b a."""
    half, n = int(4 * sigma + 0.5), len(values)
    weights = [math.exp(-(j**2) / (2 * sigma**2)) for j in range(-half, half + 1)]

    def mirrored(i):
        i %= 2 * n
        return values[i] if i < n else values[2 * n - 1 - i]

    return [
        math.fsum(w * mirrored(i + j) for w, j in zip(weights, range(-half, half + 1), strict=True))
        / math.fsum(weights)
        for i in range(n)
    ]


def test_radius_above_score_is_covered():
    radii, scores = [1.0, 2.0, 3.0, INF, INF, -INF, 1e300], [2.0, 2.0, 2.0, 1e308, INF, 0.0, 1e299]
    strict = metrics.covered(radii, scores)
    assert strict.dtype == bool and strict.tolist() == [False, False, True, True, False, False, True]
    loose = metrics.covered(radii, scores, tie="covered")
    assert loose.tolist() == [False, True, True, True, True, False, True]
    missing = metrics.covered([1.0, 1.0], [0.0, NAN])
    assert missing.dtype == float and missing[0] == 1.0 and math.isnan(missing[1])
    with pytest.raises(ValueError, match=r"radii\[1\] must be a number, not NaN"):
        metrics.covered([1.0, NAN], [1.0, NAN])
    with pytest.raises(ValueError, match="tie must be"):
        metrics.covered([1.0], [1.0], tie="neither")
    with pytest.raises(ValueError, match=r"scores must have shape \(2,\)"):
        metrics.covered([1.0, 2.0], [1.0])


@given(hits=runs, alpha=levels, k=lengths)
def test_coverage_and_its_windows(hits, alpha, k):
    assert metrics.coverage(hits) == sum(hits) / len(hits)
    local = metrics.local_coverage(hits, k)
    assert local.tolist() == [sum(w) / k for w in windows(hits, k)]
    assert metrics.longest_run(hits) == max(len(r) for r in "".join(" x"[not h] for h in hits).split(" "))
    if len(hits) >= k:
        want = deviations(hits, alpha, k)
        assert metrics.lce(hits, alpha, k) == max(want)
        assert metrics.mean_lce(hits, alpha, k) == pytest.approx(statistics.fmean(want), rel=1e-14)
        assert metrics.mean_lce(hits, alpha, k) <= metrics.lce(hits, alpha, k) * (1 + 1e-14)
        assert metrics.lce(hits[::-1], alpha, k) == metrics.lce(hits, alpha, k)


@given(hits=runs, alpha=levels, k=st.integers(1, 5), sigma=st.sampled_from([0.05, 0.4, 1.0, 3.0]))
def test_smoothed_local_coverage(hits, alpha, k, sigma):
    if len(hits) >= k:
        local = filtered([sum(w) / k for w in windows(hits, k)], sigma)
        want = max(abs(c - (1 - alpha)) for c in local)
        assert metrics.lce_smoothed(hits, alpha, k, sigma=sigma) == pytest.approx(want, rel=1e-12, abs=1e-14)


def test_a_narrow_filter_changes_nothing_and_a_wide_one_averages():
    hits = np.random.default_rng(0).random(300) < 0.8
    assert metrics.lce_smoothed(hits, 0.1, 20, sigma=0.1) == pytest.approx(metrics.lce(hits, 0.1, 20), rel=1e-12)
    wide = metrics.lce_smoothed(hits, 0.1, 20, sigma=1e4)
    assert wide == pytest.approx(abs(0.9 - metrics.local_coverage(hits, 20).mean()), abs=1e-5)


@given(widths=columns, k=lengths)
def test_widths(widths, k):
    size = max(map(abs, widths))
    assert metrics.width(widths) == math.fsum(widths) / len(widths)
    want = [math.fsum(w) / k for w in windows(widths, k)]
    np.testing.assert_allclose(metrics.local_width(widths, k), want, rtol=1e-14, atol=1e-14 * size)


def test_local_widths_do_not_remember_what_left():
    rng = np.random.default_rng(1)
    widths = rng.random(5000) * np.repeat(10.0 ** rng.choice([-6, 0, 6], size=50), 100)
    want = [math.fsum(w) / 70 for w in windows(widths.tolist(), 70)]
    np.testing.assert_allclose(metrics.local_width(widths, 70), want, rtol=1e-13)
    widths[2000] = INF
    local = metrics.local_width(widths, 70)
    assert np.flatnonzero(np.isinf(local)).tolist() == list(range(2000 - 69, 2001))
    keep = ~np.isinf(local)
    np.testing.assert_allclose(local[keep], np.array(want)[keep], rtol=1e-13)
    assert metrics.width(widths) == INF


@pytest.mark.parametrize("parts", [100, 1000])
def test_ranks_are_those_of_the_decimal(parts):
    for n in [1, 2, 3, 7, 10, 50, 99, 100, 1000, 6011, 10**6]:
        for i in range(1, parts):
            assert base.rank(i / parts, n) == max(math.ceil(Fraction(parts - i, parts) * n) - 1, 0)


@given(widths=columns, alpha=levels, k=lengths)
def test_best_fixed_local_width(widths, alpha, k):
    best = metrics.best_fixed_local_width(widths, alpha, k)
    assert best.tolist() == [quantile(w, alpha) for w in windows(widths, k)]


def test_a_best_fixed_width_is_infinite_only_if_it_has_to_be():
    widths = [1.0] * 9 + [INF]
    assert metrics.best_fixed_local_width(widths, 0.1, 10).tolist() == [1.0]
    assert metrics.best_fixed_local_width(widths, 0.09, 10).tolist() == [INF]


@given(rounds=pairs, alpha=levels, k=lengths)
def test_pinball_and_regret(rounds, alpha, k):
    radii, scores = zip(*rounds, strict=True)
    size = 1e-12 * (1 + max(map(abs, radii + scores))) * len(scores)
    played = total_loss(radii, scores, alpha)
    assert metrics.pinball(radii, scores, alpha) * len(scores) == pytest.approx(played, abs=size)

    def regret(r, s):
        return total_loss(r, s, alpha) - min(total_loss([q] * len(s), s, alpha) for q in s)

    assert metrics.regret(radii, scores, alpha) == pytest.approx(regret(radii, scores), abs=size)
    want = [regret(r, s) for r, s in zip(windows(radii, k), windows(scores, k), strict=True)]
    assert metrics.window_regret(radii, scores, alpha, k).tolist() == pytest.approx(want, abs=size)
    fixed = [scores[0]] * len(scores)
    assert metrics.regret(fixed, scores, alpha) >= -size
    assert metrics.regret([quantile(scores, alpha)] * len(scores), scores, alpha) == pytest.approx(0.0, abs=size)


def test_regret_of_the_only_window_is_that_of_the_run():
    r, s = np.random.default_rng(2).random((2, 500))
    whole = metrics.regret(r, s, 0.1)
    np.testing.assert_allclose(metrics.window_regret(r, s, 0.1, k=500), [whole], rtol=1e-12)
    assert metrics.regret(r + 8.0, s + 8.0, 0.1) == pytest.approx(whole, rel=1e-10)
    assert metrics.regret(4.0 * r, 4.0 * s, 0.1) == 4.0 * whole


def test_blocks_of_windows_are_as_one(monkeypatch):
    r, s = np.random.default_rng(3).random((2, 400))
    whole = metrics.window_regret(r, s, 0.1, 30), metrics.best_fixed_local_width(r, 0.1, 30)
    monkeypatch.setattr(base, "ENTRIES", 100)
    blocks = list(base.blocks_of_windows([r], 30))
    assert len(blocks) == 124 and max(rows.size for _, (rows,) in blocks) == 90
    np.testing.assert_allclose(metrics.window_regret(r, s, 0.1, 30), whole[0], rtol=1e-13)
    assert (metrics.best_fixed_local_width(r, 0.1, 30) == whole[1]).all()


@pytest.mark.parametrize("radius", [INF, -INF])
def test_an_infinite_radius_costs_infinitely_much(radius):
    r, s = [1.0, radius, 1.0, 1.0], [2.0, 0.0, 2.0, 1.0]
    assert metrics.pinball(r, s, 0.1) == metrics.regret(r, s, 0.1) == INF
    assert np.isinf(metrics.window_regret(r, s, 0.1, 2)).tolist() == [True, True, False]
    for lower, upper in [(radius, 0.0), (0.0, radius), (radius, radius), (-radius, radius)]:
        assert metrics.winkler([lower, 0.0], [upper, 1.0], [0.5, 0.5], 0.1) == INF


@given(rounds=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=30), alpha=levels)
def test_interval_score_is_two_pinball_losses(rounds, alpha):
    lower, upper, y = zip(*rounds, strict=True)
    low, high = total_loss(lower, y, 1 - alpha / 2), total_loss(upper, y, alpha / 2)
    want = 2 / alpha * (low + high) / len(y)
    assert metrics.winkler(lower, upper, y, alpha) == pytest.approx(want, rel=1e-12, abs=1e-11)


@given(hits=runs, alpha=levels, data=st.data())
def test_discounted_coverage_error(hits, alpha, data):
    n = len(hits)
    rates = data.draw(st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0, 1.1]), min_size=n, max_size=n))
    ages = [math.prod(rates[t + 1 :]) for t in range(n)]
    terms = [age * ((not hit) - alpha) for age, hit in zip(ages, hits, strict=True)]
    got = metrics.discounted_coverage_error(hits, alpha, rates)
    assert got == pytest.approx(math.fsum(terms), abs=1e-12 * math.fsum(ages))
    assert metrics.discounted_coverage_error(hits, alpha) == hits.count(False) - alpha * n
    assert metrics.discounted_coverage_error(hits, alpha, 0.0) == (not hits[-1]) - alpha


def test_discounts_that_grow_beyond_a_float_are_an_error():
    with pytest.raises(OverflowError, match="discounts of at most 1"):
        metrics.discounted_coverage_error([True] * 3, 0.1, 1e200)


def literal_recovery(hits, shifts, alpha, k, tolerance):
    level, wide = Fraction(str(alpha)), Fraction(str(tolerance))
    found = []
    for start, end in itertools.pairwise([*shifts, len(hits)]):
        good = [abs(level - Fraction(k - sum(w), k)) <= wide for w in windows(hits[start:end], k)]
        found.append(good.index(True) if True in good else None)
    return found


@settings(max_examples=200)
@given(
    hits=runs,
    alpha=levels,
    k=st.sampled_from([1, 2, 5, 10, 20]),
    tolerance=st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.7]),
    data=st.data(),
)
def test_recovery(hits, alpha, k, tolerance, data):
    shifts = sorted(data.draw(st.lists(st.integers(0, len(hits)), max_size=4)))
    level, wide = Fraction(str(alpha)), Fraction(str(tolerance))
    if any(abs(level - Fraction(m, k)) <= wide for m in range(k + 1)):
        want = literal_recovery(hits, shifts, alpha, k, tolerance)
        assert metrics.recovery(hits, shifts, alpha, k, tolerance) == want
    else:
        with pytest.raises(ValueError, match="larger k or tolerance"):
            metrics.recovery(hits, shifts, alpha, k, tolerance)


@pytest.mark.parametrize("k", [10, 20, 50])
def test_misses_at_the_edge_of_the_tolerance_are_within(k):
    for i in range(1, 10):
        for j in range(10):
            good = [m for m in range(k + 1) if abs(Fraction(m, k) - Fraction(i, 10)) <= Fraction(j, 10)]
            for m in {good[0] - 1, good[0], good[-1], good[-1] + 1} & set(range(k + 1)):
                hits = [False] * m + [True] * (k - m)
                assert metrics.recovery(hits, [0], i / 10, k, j / 10) == [0 if m in good else None], (i, j, m)


def test_recovery_looks_no_further_than_the_next_shift():
    hits = [False] * 60 + [True] * 9 + [False] + [True] * 9 + [False] + [True, False] * 40
    assert metrics.recovery(hits, [0], 0.1, k=20, tolerance=0.0) == [59]
    assert metrics.recovery(hits, [0, 78], 0.1, k=20, tolerance=0.0) == [None, None]
    assert metrics.recovery(hits, [0, 79], 0.1, k=20, tolerance=0.0) == [59, None]
    assert metrics.recovery(hits, [], 0.1) == []
    assert metrics.recovery([True] * 100, [0], 0.1) == [None]  # two-sided


def test_what_the_defaults_of_recovery_tell_apart():
    """The shares that the documentation states: of windows of independent rounds that count as recovered."""
    passing = [m for m in range(51) if metrics.recovery([False] * m + [True] * (50 - m), [0], 0.1) == [0]]
    assert passing == [3, 4, 5, 6, 7]
    shares = [sum(math.comb(50, m) * p**m * (1 - p) ** (50 - m) for m in passing) for p in (0.1, 0.3)]
    assert [round(100 * x, 1) for x in shares] == [76.6, 0.7]


def test_recovery_with_missing_labels_counts_labels():
    hits = [NAN, 0.0, NAN, 0.0, 1.0, NAN, 1.0, NAN, 0.0]
    known = [h == 1.0 for h in hits if not math.isnan(h)]
    assert known == [False, False, True, True, False]
    got = metrics.recovery(hits, [0, 3, 8], 0.5, k=2, tolerance=0.0)
    assert got == literal_recovery(known, [0, 1, 4], 0.5, 2, 0.0) == [None, 0, None]


@given(sizes=st.lists(st.integers(0, 5) | st.just(INF), min_size=1, max_size=30))
def test_set_sizes(sizes):
    n, got = len(sizes), metrics.set_sizes(sizes)
    finite = [s for s in sizes if s < INF]
    assert (got.mean, got.median, got.largest) == (sum(sizes) / n, statistics.median(sizes), max(sizes))
    assert (got.empty, got.singleton, got.infinite) == tuple(sizes.count(x) / n for x in (0, 1, INF))
    assert list(got.histogram.items()) == [(s, finite.count(s)) for s in sorted(set(finite))]


OF_COVERED = {
    "coverage": metrics.coverage,
    "local_coverage": lambda c: metrics.local_coverage(c, 7),
    "lce": lambda c: metrics.lce(c, 0.1, 7),
    "lce_smoothed": lambda c: metrics.lce_smoothed(c, 0.1, 7),
    "mean_lce": lambda c: metrics.mean_lce(c, 0.1, 7),
    "discounted_coverage_error": lambda c: metrics.discounted_coverage_error(c, 0.1, 0.9),
    "longest_run": metrics.longest_run,
    "recovery": lambda c: metrics.recovery(c, [0], 0.1, 7, 0.1),
}
OF_WIDTHS = {
    "width": metrics.width,
    "local_width": lambda w: metrics.local_width(w, 7),
    "best_fixed_local_width": lambda w: metrics.best_fixed_local_width(w, 0.1, 7),
    "set_sizes": lambda w: metrics.set_sizes(np.floor(w)),
}
OF_PAIRS = {
    "pinball": lambda r, s: metrics.pinball(r, s, 0.1),
    "regret": lambda r, s: metrics.regret(r, s, 0.1),
    "window_regret": lambda r, s: metrics.window_regret(r, s, 0.1, 7),
    "winkler": lambda r, s: metrics.winkler(-r, r, s, 0.1),
    "covered": metrics.covered,
}
ONE_COLUMN = {**OF_COVERED, **OF_WIDTHS}


def test_every_function_is_here():
    groups = {"group_coverage", "worst_group"}  # tests/test_conformal_groups.py has them
    functions = {name for name in metrics.__all__ if name.islower()} - groups
    assert functions == ONE_COLUMN.keys() | OF_PAIRS.keys()


def test_the_table_of_the_documentation_is_complete():
    page = (Path(__file__).parent.parent / "docs" / "metrics.md").read_text()
    shown = [name for row in re.findall(r"^\| `.*", page, flags=re.M) for name in re.findall(r"`(\w+)\(", row)]
    assert sorted(shown) == sorted(set(metrics.__all__) - {"SetSizes"})


@pytest.mark.parametrize("name", sorted(ONE_COLUMN.keys() | (OF_PAIRS.keys() - {"covered"})))
def test_a_missing_round_is_left_out_before_anything_else(name):
    rng = np.random.default_rng(4)
    here = rng.random(60) < 0.7
    last = (rng.random(60) < 0.8) * 1.0 if name in OF_COVERED else np.abs(rng.normal(size=60))
    radii = np.abs(rng.normal(size=60))
    holes = np.where(here, last, NAN)
    function = {**ONE_COLUMN, **OF_PAIRS}[name]
    given, dropped = ([radii, holes], [radii[here], last[here]]) if name in OF_PAIRS else ([holes], [last[here]])
    np.testing.assert_equal(function(*given), function(*dropped))
    with pytest.raises(ValueError, match=r"missing \(NaN\) in all of the 60 rounds"):
        function(*given[:-1], np.full(60, NAN))


@pytest.mark.parametrize("name", sorted(ONE_COLUMN.keys() | OF_PAIRS.keys()))
def test_nothing_is_an_error(name):
    empty = [np.empty(0)] * (2 if name in OF_PAIRS else 1)
    with pytest.raises(ValueError, match="is empty: a metric needs at least one round"):
        {**ONE_COLUMN, **OF_PAIRS}[name](*empty)


def test_windows_longer_than_the_run():
    short = [1.0, 0.0, NAN]
    arrays = [
        metrics.local_coverage(short, 3),
        metrics.local_width(short, 3),
        metrics.best_fixed_local_width(short, 0.1, 3),
        metrics.window_regret([1.0] * 3, short, 0.1, 3),
    ]
    assert [a.shape for a in arrays] == [(0,)] * 4
    for function in (metrics.lce, metrics.lce_smoothed, metrics.mean_lce):
        with pytest.raises(ValueError, match="no window of k=3 rounds: the run has 2 with a label"):
            function(short, 0.1, 3)
    assert metrics.recovery(short, [0], 0.1, 3, 0.5) == [None]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: metrics.coverage([True, 0.5]), r"covered\[1\] must be True or False"),
        (lambda: metrics.coverage([[True]]), r"covered must have shape \(rounds,\), got \(1, 1\)"),
        (lambda: metrics.lce([True], 0.0, 1), "alpha, the share of misses"),
        (lambda: metrics.lce([True], 0.1, 0), "k must be a whole number"),
        (lambda: metrics.lce_smoothed([True], 0.1, 1, sigma=1e7), "sigma, in windows, must be at most"),
        (lambda: metrics.width([1.0, -INF]), r"widths\[1\] must be .* or inf, or NaN"),
        (lambda: metrics.width([1e291]), r"widths\[0\] must be a number of at most 1e\+290"),
        (lambda: metrics.pinball([NAN], [NAN], 0.1), r"radii\[0\] must be .*, not NaN"),
        (lambda: metrics.pinball([1.0], [INF], 0.1), r"scores\[0\] must be"),
        (lambda: metrics.regret([1.0, 1.0], [1.0], 0.1), r"scores must have shape \(2,\)"),
        (lambda: metrics.winkler([NAN], [1.0], [1.0], 0.1), r"lower\[0\] must be"),
        (lambda: metrics.winkler([0.0], [1.0], [INF], 0.1), r"y\[0\] must be"),
        (lambda: metrics.set_sizes([1, 1.5]), r"sizes\[1\] must be a whole number"),
        (lambda: metrics.set_sizes([-1]), r"sizes\[0\] must be a whole number"),
        (lambda: metrics.recovery([True], [2], 0.1), r"shifts must be a whole number, in \[0, 2\)"),
        (lambda: metrics.recovery([True] * 5, [3, 1], 0.1), "shifts must be in order"),
        (lambda: metrics.recovery([True], [0], 0.1, tolerance=-0.1), "tolerance, of coverage"),
        (lambda: metrics.discounted_coverage_error([True] * 3, 0.1, [1.0, -1.0, 1.0]), r"discounts\[1\]"),
    ],
)
def test_errors_say_what_is_wrong(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_shifts_that_are_no_list_are_refused():
    with pytest.raises(TypeError, match="shifts must be rounds"):
        metrics.recovery([True], 3, 0.1)
