"""Results in a notebook: frames, small tables, charts and reports that say what the arrays say."""

import logging
import re
import time

import numpy as np
import pytest

import wane
from wane import showing

RNG = np.random.default_rng(0)
Y = RNG.normal(size=400) * np.where(np.arange(400) < 200, 1.0, 3.0)


@pytest.fixture(scope="module")
def table():
    return wane.OnlineConformal("magl", alpha=(0.1, 0.2)).run(np.zeros(400), np.where(np.arange(400) < 390, Y, np.nan))


@pytest.fixture(scope="module")
def panel():
    size = np.exp(RNG.normal(size=20))
    rows = {"day": np.repeat(np.arange(24), 20), "shop": np.tile(np.arange(20), 24)}
    rows["forecast"] = 10.0 * size[rows["shop"]]
    rows["sales"] = rows["forecast"] + size[rows["shop"]] * RNG.normal(size=480)
    return rows, wane.panel.run(rows, id="shop", time="day", y="sales", y_hat="forecast")


def test_a_table_is_a_frame(table):
    pytest.importorskip("pandas")
    frame = table.to_frame()
    assert list(frame) == list(table.columns()) and len(frame) == 400
    assert np.array_equal(frame["lower_0.2"], table.lower[:, 1])


def test_a_table_knows_what_it_was_given(table):
    assert np.array_equal(table.y[:390], Y[:390]) and np.isnan(table.y[390:]).all()
    assert np.array_equal(table.y_hat, np.zeros(400)) and table.method == "magl"
    quantiles = np.column_stack([Y - 1.0, Y + 2.0])
    assert np.allclose(wane.OnlineConformal("magl", "cqr", alpha=0.1).run(quantiles, Y).y_hat, Y + 0.5)


def test_charts_show_the_last_rounds_and_mark_what_is_outside(table):
    pytest.importorskip("matplotlib").use("Agg")
    ax = table.plot(alpha=0.2, last=50)
    drawn = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    at = np.arange(350, 390)
    outside = (Y[at] < table.lower[at, 1]) | (Y[at] > table.upper[at, 1])
    assert np.array_equal(drawn["outside"][:, 0], at[outside]) and np.array_equal(
        drawn["inside"][:, 1], Y[at][~outside]
    )
    with pytest.raises(KeyError, match=r"no level 0\.3"):
        table.plot(alpha=0.3)


def test_sets_of_labels_are_no_chart():
    labels = wane.OnlineConformal("magl", "lac", alpha=0.1).run(np.full((30, 3), 1 / 3), np.arange(30) % 3)
    with pytest.raises(ValueError, match="only intervals"):
        labels.plot()
    assert labels.y is None and "coverage" in labels._repr_html_()


def test_a_report_counts_what_the_table_counts(table, tmp_path):
    table.report(tmp_path / "page.html", title="mine")
    page = (tmp_path / "page.html").read_text()
    assert "mine" in page and f"{100 * table.coverage[0]:.1f}" in page


def test_small_tables_escape_what_users_name():
    page = showing.html("<b>", [("a<b", "<script>")])
    assert "<script>" not in page and "&lt;script&gt;" in page and "<b>" not in page
    oc = wane.OnlineConformal("magl", alpha=0.1)
    p = oc.predict(1.0, id="<i>")
    assert "<i>" not in p._repr_html_() and "cold" in p._repr_html_()


def test_an_object_says_what_it_is_and_how_it_goes(tmp_path):
    oc = wane.OnlineConformal(alpha=0.1)
    assert repr(oc) == "OnlineConformal(auto, Absolute(), target 90 %: no labels yet, 0 waiting)"
    for y in Y[:50]:
        p = oc.predict(0.0)
        oc.update(p.id, y)
    oc.predict(0.0)
    said = f"OnlineConformal(auto, Absolute(), target 90 %: {100 * oc.metrics().coverage:.1f} % of 50 labels covered, "
    assert repr(oc) == said + "1 waiting)"
    wane.save(tmp_path / "state.wane", oc)
    assert repr(wane.load(tmp_path / "state.wane")) == repr(oc)
    assert f"{oc.metrics().coverage:.3f} of 50" in oc._repr_html_()
    pytest.importorskip("pandas")
    assert oc.metrics().to_frame()["coverage"][0] == oc.metrics().coverage
    seen = oc.preview(2.0).lower
    assert oc.predict(2.0).to_frame()["lower"][0] == seen


