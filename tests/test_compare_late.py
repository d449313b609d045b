"""`wane compare` judges what `wane run` does: the same coverage on the same rows, however late true values come."""

import csv
import json

import numpy as np
import pytest
from test_cli_tables import run

ROWS, JUDGED = 330, 220  # a series of 330 labels is judged after its first third


def judged(path, arguments, inside):
    """The coverage of each method in a comparison, and in the table that `wane run` writes with it."""
    found = json.loads(run("compare", path, *arguments, "--json")[0])
    for line in found["leaderboard"]:
        out = path.with_name("out.csv")
        more = [] if line["method"] in ("pool", "auto", "magl") else ["--set", "on_unbounded=allow"]
        run("run", path, *arguments[2:], "--method", line["method"], *more, "--out", out)
        with open(out) as file:
            rows = list(csv.DictReader(file))
        late = [row for row in rows if int(row["t"]) >= ROWS - JUDGED]
        yield line["method"], line["coverage"], np.mean([inside(row) for row in late])


@pytest.mark.parametrize("how", [(), ("--delay", 7), ("--arrived", "came")])
@pytest.mark.parametrize("series", [1, 2])
def test_intervals_are_judged_as_they_are_made(tmp_path, how, series):
    """With decimals and whole numbers, of which many lie at the very end of an interval."""
    rng, path = np.random.default_rng(0), tmp_path / "in.csv"
    lines = ["id,t,y,yhat,came"]
    for t in range(ROWS):
        for k in range(series):
            y = round(0.3 + 0.1 * rng.integers(-3, 4) * (2 if t > 150 else 1), 1)
            lines.append(f"s{k},{t},{y},0.3,{t + rng.integers(0, 9)}")
    path.write_text("\n".join(lines))
    methods = "auto,magl,trailing-window" + (",pool" if series > 1 else "")
    for name, coverage, ours in judged(
        path,
        ["--methods", methods, "--time", "t", *how],
        lambda row: float(row["lower"]) <= float(row["y"]) <= float(row["upper"]),
    ):
        assert coverage == pytest.approx(ours, abs=1e-12), name


@pytest.mark.parametrize("how", [("--delay", 5), ("--arrived", "came")])
def test_sets_of_labels_are_judged_as_they_are_made(tmp_path, how):
    rng, path = np.random.default_rng(1), tmp_path / "in.csv"
    lines = ["t,cat,dog,cow,label,came"]
    for t in range(ROWS):
        p = rng.dirichlet([1.0, 1.0, 1.0]).round(3)
        p[2] = round(1.0 - p[0] - p[1], 3)
        label = rng.choice(["cat", "dog", "cow"], p=p / p.sum())
        lines.append(f"{t},{p[0]},{p[1]},{p[2]},{label},{t + rng.integers(0, 9)}")
    path.write_text("\n".join(lines))
    for name, coverage, ours in judged(
        path, ["--methods", "auto,magl", "--time", "t", *how], lambda row: row["label"] in row["set"].split("|")
    ):
        assert coverage == pytest.approx(ours, abs=1e-12), name


def test_the_command_that_is_advised_says_how_late_true_values_come(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("t,y,yhat,came\n" + "".join(f"{t},{t * t % 7},3,{t + t % 5}\n" for t in range(240)))
    advised = json.loads(run("compare", path, "--delay", 3, "--methods", "split", "--json")[0])["command"]
    assert "--delay 3" in advised and "--warm-up" in advised
    advised = json.loads(run("compare", path, "--time", "t", "--arrived", "came", "--methods", "split", "--json")[0])[
        "command"
    ]
    assert "--arrived came" in advised and "--warm-up" not in advised and "--set on_unbounded=allow" in advised
    both = run("compare", path, "--time", "t", "--arrived", "came", "--delay", 3, code=1)[1]
    assert "give either --arrived NAME or --delay N" in both
