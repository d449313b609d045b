"""``wane run --state`` again: rows are learned once, one run at a time has its files, kills leave nothing behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wane
from wane.errors import InputError, InUseError
from wane.runs import Options, inputs, play
from wane.runs import run as running
from wane.state.locks import Lock

MAGL = Options(method="magl")
AGAIN = Options(method="magl", again=True)
OLDER = Path(__file__).parent / "older"  # files that 0.1.0 wrote


def lines(count, first=0):
    """Rows without a time."""
    return [f"{'ab'[t % 2]},{t * t % 101},{t % 7}\n" for t in range(first, first + count)]


def written(path, rows):
    path.write_text("id,y,yhat\n" + "".join(rows))
    return str(path)


def learned(state):
    """What a state knows, without its last input."""
    data = wane.load(state).state_dict()
    data["memory"].pop("input")
    data["memory"]["panel"]["memory"].pop("widths")  # sums in another order
    return data


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The first rows are few, and chunks are small, so that tables have many of both."""
    monkeypatch.setattr(inputs, "BEGINNING", 16)
    monkeypatch.setattr(running, "FIRST", 7)
    monkeypatch.setattr(running, "LEAST", 5)
    monkeypatch.setattr(running, "QUICK", -1.0)


class Files:
    def __init__(self, folder):
        self.table, self.out, self.state = (str(folder / name) for name in ("in.csv", "out.csv", "state"))
        self.folder, self.said = folder, []

    def play(self, rows, options=MAGL, out=None):
        path = written(self.folder / "in.csv", rows)
        return play(path, str(self.folder / out) if out else self.out, options, self.state, told=self.said.append)

    def refused(self, rows, match, options=MAGL, out=None):
        """Nothing changes, and the error says why."""
        before = {p: p.read_bytes() for p in self.folder.iterdir() if p.name != "in.csv"}
        with pytest.raises(InputError, match=match):
            self.play(rows, options, out)
        assert {p: p.read_bytes() for p in self.folder.iterdir() if p.name != "in.csv"} == before


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


@pytest.mark.parametrize("count", [1, 5, 15, 16, 17, 60])
@pytest.mark.parametrize("sort", [False, True])
def test_the_same_table_again_is_refused(files, count, sort):
    time = {"time": "t", "sort": True} if sort else {}
    rows = [line.rstrip("\n") for line in lines(count)]

    def go(options, folder=files.folder):
        text = "id,y,yhat,t\n" + "".join(f"{row},{t}\n" for t, row in enumerate(rows))
        (folder / "in.csv").write_text(text)
        return play(files.table, files.out, options, files.state)

    assert go(Options(method="magl", **time)).rows == count
    before, state = Path(files.out).read_bytes(), Path(files.state).read_bytes()
    with pytest.raises(InputError, match=rf"has learned all {count} rows of .*in.csv already, .*: give again=True"):
        go(Options(method="magl", **time))
    assert Path(files.out).read_bytes() == before and Path(files.state).read_bytes() == state
    if not sort:
        assert go(Options(method="magl", no_time=True, again=True)).rows == count
        assert wane.load(files.state).rows == 2 * count


@pytest.mark.parametrize("first", [1, 15, 16, 17, 40])
def test_a_table_that_has_grown_goes_on(files, first):
    rows = lines(60)
    files.play(rows[:first])
    files.refused(rows, f"the first {first} rows .* would replace .*out.csv", out="out.csv")
    report = files.play(rows, out="rest.csv")
    assert report.rows == 60 - first and report.skipped == first
    assert files.said[-1] == (
        f"{files.state} has learned the first {first} rows of {files.table} already: continuing with row {first + 1}"
    )
    play(files.table, str(files.folder / "whole.csv"), MAGL, str(files.folder / "once"))
    assert learned(files.state) == learned(files.folder / "once")
    rest = (files.folder / "rest.csv").read_text().partition("\n")[2]
    assert Path(files.out).read_text() + rest == (files.folder / "whole.csv").read_text()
    files.refused(rows, "has learned all 60 rows", out="more.csv")


def test_empty_lines_are_no_rows(files):
    files.play(lines(20))
    files.refused([*lines(20), "\n" * 5000], "has learned all 20 rows")
    files.refused([*lines(10), "\n" * 50, *lines(10, 10)], "has learned all 20 rows")


def test_another_table_is_played(files):
    files.play(lines(60))
    report = files.play(lines(60, 60))
    assert report.rows == 60 and report.skipped == 0 and wane.load(files.state).rows == 120
    assert files.play(lines(3, 7)).rows == 3  # fewer than are compared
    assert files.play([]).rows == 0
    files.refused(lines(3, 7), "has learned all 3 rows")  # a table without rows is no input


def test_a_table_that_begins_the_same_and_differs_later_is_refused(files):
    rows = lines(60)
    files.play(rows)
    for bad in (rows[:40], [*rows[:50], "a,77,77\n", *rows[51:]]):
        files.refused(bad, "begins with the same 16 rows, but not all of them are the same: give skip to pass over")
    assert files.play(["a,77,77\n", *rows[1:]]).rows == 60


