"""Tables through a panel: what goes in comes out untouched, pieces equal the whole, and errors name the line."""

import csv
import datetime
import io
import json
import os
import re
import signal
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane.runs import Options, Session, play, series
from wane.runs import run as running
from wane.tables import GUESSES, Columns, chosen
from wane.tables.csv import CsvReader
from wane.tables.files import kind_of, reading
from wane.tables.parquet import ParquetReader

DAY = datetime.date(2024, 1, 1)


def table(rows=300, shops=("north", "south"), seed=0):
    """Lines of a CSV file: several series one within the other, some labels missing."""
    rng = np.random.default_rng(seed)
    lines = ["ds,shop,y,yhat,note\n"]
    for t in range(rows):
        for k, shop in enumerate(shops):
            y = "" if rng.random() < 0.05 else f"{(k + 1) * rng.normal():.3f}"
            note = '"a ""b"", c"' if rng.random() < 0.1 else " x é"
            lines.append(f"{DAY + datetime.timedelta(t)},{shop},{y},{rng.normal():.2e},{note}\n")
    return lines


def written(path, lines):
    path.write_text("".join(lines), encoding="utf-8", newline="")
    return str(path)


def ends(text, names=("lower", "upper")):
    """The new columns, as text."""
    return [[row[name] for name in names] for row in csv.DictReader(io.StringIO(text))]


HOW = Options(id="shop", method="magl")


def test_the_lines_go_through_untouched_and_the_ends_are_those_of_panel_run(tmp_path):
    lines = table()
    report = play(written(tmp_path / "in.csv", lines), str(tmp_path / "out.csv"), HOW)
    out = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert out[0] == "ds,shop,y,yhat,note,lower,upper,cold"
    assert all(new.startswith(old.rstrip("\n") + ",") for old, new in zip(lines, out, strict=True))
    cells = list(csv.DictReader(io.StringIO("".join(lines))))
    frame = {
        "shop": np.array([c["shop"] for c in cells]),
        "y": np.array([float(c["y"] or "nan") for c in cells]),
        "yhat": np.array([float(c["yhat"]) for c in cells]),
    }
    want = wane.panel.run(frame, id="shop", y="y", y_hat="yhat", method="magl")
    found = np.array([[cell or "nan" for cell in row] for row in ends("\n".join(out))], dtype=float)
    np.testing.assert_array_equal(found, np.column_stack([want.frame["lower"], want.frame["upper"]]))
    assert report.rows == 600 and report.series == 2 and report.labels == int(want.summary["labels"].sum())
    covered = (want.summary["coverage"] * want.summary["labels"]).sum() / report.labels
    width = np.nanmean(want.frame["upper"] - want.frame["lower"])
    assert report.coverage[0] == pytest.approx(covered) and report.width[0] == pytest.approx(width)


