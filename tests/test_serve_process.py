"""The command `wane serve-lines`: a line for every line, its settings, and errors that say what to do."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_cases import ENVIRONMENT, LINES, Process, posix, service, typer

from wane import scores, serve
from wane.cli.serve_lines import serve_lines
from wane.cli.serve_settings import Policy
from wane.conformal import OnlineConformal

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


@pytest.fixture(scope="module")
def living():
    with Process("--longest", 2000) as process:
        yield process


@settings(max_examples=40)
@given(st.lists(LINES | st.just(b"x" * 5000), max_size=12), st.integers(0, 10**9))
def test_every_line_gets_one_line_and_the_process_lives_on(living, raws, number):
    mark = json.dumps({"op": "version", "request": f"mark {number}"}).encode()
    living.send(b"".join(raw + b"\n" for raw in [*raws, mark]))
    for raw in raws:
        found = json.loads(living.child.stdout.readline())
        assert isinstance(found["ok"], bool)
        if raw == b"x" * 5000:
            assert found["error"]["kind"] == "too-long"
    assert json.loads(living.child.stdout.readline())["request"] == f"mark {number}"


def test_the_length_of_a_line_is_counted_without_its_end(living):
    text = json.dumps({"op": "version"})
    living.send(text.ljust(2000).encode() + b"\n" + text.ljust(2001).encode() + b"\n")
    assert [json.loads(living.child.stdout.readline())["ok"] for _ in range(2)] == [True, False]


def test_the_end_of_the_input_is_the_end():
    with Process() as process:
        process.send(b'{"op": "predict", "output": 1}\n{"op": "version"}')  # the last line without its end
        out, error = process.end()
    assert [json.loads(x)["ok"] for x in out.splitlines()] == [True, True] and not error


def test_settings_of_the_command():
    arguments = ["--alpha", 0.2, "--alpha", 0.1, "--score", "raps", "--score-set", 'classes=["a", "b"]']
    with Process(*arguments, "--score-set", "seed=3", "--set", "window=7", "--set", "epsilon=0.5", "--json") as process:
        found = process.ask(op="predict", output=[0.7, 0.3])
        wanted = OnlineConformal("magl", scores.RAPS(classes=["a", "b"], seed=3), (0.2, 0.1), window=7, epsilon=0.5)
        assert found["labels"] == [list(s) for s in wanted.predict([0.7, 0.3]).sets]
        assert process.ask(op="label", id=0, y="b")["ok"]
        assert process.ask(op="stats")["series"][0]["levels"][0]["window"] == 7
        process.send(b'{"op": "stop", "request": "bye"}\n{"op": "version"}\n')  # nothing is read after it
        assert process.end() == ('{"ok": true, "request": "bye"}\n', "")


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"alpha": [2.0]}, "0.1 covers 90 %"),
        ({"score": "best"}, "no score is called 'best'"),
        ({"set": ["eps=0.3"]}, "epsilon"),
        ({"set": ["epsilon"]}, "NAME=VALUE"),
        ({"set": ["alpha=0.3"]}, "--alpha"),
        ({"load": Path("none.wane")}, "there is no file"),
        ({"journal": Path("no/folder/j.wane")}, "No such file"),
        ({"journal": Path("foreign.wane")}, "was not written by wane"),
        ({"on_unbounded": Policy.clip}, "--lower-limit"),
    ],
)
def test_errors_say_what_to_do(tmp_path, monkeypatch, given, wanted):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back what the command changes
    (tmp_path / "foreign.wane").write_text("hello")
    with pytest.raises((ValueError, TypeError, OSError, typer.BadParameter), match=wanted):
        serve_lines(method="magl", **given)


@pytest.mark.parametrize("arguments, code, wanted", [(["--alpha", 2], 1, "90 %"), (["--set", "x"], 2, "NAME=VALUE")])
def test_errors_have_no_traceback(arguments, code, wanted):
    with Process(*arguments) as process:
        out, said = process.end(code)
    assert not out and wanted in said and "Traceback" not in said
    assert code == 2 or (said.startswith("wane: ") and said.count("\n") == 1)


def test_a_journal_in_use_is_refused(tmp_path):
    answers = serve.opened(service(), tmp_path / "j.wane")
    assert answers.answer({"op": "version"})["journal"] == os.path.realpath(tmp_path / "j.wane")
    with Process("--journal", tmp_path / "j.wane") as second:
        said = second.end(1)[1]
    assert "open already" in said and said.count("\n") == 1
    assert answers.answer({"op": "predict", "output": 1.0})["ok"]
    answers.journal.close()


@posix
@pytest.mark.skipif(os.name != "posix", reason="descriptors are of another kind")
@pytest.mark.parametrize("descriptor, name", [(0, "input"), (1, "output")])
def test_a_standard_stream_that_is_closed_is_told(descriptor, name):
    closed = f"exec {sys.executable} -m wane serve-lines {descriptor}{'<' if descriptor == 0 else '>'}&-"
    done = subprocess.run(
        ["sh", "-c", closed], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 1
    assert done.stderr == f"wane: standard {name} is closed: requests come and answers go there\n"
