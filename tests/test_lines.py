"""One JSON object a line: the answers are those of the library, and no line and no kill does harm."""

import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import lines, scores
from wane.conformal import ManySeries, OnlineConformal
from wane.lines import FIELDS, KINDS, Lines
from wane.saving import dumps

typer = pytest.importorskip("typer")
from wane.cli.serve import Leaving, Policy, Signals, serve_lines  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
PAGE = Path(__file__).parent.parent / "docs" / "lines.md"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NO_COLOR": "1"}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def service(**more):
    return ManySeries(**{"tracker": "magl", "alpha": 0.1, "window": 5, **more})


def state(thing):
    return dumps(thing.state_dict())


class Process:
    """The command, as the program that starts it sees it."""

    def __init__(self, *arguments, method="magl", before=(), **options):
        command = [*before, sys.executable, "-m", "wane", "serve-lines", "--method", method, *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.child = subprocess.Popen(command, env=ENVIRONMENT, **pipes, **options)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def send(self, raw):
        self.child.stdin.write(raw)
        self.child.stdin.flush()

    def ask(self, **request):
        self.send(json.dumps(request).encode() + b"\n")
        return json.loads(self.child.stdout.readline())

    def end(self, code=0):
        """What it said on standard output and standard error since, and that it left with this code."""
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        out, error = self.child.stdout.read().decode(), self.child.stderr.read().decode()
        assert self.child.wait(60) == code, error
        return out, error


# The protocol, without a process.


@pytest.mark.parametrize(
    "raw, kind, wanted",
    [
        (b"\n", "json", "one JSON object"),
        (b"predict 1.5\n", "json", "one JSON object"),
        (b'{"op": "predict", "output": 1.5', "json", "one JSON object"),
        (b'{"op": "predict", "output": NaN}', "json", "NaN"),
        (b'{"op": "label", "id": "a", "y": -Infinity}', "json", "-Infinity"),
        (b'{"op": "predict", "op": "label"}', "json", "twice"),
        (b'{"op": "predict", "output": "\xff"}', "json", "utf-8"),
        (b"[" * 100_000, "json", "recursion"),
        (b"9" * 10_000, "json", "digits"),
        (b'{"op": \n', "json", "Expecting value (character 9), got"),
        (None, "too-long", "too long"),
        (b"[1, 2]", "request", "an object"),
        (b"null", "request", "an object"),
        (b"{}", "request", "op must be one of predict, label"),
        (b'{"op": "forecast"}', "request", "'forecast'"),
        (b'{"op": ["predict"]}', "request", "op must be"),
        (b'{"op": "predict"}', "request", "'output'"),
        (b'{"op": "predict", "output": null}', "request", "'output'"),
        (b'{"op": "label", "id": "a"}', "request", "'y'"),
        (b'{"op": "label", "y": 1}', "request", "'id'"),
        (b'{"op": "label", "id": "a", "y": 1, "serie": "s"}', "request", "'serie'"),
        (b'{"op": "stats", "id": 1}', "request", "it takes series, request"),
        (b'{"op": "predict", "output": 1, "id": true}', "request", "id must be text or a whole number"),
        (b'{"op": "predict", "output": 1, "id": 1.5}', "request", "id must be text or a whole number"),
        (b'{"op": "predict", "output": 1, "id": {"tuple": [1]}}', "request", "id must be"),
        (b'{"op": "predict", "output": 1, "id": 4503599627370497}', "request", "of at most"),
        (b'{"op": "predict", "output": 1, "series": [1]}', "request", "series must be"),
        (b'{"op": "version", "request": []}', "request", "request must be"),
        (b'{"op": "save", "path": 5}', "request", "path must be text"),
        (b'{"op": "predict", "output": 1e999}', "value", "finite"),
        (b'{"op": "predict", "output": "1.5"}', "value", "one real number"),
        (b'{"op": "predict", "output": [1.5]}', "value", "one real number"),
        (b'{"op": "predict", "output": {"$float": "inf"}}', "value", "one real number"),
        (b'{"op": "predict", "output": ' + b"[" * 800 + b"]" * 800 + b"}", "value", ""),
        (b'{"op": "predict", "output": ' + b"9" * 4000 + b"}", "value", "fit a float"),
        (b'{"op": "label", "id": "a", "y": "high"}', "value", "one real number"),
        (b'{"op": "label", "id": "a", "y": 1e300}', "value", "finite"),
        (b'{"op": "label", "id": "z", "y": 1}', "unknown", "'z'"),
        (b'{"op": "label", "id": 0, "y": 1}', "unknown", "check its type"),
        (b'{"op": "predict", "output": 1, "id": "a"}', "waiting", "waits"),
        (b'{"op": "label", "id": "b", "y": 1}', "labelled", "once"),
        (b'{"op": "label", "id": "c", "y": 1}', "expired", "given up"),
        (b'{"op": "expire", "id": "c"}', "expired", "given up"),
        (b'{"op": "expire", "id": "b"}', "labelled", "once"),
        (b'{"op": "label", "id": "a", "y": 1, "series": "north"}', "series", "'north'"),
        (b'{"op": "pending", "series": 5}', "series", "5"),
        (b'{"op": "stats", "series": "north"}', "series", "'north'"),
        (b'{"op": "predict", "output": 1, "series": "third"}', "series", "max_series"),
        (b'{"op": "save", "path": "no/such/folder/x.wane"}', "file", "was not written"),
        (b'{"op": "save", "path": "."}', "file", "regular file"),
        (b'{"op": "save", "path": "x\\u0000y"}', "file", "null"),
    ],
)
@pytest.mark.parametrize("kept", [False, True], ids=["alone", "journal"])
def test_bad_lines(raw, kind, wanted, kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = lines.opened(service(max_series=2), tmp_path / "j.wane" if kept else None)
    for id in "abc":
        answers.answer({"op": "predict", "output": 1.0, "id": id})
    answers.answer({"op": "label", "id": "b", "y": 2.0})
    answers.answer({"op": "expire", "id": "c"})
    answers.answer({"op": "predict", "output": 1.0, "series": "second"})
    before = state(answers.many)
    said = answers.line(raw)
    assert said.endswith(b"\n") and said.count(b"\n") == 1
    response = json.loads(said)
    assert response.keys() == {"ok", "error"} and response["ok"] is False
    assert response["error"]["kind"] == kind and wanted in response["error"]["message"]
    assert len(response["error"]["message"]) <= 500
    assert state(answers.many) == before
    assert answers.answer({"op": "label", "id": "a", "y": 1.0})["ok"]
    if kept:
        answers.journal.close()


def test_every_kind_of_error_is_tested():
    (mark,) = (m for m in test_bad_lines.pytestmark if m.args[0] == "raw, kind, wanted")
    elsewhere = {"unbounded", "journal", "internal"}  # below
    assert {kind for _, kind, _ in mark.args[1]} | elsewhere == KINDS.keys()


def parts(p):
    """What an answer must say of a prediction, of one level."""
    for name in ("labels", "center"):
        if hasattr(p.sets[0], name):
            return {name: np.array(getattr(p.sets[0], name)).tolist()}
    return {"lower": p.lower, "upper": p.upper}


@pytest.mark.parametrize(
    "score, outputs, labels",
    [
        ("absolute", lambda r: r.normal(), lambda r: r.normal()),
        ("signed", lambda r: r.normal(), lambda r: r.normal()),
        ("normalised", lambda r: [r.normal(), r.uniform(1, 2)], lambda r: r.normal()),
        ("cqr", lambda r: sorted(r.normal(size=2)), lambda r: r.normal()),
        ("lac", lambda r: r.dirichlet(np.ones(3)).tolist(), lambda r: int(r.integers(3))),
        ("aps", lambda r: r.dirichlet(np.ones(3)).tolist(), lambda r: int(r.integers(3))),
        (scores.RAPS(classes=["a", "b"]), lambda r: r.dirichlet(np.ones(2)).tolist(), lambda r: "ab"[r.integers(2)]),
        ("ball", lambda r: r.normal(size=2).tolist(), lambda r: r.normal(size=2).tolist()),
    ],
    ids=["absolute", "signed", "normalised", "cqr", "lac", "aps", "raps", "ball"],
)
def test_answers_are_those_of_the_library(score, outputs, labels):
    answers, oc, rng = (
        Lines(ManySeries("magl", score, 0.2)),
        OnlineConformal("magl", score, 0.2),
        np.random.default_rng(0),
    )
    for t in range(40):
        x, y = outputs(rng), labels(rng)
        found, p = json.loads(answers.line(json.dumps({"op": "predict", "output": x}).encode())), oc.predict(x)
        radius = list(p.radius) if isinstance(p.radius, tuple) else p.radius
        assert found == {"ok": True, "id": t, "cold": t == 0, "radius": radius, **parts(p)}
        oc.update(t, y)
        found = json.loads(answers.line(json.dumps({"op": "label", "id": t, "y": y}).encode()))
        e = oc.explain(t)
        score_of = list(e.score) if isinstance(e.score, tuple) else e.score
        assert (found["score"], found["covered"]) == (score_of, e.covered)
    assert state(answers.many[None]) == state(oc)


def test_several_levels_are_lists():
    answers, oc = Lines(service(alpha=(0.3, 0.1))), OnlineConformal("magl", alpha=(0.3, 0.1), window=5)
    for t in range(20):
        found, p = answers.answer({"op": "predict", "output": 0.5}), oc.predict(0.5)
        assert (found["lower"], found["upper"], found["radius"]) == tuple(map(list, (p.lower, p.upper, p.radius)))
        oc.update(t, 0.1 * t)
        assert answers.answer({"op": "label", "id": t, "y": 0.1 * t})["covered"] == list(oc.explain(t).covered)
    levels = answers.answer({"op": "stats"})["series"][0]["levels"]
    assert [level["alpha"] for level in levels] == [0.3, 0.1] == answers.answer({"op": "version"})["alpha"]


def test_what_has_no_bound_is_null_or_refused():
    refusing, allowing = (Lines(service(tracker="split", on_unbounded=w)) for w in ("error", "allow"))
    refused = refusing.answer({"op": "predict", "output": 1.0})
    assert refused["error"]["kind"] == "unbounded" and len(refusing.many) == 0
    found = json.loads(allowing.line(b'{"op": "predict", "output": 1.0}'))
    assert found["lower"] is None and found["upper"] is None and found["radius"] is None
    assert allowing.answer({"op": "label", "id": 0, "y": 1e9})["covered"]


def test_requests_are_echoed_and_null_is_not_given():
    answers = Lines(service())
    assert (
        answers.answer({"op": "predict", "output": 1, "id": None, "series": None, "request": "é\n"})["request"] == "é\n"
    )
    assert answers.answer({"op": "label", "id": 0.0, "y": 1, "request": 7.0}) == {
        "ok": True, "request": 7, "id": 0, "score": 0.0, "covered": False,
    }  # fmt: skip
    assert answers.answer({"op": "nothing", "request": 8})["request"] == 8
    assert "request" not in answers.answer({"op": "stats", "request": None})


def test_lines_as_other_systems_write_them():
    answers = Lines(service())
    assert json.loads(answers.line(b'\xef\xbb\xbf{"op": "stats"}\r\n'))["ok"]  # a byte order mark, two characters
    found = answers.line('{"op": "predict", "output": 1, "id": "né", "series": "\\ud800"}'.encode())
    assert found.isascii() and json.loads(found)["id"] == "né"
    assert answers.answer({"op": "pending", "series": "\ud800"}) == {"ok": True, "ids": ["né"]}


def test_alarms_are_told():
    answers = Lines(service(window=1, band=(0.5, 1.0)))
    answers.answer({"op": "predict", "output": 1.0})
    (alarm,) = answers.answer({"op": "label", "id": 0, "y": 3.0})["alarms"]
    assert alarm == {"alpha": 0.1, "side": "low", "local_coverage": 0.0, "band": [0.5, 1.0]}


def test_stats_of_one_series_and_of_all():
    answers = Lines(service())
    assert answers.answer({"op": "stats"}) == {
        "ok": True, "predictions": 0, "labels": 0, "pending": 0, "expired": 0, "series": [],
    }  # fmt: skip
    for t in range(10):
        answers.answer({"op": "predict", "output": 0.0, "series": "ab"[t % 2], "id": t})
        if t < 6:
            answers.answer({"op": "label", "id": t, "y": 1.0, "series": "ab"[t % 2]})
    answers.answer({"op": "expire", "id": 9, "series": "b"})
    both, b = answers.answer({"op": "stats"}), answers.answer({"op": "stats", "series": "b"})
    assert [both[k] for k in ("predictions", "labels", "pending", "expired")] == [10, 6, 3, 1]
    assert [b[k] for k in ("predictions", "labels", "pending", "expired")] == [5, 3, 1, 1]
    assert b["series"] == both["series"][1:] and both["series"][0]["series"] == "a"
    found, wanted = b["series"][0]["levels"][0], answers.many["b"].metrics()
    for key, value in found.items():
        expected = getattr(wanted, key)
        expected = list(expected) if isinstance(expected, tuple) else expected
        assert value == expected or (value is None and math.isnan(expected)), key
    assert found["rounds"] == 3


def test_saved_and_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = Lines(service())
    answers.answer({"op": "predict", "output": 1.0, "series": "a"})
    assert answers.answer({"op": "save", "path": "x.wane"}) == {"ok": True, "path": str(tmp_path / "x.wane")}
    assert state(wane.load("x.wane")) == state(answers.many)
    assert state(lines.opened(service(), saved="x.wane").many) == state(answers.many)
    with pytest.raises(ValueError, match=r"alpha is 0\.1 there, 0\.2 here"):
        lines.opened(service(alpha=0.2), saved="x.wane")
    wane.save("y.wane", OnlineConformal("magl", alpha=0.1))
    with pytest.raises(ValueError, match="holds a OnlineConformal"):
        lines.opened(service(), saved="y.wane")


def test_the_files_of_the_journal_are_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = lines.opened(service(), "j.wane")
    answers.answer({"op": "predict", "output": 1.0})
    Path("link").symlink_to("j.wane.log")
    for path in ("j.wane", "./j.wane.log", "link", str(tmp_path / "j.wane.lock")):
        assert answers.answer({"op": "save", "path": path})["error"]["kind"] == "file"
    assert answers.answer({"op": "save", "path": "other.wane"})["ok"]
    answers.journal.close()
    again = lines.opened(service(), "j.wane", saved="other.wane")
    assert again.answer({"op": "pending"})["ids"] == [0]
    again.journal.close()


@pytest.mark.parametrize(
    "other", [{"alpha": 0.2}, {"tracker": "auto"}, {"score": "cqr"}, {"window": 6}, {"max_series": 3}, {"epsilon": 2.0}]
)
def test_a_journal_of_other_settings_is_refused(tmp_path, other):
    lines.opened(service(), tmp_path / "j.wane").journal.close()
    with pytest.raises(ValueError, match=r"made with other settings: .* there, .* here"):
        lines.opened(service(**other), tmp_path / "j.wane")
    lines.opened(service(), tmp_path / "j.wane").journal.close()  # it is not left open


def test_what_was_not_foreseen_is_an_answer_too(caplog):
    answers = Lines(service())
    answers.many.names = lambda: 1 / 0
    found = answers.answer({"op": "stats", "request": 1})
    assert found["error"]["kind"] == "internal" and "ZeroDivisionError" in found["error"]["message"]
    assert found["request"] == 1 and "Traceback" in caplog.text
    assert answers.answer({"op": "predict", "output": 1.0})["ok"]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(), st.text(max_size=3),
    st.lists(st.floats(0, 1), max_size=3), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip
OBJECTS = st.fixed_dictionaries(
    {"op": st.sampled_from([op for op in FIELDS if op not in ("save", "stop")] * 3 + ["save", "", None])},
    optional={
        "output": st.floats(-9, 9) | VALUES,
        "id": st.integers(0, 5) | VALUES,
        "y": st.floats(-9, 9) | VALUES,
        "series": st.sampled_from(["a", 1]) | VALUES,
        "path": st.sampled_from(["", "\0", "no/such/folder/x", ".", 5]),
        "request": VALUES,
    },
)
LINES = st.one_of(
    OBJECTS.map(lambda x: json.dumps(x).encode()),
    st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")),
    VALUES.map(lambda x: json.dumps(x).encode()),
    OBJECTS.flatmap(lambda x: st.integers(0, 40).map(lambda n: json.dumps(x).encode()[:n])),
)


@settings(max_examples=60)
@given(st.lists(LINES, max_size=12))
def test_any_lines(raws):
    answers = Lines(service(history=2, max_pending=3, max_series=3))
    for raw in raws:
        before = state(answers.many)
        said = answers.line(raw)
        assert said.count(b"\n") == 1 and said.endswith(b"\n")
        found = json.loads(said, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
        if not found["ok"]:
            assert state(answers.many) == before and found["error"]["kind"] in KINDS.keys() - {"internal", "journal"}


# In a process of its own.


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
        ({"load": Path("none.wane")}, "No such file"),
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
    answers = lines.opened(service(), tmp_path / "j.wane")
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


def test_a_signal_interrupts_what_waits_and_not_what_works():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signals, done = Signals(), []
            with pytest.raises(Leaving):
                with signals:
                    os.kill(os.getpid(), number)
                    done.append("the line")
                done.append("another")
            assert done == ["the line"] and signals.came == number
            with pytest.raises(Leaving):
                os.kill(os.getpid(), number)
                time.sleep(20)  # as a read that waits
            signals.ignore()
            os.kill(os.getpid(), number)
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)


@posix
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_waits_for_the_line(tmp_path, number, code):
    """What was done was answered, and the journal is whole: under a stream of requests, and with none."""
    for burst in (0, 500) if code == 0 else (0,):
        path = tmp_path / f"{burst}.wane"
        with Process("--journal", path) as process:
            assert process.ask(op="predict", output=0.0)["ok"]
            process.send(b'{"op": "predict", "output": 1.0}\n' * burst)
            if burst:
                process.child.stdout.readline()
            process.child.send_signal(number)
            process.child.wait(20)  # its input has not ended
            out, said = process.end(code)
        answered = 1 + bool(burst) + out.count("\n")
        assert all(json.loads(x)["ok"] for x in out.splitlines()) and "Traceback" not in said
        assert ("interrupted" in said) == (code == 130)
        with wane.Journal(path) as journal:
            assert journal.sequence == answered and journal.recovered.dropped == 0


@posix
def test_nobody_reads_the_answers():
    with Process() as process:
        process.ask(op="version")
        process.child.stdout.close()
        process.send(b'{"op": "version"}\n' * 3)
        assert process.child.wait(60) == 1
        assert process.child.stderr.read().decode() == "wane: nobody reads the answers any more: stopped\n"


def todo(k):
    """Request number k of an endless sequence: each is one call, in two series, with ids of the program's own."""
    series = ("north", "south")[k // 4 % 2]
    x = (7 * k * k + 3 * k) % 37 / 8
    if k % 4 < 2:
        return {"op": "predict", "output": x, "id": f"{k}", "series": series}
    if k % 4 == 2 or k % 3:
        return {"op": "label", "id": f"{k - 2}", "y": -x, "series": series}
    return {"op": "expire", "id": f"{k - 2}", "series": series}


def repeat(process, at):
    """Ask from request number ``at`` on, until the process dies; the number of the first that was not answered."""
    while True:
        try:
            found = process.ask(**todo(at))
        except (BrokenPipeError, ValueError):
            return at
        if not found["ok"]:  # it was done, and the answer was lost in the kill: only the first can be so
            assert found["error"]["kind"] in ("waiting", "labelled", "expired"), found
        at += 1


@posix
def test_kill_9_at_any_moment_loses_nothing_that_was_answered(tmp_path):
    """And after all the kills the state is that of a service that was never stopped."""
    path, chance, at, never, done = tmp_path / "j.wane", random.Random(0), 0, Lines(service(window=100)), 0
    for n in range(5):
        arguments = ["--journal", path, "--compact-every", (7, 100)[n % 2], *(["--sync"] if n == 3 else [])]
        with Process(*arguments) as process:
            stats = process.ask(op="stats")
            assert stats["predictions"] == sum(todo(k)["op"] == "predict" for k in range(done))
            for name in never.many.names():
                assert process.ask(op="pending", series=name)["ids"] == never.many.pending(name)
            timer = threading.Timer(chance.uniform(0.01, 0.2), process.child.kill)
            timer.start()
            at = repeat(process, at)
            timer.join()
            said = process.child.stderr.read().decode()
        assert ("going on from the journal" in said) == (n > 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wane.JournalWarning)  # a record that the kill cut short
            with wane.Journal(path) as journal:
                assert at <= journal.sequence <= at + 1
                while done < journal.sequence:
                    assert never.answer(todo(done))["ok"]
                    done += 1
                assert state(journal.object) == state(never.many)
    assert done > 100


@posix
def test_a_full_disk_is_told_and_what_was_answered_stays(tmp_path):
    pytest.importorskip("resource")
    small = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with Process("--journal", tmp_path / "j.wane", before=(sys.executable, "-c", small)) as process:
        answered = 0
        while (found := process.ask(op="predict", output=1.0))["ok"]:
            answered += 1
        for _ in range(2):  # it lives on, and acknowledges nothing
            assert found["error"]["kind"] == "journal"
            found = process.ask(op="predict", output=1.0)
        process.child.stdin.close()
    with pytest.warns(wane.JournalWarning, match="no whole record"):
        again = lines.opened(service(window=100), tmp_path / "j.wane")
    assert again.answer({"op": "stats"})["predictions"] == answered > 100
    again.journal.close()


# The page about it.


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """``wane`` on the path, and an empty folder to be in."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "wane").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wane "$@"\n')
    (tmp_path / "bin" / "wane").chmod(0o755)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return ENVIRONMENT | {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def shown(language):
    """Each example of a language, and the output that the page shows."""
    return re.findall(rf"^```{language}\n(.*?)^```\n+```text\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M)


@posix
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_example_in_node(command):
    ((code, wanted),) = shown("js")
    Path("example.mjs").write_text(code)
    for restart in (False, True):
        done = subprocess.run(["node", "example.mjs"], env=command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert restart or done.stdout == wanted
    assert "going on from the journal" in done.stderr


@posix
def test_the_examples_in_the_shell(command):
    found = shown("sh")
    assert len(found) == 2
    for code, wanted in found:
        done = subprocess.run(["sh", "-ec", code], env=command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == wanted, done.stdout + done.stderr


def test_the_tables_are_complete():
    text = PAGE.read_text()
    assert re.findall(r'^\| `\{"op": "(\w+)"', text, flags=re.M) == list(FIELDS)
    assert re.findall(r'^\| `"([\w-]+)"` \| (.*) \|$', text, flags=re.M) == list(KINDS.items())