@settings(max_examples=30)
@given(st.data())
def test_pieces_are_the_whole_bit_for_bit(tmp_path_factory, data):
    """Cut anywhere, with any sizes of the chunks, late labels and several levels."""
    folder = tmp_path_factory.mktemp("pieces")
    lines = table(rows=15)
    method = data.draw(st.sampled_from(["magl", "auto", "trailing-window"]))
    options = Options(
        id="shop", method=method, alpha=data.draw(st.sampled_from([(0.1,), (0.05, 0.3)])),
        score=data.draw(st.sampled_from(["absolute", "signed"])), delay=data.draw(st.integers(0, 5)),
        settings={"on_unbounded": "allow"},
    )  # fmt: skip
    whole = str(folder / "whole.csv")
    play(written(folder / "in.csv", lines), whole, options, str(folder / "whole.state"))
    cuts = sorted(data.draw(st.lists(st.integers(1, len(lines)), max_size=3)))
    made = b""
    first, running.FIRST = running.FIRST, data.draw(st.integers(1, 30))
    try:
        for k, (a, b) in enumerate(zip([1, *cuts], [*cuts, len(lines)], strict=True)):
            path, out = written(folder / f"{k}.csv", [lines[0], *lines[a:b]]), folder / f"{k}.out.csv"
            play(path, str(out), options, str(folder / "state"))
            made += out.read_bytes() if not k else out.read_bytes().partition(b"\n")[2]
    finally:
        running.FIRST = first
    assert made == (folder / "whole.csv").read_bytes()
    one, two = (wane.load(folder / name).state_dict() for name in ("state", "whole.state"))
    for state in (one, two):
        state["memory"]["panel"]["memory"].pop("widths")  # sums in another order
        state["memory"].pop("input")  # the last piece, or the whole
    assert one == two


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "-2.5", "", "NA", "1e3"]),
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
        ),
        max_size=30,
    ),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 7),
)
def test_any_text_survives(rows, delimiter, end, size):
    """A reader with chunks of any size sees the cells that the csv module wrote; each row is its lines."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["y", "note", "yhat"])
    writer.writerows([y, note, "0"] for y, note in rows)
    reader = CsvReader(io.BytesIO(text.getvalue().encode()), "made")
    chunks = list(iter(lambda: reader.read(size), None))
    assert [list(r) for c in chunks for r in zip(c.column("y"), c.column("note"), strict=True)] == [
        list(r) for r in rows
    ]
    assert reader.head + "".join(line for c in chunks for line in c.own) == text.getvalue()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("into", ["csv", "jsonl", "parquet"])
def test_kinds_of_table_give_the_same_ends(tmp_path, kind, into):
    if "parquet" in (kind, into):
        pq = pytest.importorskip("pyarrow.parquet")
    source = written(tmp_path / "in.csv", table(50))
    if kind != "csv":
        play(source, str(tmp_path / f"in.{kind}"), HOW)  # made by the way
        options = Options(id="shop", method="magl", prefix="new_")
    else:
        options = HOW
    play(source, str(tmp_path / "want.csv"), HOW)
    want = [[float(v or "nan") for v in row] for row in ends((tmp_path / "want.csv").read_text(encoding="utf-8"))]
    out = tmp_path / f"out.{into}"
    play(str(tmp_path / f"in.{kind}"), str(out), options)
    names = [options.prefix + "lower", options.prefix + "upper"]
    if into == "csv":
        found = [[float(v or "nan") for v in row] for row in ends(out.read_text(encoding="utf-8"), names)]
    elif into == "jsonl":
        found = [[json.loads(line)[n] for n in names] for line in out.read_text(encoding="utf-8").splitlines()]
    else:
        made = pq.read_table(out)
        found = [list(row) for row in zip(*(made[n].to_pylist() for n in names), strict=True)]
        assert made.num_rows == 100 and made["shop"].to_pylist()[:2] == ["north", "south"]
    np.testing.assert_array_equal(np.array(found, dtype=float), want)  # None is NaN


def test_a_parquet_file_keeps_its_types(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = pa.table(
        {
            "unique_id": pa.array(["b", "a"] * 3).dictionary_encode(),
            "ds": pa.array([datetime.datetime(2024, 1, 1 + t // 2) for t in range(6)], pa.timestamp("ns")),
            "y": pa.array([1, None, 3, 4, 5, 6], pa.int32()),
            "yhat": pa.array([0.5] * 6, pa.float32()),
            "list": pa.array([[1], [], None, [2], [3], [4]]),
        }
    )
    pq.write_table(made, tmp_path / "in.parquet")
    report = play(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), Options(method="magl"))
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.select(made.column_names).equals(made) and out.column_names[-3:] == ["lower", "upper", "cold"]
    assert report.columns == Columns("y", ("yhat",), "unique_id", "ds")
    assert report.cold == 3 and report.labels == 3  # the first label of a series has no interval to judge
    pq.write_table(made.slice(0, 0), tmp_path / "none.parquet")
    play(str(tmp_path / "none.parquet"), str(tmp_path / "out.parquet"), Options(method="magl"))
    assert pq.read_table(tmp_path / "out.parquet").schema == out.schema


def test_json_lines_keep_their_text(tmp_path):
    lines = ['{"y": 1.50, "yhat":1, "more": {"a": [1, 2]}}\n', "\n", '{"yhat": 2, "y": null}\n', '{"yhat": "3"}']
    path = written(tmp_path / "in.jsonl", lines)
    play(path, str(tmp_path / "out.jsonl"), Options(method="trailing-window", settings={"on_unbounded": "allow"}))
    out = (tmp_path / "out.jsonl").read_text().splitlines()
    assert out[0] == '{"y": 1.50, "yhat":1, "more": {"a": [1, 2]}, "lower": "-inf", "upper": "inf", "cold": 0}'
    assert [json.loads(line)["yhat"] for line in out] == [1, 2, "3"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8))
def test_text_of_json_is_a_cell_of_csv(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("cells")
    row = {"note": text, "y": 1.0, "yhat": 1.5}
    play(written(folder / "in.jsonl", [json.dumps(row)]), str(folder / "out.csv"), Options(method="magl"))
    with open(folder / "out.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [(r["note"], r["y"], r["lower"], r["cold"]) for r in found] == [(text, "1.0", "", "1")]


def test_sort_plays_by_time_and_keeps_the_order_of_the_table(tmp_path):
    lines = table(60)
    shuffled = [lines[0], *np.random.default_rng(1).permutation(lines[1:]).tolist()]
    play(written(tmp_path / "in.csv", lines), str(tmp_path / "a.csv"), HOW)
    path = written(tmp_path / "mixed.csv", shuffled)
    wanted = r"mixed.csv, line \d+: the time 2024-\d\d-\d\d in 'ds' comes after .*: sort the rows .* or give sort=True"
    with pytest.raises(ValueError, match=wanted) as raised:
        play(path, str(tmp_path / "b.csv"), HOW)
    assert raised.value.argument == "time" and f"line {raised.value.row + 2}:" in str(raised.value)
    assert not (tmp_path / "b.csv").exists()
    play(path, str(tmp_path / "b.csv"), Options(id="shop", method="magl", sort=True))
    a, b = ((tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("a.csv", "b.csv"))
    assert sorted(a) == sorted(b) and [row.rsplit(",", 3)[0] for row in b] == [row.rstrip("\n") for row in shuffled]


def test_order_is_asked_for_across_chunks_and_runs_and_only_within_series(tmp_path):
    state = str(tmp_path / "state")
    first = written(tmp_path / "1.csv", ["id,time,y,yhat\n", "a,5,1,1\n", "b,1,1,1\n", "a,6,1,1\n"])
    play(first, str(tmp_path / "o.csv"), Options(method="magl"), state)
    kept = (tmp_path / "state").read_bytes()
    for row, wrong in [("a,5.5,1,1\n", "5.5 in 'time' comes after 6"), ("a,6,1,1\n", "comes twice"), ("a,2024-01-01,1,1\n", "dates")]:  # fmt: skip  # noqa: E501
        path = written(tmp_path / "2.csv", ["id,time,y,yhat\n", "b,2,1,1\n" if "-" not in row else row, row])
        with pytest.raises(ValueError, match=wrong):
            play(path, str(tmp_path / "o.csv"), Options(method="magl"), state)
        assert (tmp_path / "state").read_bytes() == kept
    path = written(tmp_path / "2.csv", ["id,time,y,yhat\n", "b,2,1,1\n", "c,0,1,1\n", "a,6,1,1\n"])
    play(path, str(tmp_path / "o.csv"), Options(method="magl", duplicates="keep"), state)
    session = wane.load(tmp_path / "state")
    assert session.rows == 6 and session.last.tolist() == [6.0, 2.0, 0.0]


@pytest.mark.parametrize(
    "text, options, wanted",
    [
        ("", {}, "in.csv is empty"),
        ("\n", {}, "in.csv is empty"),
        (
            "y,yhat\n1,1\nabc,2\n",
            {},
            r"line 3: the column 'y' must hold numbers, got 'abc' .str.: correct it, or leave",
        ),
        ("y,yhat\n1,1\n1_0,2\n", {}, "line 3: the column 'y' must hold numbers"),
        ("y,yhat\n1,1\ninf,2\n", {}, "up to 1e\\+150"),
        ("y,yhat\n1,1\n1,\n", {}, "line 3: there is no forecast in the column 'yhat'"),
        ('note,y,yhat\n"a\nb",1,1\n\n,1,x\n', {}, "line 5: the column 'yhat'"),
        ("y,yhat\n1,1\n1,2,3\n", {}, "line 3: the row has 3 cells, but the header has 2"),
        ('y,yhat\n1,"1\n', {}, "line 2: a quote is opened here and never closed"),
        ('y,yhat,a\n1,1,"b\n' + "1,1,b\n" * 30_000, {}, r"line 2: .*: is a quote opened here and never closed\?"),
        ("y,y,yhat\n1,1,1\n", {}, "two columns of one name"),
        ("y,yhat,id\n1,1,\n", {}, "line 2: there is no id in the column 'id'"),
        ("y,yhat,ds\n1,1,\n", {}, "line 2: there is no time in the column 'ds'"),
        (
            "y,yhat,ds\n1,1,2024-01-01\n1,1,soon\n",
            {},
            "line 3: the column 'ds' must hold numbers or dates.*: write it in one of these ways, or give no_time=True",
        ),
        ("y,yhat,ds\n1,1,1\n1,1,1\n", {}, "line 3: the time 1 in 'ds' comes twice.*or give duplicates='keep'"),
        ("y,yhat,lower\n1,1,1\n", {}, "the columns lower already: give prefix, such as wane_"),
        ("y,yhat\n1,1\n", {"y_hat": ("yhatt",)}, "no column 'yhatt': did you mean 'yhat'\\? there are y, yhat"),
        ("a,b\n1,1\n", {}, "give y, one of a, b"),
        ("y,b\n1,1\n", {}, "give y_hat, one of y, b"),
        ("y,yhat\n1,1\n", {"y": "yhat"}, "a column of its own"),
        ("y,yhat\n1,1\n", {"score": "cqr", "y_hat": ("yhat",)}, "give y_hat twice"),
        ("y,yhat\n1,1\n", {"y_hat": ("yhat", "y")}, "takes one column of forecasts, got 2, yhat, y: give y_hat once"),
        ("y,a,b\n1,1,-1\n", {"score": "normalised", "y_hat": ("a", "b")}, "in.csv, line 2: .*scale"),
        ("y,yhat\n1,1\n", {"skip": 2}, "2 rows are to be skipped, which is beyond the end"),
        ("y,yhat\n1,1\n", {"sort": True}, "to sort the rows, a column of times is needed: give time"),
        ("y,yhat\n1,1\n", {"method": "aci"}, "in.csv, line 2: the radius is inf"),
        ("y,yhat\n1,1\n", {"method": "nothing"}, "no method is called 'nothing'"),
    ],
)
def test_errors_name_the_line_and_leave_nothing(tmp_path, text, options, wanted):
    path = written(tmp_path / "in.csv", [text])
    out = tmp_path / "out.csv"
    out.write_text("older")
    with pytest.raises(ValueError, match=wanted):
        play(path, str(out), Options(**{"method": "magl", **options}), str(tmp_path / "state"))
    assert out.read_text() == "older" and {p.name for p in tmp_path.iterdir()} == {"in.csv", "out.csv"}


def test_other_kinds_have_their_errors(tmp_path):
    with pytest.raises(ValueError, match="not text in UTF-8"):
        (tmp_path / "in.csv").write_bytes("y,yhat\n1,1\n".encode("utf-16"))
        play(str(tmp_path / "in.csv"), "-", Options(method="magl"))
    for text, wanted in [
        ("", "is empty"),
        ("1\n", "line 1: this must be a JSON object"),
        ('{"y": 1\n', "line 1: this is not JSON"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            play(written(tmp_path / "in.jsonl", [text]), "-", Options(method="magl"))
    with pytest.raises(ValueError, match="field 'lower' already"):
        text = '{"y": 1, "yhat": 1}\n{"y": 1, "yhat": 1, "lower": 2}\n'
        play(written(tmp_path / "in.jsonl", [text]), str(tmp_path / "o.jsonl"), Options(method="magl"))
    with pytest.raises(ValueError, match="must end in one of"):
        play("table.xls", "-", Options())
    with pytest.raises(ValueError, match="is a folder, and a table in several files can only be Parquet"):
        with reading(str(tmp_path), ".csv"):
            pass
    with pytest.raises(FileNotFoundError, match=r"there is no file none\.csv"):
        play("none.csv", "-", Options())
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        play(written(tmp_path / "in.parquet", ["no"]), "-", Options(method="magl"))


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[parquet\]\""):
        ParquetReader(io.BytesIO(), "made")


def test_an_output_that_cannot_be_written_is_known_at_once(tmp_path):
    path = written(tmp_path / "in.csv", table(5))
    with pytest.raises(OSError, match=r"out\.csv cannot be written \(.*\): choose another out"):
        play(path, str(tmp_path / "nowhere" / "out.csv"), HOW)
    if os.geteuid():  # nothing is forbidden to root
        (tmp_path / "closed").mkdir()
        (tmp_path / "closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
        with pytest.raises(OSError, match="cannot be written"):
            play(path, str(tmp_path / "closed" / "out.csv"), HOW)


def test_a_state_of_other_settings_is_refused(tmp_path):
    path, state = written(tmp_path / "in.csv", table(5)), str(tmp_path / "state")
    out = str(tmp_path / "out.csv")
    begun = Options(id="shop", method="magl", delay=1, warm_up=2, settings={"epsilon": "auto"})
    play(path, out, begun, state)
    kept = (tmp_path / "state").read_bytes()
    for other, wanted in [
        ({"method": "auto"}, "made with method magl, now it is auto: give the same settings, or another state"),
        ({"alpha": (0.2,)}, "alpha 0.1, now it is 0.2"),
        ({"score": "signed"}, "score absolute, now it is signed"),
        ({"delay": 0}, "delay 1, now it is 0"),
        ({"warm_up": 3}, "warm_up 2"),
        ({"settings": {"epsilon": 1.0}}, "epsilon auto, now it is 1.0"),
        ({"no_id": True}, "columns y='y', yhat='yhat', id='shop', time='ds'"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            play(path, out, Options(**{"id": "shop", **other}), state)
    wane.save(tmp_path / "panel", wane.Panel("magl"))
    with pytest.raises(ValueError, match="holds a Panel, not the state of `wane run`"):
        play(path, out, HOW, str(tmp_path / "panel"))
    with pytest.raises(ValueError, match="was not written by wane"):
        play(path, out, HOW, written(tmp_path / "other", ["text"]))
    with pytest.raises(
        ValueError, match=r"out\.csv is given for two things at once: give another out or another state"
    ):
        play(path, out, HOW, out)
    numbered = written(tmp_path / "numbers.jsonl", ['{"shop": 7, "ds": 1, "y": 1, "yhat": 1}\n'])
    with pytest.raises(TypeError, match=r"ids of this panel are like 'north' \(str\), got whole numbers"):
        play(numbered, out, Options(id="shop", no_time=False), state)
    assert (tmp_path / "state").read_bytes() == kept
    more = written(tmp_path / "more.csv", ["ds,shop,y,yhat\n", "2025-01-01,north,1,1\n"])
    said = []
    play(more, out, Options(id="shop"), state, told=said.append)  # the settings are those of the state
    assert said[1].startswith(f"continuing from {state}: magl, alpha 0.1, 10 rows of 2 series")


def test_the_state_is_replaced_only_after_the_output(tmp_path, monkeypatch):
    path, out, state = written(tmp_path / "in.csv", table(5)), tmp_path / "out.csv", tmp_path / "state"
    replace, seen = os.replace, []

    def replaced(new, old):
        seen.append((os.path.basename(old), os.path.getsize(new)))
        replace(new, old)

    monkeypatch.setattr(os, "replace", replaced)
    play(path, str(out), HOW, str(state))
    assert seen == [(p.name, p.stat().st_size) for p in (out, state)]


def test_the_default_method_depends_on_the_number_of_series(tmp_path):
    def told(lines, **options):
        said = []
        report = play(
            written(tmp_path / "in.csv", lines), str(tmp_path / "o.csv"), Options(**options), told=said.append
        )
        return report.method, said[1]

    few = ["id,y,yhat\n", *(f"{k},1,1\n" for k in range(7))]
    assert told(few) == ("pool", "method pool: the table has 7 series")
    assert told(few[:2]) == told(few, no_id=True) == ("auto", "method auto: the table has one series")


@pytest.mark.parametrize(
    "names, wanted",
    [
        (["ds", "actual", "forecast"], Columns("actual", ("forecast",), None, "ds")),
        (["truth", "Pred", "unique_id", "date"], Columns("truth", ("Pred",), "unique_id", "date")),
        (["value", "y", "y_hat", "series", "timestamp", "time"], Columns("y", ("y_hat",), "series", "time")),
    ],
)
def test_columns_are_guessed_by_name(names, wanted):
    assert chosen(names) == wanted
    assert chosen(names, no_id=True, no_time=True) == Columns(wanted.y, wanted.y_hat)


def test_times_of_many_forms(tmp_path):
    for times in (["2024-01-01T10:00:00+02:00", "2024-01-01T08:30:00Z"], ["2024-01-01 08:00", "2024-01-01 08:30"]):
        path = written(tmp_path / "in.csv", ["ds,y,yhat\n", *(f"{t},1,1\n" for t in times)])
        play(path, str(tmp_path / "o.csv"), Options(method="magl"), str(tmp_path / "state"))
        assert wane.load(tmp_path / "state").last[0] == np.datetime64("2024-01-01T08:30")
        os.unlink(tmp_path / "state")


def test_ctrl_c_of_a_sorted_table_leaves_everything_as_it_was(tmp_path):
    """The signal comes while the rows, played all at once, are written."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    head, *rows = table(200)
    path, out, state = written(tmp_path / "in.csv", [head, *reversed(rows)]), tmp_path / "out.csv", tmp_path / "state"
    options = Options(id="shop", method="magl", sort=True)
    with pytest.raises(KeyboardInterrupt):
        play(path, str(out), options, str(state), progress=lambda rows, share: signal.raise_signal(signal.SIGINT))
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