@pytest.mark.parametrize("skip", [0, 3, 16, 20, 30, 45, 60])
def test_rows_to_skip(files, skip):
    """The user passes over rows; what the state has learned is passed over all the same."""
    rows, options = lines(60), Options(method="magl", skip=skip)
    if skip < 60:
        assert files.play(rows, options).rows == 60 - skip
        files.refused(rows, "has learned all 60 rows", options)
        files.refused(rows, "has learned all 60 rows")
    other = Files(files.folder)
    other.state = str(files.folder / "other")
    other.play(rows[:30])
    report = other.play(rows, options, out="rest.csv") if skip < 60 else None
    if report is not None:
        assert (report.skipped, report.rows) == (max(skip, 30), 60 - max(skip, 30))
    changed = ["b,0,0\n", *rows[1:]]
    if skip < 60:
        third = Files(files.folder)
        third.state = str(files.folder / "third")
        third.play(rows[:30])
        assert third.play(changed, options).rows == 60 - skip  # another table
        assert wane.load(third.state).rows == 30 + 60 - skip


def test_rows_that_are_passed_over_may_be_bad(files):
    rows = lines(60)
    bad = [*rows[:5], "a,many,1\n", *rows[5:]]
    assert files.play(bad, Options(method="magl", skip=10)).rows == 51
    assert wane.load(files.state).input is None  # nothing can be said about it the next time
    files.play(rows, out="next.csv")
    files.refused(bad, "must hold numbers")
    assert files.play(bad, Options(method="magl", skip=6), out="more.csv").rows == 55


def test_other_kinds_of_table_and_pipes(files, monkeypatch):
    def play_json(rows, **more):
        text = "".join(json.dumps({"id": t % 2, "y": t * t % 101, "yhat": 1}) + "\n" for t in range(rows))
        (files.folder / "in.jsonl").write_text(text)
        arguments = [sys.executable, "-m", "wane", "run", "-", "--format", "jsonl", "--method", "magl"]
        environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parents[1])}
        with open(files.folder / "in.jsonl", "rb") as file:
            done = subprocess.run(
                [*arguments, "--state", files.state], stdin=file, capture_output=True, text=True, env=environment
            )
        return done.returncode, done.stdout.count("\n"), done.stderr

    pytest.importorskip("typer")
    assert play_json(30)[:2] == (0, 30)
    code, count, said = play_json(30)
    assert (code, count) == (1, 0) and "has learned all 30 rows of - already" in said and "--again" in said
    code, count, said = play_json(40)
    assert (code, count) == (0, 10) and "has learned the first 30 rows of - already: continuing with row 31" in said


def test_states_of_older_versions_go_on(files):
    shutil.copy(OLDER / "run.wane", files.state)
    assert wane.load(files.state).input is None
    report = files.play(lines(20))
    assert report.rows == 20 and wane.load(files.state).rows == 50 and wane.load(files.state).input.rows == 20


def test_a_damaged_last_input_is_refused(files):
    files.play(lines(5))
    for bad in (3, {}, {"rows": -1, "beginning": "", "whole": ""}, {"rows": 1, "beginning": 2, "whole": ""}):
        state = wane.load(files.state).state_dict()
        state["memory"]["input"] = bad
        with pytest.raises(InputError):
            type(wane.load(files.state)).from_state_dict(state)


# One run at a time.


@pytest.mark.parametrize("file", ["state", "out.csv"])
def test_a_file_of_another_run_is_refused_in_words(files, file):
    rows = lines(20)
    files.play(rows[:10])
    with Lock(files.folder / file):
        before = {p: p.read_bytes() for p in files.folder.iterdir() if p.name != "in.csv"}
        setting = file.partition(".")[0]
        said = rf"{file} is in use by another run: this process \(\d+\) has held it since .* or give another {setting}$"
        with pytest.raises(InUseError, match=said):
            files.play(rows, AGAIN)
        assert {p: p.read_bytes() for p in files.folder.iterdir() if p.name != "in.csv"} == before
    files.play(rows, AGAIN)
    assert {p.name for p in files.folder.iterdir()} == {"in.csv", "out.csv", "state"}


def test_temporary_files_of_killed_runs_go_with_the_next(files):
    for name in (".state.7-00000000.tmp", ".out.csv.7-0123abcd.tmp", ".report.html.9-0123abcd.tmp"):
        (files.folder / name).touch()
    written(files.folder / "in.csv", lines(20))
    play(files.table, files.out, MAGL, files.state, report=str(files.folder / "report.html"))
    assert {p.name for p in files.folder.iterdir()} == {"in.csv", "out.csv", "state"}


def test_two_runs_at_once_lose_nothing(files):
    """Of several runs that start together, each is learned whole or refused, and the exit code says which."""
    pytest.importorskip("typer")
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parents[1])}
    total, codes = 0, []
    for turn in range(2):
        children = []
        for k in range(3):
            path = written(files.folder / f"{turn}{k}.csv", lines(300, 1000 * turn + 300 * k))
            out = files.folder / f"{turn}{k}.out.csv"
            command = ["run", path, "--method", "magl", "--state", files.state, "--out", str(out)]
            pipe = subprocess.PIPE
            children.append(
                subprocess.Popen([sys.executable, "-m", "wane", *command], env=environment, stderr=pipe, stdout=pipe)
            )
        for child in children:
            _, said = child.communicate(timeout=120)
            codes.append(child.returncode)
            assert child.returncode == 0 or (child.returncode == 1 and b"is in use by another run: process" in said)
        total = 300 * codes.count(0)
        assert wane.load(files.state).rows == total
    assert 0 in codes
