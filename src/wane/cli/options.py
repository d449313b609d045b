"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from wane.cli.completion import method_names

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