def test_a_result_of_a_panel_shows_one_stream_and_all(panel, tmp_path):
    rows, result = panel
    known = ~np.isnan(result.frame["covered"])
    shown = dict(re.findall(r"<th>([^<]*)</th><td>([^<]*)</td>", result._repr_html_()))
    assert shown["rows"] == "480" and shown["rows without an interval"] == str(int(result.frame["cold"].sum()))
    assert float(shown["coverage"]) == pytest.approx(result.frame["covered"][known].mean(), abs=5e-5)
    result.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    pytest.importorskip("matplotlib").use("Agg")
    drawn = result.plot(3).get_lines()
    mine = rows["shop"] == 3
    assert sum(len(line.get_xdata()) for line in drawn) == mine.sum() - result.frame["cold"][mine].sum()
    with pytest.raises(KeyError, match="no stream 99"):
        result.plot(99)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_every_library_become_pandas(panel, library):
    module, pd = pytest.importorskip(library), pytest.importorskip("pandas")
    rows, result = panel
    frame = module.table(rows) if library == "pyarrow" else module.DataFrame(rows)
    again = wane.panel.run(frame, id="shop", time="day", y="sales", y_hat="forecast")
    assert isinstance(again.to_frame(), pd.DataFrame) and again._repr_html_() == result._repr_html_()


class Slow(wane.trackers.Tracker):
    """A tracker that takes its time."""

    parameters = ("alpha",)
    memory = ("rounds",)

    def __init__(self, alpha):
        super().__init__(alpha)

    def _predict(self):
        time.sleep(0.02)
        return 1.0

    def _update(self, score, radius, discount):
        pass


def test_long_replays_say_how_far_they_are(capsys, monkeypatch):
    monkeypatch.setattr(showing, "EVERY", 0.05)
    for progress in (True, False):
        wane.OnlineConformal(Slow(0.1)).run(np.zeros(20), np.zeros(20), progress=progress)
        said = capsys.readouterr().err
        counts = [int(n) for n in re.findall(r"\r(\d+) of 20 rounds", said)]
        assert bool(counts) == progress and counts == sorted(counts) and all(0 <= n <= 20 for n in counts)


@pytest.mark.parametrize("method", ["pool", "magl"])
def test_a_panel_counts_its_rows(panel, method):
    rows, _ = panel
    result = wane.panel.run(rows, id="shop", time="day", y="sales", y_hat="forecast", method=method, progress=True)
    assert result.panel.done == 480


@pytest.mark.parametrize("method", ["pool", "magl"])
def test_backtests_and_groups_count_their_rows(panel, method):
    how = {"id": "shop", "time": "day", "y": "sales", "y_hat": "forecast", "method": method, "progress": True}
    rows = {**panel[0], "half": panel[0]["day"] % 2}
    assert wane.panel.run(rows, by="half", **how).panel.base.done == 480
    assert wane.panel.run(rows, apart="half", **how).panel.children.done == 480
    rows["cutoff"] = rows["day"] - 1 - rows["shop"] % 2
    panels = wane.panel.run(rows, **how).panel.values()
    assert sum(one.done for one in panels) >= 480  # empty rows between are counted too


def test_predictions_and_metrics_are_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    oc = wane.OnlineConformal("magl", alpha=(0.1, 0.2))
    oc.run(np.zeros(400), Y)
    p = oc.predict(1.0)
    bars = p.plot().patches
    assert [bar.get_x() for bar in bars] == list(p.lower)
    assert [bar.get_x() + bar.get_width() for bar in bars] == pytest.approx(list(p.upper))
    m = oc.metrics()[0.1]
    assert m.plot().patches[0].get_width() == pytest.approx(100 * m.coverage)
    labels = wane.OnlineConformal("magl", wane.scores.LAC(classes=["cat", "dog"]), alpha=0.1)
    labels.warm_start([[0.9, 0.1]] * 60, ["cat", "dog"] * 30)
    p = labels.predict([0.9, 0.1])
    assert p.labels and [text.get_text() for text in p.plot().get_yticklabels()] == list(p.labels)


def test_the_result_of_a_panel_says_what_it_came_to(panel):
    said = re.fullmatch(r"Result\(pool, 480 rows, target 90 %: ([\d.]+) % of (\d+) labels inside\)", repr(panel[1]))
    assert float(said[1]) == pytest.approx(100 * np.nanmean(panel[1].frame["covered"]), abs=0.06)


def test_runs_are_logged_for_those_who_listen(panel, caplog):
    rows, _ = panel
    with caplog.at_level(logging.INFO, logger="wane"):
        wane.panel.run(rows, id="shop", time="day", y="sales", y_hat="forecast")
    assert [record.getMessage() for record in caplog.records] == ["480 rows of 20 streams were played by pool"]
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("wane").handlers)


@pytest.mark.parametrize("progress", [np.zeros(0), "yes", None])
def test_progress_is_wanted_or_not(progress):
    oc = wane.OnlineConformal("magl", alpha=0.1)
    with pytest.raises(TypeError, match="progress must be True or False"):
        oc.run([0.0], [1.0], progress=progress)
    assert oc.predictions == 0
    with pytest.raises(TypeError, match="progress must be True or False"):
        wane.panel.run({"y": [1.0], "m": [0.0]}, y="y", y_hat="m", alpha=0.1, progress=progress)
