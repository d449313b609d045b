"""Groups that overlap, over all series of a panel: each is covered as asked, and a history is its steps."""

import copy
import json
import pickle

import numpy as np
import pytest

import wane
from wane import theory
from wane.metrics import group_coverage, worst_group
from wane.panel import GroupedPanel, Panel

ALPHA = 0.1
KINDS = ["weekday", "region", wane.Quantiles("size", 3)]


def world(series, moments, seed=0):
    """Rows in order of time: ids, times, forecasts, true values, and groups on which the errors depend."""
    rng = np.random.default_rng(seed)
    ids, times = np.tile(np.arange(series), moments), np.repeat(np.arange(moments), series)
    forecast = rng.normal(size=len(ids)) * 10.0
    region = np.array(["north", "south", "west"])[ids % 3]
    spread = 10.0 ** (ids % 4 - 1.0) * np.where(times % 7 == 6, 3.0, 1.0) * np.where(forecast > 4.0, 2.0, 1.0)
    groups = {"weekday": times % 7, "region": region, "size": forecast}
    return ids, times, forecast, forecast + spread * rng.normal(size=len(ids)), groups


def some(groups, rows):
    """The groups of some rows."""
    return {name: values[rows] for name, values in groups.items()}


@pytest.mark.parametrize("method", ["pool", "auto"])
def test_every_group_comes_to_its_target(method):
    ids, times, forecast, y, groups = world(6, 1400)
    panel = GroupedPanel(KINDS, method, ALPHA)
    made = panel.run(ids, forecast, y, groups, times=times)
    alone = Panel(method, ALPHA).run(ids, forecast, y, times=times)
    known = {name: groups[name].tolist() for name in ("weekday", "region")}
    found = panel.group_metrics()
    assert len(found) == 7 + 3 + 3 and all(abs(g.error) <= g.bound for g in found)
    off = []
    for intervals in (made, alone):
        inside = np.where(np.isnan(intervals.lower), np.nan, (intervals.lower < y) & (y < intervals.upper))
        off.append({g.name: g.coverage - 0.9 for g in group_coverage(inside, known, ALPHA)})
    assert abs(off[1]["weekday 6"]) > 0.1 > 0.06 > max(map(abs, off[0].values()))
    assert worst_group(found).labels >= 100
    # The summary is about the corrected intervals.
    inside = (made.lower < y) & (y < made.upper)
    shown = ~np.isnan(made.lower)
    of_first = (ids == 0) & shown
    assert panel.summary()["coverage"][0] == pytest.approx(inside[of_first].mean())


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_a_hard_weekday_is_found_within_weeks(alpha):
    """One day of seven has errors three times larger: most of it is learned before the second ten weeks begin."""
    series, moments = 30, 140
    rng = np.random.default_rng(2)
    ids, times = np.tile(np.arange(series), moments), np.repeat(np.arange(moments), series)
    y = np.where(times % 7 == 6, 3.0, 1.0) * rng.normal(size=len(ids))
    panel = GroupedPanel(["day"], "pool", alpha)
    made = panel.run(ids, np.zeros(len(ids)), y, {"day": times % 7}, times=times)
    alone = Panel("pool", alpha).run(ids, np.zeros(len(ids)), y, times=times)
    hard = (times % 7 == 6) & (times >= 70)
    missed = [np.mean(np.abs(y[hard]) >= p.radius[hard]) for p in (alone, made)]
    assert missed[0] > alpha + 0.2 and abs(missed[1] - alpha) < 0.4 * (missed[0] - alpha)
    easy = (times % 7 != 6) & (times >= 70)
    assert abs(np.mean(np.abs(y[easy]) >= made.radius[easy]) - alpha) < 0.02


@pytest.mark.parametrize("alpha", [0.1, (0.3, 0.1)])
@pytest.mark.parametrize("score", ["absolute", "signed"])
@pytest.mark.parametrize("method", ["pool", "magl", "split"])
def test_a_history_is_its_steps(method, score, alpha):
    ids, times, forecast, y, groups = world(4, 60)
    settings = {"on_unbounded": "allow"} if method == "split" else {}
    whole, step, pieces = (GroupedPanel(KINDS, method, alpha, score, **settings) for _ in range(3))
    expected = whole.run(ids, forecast, y, groups, times=times)
    for t in range(60):
        rows = np.flatnonzero(times == t)
        p = step.predict(ids[rows], forecast[rows], some(groups, rows))
        assert p.radius.tobytes() == expected.radius[rows].tobytes(), t
        assert p.lower.tobytes() == expected.lower[rows].tobytes(), t
        step.update(ids[rows], y[rows])
    assert step.group_metrics() == whole.group_metrics()
    for name in ("coverage", "width") if alpha == 0.1 else ("coverage_0.3", "width_0.1"):
        assert np.asarray(step.summary()[name]) == pytest.approx(np.asarray(whole.summary()[name]), nan_ok=True)
    # In pieces, from files, and in another order of the series.
    for rows in (slice(0, 100), slice(100, 240)):
        pieces.run(ids[rows], forecast[rows], y[rows], some(groups, rows), times=times[rows])
        pieces = GroupedPanel.from_state_dict(json.loads(json.dumps(pieces.state_dict())))
    if method != "pool":
        assert pieces.group_metrics() == whole.group_metrics()
    by_series = np.argsort(ids, kind="stable")
    other = GroupedPanel(KINDS[:2], method, alpha, score, **settings)
    same = GroupedPanel(KINDS[:2], method, alpha, score, **settings)
    given = {name: values for name, values in groups.items() if name != "size"}
    a = same.run(ids, forecast, y, given, times=times)
    b = other.run(ids[by_series], forecast[by_series], y[by_series], some(given, by_series), times=times[by_series])
    assert a.radius[by_series].tobytes() == b.radius.tobytes()


