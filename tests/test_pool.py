"""The method ``pool`` of panels: the same in ticks, chunks and whole runs, in any order, unit and number of threads."""

import copy
import json

import numpy as np
import pytest

import wane
from wane import Panel
from wane.panel.pooled import grouped
from wane.panel.sorting import ranked

SCORES = {
    "absolute": lambda f, w: f,
    "signed": lambda f, w: f,
    "one-sided": lambda f, w: f,
    "normalised": lambda f, w: (f, w),
    "cqr": lambda f, w: (f - w, f + w),
}


def panel_data(series=12, moments=40, seed=0):
    """Series of different scales that begin at different times and have gaps: rows in order of time."""
    rng = np.random.default_rng(seed)
    begins, scale = rng.integers(0, moments // 2, series), np.exp(rng.normal(size=series))
    ids, times = (a.ravel() for a in np.meshgrid(np.arange(series), np.arange(moments), indexing="xy"))
    there = (times >= begins[ids]) & (rng.random(len(ids)) < 0.9)
    ids, times = ids[there], times[there]
    f = scale[ids] * (3.0 + np.sin(times))
    y = f + scale[ids] * rng.normal(size=len(ids))
    y[rng.random(len(ids)) < 0.05] = np.nan
    return ids, times, f, np.full(len(ids), 0.5), y


def took(outputs, rows):
    return tuple(o[rows] for o in outputs) if isinstance(outputs, tuple) else outputs[rows]


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("alpha", [0.1, (0.05, 0.5, 0.2)])
def test_ticks_chunks_and_saved_states_are_one_run(score, alpha):
    ids, times, f, w, y = panel_data()
    outputs = SCORES[score](f, w)
    whole = Panel("pool", alpha, score)
    wanted = whole.run(ids, outputs, y, times=times)

    ticks, parts = Panel("pool", alpha, score), []
    for t in np.unique(times):
        at = times == t
        parts.append(ticks.predict(ids[at], took(outputs, at)).radius)
        ticks.update(ids[at], y[at])
    assert np.array_equal(np.concatenate(parts), wanted.radius, equal_nan=True)

    chunked, parts = Panel("pool", alpha, score), []
    for at in (times < 7, (times >= 7) & (times < 21), times >= 21):
        parts.append(chunked.run(ids[at], took(outputs, at), y[at], times=times[at]).radius)
        chunked = Panel.from_state_dict(json.loads(json.dumps(chunked.state_dict())))
    assert np.array_equal(np.concatenate(parts), wanted.radius, equal_nan=True)
    for made in (ticks, chunked):
        for name in ("states", "labels", "misses", "widths"):
            assert np.array_equal(getattr(made, name)[:12], getattr(whole, name)[:12]), name


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_nothing_is_learned_from_the_future(delay):
    ids, times, f, _, y = panel_data()
    wanted = Panel("pool").run(ids, f, y, delay, times=times).radius
    for now in (1, 5, 20, 33):
        other = np.where(times >= now, 1e6, y)
        radius = Panel("pool").run(ids, f, other, delay, times=times).radius
        before = times <= now + delay  # labels of this moment are known to the moment 1 + delay later
        assert np.array_equal(radius[before], wanted[before], equal_nan=True)
        assert not np.array_equal(radius, wanted, equal_nan=True)


def test_order_within_a_moment_and_names_do_not_matter():
    ids, times, f, _, y = panel_data()
    wanted = Panel("pool", (0.1, 0.3)).run(ids, f, y, times=times).radius
    rng = np.random.default_rng(1)
    names = rng.permutation(12)
    for _ in range(3):
        order = np.lexsort((rng.random(len(ids)), times))
        made = Panel("pool", (0.1, 0.3)).run(names[ids][order], f[order], y[order], times=times[order]).radius
        assert np.array_equal(made, wanted[order], equal_nan=True)


def test_threads_change_nothing(monkeypatch):
    ids, times, f, _, y = panel_data()
    wanted = Panel("pool", (0.1, 0.3), threads=1).run(ids, f, y, 1, times=times).radius
    for module in ("batch", "ticks", "pooled"):
        monkeypatch.setattr(f"wane.panel.{module}.PIECE", 3)
    panel = Panel("pool", (0.1, 0.3), threads=3)
    assert np.array_equal(panel.run(ids, f, y, 1, times=times).radius, wanted, equal_nan=True)
    one, three = Panel("pool", threads=1), Panel("pool", threads=3)
    for t in np.unique(times):
        at = times == t
        for panel in (one, three):
            panel.predict(ids[at], f[at])
            panel.update(ids[at], y[at])
        assert np.array_equal(one.radii, three.radii, equal_nan=True)
        assert np.array_equal(one.states, three.states)


@pytest.mark.parametrize("power", [-30, 1, 200])
def test_the_unit_changes_nothing(power):
    ids, times, f, _, y = panel_data()
    wanted = Panel("pool").run(ids, f, y, times=times).radius
    made = Panel("pool").run(ids, np.ldexp(f, power), np.ldexp(y, power), times=times).radius
    assert np.array_equal(made, np.ldexp(wanted, power), equal_nan=True)


def test_levels_are_nested_and_rows_before_the_first_label_have_no_interval():
    ids, times, f, _, y = panel_data()
    made = Panel("pool", (0.05, 0.1, 0.5)).run(ids, f, y, times=times)
    first = times == times.min()
    assert np.isnan(made.radius[first]).all() and not np.isnan(made.radius[~first]).any()
    assert (np.diff(made.radius[~first], axis=1) <= 0.0).all() and (made.radius[~first] >= 0.0).all()


def test_it_covers_from_the_first_rows_on():
    """Ninety per cent of rows of new and old series, with scales a thousandfold apart."""
    rng = np.random.default_rng(3)
    scale = np.exp(2.0 * rng.normal(size=300))
    ids, times = np.tile(np.arange(300), 30), np.repeat(np.arange(30), 300)
    f = 5.0 * scale[ids]
    y = f + scale[ids] * rng.standard_t(4, size=len(ids))
    result = wane.panel.run({"id": ids, "t": times, "y": y, "f": f}, id="id", time="t", y="y", y_hat="f")
    covered = result.frame["covered"]
    assert result.panel.settings.method == "pool"
    assert abs(np.nanmean(covered) - 0.9) < 0.01
    assert abs(np.nanmean(covered[times < 10]) - 0.9) < 0.03


def test_times_do_not_go_back_and_an_error_changes_nothing():
    ids, times, f, _, y = panel_data()
    panel = Panel("pool")
    panel.run(ids, f, y, times=times)
    before = json.dumps(panel.state_dict())
    with pytest.raises(ValueError, match=r"must not go back: the panel has seen 39, got 3.*in order of time"):
        panel.run([0], [1.0], [1.0], times=[3])
    with pytest.raises(TypeError, match="times are text"):
        panel.run([0], [1.0], [1.0], times=["2024-01-01"])
    with pytest.raises(ValueError, match="finite"):
        panel.run([99, 0], [1.0, np.inf], [1.0, 1.0], times=[50, 51])
    assert json.dumps(panel.state_dict()) == before


def test_rows_of_bytes_and_the_shared_part_go_on():
    ids, times, f, _, y = panel_data()
    early, late = times < 20, times >= 20
    whole, first = Panel("pool", (0.1, 0.3)), Panel("pool", (0.1, 0.3))
    wanted = whole.run(ids, f, y, 2, times=times).radius[late]
    first.run(ids[early], f[early], y[early], 2, times=times[early])
    names, rows = first.rows()
    order = np.random.default_rng(0).permutation(len(names))
    given = [names[i] for i in order], [rows[i] for i in order]
    again = Panel.from_rows(first, *given, first.shared())
    made = again.run(ids[late], f[late], y[late], 2, times=times[late]).radius
    assert np.array_equal(made, wanted)
    assert Panel("magl").shared() is None
    for shared, match in ((None, "must be bytes"), (b"no", "not a row"), (first.shared()[:-9], "damaged")):
        with pytest.raises((TypeError, ValueError), match=match):
            Panel.from_rows(first, *given, shared)
    with pytest.raises(ValueError, match="other settings"):
        Panel.from_rows(Panel("pool", 0.2), *given, first.shared())


def test_a_copy_is_independent():
    ids, times, f, _, y = panel_data()
    panel = Panel("pool")
    panel.run(ids, f, y, times=times)
    before = json.dumps(panel.state_dict())
    other = copy.copy(panel)
    other.run(ids, f, y, times=times + 100)
    assert json.dumps(panel.state_dict()) == before


def test_it_has_no_settings():
    with pytest.raises(TypeError, match="'pool' has no setting 'epsilon': leave it out"):
        Panel("pool", epsilon=2.0)
    with pytest.raises(TypeError, match="'pool' has no setting 'warm_up'"):
        Panel("pool", warm_up=3)
    assert Panel("pool", None, coverage=0.8).settings.alpha == 0.2


@pytest.mark.parametrize("kind", ["int64", "uint8", "float64", "M8[ns]", "M8[D]", "m8[s]"])
@pytest.mark.parametrize("spread", [3, 60, 10**6])
def test_moments_are_numbered_as_a_sort_would(kind, spread):
    rng = np.random.default_rng(spread)
    values = rng.integers(0, min(spread, 250) if kind == "uint8" else spread, 200)
    times = values.astype(kind) if kind[0] not in "mM" else (7 * values).astype(kind)
    ranks = ranked(times)
    assert (ranks == np.unique(times, return_inverse=True)[1]).all() and ranks.dtype == np.intp


def test_rows_are_grouped_as_a_stable_sort_would():
    keys = np.random.default_rng(0).integers(0, 50, 500)
    order, starts = grouped(keys, 40)
    wanted = np.argsort(keys, kind="stable")[: (keys < 40).sum()]
    assert (order == wanted).all()
    assert (starts == np.searchsorted(keys[wanted], np.arange(41))).all()
