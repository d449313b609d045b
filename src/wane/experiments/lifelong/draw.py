"""The figures: regret and accuracy against the rate, loss over the rounds, accuracy over the tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wane.experiments.figures import GREY
from wane.experiments.lifelong import judge, tables
from wane.experiments.lifelong.methods import OURS
from wane.experiments.results import Finding

Row = Mapping[str, Any]
HIGHEST = 1.5  # of the regret that is shown: 1 is knowing nothing
STYLES = {  # colour (Okabe and Ito's), dashes, width
    "SGD": ("#E69F00", "--", 1.0),
    "Adam": ("#D55E00", "--", 1.0),
    "RMSprop": ("#CC79A7", ":", 1.0),
    "Adagrad": ("#000000", ":", 1.0),
    "AdamW, decay 0.1": ("#CC79A7", ":", 1.0),
    "Adam, L2 to init": ("#000000", ":", 1.0),
    "Adam, told and reset": (GREY, "-", 0.8),
    "Tuned(SGD)": ("#56B4E9", "-", 1.8),
    "Tuned(Adam)": ("#0072B2", "-", 1.8),
    "Tuned(Adam), trac": ("#0072B2", "--", 1.2),
    "Adaptive": ("#009E73", "-", 1.8),
}


def line(axes: Any, name: str, x: Sequence[float], y: Any) -> None:
    """One method."""
    colour, dashes, width = STYLES[name]
    axes.plot(x, y, color=colour, linestyle=dashes, linewidth=width, label=name)


def legend(figure: Any, axes: Any) -> None:
    """Below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


def rates(name: str, sentence: str, table: Mapping[tuple[str, str], Mapping[str, judge.Runs]], label: str) -> Finding:
    """A panel for each stream: the score of every method against its number."""
    down = next(iter(next(iter(table.values())).values())).sign > 0

    def draw(figure: Any) -> None:
        panels = figure.subplots(-(-len(table) // 2), 2, sharey=True, squeeze=False).ravel()
        for axes, ((data, shift), by) in zip(panels, table.items(), strict=True):
            for method, runs in by.items():
                y = runs.scores.mean(axis=1)
                line(axes, method, runs.numbers, np.minimum(y, HIGHEST) if down else y)
            axes.set_xscale("log")
            axes.set_title(f"{data}, {shift}")
            axes.set_xlabel("learning rate (Adaptive: epsilon)")
        for axes in panels[::2]:
            axes.set_ylabel(label)
        legend(figure, panels[0])

    data: dict[str, list[Any]] = {"stream": [], "method": [], "number": [], "mean": [], "spread": []}
    for (which, shift), by in table.items():
        for method, runs in by.items():
            for number, scores in zip(runs.numbers, runs.scores, strict=True):
                row = (f"{which}, {shift}", method, number, judge.mean(scores), judge.spread(scores))
                for key, value in zip(data, row, strict=True):
                    data[key].append(value)
    height = 3.1 if len(table) <= 2 else 5.4
    return Finding(name, sentence, {}, data, draw, (7.5, height + 0.4))


def rounds(sentence: str, rows: Sequence[Row], lines: Sequence[Row]) -> Finding:
    """Loss over the rounds of each stream, everyone at its best number."""
    chosen = {(part["stream"], part["method"]): part["number"] for part in lines}
    curves: dict[str, dict[str, np.ndarray]] = {}
    for stream, method in chosen:
        mine = [
            row["curve"]
            for row in rows
            if (f"{row['data']}, {row['shift']}", row["method"], row["number"])
            == (stream, method, chosen[stream, method])
        ]
        curves.setdefault(stream, {})[method] = np.mean(mine, axis=0)
    length = max(row["size"][0] for row in rows)

    def draw(figure: Any) -> None:
        panels = figure.subplots(-(-len(curves) // 2), 2, squeeze=False).ravel()
        for axes, (stream, by) in zip(panels, curves.items(), strict=True):
            for method, curve in by.items():
                line(axes, method, (np.arange(len(curve)) + 0.5) * length / len(curve), curve)
            axes.set_title(stream)
            axes.set_xlabel("round")
            axes.set_ylabel("loss, at the best number")
            axes.set_ylim(0.0, 1.4 * max(float(np.max(curve[1:])) for name, curve in by.items() if name in OURS))
        legend(figure, panels[0])

    data: dict[str, list[Any]] = {"stream": [], "method": [], "part": [], "loss": []}
    for stream, by in curves.items():
        for method, curve in by.items():
            for i, loss in enumerate(curve.tolist()):
                for key, value in zip(data, (stream, method, i, loss), strict=True):
                    data[key].append(value)
    return Finding("rounds", sentence, {}, data, draw, (7.5, 5.8))


def tasks(sentence: str, lines: Sequence[Row]) -> Finding:
    """Accuracy at the end of each task, everyone at its best number."""
    sequences = list(dict.fromkeys(part["sequence"] for part in lines))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(sequences), squeeze=False).ravel()
        for axes, sequence in zip(panels, sequences, strict=True):
            by = {part["method"]: part["tasks"] for part in lines if part["sequence"] == sequence}
            for method in (name for name in STYLES if name in by):
                line(axes, method, range(1, len(by[method]) + 1), by[method])
            axes.set_title(sequence)
            axes.set_xlabel("task")
            axes.set_ylabel("right at its end")
        legend(figure, panels[0])

    data: dict[str, list[Any]] = {"sequence": [], "method": [], "task": [], "right": []}
    for part in lines:
        for i, right in enumerate(part["tasks"], start=1):
            for key, value in zip(data, (part["sequence"], part["method"], i, right), strict=True):
                data[key].append(value)
    return Finding("tasks", sentence, {}, data, draw, (7.5, 3.7))


def findings(rows: Sequence[Row], board: Sequence[Row], lines: Sequence[Row], trained: Sequence[Row]) -> list[Finding]:
    """All figures."""
    convex = [row for row in rows if row["kind"] == "convex"]
    nets = [row for row in rows if row["kind"] == "nets"]
    online = tables.convex_sentence(board)
    offline = " ".join(tables.nets_sentence(trained, s) for s in dict.fromkeys(part["sequence"] for part in trained))
    return [
        rates("rates", online, judge.regrets(convex), "regret / what there was to learn"),
        rounds(online, convex, lines),
        tasks(offline, trained),
        rates("nets", offline, judge.accuracies(nets), "right at the end of a task"),
    ]