def test_late_labels_wait_as_in_the_panel():
    ids, times, forecast, y, groups = world(3, 80)
    whole, parts = (GroupedPanel(KINDS, "magl", ALPHA) for _ in range(2))
    expected = whole.run(ids, forecast, y, groups, delay=5, times=times)
    made = []
    for rows in (slice(0, 90), slice(90, 240)):
        made.append(parts.run(ids[rows], forecast[rows], y[rows], some(groups, rows), delay=5, times=times[rows]))
        parts = pickle.loads(pickle.dumps(copy.copy(parts)))
    assert np.concatenate([p.radius for p in made]).tobytes() == expected.radius.tobytes()
    assert parts.state_dict() == whole.state_dict()
    assert sum(g.labels for g in whole.group_metrics() if g.column == "region") == 3 * (80 - 5 - 6)


def test_after_an_error_everything_is_as_before():
    ids, times, forecast, y, groups = world(3, 40)
    panel = GroupedPanel(KINDS, "pool", ALPHA)
    panel.run(ids[:60], forecast[:60], y[:60], some(groups, slice(0, 60)), times=times[:60])
    before = json.dumps(panel.state_dict())
    rows = slice(60, 120)
    new = some(groups, rows) | {"region": ["other"] * 60}
    for wrong in (
        lambda: panel.run(ids[rows], forecast[rows], np.full(60, np.inf), new, times=times[rows]),
        lambda: panel.run(ids[rows], forecast[rows], y[rows], new, times=times[rows] - 30),
        lambda: panel.run(ids[rows], forecast[rows], y[rows], new | {"size": ["large"] * 60}, times=times[rows]),
        lambda: panel.run(ids[rows], forecast[rows], y[rows], {"region": ["a"] * 60}, times=times[rows]),
        lambda: panel.predict([0, 1], [1.0, np.nan], {"weekday": [1, 1], "region": ["a", "b"], "size": [1.0, 2.0]}),
        lambda: panel.predict([0, 1], [1.0, 2.0], {"weekday": [1], "region": ["a", "b"], "size": [1.0, 2.0]}),
        lambda: panel.update([0], [np.inf]),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
        assert json.dumps(panel.state_dict()) == before


def test_a_damaged_state_is_refused():
    ids, times, forecast, y, groups = world(3, 20)
    panel = GroupedPanel(KINDS, "magl", ALPHA)
    panel.run(ids, forecast, y, groups, delay=2, times=times)
    for part, name in (("table", "won"), ("members", "seen"), ("radii", "units")):
        state = json.loads(json.dumps(panel.state_dict()))
        state["correction"][part] = state["correction"][name]
        with pytest.raises(ValueError, match="damaged"):
            GroupedPanel.from_state_dict(state)
    state = json.loads(json.dumps(panel.state_dict()))
    state["correction"]["groups"]["groups"].pop()
    with pytest.raises(ValueError, match="damaged"):
        GroupedPanel.from_state_dict(state)


@pytest.mark.parametrize("kind", ["pushes on", "pushes back", "all at once", "on the radius"])
def test_the_theorem_for_moments_of_many_rows(kind):
    """An adversary who sees the radii, and moments of very different sizes."""
    rng = np.random.default_rng(1)
    panel = GroupedPanel(["a", "b"], "magl", ALPHA)
    for t in range(150):
        n = int(rng.integers(1, 30)) if t % 50 else 120
        ids = rng.permutation(120)[:n]
        p = panel.predict(ids, np.zeros(n), {"a": rng.integers(3, size=n), "b": (ids % 4).tolist()})
        behind = sum(g.error for g in panel.group_metrics() if g.column == "a")
        top = np.minimum(np.abs(rng.normal(size=n)) + 1.0, 4.0)
        y = {
            "pushes on": np.where(behind > 0.0, 4.0, 0.0) * np.ones(n),
            "pushes back": np.where(behind > 0.0, 0.0, 4.0) * np.ones(n),
            "all at once": np.full(n, 4.0 if rng.random() < 0.1 else 0.0),
            "on the radius": np.minimum(np.nan_to_num(p.radius), top),
        }[kind]
        panel.update(ids, y)
        assert all(abs(g.error) <= g.bound + 1e-9 for g in panel.group_metrics())


def test_a_growing_hint_lowers_the_potential():
    """What the proof needs where moments differ in size."""
    v, s, h = np.meshgrid([0.0, 0.1, 10.0, 1e4], np.linspace(0.0, 60.0, 40), [0.1, 1.0, 5.0])
    for factor in (1.01, 2.0, 30.0):
        assert (theory.potential(v, s, h * factor) <= theory.potential(v, s, h) + 1e-9).all()
