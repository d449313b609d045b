"""A bad coverage is called bad, a good one is not, and the cause is named."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.metrics.verdict import LEAST, Judged, Verdict


def judged(inside, moments=None, early=None, alpha=0.1):
    found = Judged(alpha)
    found.add(inside, moments, early)
    return found


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(0, 3000),
    ticks=st.none() | st.integers(1, 900),
    cuts=st.lists(st.integers(0, 3000), max_size=6),
    seed=st.integers(0, 99),
)
def test_chunks_change_nothing(rows, ticks, cuts, seed):
    rng = np.random.default_rng(seed)
    inside = rng.random(rows) < 0.9
    moments = None if ticks is None else np.sort(rng.integers(0, ticks, rows))
    whole, parts = judged(inside, moments), Judged(0.1)
    at = [0, *sorted(min(c, rows) for c in cuts), rows]
    for a, b in itertools.pairwise(at):
        parts.add(inside[a:b], None if moments is None else moments[a:b])
    assert whole.counts.tolist() == parts.counts.tolist() and whole.hits.tolist() == parts.hits.tolist()
    assert (whole.labels, whole.chance()) == (rows, parts.chance())
    assert not rows or whole.coverage == inside.mean()


def test_a_moment_is_never_cut():
    moments = np.sort(np.random.default_rng(0).integers(0, 500, 4000))
    found = judged(np.ones(4000, dtype=bool), moments)
    ends = np.cumsum(found.counts)[:-1]
    assert (moments[ends] != moments[ends - 1]).all()


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("shared", [False, True])
def test_false_alarms_are_rare(alpha, shared):
    """Independent misses, and misses that hit half of a panel of 50 series at the same moments."""
    wrong = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        if shared:  # a moment is bad with probability 2 alpha, and then half of its series miss
            bad = np.repeat(rng.random(200) < 2.0 * alpha, 50)
            inside, moments = ~(bad & (rng.random(10_000) < 0.5)), np.repeat(np.arange(200), 50)
        else:
            inside, moments = rng.random(2000) >= alpha, None
        wrong += judged(inside, moments, alpha=alpha).verdict(50) is not None
    assert wrong <= 0.02 * 400


def test_few_labels_are_no_reason():
    assert judged(np.zeros(LEAST - 1, dtype=bool)).verdict(1) is None
    assert judged(np.zeros(LEAST, dtype=bool)).verdict(1).coverage == 0.0


def test_a_point_is_nothing_to_act_on():
    """However many labels there are, coverage within 0.01 of the target is not called bad."""
    inside = np.ones(1_000_000, dtype=bool)
    inside[::9] = False  # 88.9 %
    assert judged(inside).verdict(1).cause == "throughout"
    inside[::9] = True
    inside[: len(inside) // 10 * 10 : 10] = False
    assert judged(inside).verdict(1) is None


def test_causes():
    rng = np.random.default_rng(1)
    good, bad = rng.random(3000) < 0.9, rng.random(3000) < 0.3
    one = judged(np.where(np.arange(3000) < 300, bad, good))
    assert one.verdict(1).cause == "cold start" and "cold start" in one.verdict(1).said("wane x")
    ages = np.arange(3000) // 50  # fifty series side by side, sixty labels each
    many = judged(np.where(ages < 20, bad, good), ages, ages < 20)
    assert many.verdict(50).cause == "cold start"
    jump = judged(np.where((np.arange(3000) > 1800) & (np.arange(3000) < 2200), bad, good))
    assert jump.verdict(1).cause == "jump"
    assert judged(bad).verdict(1).cause == "throughout"
    assert judged(bad).verdict(300).cause == "few labels"
    assert judged(np.ones(3000, dtype=bool)).verdict(300).why == "the intervals are wider than was asked for"
    assert judged(bad).verdict(1).said("wane compare f").endswith("Next: wane compare f")


def test_a_reader_sees_that_chance_explains_less():
    said = Verdict(0.1, 2520, 0.9181, 0.0178, "throughout", "the intervals are wider than was asked for").said()
    assert "chance explains 1.78 points, not 1.81." in said
