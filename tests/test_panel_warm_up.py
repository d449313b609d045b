"""The first labels of each stream of a panel: they choose epsilon, and nothing is seen before its time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_cases import SCORES, Picked, agree, data, interleaved, same, settings_of

import wane
from wane.panel import Panel

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


@pytest.mark.parametrize("name", ["magl", "magl-d", "magdis"])
def test_epsilon_is_chosen_for_each_stream(name):
    """As warm_start of a tracker would; so the radii of a stream are in its own unit."""
    rng = np.random.default_rng(0)
    k, n, units = 6, 30, 10.0 ** np.arange(-6, 7, 3)
    scores = np.abs(rng.normal(size=n))
    ids = interleaved([n] * len(units))
    y = np.empty(len(ids))
    for s, unit in enumerate(units):
        y[ids == s] = scores * unit
    panel, ticks = (Panel(name, 0.1, warm_up=k, epsilon="auto") for _ in range(2))
    made = panel.run(ids, np.zeros(len(ids)), y)
    for t in range(n):
        p = ticks.predict(np.arange(len(units)), np.zeros(len(units)))
        assert same(p.radius, [made.radius[ids == s][t] for s in range(len(units))])
        ticks.update(np.arange(len(units)), scores[t] * units)
    for s, unit in enumerate(units):
        tracker = wane.trackers.make(name, 0.1, epsilon="auto")
        tracker.warm_start(scores[:k] * unit)
        radius = made.radius[ids == s]
        assert np.isnan(radius[:k]).all() and same(radius[k:], tracker.run(scores[k:] * unit))
        assert radius[k:] / unit == pytest.approx(made.radius[ids == 0][k:] / units[0], rel=1e-9)
    assert states_by_id(panel) == states_by_id(ticks)


def states_by_id(panel):
    return {i: panel.states[panel.index.places([i])[0]].tolist() for i in panel.ids()}


def test_too_few_labels_teach_nothing():
    panel = Panel("magl", warm_up=5)
    y = np.array([1.0, math.nan, 2.0, 3.0, math.nan, 4.0, math.nan])
    made = panel.run(np.zeros(7, int), np.zeros(7), y)
    assert np.isnan([made.lower, made.upper, made.radius]).all()
    assert np.array_equal(panel.states[:1], panel.fresh)
    summary = panel.summary()
    assert summary["rows"].tolist() == [7] and summary["labels"].tolist() == [0] and math.isnan(summary["coverage"][0])
    assert np.isnan(panel.predict([0], [0.0]).radius).all()
    panel.update([0], [5.0])  # the fifth
    tracker = wane.trackers.make("magl", 0.1)
    tracker.warm_start([1.0, 2.0, 3.0, 4.0, 5.0])
    assert panel.predict([0], [0.0]).radius[0] == tracker.predict() > 0.0


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("limits", [{}, {"lower_limit": -9.0, "upper_limit": 9.0}])
@pytest.mark.parametrize("alpha", [0.1, (0.1, 0.3)])
def test_no_interval_in_the_warm_up(score, limits, alpha):
    x, y = data(score, 3, missing=0.0)
    panel = Panel("magl", alpha, score, warm_up=4, **limits)
    for made in (panel.run([0, 0, 0], x, y), panel.predict([0, 1], x[:2])):
        assert np.isnan(made.lower).all() and np.isnan(made.upper).all() and np.isnan(made.radius).all()
    panel.update([0, 1], y[:2])
    made = panel.predict([0, 1], x[:2])
    assert not np.isnan(made.lower[0]).any() and np.isnan(made.lower[1]).all()


@settings(max_examples=25)
@given(
    name=st.sampled_from(["magl", "split"]),
    cut=st.integers(0, 30),
    delay=st.integers(0, 6),
    warm_up=st.sampled_from([0, 4]),
)
def test_nothing_is_seen_before_its_time(name, cut, delay, warm_up):
    """Other outputs from row ``cut`` on, and other labels from row ``cut - delay`` on, change nothing before."""
    n = 31
    ids, (x, y) = np.tile([0, 1], n), data("absolute", 2 * n)
    first = Panel(name, **settings_of(name, warm_up=warm_up)).run(ids, x, y, delay)
    row = np.repeat(np.arange(n), 2)  # in its stream
    other_x, other_y = np.where(row >= cut, x + 5.0, x), np.where(row >= cut - delay, 9.0 - y, y)
    then = Panel(name, **settings_of(name, warm_up=warm_up)).run(ids, other_x, other_y, delay)
    assert agree(Picked(then, row < cut), Picked(first, row < cut))
    assert same(then.radius[row == cut], first.radius[row == cut])  # the radius knows no label of its own row
