"""Options that several commands have."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from wane.cli.completion import method_names

TABLE = "A table: .csv, .tsv, .jsonl, .parquet; - is standard input."


class Score(str, enum.Enum):
    """How wrong a forecast was."""

    absolute = "absolute"
    signed = "signed"
    normalised = "normalised"
    cqr = "cqr"


class Format(str, enum.Enum):
    """The kinds of table."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


File = Annotated[str, typer.Argument(help=TABLE, metavar="FILE")]
Y = Annotated[str | None, typer.Option("--y", help="The column of outcomes; empty cells never come.")]
YHat = Annotated[
    list[str] | None,
    typer.Option("--yhat", help="The column of forecasts; twice for normalised (forecast, scale), cqr (quantiles)."),
]
Id = Annotated[str | None, typer.Option("--id", help="The column that says which series a row belongs to.")]
Time = Annotated[str | None, typer.Option("--time", help="The column of times, in order within each series.")]
NoId = Annotated[bool, typer.Option("--no-id", help="All rows are one series.")]
NoTime = Annotated[bool, typer.Option("--no-time", help="The rows are in order as they are.")]
InFormat = Annotated[Format | None, typer.Option("--format", help="Of FILE, where its name does not say it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Methods = Annotated[
    str,
    typer.Option(help="all, or names with commas between, such as auto,magl,dtaci.", autocompletion=method_names),
]
Share = Annotated[float, typer.Option(min=0.0, max=0.5, help="The share of rounds that may be missed.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores.")]


def assigned(option: str, words: Iterable[str], elsewhere: Mapping[str, str]) -> dict[str, Any]:
    """NAME=VALUE as a dict: what is not JSON is text.

    Args:
        option: which gave the words.
        words: each NAME=VALUE.
        elsewhere: names that are not set so, and how they are.

    >>> assigned("--set", ["epsilon=auto", "discount=0.99", "warm-up=3"], {})
    {'epsilon': 'auto', 'discount': 0.99, 'warm_up': 3}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{word!r} must be NAME=VALUE, as epsilon=0.5", param_hint=option)
        if name in elsewhere:
            raise typer.BadParameter(f"{name!r} is not set here, but by {elsewhere[name]}", param_hint=option)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
