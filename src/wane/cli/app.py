"""The commands; each imports what it needs when it runs, so that help comes at once."""

from __future__ import annotations

import typer

from wane.cli import about, bench
from wane.cli.check import check
from wane.cli.compare import compare
from wane.cli.report import report
from wane.cli.reproduce import reproduce
from wane.cli.run import run
from wane.cli.serve import serve
from wane.cli.serve_lines import serve_lines
from wane.cli.stream import stream

app = typer.Typer(
    name="wane",
    help="Prediction intervals that stay right when the world changes, for the forecasts in your table.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


for command in (run, compare, report, check, about.methods, reproduce, stream, serve, serve_lines):
    app.command()(command)
app.add_typer(bench.app, name="bench")
app.command()(about.version)


def version(wanted: bool) -> None:
    """Print the version, and nothing else."""
    if wanted:
        from wane.version import __version__

        typer.echo(__version__)
        raise typer.Exit()


@app.callback()
def common(
    debug: bool = typer.Option(False, "--debug", help="Show where an error comes from."),
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=version, is_eager=True),
) -> None:
    """Prediction intervals that stay right when the world changes, for the forecasts in your table."""
