"""``wane run`` and ``wane compare`` on tables of many series: order of time, rows without intervals, short panels."""

import math

import numpy as np
import pytest

from wane.experiments import compare, compare_panel
from wane.experiments.compare_panel import PanelRows
from wane.runs import Options, play


def panel(series=30, length=25, seed=0):
    """Many short series of unlike sizes, in order of time."""
    rng = np.random.default_rng(seed)
    unit = np.exp(2.0 * rng.normal(size=series))
    ids, times = np.tile(np.arange(series), length), np.repeat(np.arange(length), series)
    forecast = 10.0 * unit[ids]
    return {"id": ids, "time": times, "yhat": forecast, "y": forecast + unit[ids] * rng.normal(size=len(ids))}


def written(path, table, order=None):
    columns = [np.asarray(v) if order is None else np.asarray(v)[order] for v in table.values()]
    lines = [",".join(map(str, row)) for row in zip(*[c.tolist() for c in columns], strict=True)]
    path.write_text("\n".join([",".join(table), *lines]) + "\n")
    return str(path)


def cells(path):
    head, *lines = [line.split(",") for line in path.read_text().splitlines()]
    return {name: [line[i] for line in lines] for i, name in enumerate(head)}


@pytest.mark.parametrize("timed", [True, False])
def test_a_table_by_series_is_played_in_time(tmp_path, timed):
    """Sorted by series or by time: every row gets the same interval, and stays where it is."""
    table = panel()
    if not timed:
        del table["time"]
    by_series = np.argsort(table["id"], kind="stable")
    said = []
    play(written(tmp_path / "a.csv", table), str(tmp_path / "1.csv"), Options(), told=said.append)
    assert "method pool: the table has 30 series" in said and not any("memory" in text for text in said)
    play(written(tmp_path / "b.csv", table, by_series), str(tmp_path / "2.csv"), Options(), told=said.append)
    assert "order of time" in said[-1]
    one, two = cells(tmp_path / "1.csv"), cells(tmp_path / "2.csv")
    for name in one:
        assert two[name] == [one[name][i] for i in by_series], name


@pytest.mark.parametrize("timed", [True, False])
def test_pieces_are_the_whole(tmp_path, timed):
    """Also if a piece ends in the middle of a moment."""
    table = panel()
    if not timed:
        del table["time"]
    play(written(tmp_path / "t.csv", table), str(tmp_path / "whole.csv"), Options())
    whole = cells(tmp_path / "whole.csv")["upper"]
    found = []
    for i, rows in enumerate(np.split(np.arange(len(table["y"])), [100, 333, 600])):
        path = written(tmp_path / f"{i}.csv", table, rows)
        play(path, str(tmp_path / "out.csv"), Options(), state=str(tmp_path / "state"))
        found += cells(tmp_path / "out.csv")["upper"]
    assert found == whole


def test_rows_before_the_first_label_have_no_interval(tmp_path):
    table = panel(series=1, length=300)
    made = play(written(tmp_path / "t.csv", table), str(tmp_path / "o.csv"), Options(no_id=True, method="magl"))
    out = cells(tmp_path / "o.csv")
    assert (out["lower"][0], out["upper"][0], out["cold"][0]) == ("", "", "1")
    assert "" not in out["lower"][1:] and set(out["cold"][1:]) == {"0"}
    assert (made.cold, made.labels) == (1, 299)
    many = play(written(tmp_path / "t.csv", panel()), str(tmp_path / "o.csv"), Options())
    assert many.cold == 30 and cells(tmp_path / "o.csv")["cold"] == ["1"] * 30 + ["0"] * 720
    assert many.bad == (None,)


def test_a_bad_run_is_called_bad(tmp_path):
    """Series by themselves, each with a handful of labels in units of hundreds."""
    table = panel(series=200, length=6)
    table["y"] = 1000.0 * np.array(table["y"])
    table["yhat"] = 1000.0 * np.array(table["yhat"])
    made = play(written(tmp_path / "t.csv", table), str(tmp_path / "o.csv"), Options(method="magl"))
    assert made.bad[0].cause == "few labels" and made.plain()["bad"][0]["labels"] == made.labels == 1000


def test_short_panels_are_compared():
    table = panel()
    scores = np.abs(table["y"] - table["yhat"])
    rows = PanelRows(table["id"], table["time"], None, table["yhat"], table["y"], scores, "absolute")
    found = compare_panel.judged(rows, ["pool", "magl", "trailing-window"], 0.1)
    lines = {line["method"]: line for line in found["leaderboard"]}
    assert found["method"] == "pool" and found["bad"] is None and found["settings"] == {}
    assert abs(lines["pool"]["coverage"] - 0.9) < 0.03 < 0.2 < abs(lines["magl"]["coverage"] - 0.9)
    assert "30 of 30 series and 720 rows" in found["recommendation"]
    with pytest.raises(ValueError, match="at least 200 labels"):
        compare_panel.judged(rows.take(np.arange(150)), ["pool"], 0.1)


def test_series_of_one_label_are_compared_and_the_advice_can_be_followed():
    """A method that must be told the largest score is told the one with which it was judged."""
    rng = np.random.default_rng(1)
    lengths = np.tile([1, 2, 5, 9], 60)
    ids = np.repeat(np.arange(len(lengths)), lengths)
    times = np.concatenate([np.arange(n) for n in lengths])
    y = 100.0 * rng.normal(size=len(ids))
    rows = PanelRows(ids, times, None, np.zeros(len(ids)), y, np.abs(y), "absolute")
    found = compare_panel.judged(rows, ["pool", "sf-ogd"], 0.1)
    assert {line["method"] for line in found["leaderboard"]} == {"pool", "sf-ogd"}
    scores = [np.abs(y[ids == i]) for i in range(len(lengths))]
    assert compare.needed("sf-ogd", scores, 0.1)["max_score"] > 100.0


def test_the_first_rows_of_long_series_are_shown_too():
    rng = np.random.default_rng(0)
    series, times = np.tile(np.arange(3), 400), np.repeat(np.arange(400), 3)
    y = rng.normal(size=1200)
    rows = PanelRows(series, times, None, np.zeros(1200), y, np.abs(y), "absolute")
    lines = compare_panel.judged(rows, ["pool", "magl"], 0.1)["leaderboard"]
    assert all(0.0 <= line["first"] <= 1.0 for line in lines)
    text = compare.cells([{**lines[0], "first": math.nan}], compare_panel.COLUMNS)[0]
    assert text[2] == "-" and "nan" not in " ".join(text)