def test_ctrl_c_leaves_the_finished_chunks(tmp_path):
    """The signal comes while the second chunk is played: it is finished, written, and in the state."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    lines = table(2000)
    path, out, state = written(tmp_path / "in.csv", lines), tmp_path / "out.csv", tmp_path / "state"
    chunks = []

    def progress(rows, share):
        chunks.append(rows)
        if len(chunks) == 2:
            signal.raise_signal(signal.SIGINT)  # the third chunk is read and played meanwhile, or not at all

    before = signal.getsignal(signal.SIGINT)
    report = play(path, str(out), HOW, str(state), progress=progress)
    assert signal.getsignal(signal.SIGINT) is before
    assert report.interrupted and report.rows == chunks[-1] == wane.load(state).rows < 4000
    assert out.read_text(encoding="utf-8").count("\n") == report.rows + 1
    rest = tmp_path / "rest.csv"
    play(path, str(rest), Options(id="shop", method="magl", skip=report.rows), str(state))
    play(path, str(tmp_path / "whole.csv"), HOW)
    made = out.read_bytes() + rest.read_bytes().partition(b"\n")[2]
    assert made == (tmp_path / "whole.csv").read_bytes()


def test_a_record_has_each_series_in_time(tmp_path):
    shuffled = table(30)
    shuffled[1:] = np.random.default_rng(0).permutation(shuffled[1:]).tolist()
    path = written(tmp_path / "in.csv", shuffled)
    options = Options(id="shop", method="magl", alpha=(0.1, 0.2), sort=True)
    report = play(path, str(tmp_path / "o.csv"), options, record=True)
    tracks = report.record.tracks(report.panel.ids())
    assert sorted(t.id for t in tracks) == ["north", "south"]
    for track in tracks:
        assert (np.diff(track.time) > np.timedelta64(0, "s")).all()
        assert track.lower.shape == track.upper.shape == (30, 2)
        assert len(track.y) == len(track.y_hat) == 30
        known = int(np.argmin(np.isnan(track.y))) + 1  # the row after the first label is the first with an interval
        assert np.isnan(track.lower[:known]).all() and (track.lower[known:, 0] <= track.lower[known:, 1]).all()


def test_series_are_scores_in_time(tmp_path):
    rows = ["id,ds,y,yhat\n", "b,2,5,1\n", "a,1,1,1.5\n", "b,1,,1\n", "b,0,3,1\n"]
    found = series(written(tmp_path / "in.csv", rows), Options())
    assert found.columns.id == "id" and not found.ordered
    assert [(s.id, s.scores.tolist()) for s in found.series] == [("b", [2.0, 4.0]), ("a", [0.5])]
    np.testing.assert_array_equal(found.scores, [2.0, 0.5, np.nan, 4.0])  # all rows, in the order of time
    with pytest.raises(ValueError, match="absolute or normalised"):
        series(str(tmp_path / "in.csv"), Options(score="signed"))


def test_a_session_that_is_damaged_is_refused():
    state = Session(wane.Panel("magl"), Columns("y", ("yhat",))).state_dict()
    state["memory"].pop("rows")
    with pytest.raises(ValueError, match="damaged or incomplete"):
        Session.from_state_dict(state)


def test_kinds_by_name():
    assert [kind_of(n) for n in ("a.tsv", "b.NDJSON", "c.pq", "-")] == [".csv", ".jsonl", ".parquet", ".csv"]


def test_a_backtest_is_recognised_by_its_cutoff():
    names = ["unique_id", "ds", "cutoff", "y", "AutoARIMA"]
    found = chosen(names)
    assert (found.y, found.y_hat, found.id, found.time, found.cutoff) == (
        "y",
        ("AutoARIMA",),
        "unique_id",
        "ds",
        "cutoff",
    )
    with pytest.raises(ValueError, match=r"several columns that may be forecasts, AutoARIMA, Naive: give y_hat"):
        chosen([*names, "Naive"])
    with pytest.raises(ValueError, match="no column has a usual name for the forecasts"):
        chosen(["ds", "y", "AutoARIMA"])  # a table without a cutoff may have other columns


def test_the_table_of_usual_names_is_the_one_that_is_used():
    page = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    section = page.partition("## Which column is which")[2].partition("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", line.rpartition(" | ")[2]) for line in section.splitlines() if line.startswith("| ")]
    assert [tuple(names) for names in rows[1:]] == list(GUESSES.values())
    assert all(names == [] for names in rows[:1])
