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
    name: Annotated[str | None, typer.Argument(help="Explain this method.", autocompletion=method_of)] = None,
    json: Json = False,
) -> None:
    """List the methods: what each does, and when to take it. With NAME, explain one and its settings."""
    found = every()
    if name is not None and name not in found:
        from wane.panel.settings import POOL
        from wane.trackers.registry import refuse_unknown

        refuse_unknown([name], POOL)
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
    screen.print(Text.assemble((name, "bold"), f"  {one['line']} {one['when']}"))
    settings = one["settings"]
    screen.print(Text("\nSettings, given as --set NAME=VALUE:" if settings else "\nThere is nothing to set."))
    width = max(map(len, settings), default=0)
    for knob, default in settings.items():
        shown = "must be given" if default is None else f"default: {default}"
        about = one["meanings"].get(knob, "")
        screen.print(Text(f"  {knob:{width}}  {about}{' ' if about else ''}({shown})"))
    if any(str(default).startswith(("(", "[")) for default in settings.values()):
        screen.print(Text("\nA list is written as --set 'gammas=[0.1,0.2]'."))
    made = f"wane.trackers.make({name!r}, alpha=0.1)" if name != "pool" else "wane.Panel(alpha=0.1)"
    screen.print(Text(f"\nIn Python: {made}"), style="dim")


def listed(screen: Any, found: dict[str, Any]) -> None:
    """All methods in a table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    caption = "wane methods NAME explains a method and its settings; wane compare FILE tries them all on your table"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption)
    for head in ("method", "what it does", "when to take it"):
        table.add_column(head, no_wrap=head == "method")
    for name, one in found.items():
        table.add_row(Text(name, style="bold"), Text(one["line"]), Text(one["when"]))
    screen.print(table)


def every() -> dict[str, dict[str, Any]]:
    """What each method does, when to take it, and what can be set."""
    import inspect

    from wane.cli.method_words import METHODS as WORDS
    from wane.cli.method_words import SETTINGS
    from wane.panel.settings import POOL
    from wane.trackers.registry import METHODS

    found = {}
    for name in sorted([*METHODS, POOL]):
        knobs: dict[str, str | None] = {}
        if name != POOL:
            parameters = inspect.signature(METHODS[name]).parameters.values()
            knobs = {p.name: None if p.default is p.empty else repr(p.default) for p in parameters}
            knobs = {knob: default for knob, default in knobs.items() if knob not in COMMON}
        line, when = WORDS.get(name) or ((inspect.getdoc(METHODS[name]) or "").partition("\n")[0], "")
        meanings = {knob: SETTINGS[knob] for knob in knobs if knob in SETTINGS}
        found[name] = {"line": line, "when": when, "settings": knobs, "meanings": meanings}
    return found


def version(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show the versions of Python, NumPy and the extras.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the version of wane, and with --verbose those of what it runs on."""
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
