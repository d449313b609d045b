"""Quantiles and ranks of a histogram: those of the ratios that went in, to the width of a bin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane.trackers.histogram import Histogram

STEP = 11.0 / 64.0


def filled(ratios, signed=False):
    past = Histogram(signed)
    for ratio in ratios:
        past.add(float(ratio))
    return past


def place(ratio):
    """In units of bins."""
    return math.copysign(math.log1p(20.0 * abs(ratio)) / STEP, ratio)


@given(st.lists(st.floats(-2000, 2000), min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_within_a_bin_of_the_weighted_one(ratios, q):
    past = filled(ratios, signed=True)
    order = np.argsort(ratios, kind="stable")
    weights = (0.999 ** np.arange(len(ratios))[::-1])[order]
    shares = np.cumsum(weights) / weights.sum()
    at = min(int(np.searchsorted(shares, q - 1e-9)), len(ratios) - 1)
    after = min(int(np.searchsorted(shares, q + 1e-9)), len(ratios) - 1)
    found = place(past.quantile(q))
    low, high = (place(ratios[order[i]]) for i in (at, after))
    assert low - 1.001 <= found <= high + 1.001


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.floats(0, 100))
def test_a_rank_counts_what_is_above(ratios, ratio):
    past = filled(ratios)
    weights = 0.999 ** np.arange(len(ratios))[::-1]
    places, here = np.array([place(r) for r in ratios]), place(ratio)
    least = weights[places > here + 1.0].sum() / weights.sum()
    most = weights[places > here - 1.0].sum() / weights.sum()
    assert least - 1e-9 <= past.above(ratio) <= most + 1e-9


@given(st.lists(st.floats(0, 100), min_size=5, max_size=40), st.floats(0.01, 0.99))
def test_the_rank_of_a_quantile_is_its_level(ratios, q):
    past = filled(ratios)
    assert past.above(past.quantile(q)) == pytest.approx(1.0 - q, abs=1e-6)


def test_making_weights_small_changes_no_quantile():
    """The weight of a new ratio grows until all are divided by a power of two, which is exact."""
    rng = np.random.default_rng(0)
    past, weights = Histogram(), []
    for _ in range(60_000):
        before = past.weight
        past.add(abs(rng.normal()))
        if past.weight < before:
            weights.append(past.total * past.weight)
    assert len(weights) == 2  # 0.999 ** -27712 is 2 ** 40
    assert past.total == pytest.approx(past.weight / (1.0 / 0.999 - 1.0), rel=1e-9)
    assert np.asarray(past.sums) == pytest.approx(np.asarray(past.bins).reshape(-1, 8).sum(axis=1))
    assert past.quantile(0.9) == pytest.approx(1.645, rel=0.1)


def test_what_is_empty_and_what_is_far():
    past = Histogram()
    assert past.above(1.0) == 0.0 and past.quantile(0.5) == 0.0
    past.add(1e300)
    assert 2900.0 < past.quantile(1.0) < 3100.0 and past.above(1e301) == pytest.approx(0.0, abs=1e-6)
    both = filled([-1e300, 1e300], signed=True)
    assert both.quantile(0.0) < -2900.0 and both.quantile(1.0) > 2900.0
