"""The tables and the sentences about them, made of the numbers whatever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wane.experiments.lifelong.methods import OURS, TOLD

Line = Mapping[str, Any]
BOARD = {  # head: key
    "method": "method",
    "best": "mean",
    "10x too small": "small",
    "10x too large": "large",
    "one for all": "common",
    "default": "default",
}
STREAM = {
    "stream": "stream",
    "method": "method",
    "chosen": "number",
    "best": "mean",
    "10x too small": "small",
    "10x too large": "large",
    "default": "default",
}
TASKS = {
    "tasks": "sequence",
    "method": "method",
    "chosen": "number",
    "right at the end": "mean",
    "first quarter": "first",
    "last quarter": "last",
    "online": "online",
    "transfer": "transfer",
    "10x too small": "small",
    "10x too large": "large",
    "default": "default",
}
COST = {
    "optimiser": "method",
    "parameters": "parameters",
    "tensors": "tensors",
    "ms a step": "milliseconds",
    "of Adam": "ratio",
    "copies": "copies",
}
FORMS = {  # of what is not a share
    "number": ".3g",
    "parameters": ",",
    "tensors": ",",
    "milliseconds": ".2f",
    "ratio": ".2f",
    "copies": "g",
    "transfer": "+.3f",
}
LEAST = ("online", "first quarter", "default", "chosen")  # not shown where it is narrow


def cells(lines: Sequence[Line], columns: Mapping[str, str]) -> list[list[str]]:
    """The text of a table."""
    return [[cell(line, key) for key in columns.values()] for line in lines]


def cell(line: Line, key: str) -> str:
    """One number, with its spread if that is known."""
    value = line[key]
    if value is None or isinstance(value, str):
        return value or "-"
    spread = f" ± {line['spread']:.3f}" if key == "mean" else ""
    return format(value, FORMS.get(key, ".3f")) + spread


def ranking(lines: Sequence[Line], key: str, ascending: bool = True) -> list[Line]:
    """The lines that have that number, the best first; those that are told more than the others left out."""
    rivals = [line for line in lines if line["method"] not in TOLD and line[key] is not None]
    return sorted(rivals, key=lambda line: line[key] if ascending else -line[key])


def places(lines: Sequence[Line], key: str, ascending: bool = True) -> str:
    """Who is first, and where ours are."""
    ranked = ranking(lines, key, ascending)
    said = [f"{i}. {line['method']} ({line[key]:.3f})" for i, line in enumerate(ranked, start=1)]
    mine = [words for words, line in zip(said[1:], ranked[1:], strict=True) if line["method"] in OURS]
    return f"{', '.join([said[0], *mine])} of {len(ranked)}"


def convex_sentence(board: Sequence[Line]) -> str:
    """Best rates, wrong rates, and no choice at all: the winner, and the places of ours."""
    return (
        f"Regret, mean over the streams. With the best number on each stream: {places(board, 'mean')}. "
        f"With that number ten times off, to the worse side: {places(board, 'off')}. "
        f"With defaults: {places(board, 'default')}."
    )


def nets_sentence(lines: Sequence[Line], sequence: str) -> str:
    """Accuracy, wrong rates, defaults, plasticity: the winner, and the places of ours."""
    mine = [line for line in lines if line["sequence"] == sequence]
    told = max((line for line in mine if line["method"] in TOLD), key=lambda line: line["mean"])
    lost = [{**line, "loss": line["first"] - line["last"]} for line in mine]
    return (
        f"{sequence.capitalize()} tasks, right at the end of a task. "
        f"With the best number: {places(mine, 'mean', False)}; "
        f"a network that is told of each task and begins anew has {told['mean']:.3f}. "
        f"With that number ten times off, to the worse side: {places(mine, 'off', False)}. "
        f"With defaults: {places(mine, 'default', False)}. "
        f"Lost from the first quarter of the tasks to the last: {places(lost, 'loss')}."
    )


def cost_sentence(lines: Sequence[Line]) -> str:
    """Time and memory against Adam."""
    parts = [
        f"{line['method']} takes {line['ratio']:.2f} times as long as Adam with {line['parameters']:,} parameters in "
        f"{line['tensors']} tensors"
        for line in lines
        if line["method"] != "Adam"
    ]
    copies = ", ".join(f"{name} {count:g}" for name, count in {x["method"]: x["copies"] for x in lines}.items())
    return f"{'; '.join(parts)}. Copies of the parameters that are kept: {copies}."
