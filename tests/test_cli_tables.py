"""``wane run``, ``compare``, ``methods`` and ``version`` as a user meets them: in a process of its own."""

import csv
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from html import escape
from pathlib import Path

import numpy as np
import pytest

import wane
import wane.runs

pytest.importorskip("typer")


ROOT = str(Path(wane.__file__).parents[1])  # the same package, wherever the process runs


def command(*arguments):
    return [sys.executable, "-m", "wane", *map(str, arguments)]


def run(*arguments, code=0, given=None, cwd=None, **env):
    """Standard output and standard error."""
    env = {**os.environ, "PYTHONPATH": ROOT, **env}
    done = subprocess.run(command(*arguments), capture_output=True, env=env, timeout=300, input=given, cwd=cwd)
    assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def table(rows, series=1):
    rng = np.random.default_rng(0)
    lines = ["ds,id,actual,forecast\n"]
    lines += [f"{t},s{k},{rng.normal():.3f},0.1\n" for t in range(rows) for k in range(series)]
    return "".join(lines)


def test_run_says_what_it_guessed_and_writes_what_it_says(tmp_path):
    (tmp_path / "in.csv").write_text(table(50, 2))
    out, said = run("run", tmp_path / "in.csv", "--out", tmp_path / "out.csv", "--method", "magl", "--alpha", 0.1,
                    "--alpha", 0.2, "--state", tmp_path / "state")  # fmt: skip
    assert said == "using y='actual', yhat='forecast', id='id', time='ds'\n"
    assert out.startswith("100 rows, 2 without an interval (cold), 2 series, ") and re.search(
        r"magl: \d\d\.\d % of 98 true values inside \(target 80 %\)", out
    )
    assert out.endswith(f"written: {tmp_path / 'out.csv'}, {tmp_path / 'state'}\n")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert list(rows[0])[4:] == ["lower_0.1", "upper_0.1", "lower_0.2", "upper_0.2", "cold"] and len(rows) == 100
    found, said = run("run", tmp_path / "in.csv", "--out", tmp_path / "more.csv", "--method", "magl", "--json")
    assert json.loads(found)["rows"] == 100 and said == ""


def test_run_writes_a_report(tmp_path):
    pytest.importorskip("wane.report")
    (tmp_path / "in.csv").write_text(table(60, 2))
    out, _ = run("run", tmp_path / "in.csv", "--out", tmp_path / "out.csv", "--method", "magl", "--alpha", 0.2,
                 "--report", tmp_path / "report.html")  # fmt: skip
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "report.html" in out and "Intervals for in.csv" in page and "s1" in page


def test_a_report_names_the_settings(tmp_path):
    pytest.importorskip("wane.report")
    lines = table(60).splitlines(keepends=True)
    files = [tmp_path / "first.csv", tmp_path / "then.csv"]
    for path, rows in zip(files, (lines[1:31], lines[31:]), strict=True):
        path.write_text("".join([lines[0], *rows]))
    settings = ("--method", "magl", "--set", "epsilon=2.5", "--set", "lower_limit=-9.25", "--set", "on_unbounded=allow",
                "--warm-up", 3)  # fmt: skip
    pages = []
    for path in files:
        made = path.with_suffix(".html")
        run("run", path, *settings, "--state", tmp_path / "state", "--report", made, "--out", tmp_path / "out.csv")
        pages.append(made.read_text(encoding="utf-8"))
    for page in pages:
        wanted = {"set.epsilon": "2.5", "set.lower_limit": "-9.25", "set.on_unbounded": "allow", "warm_up": "3"}
        assert all(f"<td>{name}</td><td>{value}</td>" in page for name, value in wanted.items())
        assert "set.upper_limit" not in page
    assert ["the rows before are not in this report" in page for page in pages] == [False, True]


def test_run_is_a_filter():
    out, said = run("run", "-", "--method", "magl", given=table(20).encode())
    assert out.count("\n") == 21 and out.startswith("ds,id,actual,forecast,lower,upper,cold\n") and "20 rows" in said
    lines = b"".join(b'{"y": %d, "yhat": 1.0}\n' % t for t in range(5))
    out, _ = run("run", "-", "--format", "jsonl", given=lines)
    assert [sorted(json.loads(line)) for line in out.splitlines()] == [["cold", "lower", "upper", "y", "yhat"]] * 5


