"""What the command line says: commands that work, options instead of arguments, one line for an error, no escapes."""

import errno
import json
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import wane

pytest.importorskip("typer")
from typer.main import get_command
from typer.testing import CliRunner

from wane.cli import main as beginning
from wane.cli.app import app
from wane.experiments import compare as comparing

ROOT = str(Path(wane.__file__).parents[1])


def called(*arguments, **given):
    """What a command did, in this process."""
    return CliRunner().invoke(app, [str(word) for word in arguments], **given)


def table(path, rows=240, shuffled=False):
    """Two series, wild at times; the last outcome of each is to come."""
    rng = np.random.default_rng(0)
    made = [
        f"{t},{shop},{'' if t == rows - 1 else round(size * rng.standard_t(2), 3)},0\n"
        for t in range(rows)
        for shop, size in (("north", 1.0), ("south", 10.0))
    ]
    rng.shuffle(made) if shuffled else None
    path.write_text("ds,shop,sold,forecast\n" + "".join(made))
    return path


@pytest.mark.parametrize("method", wane.trackers.names())
def test_the_command_that_compare_suggests_runs(tmp_path, method):
    path = table(tmp_path / "my sales.csv", shuffled=method == "split")
    if method == "magl":
        path.write_text(path.read_text().replace("forecast", "forecast,lower", 1).replace(",0\n", ",0,1\n"))
    how = ["--y", "sold", "--id", "shop", "--alpha", "0.2", "--methods", method, "--json"]
    found = json.loads(called("compare", path, *how).stdout)
    words = shlex.split(found["command"])
    assert words[:3] == ["wane", "run", str(path)] and found["method"] == method
    done = called(*words[1:])
    assert done.exit_code == 0, done.exception
    assert (tmp_path / "my sales_intervals.csv").read_text().count("\n") == 481


def test_the_largest_score_that_compare_suggests_is_not_too_small():
    scores = [np.abs(np.random.default_rng(k).standard_t(2, size=300)) for k in range(3)]
    told = comparing.needed("sf-ogd", scores, 0.1)["max_score"]
    largest = max(s[:100].max() for s in scores)
    assert largest <= told <= 1.1 * largest


@pytest.mark.parametrize(
    "words, wanted",
    [
        (["--method", "sf-ogd"], ["sf-ogd", "'max_score'", "--set max_score=VALUE"]),
        (["--method", "magl", "--set", "unheard=1"], ["magl", "'unheard'", "epsilon"]),
        (["--method", "magl", "--set", "epsilon=auto"], ["--warm-up N"]),
        (["--method", "split"], ["in.csv, line 2: the radius is inf", "--warm-up N", "--set on_unbounded=clip"]),
        (["--method", "split", "--set", "on_unbounded=clip"],
         ["--set lower_limit=NUMBER", "--set upper_limit=NUMBER"]),
    ],
)  # fmt: skip
def test_errors_of_run_speak_of_options(tmp_path, words, wanted):
    path = table(tmp_path / "in.csv")
    done = called("run", path, "--y", "sold", "--id", "shop", "--out", tmp_path / "out.csv", *words)
    said = str(done.exception)
    assert all(text in said for text in wanted), said
    assert "it takes (" not in said and "warm_up" not in said


def test_errors_of_other_commands_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back what the command changes
    journal = tmp_path / "nowhere" / "journal"
    assert str(called("serve-lines", "--journal", journal).exception) == (
        f"the journal {journal} cannot be opened or written (No such file or directory): choose another --journal"
    )
    said = str(called("serve-lines", "--load", tmp_path / "none").exception)
    assert said.startswith("there is no file") and said.endswith("none': give one that save wrote")
    said = str(called("serve-lines", "--score", "raps", "--score-set", "fine=1").exception)
    assert said.startswith("raps has no setting 'fine': it takes penalty, ")
    said = str(called("serve-lines", "--score", "user").exception)
    assert said.startswith("user needs '") and "--score-set" in said
    said = str(called("serve-lines", "--method", "split", "--on-unbounded", "clip").exception)
    assert "--lower-limit NUMBER" in said and "--upper-limit NUMBER" in said


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "file").write_text("")
    said = str(called("reproduce", "table1", "--quick", "--out", tmp_path / "file" / "x").exception)
    assert said.endswith("cannot be a folder for results (Not a directory): choose another --out")


