"""Backtests: every number of steps ahead by itself, nothing after its cutoff; the same by every door."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane.integrations.nixtla import conformalize
from wane.report import read
from wane.runs import Options, play

KEYS = {"id": "unique_id", "time": "ds", "y": "y", "y_hat": "Naive"}


def backtest(cutoffs, horizon, seed=0, series=4):
    """Forecasts from each cutoff for series of unlike sizes, rows in any order."""
    rng = np.random.default_rng(seed)
    truth = [10.0 ** (k % 3) * np.cumsum(rng.normal(size=120)) for k in range(series)]
    rows = [(k, c + h, c) for k in range(series) for c in cutoffs for h in range(1, horizon + 1)]
    ids, ds, cutoff = np.array(rows)[rng.permutation(len(rows))].T
    y = np.array([truth[k][t] for k, t in zip(ids, ds, strict=True)])
    naive = np.array([truth[k][c] for k, c in zip(ids, cutoff, strict=True)])
    names = np.array([f"s{k}" for k in ids])
    return {"unique_id": names, "ds": ds, "cutoff": cutoff, "y": y, "Naive": naive}


def written(path, table):
    lines = zip(*[column.tolist() for column in table.values()], strict=True)
    path.write_text("\n".join([",".join(table), *(",".join(map(str, line)) for line in lines)]) + "\n")
    return str(path)


def column(path, name):
    head, *lines = [line.split(",") for line in path.read_text().splitlines()]
    at = head.index(name)
    return np.array([float(line[at] or "nan") for line in lines])


@settings(max_examples=20, deadline=None)
@given(
    cutoffs=st.sets(st.integers(0, 60), min_size=2, max_size=20).map(sorted),
    horizon=st.integers(1, 4),
    method=st.sampled_from(["pool", "magl"]),
    delay=st.integers(0, 2),
    now=st.integers(0, 64),
    seed=st.integers(0, 99),
)
def test_no_forecast_rests_on_a_label_after_its_cutoff(cutoffs, horizon, method, delay, now, seed):
    """Other labels after ``now``, or none, leave every interval of a forecast made by then as it is."""
    table = backtest(cutoffs, horizon, seed)
    made = wane.panel.run(table, **KEYS, method=method, delay=delay).frame
    before = table["cutoff"] <= now + delay
    for other in (np.nan, 1e6):
        changed = {**table, "y": np.where(table["ds"] > now, other, table["y"])}
        again = wane.panel.run(changed, **KEYS, method=method, delay=delay).frame
        np.testing.assert_array_equal(made["lower"][before], again["lower"][before])
        np.testing.assert_array_equal(made["upper"][before], again["upper"][before])


def test_steps_do_not_mix():
    """Errors of one number of steps ahead that are a thousand times as large leave the others as they are."""
    table = backtest(range(60), 3)
    far = table["ds"] - table["cutoff"] == 3
    wild = {**table, "y": np.where(far, table["Naive"] + 1000.0 * (table["y"] - table["Naive"]), table["y"])}
    one, two = (wane.panel.run(t, **KEYS).frame["upper"] for t in (table, wild))
    np.testing.assert_array_equal(one[~far], two[~far])


@pytest.mark.parametrize("method", ["pool", "magl"])
def test_every_door_gives_the_same(tmp_path, method):
    table = backtest(range(0, 60, 2), 3)
    result = wane.panel.run(table, **KEYS, method=method)
    frame = result.frame
    assert set(result.panel) == {1, 2, 3} and sorted(set(result.summary["steps"].tolist())) == [1, 2, 3]
    assert (np.isnan(frame["lower"]) == frame["cold"]).all() and 0 < frame["cold"].sum() < len(frame["cold"])
    nixtla = conformalize(table, level=90, method=method)
    np.testing.assert_array_equal(nixtla["Naive-lo-90"], frame["lower"])
    said = []
    made = play(
        written(tmp_path / "t.csv", table), str(tmp_path / "o.csv"), Options(method=method, y_hat=("Naive",)),
        told=said.append, record=True,
    )  # fmt: skip
    assert "a backtest" in said[1] and made.columns.cutoff == "cutoff"
    np.testing.assert_allclose(column(tmp_path / "o.csv", "upper"), frame["upper"], rtol=1e-12)
    np.testing.assert_array_equal(column(tmp_path / "o.csv", "cold"), frame["cold"])
    assert made.cold == frame["cold"].sum() and made.labels == int((~frame["cold"]).sum())


def test_the_report_reads_what_conformalize_writes(tmp_path):
    table = backtest(range(60), 2)
    table["Other"] = table["Naive"] + 0.5
    made = conformalize(table, level=[80, 95])
    tracks = read(written(tmp_path / "t.csv", made))
    assert {t.method for t in tracks} == {"Naive", "Other"} and tracks[0].levels == (0.05, 0.2)
    assert {t.name for t in tracks} == {f"s{k}, {h}" for k in range(4) for h in ("1 step ahead", "2 steps ahead")}
    mine = [t for t in tracks if t.method == "Naive"]
    shown = ~np.isnan(made["Naive-lo-80"])
    inside = (made["Naive-lo-80"] <= table["y"]) & (table["y"] <= made["Naive-hi-80"])
    assert sum(len(t) for t in mine) == shown.sum()
    assert sum(t.covered[:, 1].sum() for t in mine) == inside[shown].sum()


def test_what_a_backtest_cannot_do(tmp_path):
    table = backtest(range(20), 2)
    path = written(tmp_path / "t.csv", table)
    options = Options(method="magl", y_hat=("Naive",))
    with pytest.raises(ValueError, match="no state can continue"):
        play(path, str(tmp_path / "o.csv"), options, state=str(tmp_path / "s.wane"))
    with pytest.raises(ValueError, match="neither goes on"):
        wane.panel.run(table, **KEYS, panel=wane.Panel("magl"))
    twice = {k: np.concatenate([v, v[:1]]) for k, v in table.items()}
    with pytest.raises(ValueError, match="the series, time and cutoff are those of row 0"):
        wane.panel.run(twice, **KEYS)


def test_hints_do_not_lead_into_the_future(tmp_path):
    """Without a column of cutoffs, times come twice: the error says to give the cutoffs."""
    table = backtest(range(20), 2)
    table["made"] = table.pop("cutoff")
    with pytest.raises(ValueError, match=r"forecasts made at different times, say when with") as error:
        play(written(tmp_path / "t.csv", table), str(tmp_path / "o.csv"), Options(y_hat=("Naive",), sort=True))
    assert "cutoff" in str(error.value)
    done = play(str(tmp_path / "t.csv"), str(tmp_path / "o.csv"), Options(y_hat=("Naive",), cutoff="made"))
    assert json.loads(json.dumps(done.plain()["columns"]))["cutoff"] == "made"
