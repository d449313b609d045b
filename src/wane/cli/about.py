"""``wane methods`` and ``wane version``."""

from __future__ import annotations

import json as plain_json
import re
from typing import Annotated, Any

import typer

from wane.cli.options import Json, method_of
from wane.errors import installing

COMMON = ("alpha", "domain", "on_missing")  # every method has these


def methods(
    name: Annotated[str | None, typer.Argument(help="One method, in full.", autocompletion=method_of)] = None,
    json: Json = False,
) -> None:
    """The methods by name: a line each with what can be set, or all about one."""
    found = every()
    if name is not None and name not in found:
        from wane.trackers.registry import refuse_unknown

        refuse_unknown([name])
    if json:
        typer.echo(plain_json.dumps(found if name is None else found[name], indent=2))
        return
    from wane.cli.console import console

    screen = console()
    if name is None:
        listed(screen, found)
        return
    from rich.text import Text

    one = found[name]
    screen.print(Text.assemble((name, "bold"), f"  {one['line']}"))
    if one["about"]:
        screen.print(Text(f"\n{one['about']}"))
    screen.print(Text("\nWhat can be set, with --set NAME=VALUE:" if one["settings"] else "\nIt has nothing to set."))
    for knob, default in one["settings"].items():
        screen.print(Text(f"  {knob}" + (f" = {default}" if default is not None else "  (must be given)")))
    made = f"wane.trackers.make({name!r}, alpha=0.1)" if name != "pool" else "wane.Panel(alpha=0.1)"
    screen.print(Text(f"\nin Python: {made}"), style="dim")


def listed(screen: Any, found: dict[str, Any]) -> None:
    """All methods in a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, caption="wane methods NAME says more; wane compare tries them all"
    )
    for head in ("method", "what it does", "what can be set"):
        table.add_column(head, no_wrap=head == "method")
    for name, one in found.items():
        knobs = [k if v is not None else f"{k} (needed)" for k, v in one["settings"].items()]
        table.add_row(Text(name, style="bold"), Text(one["line"]), Text(", ".join(knobs), style="dim"))
    screen.print(table)


def every() -> dict[str, dict[str, Any]]:
    """What each method says of itself."""
    import inspect

    from wane import trackers
    from wane.panel import pool
    from wane.panel.settings import POOL
    from wane.trackers.registry import METHODS

    found = {}
    for name in trackers.names():
        line, _, about = plain(inspect.getdoc(METHODS[name]) or "").partition("\n")
        parameters = inspect.signature(METHODS[name]).parameters.values()
        knobs = {p.name: None if p.default is p.empty else repr(p.default) for p in parameters if p.name not in COMMON}
        found[name] = {"line": line.strip(), "about": about.strip(), "settings": knobs}
    line = "Many series that learn from each other; the default for tables with more than one series."
    about = plain(pool.__doc__ or "").partition("\n\n")[2].partition("\n\nScores are measured")[0]
    found[POOL] = {"line": line, "about": about, "settings": {}}
    return dict(sorted(found.items()))


def plain(text: str) -> str:
    """A docstring without its marks.

    >>> plain("a ``b`` and :math:`c_t`")
    'a b and c_t'
    """
    return re.sub(r":\w+:`([^`]*)`", r"\1", text).replace("``", "")


def version(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="What runs beneath it, and which extras.")] = False,
    json: Json = False,
) -> None:
    """The version; with --verbose those of what runs beneath it."""
    from wane.version import __version__

    found: dict[str, Any] = {"wane": __version__}
    if verbose:
        from wane.experiments.results import versions

        found = versions() | {"extras": extras()}
    if json:
        typer.echo(plain_json.dumps(found, indent=2))
        return
    if not verbose:
        typer.echo(__version__)
        return
    for key, value in found.items():
        if key == "compiled":
            value = "yes" if value else "no: the same results, 10-50 times slower"
        if key != "extras":
            typer.echo(f"{key:10} {value}")
    for extra, parts in found["extras"].items():
        said = ", ".join(f"{name} {there or 'missing'}" for name, there in parts.items())
        ready = all(parts.values())
        typer.echo(f"{extra:10} {said}" + ("" if ready else f"; {installing(extra)}"))


def extras() -> dict[str, dict[str, str | None]]:
    """The packages of each extra with the versions that are installed, None where one is not."""
    from importlib import metadata

    try:
        required = metadata.requires("wane") or []
    except metadata.PackageNotFoundError:  # run from the files alone
        return {}
    found: dict[str, dict[str, str | None]] = {}
    for text in required:
        match = re.match(r"([\w.-]+)[^;]*;.*extra\s*==\s*['\"](\w+)['\"]", text)
        if match and match[1] != "wane" and match[2] not in ("all", "dev", "docs"):
            try:
                there: str | None = metadata.version(match[1])
            except metadata.PackageNotFoundError:
                there = None
            found.setdefault(match[2], {})[match[1]] = there
    return found