def test_a_delay_beyond_the_table_is_said(tmp_path):
    path = table(tmp_path / "in.csv", rows=30)
    how = ["--y", "sold", "--id", "shop", "--method", "magl", "--out", tmp_path / "out.csv"]
    said = called("run", path, *how, "--delay", 30).stdout
    assert (
        "no true value was learned: each is known 30 rows later (--delay), and no series has more rows" in said
        and "% of" not in said
    )
    said = called("run", path, *how, "--delay", 3).stdout
    assert "8 without an interval (cold)" in said and "% of 50 true values inside" in said


@pytest.mark.parametrize(
    "error, code, wanted",
    [
        (KeyError("a"), 1, "wane: KeyError: 'a' (not foreseen: --debug shows where)\n"),
        (RecursionError("too deep"), 1, "wane: RecursionError: too deep (not foreseen: --debug shows where)\n"),
        (ValueError("give it"), 1, "wane: give it\n"),
        (KeyboardInterrupt(), 130, "wane: interrupted\n"),
        (beginning.Interrupted("interrupted; but"), 130, "wane: interrupted; but\n"),
    ],
)
def test_every_end_is_one_line(monkeypatch, capsys, error, code, wanted):
    def fail():
        raise error

    monkeypatch.setattr(beginning, "run", fail)
    monkeypatch.setattr(sys, "argv", ["wane", "run"])
    with pytest.raises(SystemExit) as leaving:
        beginning.main()
    assert leaving.value.code == code and capsys.readouterr().err == wanted
    if isinstance(error, KeyError):
        monkeypatch.setattr(sys, "argv", ["wane", "run", "--debug"])
        with pytest.raises(KeyError):
            beginning.main()


def process(*arguments, first=(), **env):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, first), ROOT]), **env}
    return subprocess.run([sys.executable, "-m", "wane", *arguments], capture_output=True, text=True, env=env)


def test_ctrl_c_while_it_begins_is_one_line(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    done = process("--help", first=[tmp_path])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "wane: interrupted\n")


@pytest.mark.parametrize("arguments", [["methods"], ["--help"], ["run"]])
def test_no_color_is_no_escape_sequence(arguments):
    """FORCE_COLOR makes a pipe a terminal."""
    done = process(*arguments, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm")
    assert done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "command, option, begun, wanted",
    [
        (["run"], "method", "magl", ["magl", "magl-d"]),
        (["methods"], "name", "magl", ["magl", "magl-d"]),
        (["serve-lines"], "method", "auto", ["auto"]),
        (["compare"], "methods", "auto,dta", ["auto,dtaci"]),
        (["bench", "streams"], "methods", "al", ["all"]),
    ],
)
def test_names_of_methods_are_completed(command, option, begun, wanted):
    found = get_command(app)
    for name in command:
        found = found.commands[name]
    (parameter,) = [p for p in found.params if p.name == option]
    assert [
        item.value for item in parameter.shell_complete(found.make_context("x", [], resilient_parsing=True), begun)
    ] == wanted


def test_true_and_false_are_no_numbers():
    from wane.serve import Lines

    lines = Lines(wane.conformal.ManySeries("magl", alpha=0.1))
    assert lines.answer({"op": "predict", "output": 1.0})["ok"]
    for request in ({"op": "predict", "output": True}, {"op": "predict", "output": [0.5, [False]]}, {"op": "label", "id": 0, "y": True}):  # fmt: skip  # noqa: E501
        error = lines.answer(request)["error"]
        assert error["kind"] == "value" and "write 1 or 0" in error["message"]
    assert lines.answer({"op": "label", "id": 0, "y": 1})["ok"]


