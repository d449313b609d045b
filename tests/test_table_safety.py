"""Tables: no file is two things, an error leaves everything as it was, types fit, and errors name the row."""

import json
import os
import stat

import numpy as np
import pytest

import wane
from wane.runs import Options, play
from wane.runs import run as running
from wane.tables import parquet

MAGL = Options(method="magl")
ROWS = "id,y,yhat\n" + "".join(f"a,{t % 3},0\n" for t in range(20))


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "roles",
    [("in", "in", None, None), ("in", "out", "in", None), ("in", "out", "out", None), ("in", "out", None, "in"),
     ("in", "out", None, "out"), ("in", "out", "state", "state"), ("in", "link", None, None)],
)  # fmt: skip
def test_no_file_is_two_things(tmp_path, roles):
    written(tmp_path / "in.csv", ROWS)
    os.symlink(tmp_path / "in.csv", tmp_path / "link.csv")
    path, out, state, report = (name and str(tmp_path / f"{name}.csv") for name in roles)
    with pytest.raises(
        ValueError, match=r"two things at once: give another (path|out|state) or another (out|state|report)$"
    ):
        play(path, out, MAGL, state, report=report)
    assert (tmp_path / "in.csv").read_text() == ROWS and not (tmp_path / "out.csv").exists()


def test_a_report_that_fails_leaves_the_output_and_the_state(tmp_path):
    path, out, state = written(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "state"
    play(path, str(out), MAGL, str(state))
    again = Options(method="magl", again=True)
    before = out.read_bytes(), state.read_bytes()

    def fail(made):
        assert made.rows == 20 and len(made.record.tracks(made.panel.ids())) == 1
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        play(path, str(out), again, str(state), report=str(tmp_path / "report.html"), write_report=fail)
    assert (out.read_bytes(), state.read_bytes()) == before and len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("option", ["state", "report"])
def test_what_cannot_be_written_is_known_before_a_row_is_read(tmp_path, option):
    path, out = written(tmp_path / "in.csv", "y,yhat\n1,many\n"), str(tmp_path / "out.csv")
    with pytest.raises(OSError, match=rf"x cannot be written \(.*\): choose another {option}"):
        play(path, out, MAGL, **{option: str(tmp_path / "nowhere" / "x")})
    with pytest.raises(ValueError, match=f"is a folder: give a file as {option}"):
        play(path, out, MAGL, **{option: str(tmp_path)})
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_what_cannot_be_read_is_said_in_words(tmp_path):
    path, state = written(tmp_path / "in.csv", ROWS), written(tmp_path / "state", "")
    os.chmod(state, 0)
    with pytest.raises(OSError, match=r"state cannot be read \(.*\): give another state"):
        play(path, str(tmp_path / "out.csv"), MAGL, state)
    os.chmod(path, stat.S_IWUSR)
    with pytest.raises(OSError, match=r"in.csv cannot be read \(.*\): ask for permission to"):
        play(path, str(tmp_path / "out.csv"), MAGL)


def test_any_reason_not_to_read_is_said_in_words():
    with pytest.raises(OSError, match=r"cannot be read \(.*\): ask for permission to read it, or give another file"):
        play("x" * 1000 + ".csv", "-", MAGL)


def test_the_kind_of_the_output_has_its_own_option():
    with pytest.raises(ValueError, match=r"x\.dat must end in .*, or give out_format"):
        play("in.csv", "x.dat", MAGL)
    with pytest.raises(ValueError, match=r"x\.dat must end in .*, or give format"):
        play("x.dat", "-", MAGL)


def test_types_of_parquet_are_the_widest_of_the_first_rows(tmp_path, monkeypatch):
    """Chunks of two rows; row groups of eight."""
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(running, "FIRST", 2)
    monkeypatch.setattr(running, "LEAST", 2)
    monkeypatch.setattr(running, "A_SERIES", 1)
    monkeypatch.setattr(running, "QUICK", -1.0)
    monkeypatch.setattr(parquet, "MOST", 8)
    notes = [None] * 4 + ["7"] * 4 + ["seven"] * 4
    lines = [f"{t},0,{note or ''}\n" for t, note in enumerate(notes)]
    play(written(tmp_path / "in.csv", "y,yhat,note\n" + "".join(lines)), str(tmp_path / "a.parquet"), MAGL)
    made = pq.read_table(tmp_path / "a.parquet")
    assert made["note"].to_pylist() == notes and made["y"].to_pylist() == list(map(float, range(12)))

    def played(values):
        rows = [json.dumps({"y": 1, "yhat": 0, "late": v, "none": None}) + "\n" for v in values]
        play(written(tmp_path / "in.jsonl", "".join(rows)), str(tmp_path / "b.parquet"), MAGL)
        return pq.read_table(tmp_path / "b.parquet")

    made = played([None] * 3 + [1] * 3 + [0.5] * 6)
    assert made["late"].to_pylist() == [None] * 3 + [1.0] * 3 + [0.5] * 6 and str(made["none"].type) == "string"
    assert played([7] * 12)["late"].to_pylist() == [7] * 12 and str(played([7])["late"].type) == "int64"
    for mixed in ([7] * 8 + [0.5] * 4, [1] * 2 + ["a"] * 2, ["a", 1], [2**70]):
        with pytest.raises(ValueError, match="several types, and Parquet one for all its rows"):
            played(mixed)
    play(written(tmp_path / "none.csv", "y,yhat,note\n"), str(tmp_path / "c.parquet"), MAGL)
    types = ["double", "double", "string", "double", "double", "int64"]
    for name in ("a.parquet", "c.parquet"):  # with rows and without
        assert [str(t) for t in pq.read_schema(tmp_path / name).types] == types


def test_lines_of_json_that_are_empty_deep_or_not_numbers(tmp_path):
    row = '{"y": 1, "yhat": 1}\n'
    made = play(written(tmp_path / "in.jsonl", "\n" * 5000 + row + "\n" * 3000 + row), str(tmp_path / "o.jsonl"), MAGL)
    assert made.rows == 2
    for text, wanted in [
        ("\n" * 3000 + '{"y": ' + "[" * 100_000, "line 3001: this is nested too deeply"),
        (row + '{"y": true, "yhat": 1}\n', r"line 2: the column 'y' must hold numbers, got True \(bool\)"),
        (row + '{"y": 1, "yhat": false}\n', "line 2: the column 'yhat' must hold numbers, got False"),
        ('{"id": 1.5, "y": 1, "yhat": 1}\n{"id": NaN, "y": 1, "yhat": 1}\n', "line 2: there is no id in the column"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            play(written(tmp_path / "in.jsonl", text), str(tmp_path / "o.jsonl"), MAGL)


def test_an_id_that_is_nan_is_none(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"id": [1.0, 2.0, np.nan], "y": [1.0] * 3, "yhat": [1.0] * 3}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match="row 3: there is no id in the column 'id'"):
        play(str(tmp_path / "in.parquet"), str(tmp_path / "o.csv"), MAGL)


def test_an_error_of_the_panel_names_the_line_of_its_row(tmp_path):
    """Scores that grow are all missed, and at some row the level of aci leaves (0, 1): the tracker says at which."""
    scores = 1.0 + np.arange(200.0)
    tracker = wane.trackers.make("aci", 0.1, gamma=0.05)
    tracker.warm_start(scores[:20])
    bad = 20
    while np.isfinite(tracker.predict()):
        tracker.update(scores[bad])
        bad += 1
    text = "y,yhat\n" + "".join(f"{s},0\n" for s in scores)
    path, out = written(tmp_path / "in.csv", text), str(tmp_path / "out.csv")
    with pytest.raises(ValueError, match=rf"in.csv, line {bad + 2}: the radius is inf"):
        play(path, out, Options(method="aci", warm_up=20, settings={"gamma": 0.05}))
    with pytest.raises(ValueError, match=r"in.csv, line 152: y = 151.0 is outside the limits"):
        play(path, out, Options(method="magl", settings={"upper_limit": 150.0}))


def test_a_state_of_other_series_is_said(tmp_path):
    state, out, said = str(tmp_path / "state"), str(tmp_path / "out.csv"), []
    path = written(tmp_path / "in.csv", ROWS)
    play(path, out, MAGL, state, told=said.append)
    play(path, out, Options(method="magl", again=True), state, told=said.append)
    assert not any("warning" in text for text in said)
    play(written(tmp_path / "b.csv", ROWS.replace("a,", "b,")), out, MAGL, state, told=said.append)
    assert said[-1].startswith(f"warning: {state} knows none of the series of this table")


def test_labels_that_are_not_learned_are_known(tmp_path):
    path, out = written(tmp_path / "in.csv", ROWS), str(tmp_path / "out.csv")
    assert [play(path, out, Options(method="magl", delay=d)).learned for d in (0, 19, 20)] == [True, True, False]
