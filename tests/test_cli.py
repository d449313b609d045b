"""The command line as a user meets it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import wane

pytest.importorskip("typer")


def run(*arguments, code=0, **env):
    """The command's standard output, or standard error if it was to fail."""
    command = [sys.executable, "-m", "wane", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


def labels(path, rounds=400):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(10), size=rounds)
    drawn = np.array([rng.choice(10, p=row) for row in p])
    wane.streams.write(path, wane.streams.LabelStream("made", p, drawn, warm_up=100))


def test_help_names_the_commands():
    assert {"reproduce", "bench"} <= {*run("--help").split()}
    assert "--published" in run("reproduce", "--help") and "--methods" in run("bench", "streams", "--help")


def test_reproduce_prints_the_table_and_the_files(tmp_path):
    pytest.importorskip("matplotlib")
    labels(tmp_path / "made.npz")
    said = run("reproduce", "table1", "fig1", "--data", tmp_path / "made.npz", "--trials", 1, "--out", tmp_path / "out")
    assert "MagL-D (Alg. 1)" in said and "119.2" in said and "fig1.pdf" in said
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"results.json", "table1.csv", "table1.md", "fig1.svg"}


def test_reproduce_as_json(tmp_path):
    pytest.importorskip("matplotlib")
    labels(tmp_path / "made.npz")
    said = run(
        "reproduce", "table1", "--data", tmp_path / "made.npz", "--trials", 1, "--seeds", 2, "--published", "--json",
        "--out", tmp_path,
    )  # fmt: skip
    found = json.loads(said)
    assert found == json.loads((tmp_path / "results.json").read_text())
    assert [row["seed"] for row in found["table1"]] == [0] * 10 + [1] * 10
    settings = found["table1"][7]["settings"]
    assert found["runs"]["table1"]["published"] and settings["stale"]
    assert settings["parameters"]["learner.epsilon"] == 1.0 and settings["parameters"]["learner.discount"] == 0.999


def test_digits_from_end_to_end(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    found = json.loads(run("reproduce", "table1", "--quick", "--trials", 1, "--json", "--out", tmp_path))
    by_name = {row["method"]: row for row in found["table1"]}
    assert 0.86 < by_name["magl"]["coverage"] < 0.92 and by_name["split"]["lce_100"] > by_name["magl"]["lce_100"]


def test_bench_of_a_folder(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    for name in "ab":
        wane.streams.write(
            tmp_path / "data" / f"{name}.npz", wane.streams.ScoreStream(name, np.abs(rng.normal(size=500)))
        )
    arguments = ("bench", "streams", "--streams", tmp_path / "data", "--methods", "magl, split", "--workers", 1)
    said = run(*arguments, "--out", tmp_path / "out")
    assert "2 methods on 2 streams" in said and "leaderboard.md" in said
    found = json.loads(run(*arguments, "--json", "--out", tmp_path / "out"))
    assert {line["method"] for line in found["leaderboard"]} == {"magl", "split"}


@pytest.mark.parametrize(
    "arguments, code, wanted",
    [
        (["reproduce", "table2", "--out", "o"], 2, "table2"),
        (["reproduce", "table1"], 2, "--out"),
        (["reproduce", "table1", "--data", "none.npz", "--out", "o"], 1, "there is no file"),
        (["reproduce", "table1", "--data", "digits", "--data", "b.npz", "--out", "o"], 2, "both schedules"),
        (["bench", "streams", "--streams", "nowhere", "--out", "o"], 1, "is not there"),
        (["bench", "streams", "--streams", "empty", "--out", "o"], 1, "holds no stream"),
        (["bench", "streams", "--alpha", "2", "--out", "o"], 2, "--alpha"),
        (["bench", "streams", "--methods", ",", "--streams", "some", "--out", "o"], 1, "no method is given"),
    ],
)
def test_errors_say_what_to_do(tmp_path, monkeypatch, arguments, code, wanted):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "some").mkdir()
    wane.streams.write(tmp_path / "some" / "s.npz", wane.streams.ScoreStream("s", np.ones(300)))
    said = run(*arguments, code=code, NO_COLOR="1", COLUMNS="300")
    assert wanted in said and "Traceback" not in said
    if code == 1:
        assert said.startswith("wane: ") and said.count("\n") == 1
        assert "Traceback" in run(*arguments, "--debug", code=1)  # wherever it stands
    else:
        assert "Usage" in said


def test_ctrl_c_says_so_and_the_next_run_goes_on(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "data").mkdir()
    scores = np.abs(np.random.default_rng(0).normal(size=60_000))
    for name in "abcd":
        wane.streams.write(tmp_path / "data" / f"{name}.npz", wane.streams.ScoreStream(name, scores))
    arguments = ["bench", "streams", "--streams", tmp_path / "data", "--methods", "p-control,magl,split"]
    command = [sys.executable, "-m", "wane", *map(str, arguments), "--workers", "1", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    cache = tmp_path / "out" / "cache"
    while process.poll() is None and not (cache.is_dir() and any(cache.glob("*.json"))):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    if process.returncode != 0:  # else it was done before the signal came
        assert process.returncode == 130 and "run the command again to continue" in said
    done = len(list(cache.glob("*.json")))
    assert 1 <= done
    before = {p.name: p.stat().st_mtime_ns for p in cache.glob("*.json")}
    run(*arguments, "--workers", 1, "--out", tmp_path / "out")
    after = {p.name: p.stat().st_mtime_ns for p in cache.glob("*.json")}
    assert len(after) == 12 // 4 and {k: after[k] for k in before} == before  # the four are one: the same scores


def test_version():
    assert run("--version").strip() == wane.__version__


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")
    said = run("--help", code=1, PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert said.strip() == 'wane: the command line needs typer and rich: run pip install ".[cli]" in a clone of wane'
