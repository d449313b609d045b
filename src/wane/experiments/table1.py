"""Table 1 of the paper: ten methods by coverage, width, local coverage error and runtime."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from wane.experiments import timing
from wane.experiments.protocol import ALPHA, TITLES, Experiment
from wane.experiments.results import versions

BASE = "simple-ogd"  # the runtimes are in units of its mean
# coverage, width, LCE_100, runtime: Table 1 of Zhang, Bombara and Yang, on their TinyImageNet stream
PAPER = {
    "simple-ogd": (0.899, 125.0, 0.11, 1.00),
    "sf-ogd": (0.899, 124.5, 0.09, 1.05),
    "saocp": (0.883, 119.2, 0.10, 11.07),
    "split": (0.843, 129.5, 0.47, 1.57),
    "nex": (0.892, 123.0, 0.14, 2.22),
    "faci": (0.889, 123.4, 0.12, 2.98),
    "faci-s": (0.892, 124.7, 0.11, 2.17),
    "magl-d": (0.884, 118.5, 0.08, 1.06),
    "magl": (0.894, 122.1, 0.09, 1.05),
    "magdis": (0.888, 122.1, 0.07, 1.02),
}
QUALITIES = ("coverage", "width", "lce_100", "lce_100_smoothed")


def run(experiment: Experiment, trials: int = 10, tick: Callable[[], Any] = lambda: None) -> list[dict[str, Any]]:
    """One row a method; ``tick`` is called after each method and each trial of its runtime."""
    played = {}
    for name in TITLES:
        played[name] = experiment.play(name).judged()
        tick()
    makers = {name: lambda name=name: experiment.tracker(name) for name in TITLES}
    seconds = timing.measured(makers, experiment.scores, trials, tick)  # type: ignore[arg-type]
    unit = {kind: seconds[BASE][kind].mean() for kind in ("batch", "step")}
    common = {"trials": trials, "seed": experiment.seed, "versions": versions()}
    rows = []
    for name, qualities in played.items():
        row: dict[str, Any] = {"method": name, "title": TITLES[name], **qualities}
        for kind, values in seconds[name].items():
            row[f"runtime_{kind}"] = values.mean() / unit[kind]
            row[f"runtime_{kind}_std"] = values.std(ddof=1) / unit[kind] if trials > 1 else 0.0
            row[f"nanoseconds_{kind}"] = values.mean() * 1e9
        rows.append({**row, "paper": PAPER[name], "settings": experiment.described(name), **common})
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds, one row a method."""
    found = []
    for name in TITLES:
        mine = [row for row in rows if row["method"] == name]
        row: dict[str, Any] = {"method": name, "title": TITLES[name], "seeds": len(mine), "paper": PAPER[name]}
        for key in (*QUALITIES, "runtime_batch", "runtime_step"):
            values = [r[key] for r in mine]
            row[key] = statistics.fmean(values)
            row[f"{key}_spread"] = statistics.stdev(values) if len(mine) > 1 else None
        for kind in ("batch", "step"):
            row[f"runtime_{kind}_std"] = statistics.fmean(r[f"runtime_{kind}_std"] for r in mine)
        found.append(row)
    return found


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the printed table: which key, how it is written, what is best."""

    head: str
    key: str
    form: str
    worse: Callable[[float], float]
    deviation: str | None = None


COLUMNS = (
    Column("coverage", "coverage", ".3f", lambda v: abs(v - (1.0 - ALPHA))),
    Column("width", "width", ".1f", lambda v: v),
    Column("LCE_100", "lce_100", ".2f", lambda v: v),
    Column("smoothed", "lce_100_smoothed", ".3f", lambda v: v),
    Column("time, batch", "runtime_batch", ".2f", lambda v: v, "runtime_batch_std"),
    Column("time, step", "runtime_step", ".2f", lambda v: v, "runtime_step_std"),
)
HEADS = ("method", *(c.head for c in COLUMNS), "in the paper")


def cells(means: Sequence[dict[str, Any]]) -> list[list[tuple[str, int]]]:
    """The text of every cell and its place in the column: 1 best, 2 second, 0 else; equal as printed is equal.

    The last column holds the paper's coverage, width, LCE_100 and runtime, on its own stream.
    """
    lines = [[(row["title"], 0)] for row in means]
    for column in COLUMNS:
        values = [round(column.worse(float(format(row[column.key], column.form))), 9) for row in means]
        best = sorted(set(values))
        for line, row, value in zip(lines, means, values, strict=True):
            spread = row.get(column.deviation or f"{column.key}_spread") or None
            text = format(row[column.key], column.form)
            text += "" if spread is None else f"±{format(spread, column.form)}"
            line.append((text, best.index(value) + 1 if value in best[:2] else 0))
    for line, row in zip(lines, means, strict=True):
        coverage, width, error, runtime = row["paper"]
        line.append((f"{coverage:.3f} {width:.1f} {error:.2f} {runtime:.2f}", 0))
    return lines


def markdown(means: Sequence[dict[str, Any]]) -> str:
    """The table in Markdown: best bold, second underlined."""
    marks = {0: "{}", 1: "**{}**", 2: "<u>{}</u>"}
    lines = [HEADS, ["---"] * len(HEADS)]
    lines += [[marks[place].format(text) for text, place in line] for line in cells(means)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
