"""Groups that overlap in frames and tables: ``by=`` and ``wane run --by``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import wane
from wane.cli.app import app
from wane.panel import GroupedPanel, Groups, run
from wane.runs import Options, play


def table(rows=800, series=2, seed=0):
    """A table of a shop or more, whose Sundays and large forecasts are harder."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2024-01-01") + np.arange(rows)
    ds, shop = np.repeat(day, series), np.tile([f"s{i}" for i in range(series)], rows)
    forecast = np.abs(rng.normal(size=len(ds))) * 10.0
    sunday = (ds.astype("datetime64[D]").astype(int) + 3) % 7 == 6
    y = forecast + rng.normal(size=len(ds)) * np.where(sunday, 3.0, 1.0) * (1.0 + (forecast > 9.0))
    return {"ds": ds, "shop": shop, "y": y, "forecast": forecast}


NAMES = {"id": "shop", "time": "ds", "y": "y", "y_hat": "forecast"}
BY = ["weekday", wane.Quantiles("forecast", 3)]


def written(path, data, rows=slice(None)):
    """The table as a CSV file."""
    columns = [np.asarray(values)[rows].astype(str) for values in data.values()]
    lines = [",".join(data), *(",".join(row) for row in zip(*columns, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_frame_with_groups_of_the_calendar():
    data = table()
    made = run(data, **NAMES, by=BY)
    assert isinstance(made.panel, GroupedPanel) and made.panel.settings.method == "pool"
    found = {g.name: g for g in made.panel.group_metrics()}
    assert len(found) == 7 + 3 and {"weekday Sunday", "forecast 1/3"} <= found.keys()
    inside = made.frame["covered"] == 1
    sunday = (data["ds"].astype(int) + 3) % 7 == 6
    shown = ~np.isnan(made.frame["lower"])
    assert found["weekday Sunday"].misses == np.count_nonzero(~inside & sunday & shown)
    alone = run(data, **NAMES).frame
    missed = [1.0 - (f["covered"] == 1)[sunday & shown].mean() for f in (made.frame, alone)]
    assert missed[0] < 0.27 < 0.35 < missed[1]


def test_rows_of_a_frame_may_be_in_any_order_and_come_in_pieces():
    data = table(300)
    whole = run(data, **NAMES, by=["weekday"], method="magl")
    order = np.random.default_rng(1).permutation(600)
    mixed = run({k: v[order] for k, v in data.items()}, **NAMES, by="weekday", method="magl")
    assert mixed.frame["radius"].tobytes() == whole.frame["radius"][order].tobytes()
    first = run({k: v[:300] for k, v in data.items()}, **NAMES, by=["weekday"], method="magl")
    second = run({k: v[300:] for k, v in data.items()}, **NAMES, by=["weekday"], panel=first.panel)
    assert second.frame["radius"].tobytes() == whole.frame["radius"][300:].tobytes()


def test_what_a_frame_refuses():
    data = table(50)
    made = run(data, **NAMES, by=["weekday"])
    for wrong, said in (
        (lambda: run(data, **NAMES, by=["weekday"], apart="shop"), "both"),
        (lambda: run(data, **NAMES, by=["colour"]), "no column 'colour'"),
        (lambda: run(data, **{**NAMES, "time": None}, by=["weekday"]), "no column 'weekday'"),
        (lambda: run(data, **NAMES, panel=made.panel), "has its settings"),
        (lambda: run(data, **NAMES, by=["hour"], panel=made.panel), "as before"),
        (lambda: run(data, **NAMES, by=["weekday"], panel=Groups("magl")), "has its settings"),
    ):
        with pytest.raises((ValueError, TypeError, LookupError), match=said):
            wrong()


def test_a_table_with_groups(tmp_path):
    data = table()
    file, out = written(tmp_path / "t.csv", data), str(tmp_path / "o.csv")
    options = Options(id="shop", y="y", y_hat=("forecast",), by=("weekday,forecast:3",))
    made = play(file, out, options, report=None)
    assert made.columns.by == ("weekday", "forecast") and made.method == "pool"
    (groups,) = made.groups
    assert [g.column for g in groups] == ["weekday"] * 7 + ["forecast"] * 3
    same = run(data, **NAMES, by=BY).panel.group_metrics()
    assert [(g.name, g.labels) for g in groups] == [(g.name, g.labels) for g in same]
    assert json.loads(json.dumps(made.plain()["groups"]))[0][0]["column"] == "weekday"


def test_a_state_goes_on_with_its_groups(tmp_path):
    data = table(200)
    state, whole = str(tmp_path / "state"), str(tmp_path / "whole.csv")
    options = Options(id="shop", y="y", y_hat=("forecast",), by=("weekday", "forecast:3"), method="auto")
    play(written(tmp_path / "t.csv", data), whole, options)
    parts = []
    for k, rows in enumerate((slice(0, 210), slice(210, 400))):
        out = tmp_path / f"o{k}.csv"
        play(written(tmp_path / f"t{k}.csv", data, rows), str(out), options, state)
        parts += out.read_text().splitlines()[1:]
    assert parts == (tmp_path / "whole.csv").read_text().splitlines()[1:]
    for wrong in (Options(id="shop", y="y", y_hat=("forecast",)), Options(by=("weekday",), id="shop")):
        with pytest.raises(ValueError, match="was made with"):
            play(str(tmp_path / "t1.csv"), str(tmp_path / "x.csv"), wrong, state)


def test_the_command_names_the_worst_group(tmp_path):
    file, out = written(tmp_path / "t.csv", table()), str(tmp_path / "o.csv")
    words = ["run", file, "--id", "shop", "--yhat", "forecast", "--by", "weekday,forecast:3", "--out", out]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0 and "worst of 10 groups: " in made.output and "chance explains" in made.output
    for by, said in (("colour", "no column 'colour'"), ("price:3", "no column")):
        bad = CliRunner().invoke(app, [*words[:7], by, *words[8:]])
        assert bad.exit_code != 0 and said in str(bad.exception)
    page = tmp_path / "r.html"
    assert CliRunner().invoke(app, [*words, "--report", str(page)]).exit_code == 0
    text = page.read_text()
    assert "Coverage by weekday" in text and "Coverage by forecast" in text and "2/3" in text
    plain = CliRunner().invoke(app, [*words, "--json"])
    assert len(json.loads(plain.stdout)["groups"][0]) == 10


def test_empty_cells_belong_to_no_group(tmp_path):
    data = table(60)
    data["region"] = np.where(np.arange(120) % 3 == 0, "", "north")
    made = play(written(tmp_path / "t.csv", data), str(tmp_path / "o.csv"), Options(id="shop", by=("region",)))
    assert [g.name for g in made.groups[0]] == ["region north"]
    assert made.groups[0][0].labels < made.labels
