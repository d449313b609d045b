"""One JSON object a line: the answers are those of the library, and no line does harm."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_cases import LINES, service, state

import wane
from wane import scores, serve
from wane.conformal import ManySeries, OnlineConformal
from wane.serve import KINDS, Lines

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


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
        (b'{"op": "predict", "output": 1, "series": "s", "horizon": 0}', "request", "from 1 to 10000"),
        (b'{"op": "predict", "output": 1, "series": "s", "horizon": "two"}', "request", "from 1 to 10000"),
        (b'{"op": "predict", "output": 1, "horizon": 2}', "request", "needs a series"),
        (b'{"op": "predict", "output": 1, "context": [1.0]}', "value", "context"),
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
        (b'{"op": "predict", "output": 2, "id": "a"}', "waiting", "another output waits"),
        (b'{"op": "label", "id": "c", "y": 1}', "expired", "given up"),
        (b'{"op": "expire", "id": "c"}', "expired", "given up"),
        (b'{"op": "expire", "id": "b"}', "labelled", "once"),
        (b'{"op": "label", "id": "a", "y": 1, "series": "north"}', "series", "'north'"),
        (b'{"op": "pending", "series": 5}', "series", "5"),
        (b'{"op": "stats", "series": "north"}', "series", "'north'"),
        (b'{"op": "predict", "output": 1, "series": "third"}', "series", "max_series"),
        (b'{"op": "save", "path": "no/such/folder/x.wane"}', "file", "was not written"),
        (b'{"op": "save", "path": "."}', "file", "regular file"),
        (b'{"op": "save", "path": "x\\u0000y"}', "file", "the path of a file"),
    ],
)
@pytest.mark.parametrize("kept", [False, True], ids=["alone", "journal"])
def test_bad_lines(raw, kind, wanted, kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = serve.opened(service(max_series=2), tmp_path / "j.wane" if kept else None)
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
    elsewhere = {"unbounded", "journal", "internal", "full"}  # below, and in test_lines_kills.py
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
    assert state(serve.opened(service(), saved="x.wane").many) == state(answers.many)
    with pytest.raises(ValueError, match=r"alpha is 0\.1 there, 0\.2 here"):
        serve.opened(service(alpha=0.2), saved="x.wane")
    wane.save("y.wane", OnlineConformal("magl", alpha=0.1))
    with pytest.raises(ValueError, match="holds a OnlineConformal"):
        serve.opened(service(), saved="y.wane")


def test_the_files_of_the_journal_are_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = serve.opened(service(), "j.wane")
    answers.answer({"op": "predict", "output": 1.0})
    Path("link").symlink_to("j.wane.log")
    for path in ("j.wane", "./j.wane.log", "link", str(tmp_path / "j.wane.lock")):
        assert answers.answer({"op": "save", "path": path})["error"]["kind"] == "file"
    assert answers.answer({"op": "save", "path": "other.wane"})["ok"]
    answers.journal.close()
    again = serve.opened(service(), "j.wane", saved="other.wane")
    assert again.answer({"op": "pending"})["ids"] == [0]
    again.journal.close()


@pytest.mark.parametrize(
    "other", [{"alpha": 0.2}, {"tracker": "auto"}, {"score": "cqr"}, {"window": 6}, {"max_series": 3}, {"epsilon": 2.0}]
)
def test_a_journal_of_other_settings_is_refused(tmp_path, other):
    serve.opened(service(), tmp_path / "j.wane").journal.close()
    with pytest.raises(ValueError, match=r"made with other settings: .* there, .* here"):
        serve.opened(service(**other), tmp_path / "j.wane")
    serve.opened(service(), tmp_path / "j.wane").journal.close()  # it is not left open


def test_what_was_not_foreseen_is_an_answer_too(caplog):
    answers = Lines(service())
    answers.many.names = lambda: 1 / 0
    found = answers.answer({"op": "stats", "request": 1})
    assert found["error"]["kind"] == "internal" and "ZeroDivisionError" in found["error"]["message"]
    assert found["request"] == 1 and "Traceback" in caplog.text
    assert answers.answer({"op": "predict", "output": 1.0})["ok"]


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
