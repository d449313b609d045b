"""What an experiment leaves behind: results.json, CSV files and figures, each written as a whole or not at all."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import wane
from wane.errors import InputError
from wane.state.files import replace_file


@dataclasses.dataclass(frozen=True)
class Finding:
    """One figure with its sentence.

    Args:
        name: of the files.
        sentence: what the figure shows, with the numbers that say so.
        numbers: for results.json.
        data: the columns of the CSV file, of equal length.
        draw: fills a matplotlib figure.
        size: of the figure, in inches.
    """

    name: str
    sentence: str
    numbers: Mapping[str, Any]
    data: Mapping[str, Any]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (6.0, 3.6)


def versions() -> dict[str, Any]:
    """What ran: versions, and whether the algorithms were compiled."""
    return {
        "wane": wane.__version__,
        "compiled": wane.compiled(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def write_json(path: Path, data: Any) -> None:
    """Plain data as JSON, NaN and infinity refused."""
    text = json.dumps(plain(data), indent=2, allow_nan=False, ensure_ascii=False)
    replace_file(path, (text + "\n").encode(), sync=False)


def read_json(path: Path) -> Any:
    """What is there; an empty dictionary when there is nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error})", cure="move it away, or choose another folder") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} does not hold results", cure="move it away, or choose another folder")
    return found


def write_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Columns of equal length, with a header."""
    values = [np.asarray(v).tolist() for v in columns.values()]
    if len({len(v) for v in values}) > 1:
        raise InputError(f"columns of {path.name} have lengths {dict(zip(columns, map(len, values), strict=True))}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*values, strict=True))
    replace_file(path, text.getvalue().encode(), sync=False)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown.

    >>> print(markdown(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return "".join(f"| {' | '.join(row)} |\n" for row in [heads, ["---"] * len(heads), *rows])


def plain(value: Any) -> Any:
    """Numpy's numbers and arrays as Python's."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def flat(parameters: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The parameters of a tracker and of what is inside it, by dotted names."""
    found: dict[str, Any] = {}
    for key, value in parameters.items():
        if isinstance(value, dict) and "state" in value:
            found |= flat(value["state"]["parameters"], f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found