def test_a_closed_pipe_is_one_line(tmp_path):
    (tmp_path / "in.csv").write_text(table(20_000))
    process = subprocess.Popen(
        command("run", tmp_path / "in.csv", "--method", "magl"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 1
    assert said.splitlines()[-1].startswith("wane: standard output was closed") and "Traceback" not in said


@pytest.mark.parametrize(
    "arguments, code, wanted",
    [
        (["run", "none.csv"], 1, "there is no file none.csv"),
        (["run", "text.csv", "--out", "o.csv"], 1, "text.csv, line 3: the column 'y' must hold numbers, got 'many'"),
        (["run", "empty.csv"], 1, "empty.csv is empty"),
        (["run", "good.csv", "--yhat", "forcast"], 1, "did you mean 'forecast'?"),
        (["run", "good.csv", "--out", "text.csv/o.csv"], 1, "cannot be written"),
        (["run", "good.csv", "--method", "nothing"], 1, "no method is called"),
        (["run", "good.csv", "--method", "mgal"], 1, "did you mean 'magl' or 'magl-d'?"),
        (["run", "good.csv", "--alpha", "2"], 2, "--alpha"),
        (["run", "good.csv", "--score", "cqr"], 1, "give --yhat twice"),
        (["run", "good.csv", "--set", "epsilon"], 2, "NAME=VALUE"),
        (["run", "good.csv", "--set", "unheard=1", "--method", "magl"], 1, "unheard"),
        (["run", "good.csv", "--json"], 2, "--out"),
        (["run", "good.csv", "--state", "text.csv"], 1, "was not written by wane.save"),
        (["compare", "good.csv"], 1, "at least 200 labels, the table has 30"),
        (["compare", "good.csv", "--methods", "nothing"], 1, "no method is called 'nothing'"),
        (
            ["compare", "two.csv"],
            1,
            "two.csv, line 3: the time 1 in 'ds' comes twice in the same series: if a column names",
        ),
        (["compare", "two.csv", "--id", "shop"], 1, "at least 200 labels, the table has 2"),
        (["methods", "nothing"], 1, "no method is called 'nothing'"),
    ],
)
def test_errors_are_one_line(tmp_path, arguments, code, wanted):
    (tmp_path / "good.csv").write_text(table(30))
    (tmp_path / "text.csv").write_text("y,yhat\n1,1\nmany,1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "two.csv").write_text("ds,shop,y,yhat\n1,a,1,1\n1,b,1,1\n")
    _, said = run(*arguments, code=code, cwd=tmp_path, NO_COLOR="1", COLUMNS="300")
    assert wanted in said and "Traceback" not in said
    if code == 1:
        assert said.splitlines()[-1].startswith("wane: ")


def test_ctrl_c_keeps_the_finished_chunks_and_says_how_to_go_on(tmp_path):
    """The rows come through a pipe: after the first chunk the command waits for more, and is interrupted."""
    text = table(3000)
    out, state, path = tmp_path / "out.csv", tmp_path / "state", tmp_path / "in.csv"
    path.write_text(text)
    arguments = ["run", "-", "--method", "magl", "--out", out, "--state", state]
    process = subprocess.Popen(
        command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    lines = text.encode().splitlines(keepends=True)
    process.stdin.write(b"".join(lines[:1500]))
    process.stdin.flush()
    while process.poll() is None and not any(p.stat().st_size for p in tmp_path.glob(".out.csv.*.tmp")):
        time.sleep(0.01)
    for _ in range(3):  # Python drops a signal that it handles in a destructor: people press the keys again
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)  # its input has not ended
            break
        except subprocess.TimeoutExpired:
            continue
    else:
        process.kill()
    _, said = process.communicate()
    rows = wane.load(state).rows
    assert process.returncode == 130 and 0 < rows < 1500
    assert f"the first {rows:,} rows; for the others, run wane run - --skip {rows} ..." in said.decode()
    assert out.read_text().count("\n") == rows + 1 and not list(tmp_path.glob("*.tmp"))
    run("run", path, "--skip", rows, "--state", state, "--out", tmp_path / "rest.csv")
    run("run", path, "--method", "magl", "--out", tmp_path / "whole.csv")
    rest = (tmp_path / "rest.csv").read_text().partition("\n")[2]
    assert out.read_text() + rest == (tmp_path / "whole.csv").read_text()


def test_compare_recommends_in_words(tmp_path):
    (tmp_path / "in.csv").write_text(table(400, 2))
    arguments = ("compare", tmp_path / "in.csv", "--methods", "magl,split,trivial")
    out, said = run(*arguments)
    assert "3 methods on 2 of 2 series, 534 rounds" in out and said.startswith("using y='actual'")
    found = json.loads(run(*arguments, "--json")[0])
    assert found["recommendation"] in out and found["recommendation"].startswith(f"Take {found['method']}: it covers ")
    rows = {row["method"]: row for row in found["leaderboard"]}
    assert "The advice rests on 2 of 2 series and 534 rows." in found["recommendation"]
    # The measures are those of a panel, after the first third of each series, in units of its mean score.
    cells = np.genfromtxt(tmp_path / "in.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    frame = {name: cells[name] for name in cells.dtype.names}
    made = wane.panel.run(frame, id="id", time="ds", y="actual", y_hat="forecast", method="magl").frame
    scores, late = np.abs(made["actual"] - made["forecast"]), made["ds"] >= 133
    unit = np.where(made["id"] == "s0", *(scores[made["id"] == k].mean() for k in ("s0", "s1")))
    want = {
        "coverage": made["covered"][late].mean(),
        "width": (2.0 * made["radius"] / unit)[late].mean(),
        "pinball": wane.metrics.pinball((made["radius"] / unit)[late], (scores / unit)[late], 0.1),
    }
    assert {key: rows["magl"][key] for key in want} == pytest.approx(want)
    assert found["leaderboard"][-1]["method"] == "trivial" != found["method"]


def test_a_method_that_a_small_alpha_rules_out_is_left_out_and_told(tmp_path):
    """A window of 100 scores says nothing about one in a thousand; the others can be compared all the same."""
    path = tmp_path / "in.csv"
    path.write_text("y,yhat\n" + "".join(f"{t * t % 7},3\n" for t in range(240)))
    found = json.loads(run("compare", path, "--alpha", 0.001, "--json")[0])
    assert set(found["left_out"]) == {"trailing-window"} and "window must hold" in found["left_out"]["trailing-window"]
    judged = {line["method"] for line in found["leaderboard"]}
    assert judged == set(wane.trackers.names()) - {"trailing-window"}
    assert "must lie in" in run("compare", path, "--alpha", 0, code=1)[1]


def test_compare_reports_the_best_side_by_side(tmp_path):
    """What the page says of a method is what `wane run` with the settings it needs does, also out of order."""
    from wane.report import read

    head, *rows = table(300, 2).splitlines()
    path, page = tmp_path / "in.csv", tmp_path / "page.html"
    path.write_text("\n".join([f"{head},lower", *(f"{row},7" for row in reversed(rows))]))
    arguments = ("compare", path, "--methods", "magl,split,trivial,sf-ogd", "--report", page)
    found = json.loads(run(*arguments, "--json")[0])
    assert found["report"] == str(page) and "--sort" in found["command"] and "--prefix wane_" in found["command"]
    text = page.read_text(encoding="utf-8")
    assert all(f">{name}" in text for name in ("magl", "split", "sf-ogd", "trivial"))
    assert escape(found["recommendation"]) in text and "Methods compared" in text
    assert f">{found['method']} (recommended)</td>" in text and text.index('id="advice"') < text.index('id="verdict"')
    run(*shlex.split(found["command"])[1:])
    made = read(tmp_path / "in_intervals.csv", 0.1, found["method"], "wane_")
    judged = [t.covered[-200:] for t in made]  # a series of 300 labels is judged after its first third
    coverage = 1.0 - sum((c == 0.0).sum() for c in judged) / sum(map(len, judged))
    assert f'data-v="{float(coverage)!r}"' in text
    assert "give a file" in run("compare", "-", *arguments[2:], code=2, given=b"")[1]
    assert "at once" in run(*arguments[:-1], path, code=1)[1] and path.read_text().startswith(head[:5])


def test_compare_reports_whatever_it_can_judge(tmp_path):
    """A field that only some objects have, columns of every name that comes to mind, a method twice; but no pipe."""
    rows = [{"y": t * t % 7, "yhat": 3, "lower": 1, "wane_upper": 1} for t in range(240)]
    rows[200]["note"] = "storm"
    path, page = tmp_path / "in.jsonl", tmp_path / "page.html"
    path.write_text("\n".join(map(json.dumps, rows)))
    arguments = ("--methods", "magl,split,magl", "--report", page)
    found = json.loads(run("compare", path, *arguments, "--json")[0])
    assert sorted(line["method"] for line in found["leaderboard"]) == ["magl", "split"]
    assert "--prefix wane2_" in found["command"] and "Methods compared" in page.read_text(encoding="utf-8")
    run(*shlex.split(found["command"])[1:])
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        assert "give a file" in run("compare", tmp_path / "pipe.csv", *arguments, code=2)[1]


def test_advice_follows_its_rule():
    from wane.experiments.compare import advice

    def line(method, coverage, pinball, width, infinite=0.0, lce=0.1):
        off = abs(coverage - 0.9)
        return {"method": method, "coverage": coverage, "miss_of_target": off, "pinball": pinball, "width": width,
                "infinite": infinite, "lce_100": lce}  # fmt: skip

    good, cheap, wide = (
        line("auto", 0.9, 1.005, 2.0),
        line("aci", 0.895, 1.0, 1.9, lce=0.3),
        line("split", 0.9, 0.9, 1.0, 0.1),
    )
    assert advice([good, cheap, wide], 0.1, 10**6)["recommendation"] == (
        "Take auto: it covers 90.0 % (target 90 %). It is the default, and its pinball loss is within 0.5 % of the "
        "best near the target (aci). aci is 5.0 % narrower, but is off by 0.30 in its worst 100 rounds, not by 0.10."
    )
    reason = {"rule": "default", "near": 2, "within": 0.01, "best": "aci", "narrower": "aci"}
    assert advice([good, cheap, wide], 0.1, 10**6)["reason"] == reason
    assert advice([line("auto", 0.9, 1.02, 2.0), cheap], 0.1, 10**6)["method"] == "aci"
    assert advice([line("auto", 0.8, 1.0, 1.0), cheap], 0.1, 10**6)["method"] == "aci"
    assert advice([line("auto", 0.7, 1.0, 1.0)], 0.1, 10**6)["recommendation"] == (
        "Take auto: it covers 70.0 % (target 90 %). No other method comes nearer, but that is not near: look at the "
        "data, or take more of it."
    )


def test_methods_are_those_of_the_registry():
    found = json.loads(run("methods", "--json")[0])
    assert list(found) == sorted([*wane.trackers.names(), "pool"]) and all(one["line"] for one in found.values())
    assert found["bayes"]["settings"]["max_score"] is None and found["aci"]["settings"]["gamma"] == "0.005"
    out, _ = run("methods")
    assert all(name in out for name in wane.trackers.names())
    assert all(one["when"] for one in found.values())
    assert all(set(one["settings"]) == set(one["meanings"]) for one in found.values())
    text = json.dumps(found) + out
    assert not re.search(r"\\\\[a-z]+|:math:|_\{|\^\{", text)  # no formulas
    said = " ".join(run("methods", "aci")[0].split())
    assert "gamma the step of the level after a hit or a miss (default: 0.005)" in said


def test_version_says_what_runs():
    assert run("version")[0].strip() == wane.__version__
    found = json.loads(run("version", "--verbose", "--json")[0])
    assert (
        found["wane"] == wane.__version__ and found["compiled"] == wane.compiled() and found["numpy"] == np.__version__
    )
    assert "numpy" in run("version", "--verbose")[0]


def test_help_imports_neither_numpy_nor_scipy():
    code = "import sys\nfrom wane.cli.app import app\nprint(sorted({'numpy', 'scipy', 'rich'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"run", "compare", "methods", "version"} <= {*run("--help")[0].split()}


def test_a_module_alone_can_load_anything(tmp_path):
    """The package imports its parts when they are needed, and all of them before something saved is loaded."""
    wane.save(tmp_path / "panel", wane.Panel("auto"))
    code = f"from wane.state.files import load\nprint(type(load({str(tmp_path / 'panel')!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "Panel"


@pytest.mark.skipif(not wane.compiled(), reason="two million rows are for the compiled algorithms")
def test_two_million_rows_of_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 2_000_000
    y = np.random.default_rng(0).normal(size=n)
    pq.write_table(pa.table({"ds": np.arange(n), "y": y, "yhat": np.zeros(n)}), tmp_path / "in.parquet")
    found, _ = run("run", tmp_path / "in.parquet", "--method", "magl", "--out", tmp_path / "out.parquet", "--json")
    made = pq.read_table(tmp_path / "out.parquet")
    inside = (y > made["lower"].to_numpy()) & (y < made["upper"].to_numpy())
    assert json.loads(found)["rows"] == made.num_rows == n and abs(inside.mean() - 0.9) < 0.005


@pytest.mark.parametrize(
    "page, number",
    [
        ("docs/command_line.md", 10), ("docs/start.md", 2), ("README.md", 1), ("docs/forecasting.md", 2),
        ("docs/classification.md", 1),
    ],
)  # fmt: skip
def test_the_consoles_show_what_is_printed(tmp_path, page, number):
    """Each line after "$ " is run; what follows it is printed, with "..." for anything."""
    text = (Path(__file__).parents[1] / page).read_text()
    before = text.partition("```console")[0]
    if page == "docs/forecasting.md":
        pytest.importorskip("statsmodels")
    if page == "README.md":  # its table is one of the examples
        shutil.copytree(Path(__file__).parents[1] / "examples", tmp_path / "examples")
    else:  # the block before the first console makes the table
        code = re.findall(r"^```python\n(.*?)^```", before, flags=re.S | re.M)[-1]
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    (tmp_path / "bin").mkdir()
    for name, words in (("wane", "-m wane"), ("python", "")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    env = {**os.environ, "PYTHONPATH": ROOT, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    consoles = "".join(re.findall(r"^```console\n(.*?)^```", text, flags=re.S | re.M))
    steps = [step.partition("\n") for step in consoles.split("$ ")[1:]]
    assert len(steps) == number
    for line, _, wanted in steps:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        pattern = re.escape(wanted).replace(re.escape("..."), ".*?")
        assert done.returncode == 0 and re.fullmatch(pattern, done.stdout, flags=re.S), done.stdout
