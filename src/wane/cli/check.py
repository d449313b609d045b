"""``wane check``: is a state or a journal whole, and what is in it?

Exit codes: 0, whole; 3, a crash cut the last record of a journal short, and nothing that was acknowledged would be
lost; 4, damaged; 1, there is no such file, or it cannot be read.
"""

from __future__ import annotations

import json as plain_json
from typing import Annotated, Any

import typer

from wane.cli.options import Json, speaking

CODES = {"whole": 0, "torn": 3, "damaged": 4}
WORDS = {"last_table": "rows of the last table", "unknown": "not known"}  # of what is said in other words than its name


@speaking
def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A state of wane run, a journal, or a file that wane.save wrote.", metavar="FILE", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """Say whether a state or a journal is whole, what is in it, and what would be lost. No file is changed.

    The exit code is 0 if it is whole, 3 if a crash cut the last record short (its call was not acknowledged), 4 if it
    is damaged, and 1 if it cannot be read.
    """
    from wane.errors import FileError
    from wane.runs.check import check as checked

    try:
        found = checked(file)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        cure = "ask for permission to read it, or give another file"
        raise FileError(f"{file} cannot be read ({error.strerror})", argument="path", cure=cure) from None
    if json:
        typer.echo(plain_json.dumps(found.plain(), indent=2))
    else:
        tell(found)
    raise typer.Exit(CODES[found.status])


def tell(found: Any) -> None:
    """Print what was found, a line for each fact."""
    typer.echo(f"{found.path}: {found.status}" + (f": {found.problem}" if found.problem else ""))
    if found.holds:
        facts = [fact(name, value) for name, value in found.holds.items() if name not in ("class", "journal")]
        what = ("journal of " if "journal" in found.holds else "") + found.holds["class"]
        typer.echo(", ".join([what, *(text for text in facts if text)]))
    if found.calls is not None:
        c = found.calls
        typer.echo(f"{c['all']:,} calls: {c['snapshot']:,} in the snapshot, {c['log']:,} in the log")
    typer.echo(found.lost)
    if found.in_use is not None:
        typer.echo(f"in use: {found.in_use}")
    if found.aside:
        typer.echo(f"{found.aside:,} bytes of records that crashes cut short are kept beside it")
    if found.leftovers:
        typer.echo(f"{len(found.leftovers):,} temporary files of killed processes are beside it")


def fact(name: str, value: Any) -> str:
    """A fact in words; empty if there is nothing to say.

    >>> fact("alpha", [0.1, 0.2]), fact("labels", 1200), fact("last_table", None)
    ('alpha 0.1 and 0.2', '1,200 labels', '')
    """
    if value is None:
        return ""
    words = WORDS.get(name, name)
    if isinstance(value, list):
        return f"{words} {' and '.join(f'{x:g}' for x in value)}"
    if isinstance(value, int) and name != "delay":
        return f"{value:,} {words}"
    return f"{words} {value}" if name not in ("unknown", "columns") else str(value)