@pytest.mark.parametrize("method", ["simple-ogd", "magl", "sf-ogd"])
@pytest.mark.parametrize("series", [1, 2])
def test_compare_judges_what_its_command_does(tmp_path, method, series):
    rng = np.random.default_rng(0)
    sizes = (1000.0, 1.0)[:series]  # of the errors: no unit of ours
    lines = [f"{k},{size * rng.normal()!r},0" for _ in range(600) for k, size in enumerate(sizes)]
    (tmp_path / "in.csv").write_text("\n".join(["id,y,yhat", *lines]))
    found = json.loads(called("compare", tmp_path / "in.csv", "--methods", method, "--json").stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert called(*shlex.split(found["command"])[1:]).exit_code == 0
    rows = np.genfromtxt(tmp_path / "in_intervals.csv", delimiter=",", names=True)
    mine = [rows[rows["id"] == k][200:] for k in range(series)]  # a third is not judged
    inside = [((m["lower"] <= m["y"]) & (m["y"] <= m["upper"])).mean() for m in mine]
    unit = [np.abs(rows["y"][rows["id"] == k]).mean() for k in range(series)]  # the mean score of each series
    width = [(m["upper"] - m["lower"]).mean() / u for m, u in zip(mine, unit, strict=True)]
    for name, parts in (("coverage", inside), ("width", width)):
        assert found["leaderboard"][0][name] == pytest.approx(np.mean(parts), rel=1e-9)


def test_a_radius_that_is_infinite_later_is_foreseen():
    y = np.concatenate([np.full(30, 10.0**k) for k in range(10)])
    told = comparing.needed("pi-control", [y], 0.1)
    assert not np.isfinite(wane.trackers.make("pi-control", 0.1).run(y)).all()
    wane.Panel("pi-control", 0.1, **told).run(np.zeros(300, int), np.zeros(300), y)


def test_a_report_that_is_not_written_is_not_told(tmp_path):
    (tmp_path / "in.csv").write_text("y,yhat\n")
    said = called("run", tmp_path / "in.csv", "--out", tmp_path / "out.csv", "--report", tmp_path / "page.html").stdout
    assert "out.csv" in said and "page.html" not in said and not (tmp_path / "page.html").exists()


def test_a_report_does_not_replace_its_results(tmp_path):
    results = tmp_path / "results.csv"
    results.write_text("y,lower,upper\n1,0,2\n")
    for out, wanted in ((results, "at once"), (tmp_path / "no" / "page.html", "choose another --out")):
        assert wanted in str(called("report", results, "--out", out).exception)
    assert results.read_text().startswith("y,lower")
    assert called("report", "-").exit_code == 2


@pytest.mark.parametrize(
    "command, name",
    [("run", "alpha"), ("run", "warm-up"), ("run", "score"), ("serve-lines", "lower-limit"), ("serve-lines", "alpha")],
)
def test_what_has_an_option_is_not_set(tmp_path, command, name):
    (tmp_path / "in.csv").write_text("y,yhat\n1,2\n")
    done = called(command, *([tmp_path / "in.csv"] if command == "run" else []), "--set", f"{name}=1")
    assert done.exit_code == 2 and f"--{name}" in done.output


def test_what_is_no_table_of_results_is_told(tmp_path):
    (tmp_path / "page.html").write_text("<!doctype html>")
    said = str(called("report", tmp_path / "page.html").exception)
    assert said.endswith("page.html must end in one of .csv, .tsv, .txt, .jsonl, .ndjson, .json, .parquet, .pq, .xlsx")
    assert str(called("report", tmp_path).exception).endswith("is a folder: give the file that wane run wrote")


def test_a_report_for_which_there_is_no_room_is_told(tmp_path, monkeypatch):
    def fail(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("wane.report.write", fail)
    files = ["--out", tmp_path / "out.csv", "--report", tmp_path / "page.html"]
    said = str(called("run", table(tmp_path / "in.csv", 30), "--y", "sold", "--id", "shop", *files).exception)
    assert said.endswith("page.html cannot be written (No space left on device): choose another --report")


@pytest.mark.parametrize(
    "words, wanted",
    [
        (["--alpha", "0.9"], "0.9 would leave 90 % of the true values outside. Did you mean --coverage 0.9?"),
        (["--alpha", "90"], "Did you mean --coverage 0.9?"),
        (["--alpha", "10"], "Did you mean --alpha 0.1?"),
        (["--coverage", "90"], "Did you mean --coverage 0.9?"),
        (["--alpha", "0.1", "--coverage", "0.9"], "Give either --alpha or --coverage, not both."),
        (["--set", "discount=2"], "a discount lies between 0 and 1"),
        (["--set", "gammas=[0.1 0.2]"], "write the numbers in brackets with commas between them"),
    ],
)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_mistakes_that_are_easily_made_are_understood(tmp_path, command, words, wanted):
    if command == "compare" and words[0] == "--set":
        return
    (tmp_path / "in.csv").write_text("y,yhat\n1,2\n")
    done = called(command, tmp_path / "in.csv", *words, env={"COLUMNS": "300", "NO_COLOR": "1"})
    assert done.exit_code == 2 and wanted in " ".join(done.output.replace("│", " ").split())


def test_coverage_is_one_minus_alpha(tmp_path):
    path = table(tmp_path / "in.csv", 60)
    how = ["--y", "sold", "--id", "shop", "--method", "magl", "--out"]
    assert called("run", path, "--coverage", 0.8, "--coverage", 0.9, *how, tmp_path / "a.csv").exit_code == 0
    assert called("run", path, "--alpha", 0.2, "--alpha", 0.1, *how, tmp_path / "b.csv").exit_code == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


@pytest.mark.parametrize("words", [["run", "FILE", "--method", "mgal"], ["compare", "FILE", "--methods", "auto,mgal"],
                                   ["methods", "mgal"]])  # fmt: skip
def test_unknown_methods_are_called_so(tmp_path, words):
    path = table(tmp_path / "in.csv", 60)
    words = [str(path) if word == "FILE" else word for word in words]
    said = str(called(*words, *(["--y", "sold", "--id", "shop"] if words[0] != "methods" else [])).exception)
    assert said.startswith("no method is called 'mgal': did you mean 'magl' or 'magl-d'? known are aci, ")
    assert "pool" in said


def test_json_on_standard_input_needs_no_format(tmp_path):
    text = '{"y": 1, "yhat": 2}\n{"y": 2, "yhat": 2}\n'
    done = subprocess.run(
        [sys.executable, "-m", "wane", "run", "-", "--method", "magl"], input=text, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )  # fmt: skip
    assert [json.loads(line)["cold"] for line in done.stdout.splitlines()] == [1, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a terminal is made here as Unix makes it")
def test_a_terminal_is_asked_for_the_order_of_dates(tmp_path):
    import pty

    lines = [f"01/{month:02}/2024,1,1" for month in range(1, 13)]
    (tmp_path / "in.csv").write_text("\n".join(["ds,y,yhat", *lines]) + "\n")
    words = ["run", str(tmp_path / "in.csv"), "--method", "magl", "--out", str(tmp_path / "out.csv")]
    main, terminal = pty.openpty()
    env = {**os.environ, "PYTHONPATH": ROOT, "NO_COLOR": "1"}
    process = subprocess.Popen([sys.executable, "-m", "wane", *words], stdin=terminal, stderr=terminal, env=env)
    os.write(main, b"what\ndmy\n")
    assert process.wait(timeout=120) == 0
    said = os.read(main, 65_536).decode()
    os.close(terminal)
    os.close(main)
    assert "dates such as 01/01/2024. Which comes first" in said and (tmp_path / "out.csv").exists()
    said = process_error(*words)
    assert "give --dates dmy or --dates mdy" in said


def process_error(*words):
    done = process(*words)
    assert done.returncode == 1
    return done.stderr
