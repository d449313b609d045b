"""The report: its numbers are those of the metrics, its file is whole, its reader refuses what it cannot use."""

import base64
import html
import json
import os
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane import metrics
from wane.charts import asset
from wane.report import Track, numbers, page, read, write
from wane.report.chance import surprise
from wane.report.packing import packed, unpacked
from wane.report.sentences import headline


def track(rounds=400, name="made", method="auto", seed=0, levels=(0.1, 0.3), dates=False, missing=True, spread=1.0):
    rng = np.random.default_rng(seed)
    y_hat = np.cumsum(rng.normal(size=rounds))
    y = y_hat + rng.normal(size=rounds)
    if missing and rounds > 20:
        y[rounds // 2 : rounds // 2 + 7] = np.nan
    reach = spread * np.array([1.65, 1.04, 2.3])[: len(levels)]
    time = np.datetime64("2020-01-01") + np.arange(rounds) if dates else None
    return Track(name, method, time, y, y_hat, levels, y_hat[:, None] - reach, y_hat[:, None] + reach)


def embedded(text):
    """The data of a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.S)[1])


def cells(text, table):
    """The exact values of the cells of a table, by line."""
    body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', text, flags=re.S)[1]
    rows = [re.findall(r'<td(?: class="n")?(?: data-v="([^"]*)")?>(.*?)</td>', row) for row in body.split("</tr>")[:-1]]
    return [[html.unescape(value or shown) for value, shown in row] for row in rows]


def reference(y, lower, upper, alpha, k):
    """Literally: coverage, the worst window with its rounds, mean width, the sum after each outcome."""
    known = [t for t in range(len(y)) if y[t] == y[t]]
    miss = {t: int(not lower[t] <= y[t] <= upper[t]) for t in known}
    worst = min((sum(1 - miss[t] for t in known[i : i + k]) / k, i) for i in range(len(known) - k + 1))
    sums, total = {}, 0.0
    for t in known:
        total += miss[t] - alpha
        sums[t] = total
    width = sum(upper[t] - lower[t] for t in range(len(y))) / len(y)
    coverage = 1 - sum(miss.values()) / len(known)
    return coverage, worst[0], (known[worst[1]], known[worst[1] + k - 1]), width, sums


@pytest.mark.parametrize("level", [0, 1])
def test_numbers_are_what_they_are_called(level):
    made = track(350, seed=3)
    k = 20
    alpha = made.levels[level]
    coverage, worst, at, width, sums = reference(made.y, made.lower[:, level], made.upper[:, level], alpha, k)
    found = numbers.judged(made, level, k)
    assert found.coverage == pytest.approx(coverage) and found.worst == worst and found.worst_at == at
    assert found.width == pytest.approx(width) and found.infinite == 0.0 and found.labels == len(sums)
    assert found.winkler == metrics.winkler(made.lower[:, level], made.upper[:, level], made.y, alpha)
    curves = numbers.curves(made, level, k)
    assert np.nanmin(curves["coverage"]) == worst and np.nanargmin(curves["coverage"]) == at[1]
    for t in range(len(made)):
        assert curves["sum"][t] == pytest.approx(sums[t], abs=1e-9) if t in sums else np.isnan(curves["sum"][t])
    assert np.isnan(curves["width"][: k - 1]).all() and curves["width"][-1] == pytest.approx(width)


def test_the_discounted_sum_is_that_of_the_metric():
    made = track(200, seed=1)
    hits = made.covered[:, 0]
    sums = numbers.curves(made, 0, 20, discount=0.97)["sum"]
    for t in (0, 50, 120, 199):
        want = metrics.discounted_coverage_error(hits[: t + 1], 0.1, 0.97)
        assert sums[t] == pytest.approx(want, abs=1e-9)


def test_streams_together_are_one_long_stream():
    parts = [track(n, f"s{n}", seed=n) for n in (120, 300, 77)]
    y, y_hat, lower, upper = (np.concatenate([getattr(p, n) for p in parts]) for n in ("y", "y_hat", "lower", "upper"))
    whole = Track("all", "auto", None, y, y_hat, parts[0].levels, lower, upper)
    found, one = numbers.pooled([numbers.judged(p, 0, 20) for p in parts]), numbers.judged(whole, 0, 20)
    for name in ("rounds", "labels", "misses"):
        assert getattr(found, name) == getattr(one, name)
    for name in ("coverage", "width", "winkler"):
        assert getattr(found, name) == pytest.approx(getattr(one, name))
    assert found.worst == min(numbers.judged(p, 0, 20).worst for p in parts)


def test_infinite_intervals_are_counted_apart():
    lower, upper = np.array([-np.inf, 0.0, 0.0, 0.0]), np.array([np.inf, 1.0, 3.0, np.inf])
    found = numbers.judged(Track("a", "m", None, [0.5] * 4, None, [0.1], lower, upper), 0, 2)
    assert found.width == 2.0 and found.infinite == 0.5 and found.coverage == 1.0 and found.finite == 2


@pytest.mark.parametrize(("labels", "k"), [(1, 1), (9, 9), (10, 5), (39, 10), (40, 20), (199, 50), (200, 100)])
def test_the_window_fits_twice(labels, k):
    assert numbers.window([track(labels, missing=False)]) == k


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), min_size=1, max_size=60))
def test_columns_come_back(values):
    column = np.array(values)
    back, finite = unpacked(packed(column)), np.isfinite(column)
    assert (np.isnan(back) == np.isnan(column)).all() and (back[np.isinf(column)] == column[np.isinf(column)]).all()
    if finite.any() and (np.abs(column[finite]) < 1e38).all():
        middle = np.median(column[finite])
        allowed = 1e-7 * np.abs(column[finite] - middle) + 1e-15 * abs(middle) + 1e-36
        assert (np.abs(back[finite] - column[finite]) <= allowed).all()
    else:
        assert (back[finite] == column[finite]).all()
    assert np.array_equal(unpacked(packed(column, exact=True)), column, equal_nan=True)


def test_the_page_says_what_the_numbers_say(tmp_path):
    tracks = [track(300, f"s{i}", m, i, spread=s) for i in range(3) for m, s in (("auto", 1.0), ("wide", 1.5))]
    write(tmp_path / "r.html", tracks, {"delay": 3, "model": {"name": "ar"}}, title="A & <b>")
    text = (tmp_path / "r.html").read_text()
    found = {m: [numbers.judged(t, 0, 100) for t in tracks if t.method == m] for m in ("auto", "wide")}
    overall = numbers.pooled(found["auto"])
    assert html.escape(headline(overall, 0.1, 100, 3)) in text
    assert f"{100 * overall.coverage:.1f}" in headline(overall, 0.1, 100, 3)
    lines = cells(text, "methods")
    assert [line[0] for line in lines] == ["auto", "wide"]
    assert float(lines[1][2]) == numbers.pooled(found["wide"]).coverage
    assert [(line[0], line[1]) for line in cells(text, "streams")] == [(t.name, t.method) for t in tracks]
    assert float(cells(text, "streams")[3][3]) == numbers.judged(tracks[3], 0, 100).coverage
    assert len(cells(text, "calibration")) == 4 and ["model.name", "ar"] in cells(text, "settings")
    assert "A &amp; &lt;b&gt;" in text and "<b>" not in text.partition("<main>")[2].partition("<script")[0]
    data = embedded(text)
    assert [(t["name"], t["method"]) for t in data["tracks"]] == [(t.name, t.method) for t in tracks]
    assert np.allclose(unpacked(data["tracks"][2]["y"]), tracks[2].y, equal_nan=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "r.html"]


def test_the_page_asks_nothing_of_any_host():
    text = page.page([track(60, name="</script><script>alert(1)</script>")])
    without = re.sub(r"https://github.com/leeoniya/uPlot", "", text)  # the library's own comment
    assert not re.search(r"https?://(?!www\.w3\.org)", without) and "@import" not in text
    assert not re.search(r'(?:src|href)="(?!data:)', text) and "default-src 'none'" in text
    assert "alert(1)</script>" not in text and text.count("<script") == 2
    assert "Leon Sorokin" in text  # the licence goes with the code


def test_the_vendored_library_is_the_published_one():
    """The bytes of uplot 1.6.32 on npm, and what the documentation says of them."""
    import hashlib
    from pathlib import Path

    root = Path(__file__).parent.parent
    said = (root / "docs" / "report.md").read_text()
    for name in ("uPlot.iife.min.js", "uPlot.min.css"):
        found = hashlib.sha256((root / "src" / "wane" / "charts" / "assets" / name).read_bytes()).hexdigest()
        assert f"`{found}`" in said
    assert "v1.6.32" in asset("uPlot.iife.min.js")[:80]


def test_large_panels_chart_the_least_likely_series(monkeypatch):
    monkeypatch.setattr(page, "MOST_ROUNDS", 700)
    monkeypatch.setattr(page, "MOST_LINES", 4)
    tracks = [track(200, f"s{i}", seed=i, spread=0.5 if i == 5 else 1.0) for i in range(6)]
    text = page.page(tracks)
    shown = {t["name"] for t in embedded(text)["tracks"]}
    off = sorted(tracks, key=lambda t: -surprise(0.1, (n := numbers.judged(t, 0, 50)).labels, n.misses))
    assert shown == {t.name for t in off[:3]} and "s5" in shown
    assert "3 of 6 series" in text and "4 of 6" in text and len(cells(text, "streams")) == 4
    assert len(embedded(page.page([track(2000)]))["tracks"]) == 1  # the only one, however long


def test_bounds_and_discounts_by_method_and_level():
    tracks = [track(60, "s", m) for m in ("a", "b")]
    found = embedded(page.page(tracks, {"coverage_bound": {"a": [3.0, None], "b": np.inf}, "discount": {"b": 0.5}}))
    assert [[(lv["bound"], lv["discount"]) for lv in t["levels"]] for t in found["tracks"]] == [
        [(3.0, 1.0), (None, 1.0)],
        [(None, 0.5), (None, 0.5)],
    ]
    assert [lv["bound"] for lv in embedded(page.page(tracks[:1], {"coverage_bound": 2}))["tracks"][0]["levels"]] == [
        2,
        None,
    ]
    with pytest.raises(ValueError, match="each of the 2 levels"):
        page.page(tracks, {"coverage_bound": [1.0]})


def test_nothing_known_yet():
    unknown = Track("s", "m", None, [np.nan] * 5, None, [0.1], [0.0] * 5, [1.0] * 5)
    assert "No outcome is known yet" in page.page([unknown])
    assert numbers.plain(unknown, 5)["levels"][0]["coverage"] is None


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"y": []}, "one round or more"),
        ({"y": [np.inf, 1.0]}, r"y\[0\] is infinite"),
        ({"lower": [0.0, np.nan]}, "numbers in every round"),
        ({"lower": [0.0]}, "lower must have shape"),
        ({"levels": []}, "each once"),
        ({"levels": [0.1, 0.1]}, "each once"),
        ({"levels": [2.0]}, "share of misses"),
        ({"time": [2, 1]}, "sort the rounds"),
        ({"time": ["a", "b"]}, "numbers or dates"),
        ({"covered": [1, 2]}, "1 or 0"),
        ({"covered": [1, np.nan]}, "1 or 0"),
    ],
)
def test_a_track_refuses(change, wanted):
    fields = {"time": None, "y": [1.0, 2.0], "y_hat": None, "levels": [0.1], "lower": [0.0, 0.0], "upper": [3.0, 3.0]}
    with pytest.raises((ValueError, TypeError), match=wanted):
        Track("s", "m", **{**fields, **change})


def test_a_page_refuses(tmp_path):
    old = tmp_path / "r.html"
    old.write_text("old")
    for tracks, wanted in [
        ([], "got none"),
        ([track(9), track(9)], "two tracks"),
        ([track(9), track(9, "b", levels=(0.2,))], "the same levels"),
        ([3], "must be wane.report.Track"),
        (track(9), "must be a list"),
    ]:
        with pytest.raises((ValueError, TypeError), match=wanted):
            write(old, tracks)
    assert old.read_text() == "old"


ROWS = {
    "ds": ["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-02"],
    "unique_id": ["a", "a", "b", "b"],
    "actual": [1.0, 9.0, 2.0, None],
    "forecast": [1.5, 1.5, 2.5, 2.5],
    "lower_0.1": [0.0, 0.0, 1.0, 1.0],
    "upper_0.1": [3.0, 3.0, 4.0, float("inf")],
    "covered_0.1": [True, False, False, None],  # the run knows: b's first label is a tie to it
    "lower_note": ["x", "y", "z", "w"],
}


def written(path, rows=ROWS):
    names = list(rows)
    lines = list(zip(*rows.values(), strict=True))
    if path.suffix == ".csv":
        text = [",".join(names)] + [",".join("" if c is None else str(c) for c in line) for line in lines]
        path.write_text("\n".join(text) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, line, strict=True))) + "\n" for line in lines))
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.table(rows), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_results_are_read_alike(tmp_path, kind):
    a, b = read(written(tmp_path / f"r.{kind}"))
    assert (a.name, b.name) == ("a", "b") and a.levels == (0.1,) and a.method == ""
    assert a.time.astype("datetime64[D]").astype(str).tolist() == ["2020-01-01", "2020-01-02"]
    assert a.y.tolist() == [1.0, 9.0] and np.isnan(b.y[1]) and b.upper[1, 0] == np.inf
    assert a.covered[:, 0].tolist() == [1.0, 0.0] and b.covered[0, 0] == 0.0 and np.isnan(b.covered[1, 0])
    (one,) = read(written(tmp_path / f"s.{kind}", {k: v[:2] for k, v in ROWS.items() if k != "unique_id"}), method="x")
    assert one.name == "s" and one.method == "x"


@pytest.mark.parametrize(
    ("text", "given", "wanted"),
    [
        ("", {}, "r.csv is empty"),
        ("y,lower,upper\n", {"alpha": 0.1}, "no rows"),
        ("y,id,lower,upper\n1,,0,2\n", {}, "line 2: there is no id"),
        ("y,ds,lower,upper\n1,soon,0,2\n", {"time": "ds"}, "line 2: .* dates"),
        ("y,covered,lower,upper\n1,maybe,0,2\n", {}, "covered must be 1 or 0"),
        ("y,lower\n1,0\n", {}, "no columns lower and upper"),
        ("a,lower_0.1,upper_0.1\n1,0,2\n", {}, "no column with a usual name for the true values"),
        ("y,lower_0.1,upper_0.1\n1,0,2\n", {"y": "z"}, "no column 'z'"),
        ("y,lower_0.1,upper_0.1\n1,0,2\n1,0\n", {}, "line 3: the row has 2 cells"),
        ("y,lower_0.1,upper_0.1\n1,0,two\n", {}, r"line 2: .* numbers, got 'two'"),
        ("y,lower_0.1,upper_0.1\n1,,\n2,,\n", {}, "no row with an interval"),
        ("y,mylower,myupper\n1,0,2\n", {"prefix": "your"}, "no columns yourlower"),
        ("y,lower,upper,lower_0.1,upper_0.1\n1,0,2,0,3\n", {}, "lower and lower_0.1 are both of alpha 0.1"),
    ],
)
def test_results_that_cannot_be_used(tmp_path, text, given, wanted):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ValueError, match=wanted):
        read(tmp_path / "r.csv", **given)


def test_results_are_put_in_order_and_rounds_without_interval_are_left_out(tmp_path):
    (tmp_path / "r.csv").write_text("y;time;my_lower;my_upper\n1;5;0;2\n7;4;0;2\n8;3;;\n")
    (found,) = read(tmp_path / "r.csv", 0.2, prefix="my_")
    assert found.time.tolist() == [4.0, 5.0] and found.y.tolist() == [7.0, 1.0] and found.levels == (0.2,)


def played(tmp_path, scores, **options):
    """A run over a table with forecasts of 0, its report, and its tracks."""
    from wane.report import runs
    from wane.runs import Options, play

    path = tmp_path / "in.csv"
    path.write_text("y,yhat\n" + "".join(f"{float(s)!r},0\n" for s in scores))
    made = play(str(path), str(tmp_path / "out.csv"), Options(**options), record=True)
    return made, runs.tracks(made, "one")


def test_a_run_and_its_report_count_alike(tmp_path):
    ties = np.tile([1.0, 2.0, 2.0, 3.0], 100)
    made, (found,) = played(tmp_path, ties, method="trailing-window", warm_up=20)
    assert made.labels == len(found) == 380
    (again,) = read(tmp_path / "out.csv")
    for track in (found, again):
        assert numbers.judged(track, 0, 100).coverage == made.coverage[0]
        assert numbers.judged(track, 0, 100).width == pytest.approx(made.width[0])


@pytest.mark.parametrize("method", ["magl", "magl-d"])
def test_the_sum_of_a_run_stays_within_the_bound_that_its_report_draws(tmp_path, method):
    from wane import trackers

    scores = np.abs(np.random.default_rng(3).normal(size=600))
    made, (found,) = played(tmp_path, scores, method=method, alpha=(0.1, 0.3))
    charts = embedded(page.page([found]))["tracks"][0]["levels"]
    for i, alpha in enumerate((0.1, 0.3)):
        tracker = trackers.make(method, alpha)
        tracker.run(scores)
        assert charts[i]["discount"] == tracker.learner.discount
        total = unpacked(charts[i]["sum"])[-1]
        if not made.panel.trackers(0)[1 - i].late:  # a level that was lifted has no bound
            # The chart begins after the first round, which the tracker missed and for which no interval was shown.
            first = (1.0 - alpha) * tracker.learner.discount ** (len(scores) - 1)
            assert total == pytest.approx(tracker.coverage_sum() - first, abs=1e-4)
            assert charts[i]["bound"] == tracker.coverage_bound() + 1.0 and abs(total) <= charts[i]["bound"]
        else:
            assert charts[i]["bound"] is None
    assert charts[1]["bound"] is not None


@pytest.mark.parametrize("options", [{"warm_up": 5}, {"score": "signed"}, {"delay": 3}, {"method": "pid"}])
def test_no_bound_is_drawn_where_none_is_proved(tmp_path, options):
    _, (found,) = played(tmp_path, np.arange(1.0, 40.0), **{"method": "magl", **options})
    assert [lv["bound"] for lv in embedded(page.page([found]))["tracks"][0]["levels"]] == [None]


def test_of_a_long_series_the_last_rounds_are_charted(monkeypatch):
    monkeypatch.setattr(page, "MOST_ROUNDS", 150)
    made = track(400, missing=False)
    text = page.page([made])
    (charts,) = embedded(text)["tracks"]
    want = numbers.curves(made, 0, 100)["sum"][250:]
    assert charts["rounds"] == 150 and np.allclose(unpacked(charts["levels"][0]["sum"]), want, atol=1e-4)
    assert np.allclose(unpacked(charts["y"]), made.y[250:], atol=1e-4)
    first = numbers.judged(made, 0, 100).worst_at[0]
    assert charts["levels"][0]["worst_at"] == ([first - 250, first - 151] if first >= 250 else None)
    assert "the last 150 of 400 rounds" in text


def wane(*arguments, code=0, stream=None):
    command = [sys.executable, "-m", "wane", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return getattr(done, stream or ("stderr" if code else "stdout"))


def test_the_command(tmp_path):
    pytest.importorskip("typer")
    path = written(tmp_path / "r.csv")
    said = wane("report", path)
    assert said.startswith("33.3\u00a0% of 3 outcomes in 2 series were inside") and "r.html" in said
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    found = json.loads(wane("report", path, "--out", tmp_path / "other.html", "--json"))
    assert [t["name"] for t in found["tracks"]] == ["a", "b"] and (tmp_path / "other.html").exists()
    assert found["tracks"][0]["levels"][0]["coverage"] == 0.5
    plain = tmp_path / "plain.csv"
    plain.write_text("y,lower,upper\n1,0,2\n3,0,2\n")
    assert [t["levels"][0]["alpha"] for t in json.loads(wane("report", plain, "--json"))["tracks"]] == [0.1]
    assert "not say" in wane("report", plain, stream="stderr") and "not say" not in wane(
        "report", plain, "--alpha", 0.2, stream="stderr"
    )
    panel = tmp_path / "panel.csv"
    panel.write_text("ds,shop,y,lower,upper\n1,a,1,0,2\n1,b,1,0,2\n")
    assert "using y='y', time='ds'" in (said := wane("report", panel, stream="stderr")) and "give it as --id" in said
    assert "give it as --id" not in wane("report", panel, "--id", "shop", stream="stderr")
    wrong = wane("report", tmp_path / "none.csv", code=1)
    assert wrong.startswith("wane: ") and "none.csv" in wrong and wrong.count("\n") == 1


def test_the_figure():
    pytest.importorskip("matplotlib")
    from wane.report import figure

    made = track(300, dates=True)
    drawn = figure(made, level=1)
    series, coverage, width = drawn.axes
    found = numbers.judged(made, 1, 100)
    assert f"{found.coverage:.1%}" in coverage.get_title("left")
    (line,) = (ln for ln in coverage.lines if len(ln.get_xdata()) > 2)
    assert np.min(line.get_ydata()) == found.worst
    assert len(series.lines[-1].get_xdata()) == found.misses
    assert len(width.lines[0].get_xdata()) == 300 - 99
    with pytest.raises(ValueError, match="level"):
        figure(made, level=2)


def test_packing_is_what_the_page_undoes():
    """Literally what data.js does: base64, inflate, planes of bytes, single precision, the middle."""
    column = packed(np.array([1.0, 2.5, -3.0, 100.0]))
    planes = zlib.decompress(base64.b64decode(column["data"]))
    n = len(planes) // 4
    numbers_ = [
        np.frombuffer(bytes(planes[p * n + i] for p in range(4)), "<f4")[0] + column["middle"] for i in range(n)
    ]
    assert numbers_ == [1.0, 2.5, -3.0, 100.0]
