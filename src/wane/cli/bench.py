"""``wane bench``: leaderboards."""

from __future__ import annotations

import enum
import json as plain_json
from pathlib import Path
from typing import Annotated

import typer

from wane.cli.console import owned_folder, resumable
from wane.cli.options import Methods, Share, Workers, speaking

LEAST = ("infinite", "rank LCE", "worst LCE", "Winkler", "worst", "rank", "ns")  # not shown where it is narrow


class Family(str, enum.Enum):
    """What ``wane bench lifelong`` plays."""

    streams = "streams"
    images = "images"
    control = "control"


app = typer.Typer(help="Compare every method on the same data, with nothing tuned.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Compare every method on the same data, with nothing tuned."""


@app.command()
@speaking
def streams(
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and what was computed so far.")],
    streams: Annotated[
        str,
        typer.Option(
            help="Which data to play: bundled (real series that come with packages), or a file or folder of your own."
        ),
    ] = "bundled",
    methods: Methods = "all",
    alpha: Share = 0.1,
    workers: Workers = None,
    json: Annotated[bool, typer.Option("--json", help="Print leaderboard.json and nothing else.")] = False,
) -> None:
    """Compare every method on every stream. If it is interrupted, the same command continues where it was."""
    from wane import trackers
    from wane.cli.console import console, table
    from wane.experiments import bench

    names = trackers.names() if methods == "all" else [name.strip() for name in methods.split(",") if name.strip()]
    with resumable(quiet=json) as started:
        entries = bench.bundled() if streams == "bundled" else bench.folder(Path(streams))
        with owned_folder(out):
            results = bench.run(entries, names, alpha, out, workers, started)
    if json:
        typer.echo(plain_json.dumps(results, indent=2))
        return
    screen = console()
    title = f"{len(names)} methods on {len(results['streams'])} streams, alpha {alpha:g}: means over the streams"
    lines = bench.cells(results["leaderboard"])
    screen.print(table(title, list(bench.COLUMNS), lines, bench.CAPTION, LEAST, screen.width))
    screen.print(results["sentence"])
    if results["too_short"]:
        screen.print(f"left out because they are too short to be judged: {', '.join(results['too_short'])}")
    screen.print(f"written to {out}: {', '.join(results['files'])}", style="dim")


@app.command()
@speaking
def lifelong(
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and what was computed so far.")],
    family: Annotated[
        Family,
        typer.Option(
            help="streams: examples one by one and tasks of small images. images: MNIST, permuted or class by class. "
            "control: CartPole and Acrobot whose observations shift."
        ),
    ] = Family.streams,
    seeds: Annotated[int, typer.Option(min=1, help="How many times to play everything.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Play for seconds only, to see whether it runs; the numbers mean nothing.")
    ] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Play images or control with the default of each optimiser only.")
    ] = False,
    workers: Workers = None,
    json: Annotated[bool, typer.Option("--json", help="Print results.json and nothing else.")] = False,
) -> None:
    """Compare optimisers while the data change, at every learning rate of a grid.

    If it is interrupted, the same command continues where it was.
    """
    from wane.cli.console import console, table
    from wane.experiments.lifelong import jobs, tables
    from wane.experiments.lifelong.run import run

    if family is not Family.streams:
        played(family.value, seeds, quick, defaults, out, workers, json)
        return
    with resumable(quiet=json) as started:
        with owned_folder(out):
            results = run(jobs.quick(seeds) if quick else jobs.full(seeds), out, workers, started)
    if json:
        typer.echo(plain_json.dumps(results, indent=2))
        return
    screen = console()
    said = results["sentences"]
    for title, columns, key, words in (
        ("streams of examples: regret / what there was to learn", tables.BOARD, "convex", [said["convex"]]),
        ("one image task after another", tables.TASKS, "tasks", [said["permuted"], said["shuffled"]]),
        ("a step", tables.COST, "cost", [said["cost"]]),
    ):
        cells = tables.cells(results[key], columns)
        screen.print(table(title, list(columns), cells, None, tables.LEAST, screen.width))
        for sentence in words:
            screen.print(sentence)
    screen.print(f"written to {out}: {', '.join(results['files'])}", style="dim")


def played(family: str, seeds: int, quick: bool, defaults: bool, out: Path, workers: int | None, json: bool) -> None:
    """Play a family of ``wane bench lifelong`` beside the streams, and print its table."""
    from wane.cli.console import console, table
    from wane.experiments.lifelong import families

    with resumable(quiet=json) as started:
        with owned_folder(out):
            results = families.run(family, seeds, quick, out, workers, started, defaults)
    if json:
        typer.echo(plain_json.dumps(results, indent=2))
        return
    screen = console()
    title, lines = f"{family}: {results['about']}", families.cells(family, results["lines"])
    screen.print(table(title, list(families.COLUMNS), lines, None, ("seeds", "chosen"), screen.width))
    if results["not_installed"]:
        screen.print(f"Left out, because they are not installed: {', '.join(results['not_installed'])}.")
    screen.print(f"written to {out}: {', '.join(results['files'])}", style="dim")
