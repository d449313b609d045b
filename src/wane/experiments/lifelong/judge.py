"""What the runs say: one line for each method, of each stream and of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wane.experiments.lifelong import methods
from wane.experiments.lifelong.play import HINDSIGHT

OFF = 10.0  # how wrong a rate is made
Row = Mapping[str, Any]


class Runs:
    """The runs of one method on one stream or sequence: a score for each number and seed."""

    def __init__(self, rows: Sequence[Row], score: Callable[[Row], float], sign: float = 1.0) -> None:
        """A table of scores, (numbers, seeds); ``sign`` is -1 where more is better."""
        self.numbers = sorted({row["number"] for row in rows})
        self.seeds = sorted({row["seed"] for row in rows})
        found = {(row["number"], row["seed"]): score(row) for row in rows}
        self.scores = np.array([[found[n, s] for s in self.seeds] for n in self.numbers])
        self.sign = sign

    def at(self, number: float | None) -> np.ndarray | None:
        """The scores at a number, one a seed; None if it was not tried."""
        near = [i for i, n in enumerate(self.numbers) if number is not None and abs(n / number - 1.0) < 0.05]
        return self.scores[near[0]] if near else None

    def mean(self, number: float) -> float:
        """The mean score at a number that was tried."""
        return float(self.scores[self.numbers.index(number)].mean())

    def best(self) -> float:
        """The number of the best mean; of those that can be made OFF times smaller and larger, where there are any."""
        inner = [n for n in self.numbers if self.at(n / OFF) is not None and self.at(n * OFF) is not None]
        return min(inner or self.numbers, key=lambda n: self.sign * self.mean(n))

    def line(self, best: float | None = None) -> dict[str, Any]:
        """The best number, and the mean and the spread there, OFF times off."""
        best = self.best() if best is None else best
        there = self.at(best)
        found: dict[str, Any] = {"number": best, "mean": mean(there), "spread": spread(there)}
        for name, number in (("small", best / OFF), ("large", best * OFF)):
            found[name] = mean(self.at(number))
        sides = [value for value in (found["small"], found["large"]) if value is not None]
        found["off"] = max(sides, key=lambda value: self.sign * value) if sides else None
        return found


def mean(scores: np.ndarray | None) -> float | None:
    """Over the seeds."""
    return None if scores is None else float(np.mean(scores))


def spread(scores: np.ndarray | None) -> float | None:
    """The standard deviation between the seeds."""
    return None if scores is None else float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0


def regrets(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Runs]]:
    """Of each stream and method the regret, as a share of what there was to learn.

    0 is the best model of each phase, known when the phase begins; 1 is knowing nothing.
    """
    known = {(r["data"], r["shift"], r["seed"]): r for r in rows if r["method"] == HINDSIGHT}

    def score(row: Row) -> float:
        limit = known[row["data"], row["shift"], row["seed"]]
        return (row["loss"] - limit["loss"]) / (limit["ignorance"] - limit["loss"])

    return grouped([row for row in rows if row["method"] != HINDSIGHT], score)


def accuracies(rows: Sequence[Row], key: str = "end") -> dict[tuple[str, str], dict[str, Runs]]:
    """Of each sequence and method the share of right images, mean over the tasks."""
    return grouped(rows, lambda row: float(np.mean(row[key])), -1.0)


def grouped(
    rows: Sequence[Row], score: Callable[[Row], float], sign: float = 1.0
) -> dict[tuple[str, str], dict[str, Runs]]:
    """The runs by (data, shift) and method."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault((row["data"], row["shift"]), {}).setdefault(row["method"], []).append(row)
    return {place: {name: Runs(mine, score, sign) for name, mine in by.items()} for place, by in found.items()}


def convex_lines(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A line for each stream and method."""
    lines = []
    for (data, shift), by in regrets(rows).items():
        for name, runs in by.items():
            given = methods.CONVEX[name].default
            lines.append({"stream": f"{data}, {shift}", "method": name, **runs.line(), "default": mean(runs.at(given))})
    return lines


def convex_board(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A line for each method: means over the streams; the best number of each stream, and one for all of them."""
    table = regrets(rows)
    lines = []
    for name in methods.CONVEX:
        each = [by[name] for by in table.values()]
        own = [runs.line() for runs in each]
        line: dict[str, Any] = {"method": name, "chosen": methods.CONVEX[name].number}
        for key in ("mean", "small", "large", "off"):
            line[key] = float(np.mean([part[key] for part in own])) if all(p[key] is not None for p in own) else None
        chosen = [runs.scores[runs.numbers.index(part["number"])] for runs, part in zip(each, own, strict=True)]
        line["spread"] = spread(np.mean(chosen, axis=0))
        common = min(each[0].numbers, key=lambda n: float(np.mean([runs.mean(n) for runs in each])))
        line["common"], line["common_number"] = float(np.mean([runs.mean(common) for runs in each])), common
        given = [part for part in (mean(runs.at(methods.CONVEX[name].default)) for runs in each) if part is not None]
        line["default"] = float(np.mean(given)) if len(given) == len(each) else None
        lines.append(line)
    return sorted(lines, key=lambda line: line["mean"])


def nets_lines(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A line for each sequence and method, the best first."""
    lines = []
    online = accuracies(rows, "online")
    for place, by in accuracies(rows).items():
        anew = {name: online[place][name] for name in methods.TOLD}
        fresh = max(runs.mean(runs.best()) for runs in anew.values())
        part = []
        for name, runs in by.items():
            line: dict[str, Any] = {"sequence": place[1], "method": name, **runs.line()}
            mine = [r for r in rows if (r["data"], r["shift"]) == place and r["method"] == name]
            tasks = np.array([r["end"] for r in mine if r["number"] == line["number"]])
            quarter = max(tasks.shape[1] // 4, 1)
            line["first"], line["last"] = float(tasks[:, :quarter].mean()), float(tasks[:, -quarter:].mean())
            line["online"] = mean(online[place][name].at(line["number"]))
            line["transfer"] = line["online"] - fresh
            line["default"] = mean(runs.at(methods.NETS[name].default))
            line["tasks"] = tasks.mean(axis=0).tolist()
            part.append(line)
        lines += sorted(part, key=lambda line: -line["mean"])
    return lines
