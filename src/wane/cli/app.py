"""The commands; each imports what it needs when it runs, so that help comes at once."""

from __future__ import annotations

import typer

from wane.cli import bench
from wane.cli.reproduce import reproduce

app = typer.Typer(
    name="wane",
    help="Online learning that forgets gracefully, and conformal prediction built on it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(reproduce)
app.add_typer(bench.app, name="bench")


@app.callback()
def common(debug: bool = typer.Option(False, "--debug", help="Show where an error comes from.")) -> None:
    """Online learning that forgets gracefully, and conformal prediction built on it."""
