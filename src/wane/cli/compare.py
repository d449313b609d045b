"""``wane compare``: every method on a table of the user's."""

from __future__ import annotations

import json as plain_json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from wane.cli.options import File, Id, InFormat, Json, Methods, NoId, NoTime, Score, Share, Time, Workers, Y, YHat
from wane.cli.progress import shown
from wane.cli.suggestion import suggested
from wane.cli.tables import finite, teller

LEAST = ("infinite", "off target", "ns")  # what a narrow terminal does not show
CHARTED = 5  # methods in a report: more lines than that are hard to tell apart


def compare(
    file: File,
    y: Y = None,
    yhat: YHat = None,
    id: Id = None,
    time: Time = None,
    no_id: NoId = False,
    no_time: NoTime = False,
    methods: Methods = "all",
    alpha: Share = 0.1,
    score: Annotated[Score | None, typer.Option(help="absolute or normalised.")] = None,
    series: Annotated[int, typer.Option(min=1, help="Of more series, so many are judged.")] = 50,
    workers: Workers = None,
    report: Annotated[Path | None, typer.Option(help="An HTML report about the best of them, side by side.")] = None,
    format: InFormat = None,
    json: Json = False,
) -> None:
    """Every method on your own table: a leaderboard, and which to take and why."""
    from wane import tables, trackers
    from wane.cli.console import console, table
    from wane.experiments import compare as comparing
    from wane.tables.paths import FILE, STANDARD, refuse_same, refuse_unwritable

    page = None if report is None else str(report)
    if page is not None and (file == STANDARD or (os.path.exists(file) and not os.path.isfile(file))):  # a pipe
        raise typer.BadParameter("a report reads the table again for each method: give a file", param_hint="--report")
    refuse_same({FILE: file, "--report": page})
    refuse_unwritable({"--report": page})
    told = teller(json)
    left_out = unfit(alpha) if methods == "all" else {}
    given = trackers.names() if methods == "all" else methods.split(",")
    names = [name for name in dict.fromkeys(map(str.strip, given)) if name and name not in left_out]
    for name, why in left_out.items():
        told(f"{name} is left out: {why}")
    options = tables.Options(y, tuple(yhat or ()), id, time, no_id, no_time, score=score and score.value)
    kind = f".{format.value}" if format else None
    with shown(quiet=json) as started:
        found = tables.series(file, options, kind, told)
        results = comparing.judged([s.scores for s in found.series], names, alpha, series, workers, started)
        words = suggested(file, options, alpha, format and format.value, found, results)
        results = {**results, "left_out": left_out, "command": words}
        if report is not None:
            side_by_side(report, file, replace(options, alpha=(alpha,)), kind, found, results, started)
            results["report"] = page
    if json:
        typer.echo(plain_json.dumps(finite(results), indent=2))
        return
    screen = console()
    lines = results["leaderboard"]
    many = f"{results['series']} of {results['series_in_all']} series" if results["series_in_all"] > 1 else "one series"
    title = f"{len(lines)} methods on {many}, {results['rounds']:,} rounds, alpha {alpha:g}"
    heads = list(comparing.COLUMNS)
    screen.print(table(title, heads, comparing.cells(lines), comparing.CAPTION, LEAST, screen.width))
    screen.print(results["recommendation"], soft_wrap=not sys.stdout.isatty())
    screen.print(results["command"], soft_wrap=True, markup=False)
    if results["too_short"]:
        screen.print(f"left out, too short to be judged: {results['too_short']} series", style="dim")
    if page is not None:
        screen.print(f"written: {page}", soft_wrap=True, markup=False)


def side_by_side(
    path: Path,
    file: str,
    options: Any,
    kind: str | None,
    found: Any,
    results: dict[str, Any],
    started: Callable[[str, int], Callable[[], Any]],
) -> None:
    """A report about the recommended method and the next best, each on the whole table with the settings it needs."""
    from wane import tables
    from wane.experiments.compare import needed
    from wane.report import write
    from wane.report.runs import tracks
    from wane.tables.files import kind_of

    kind = kind or kind_of(file)  # also of what is written for nothing: rows go to a file of their own kind untouched
    ranked = [line["method"] for line in results["leaderboard"]]
    names = sorted(ranked, key=lambda name: name != results["method"])[:CHARTED]
    scores = [s.scores for s in found.series]
    tick, shown = started("report", len(names)), []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            told = needed(name, scores, options.alpha[0])
            asked = replace(
                options, method=name, warm_up=told.pop("warm_up", 0), settings=told, sort=not found.ordered,
                prefix=found.prefix,
            )  # fmt: skip
            made = tables.play(file, str(Path(folder) / "out"), asked, kinds=(kind, kind), record=True)
            if made.interrupted:
                raise KeyboardInterrupt
            shown += tracks(made, file)
            tick()
    said = {"file": file, "score": made.score, "methods judged": ", ".join(ranked), "columns": made.columns.said()}
    said |= {"advice": results["recommendation"], "command": results["command"]}
    said["rounds"] = "all, also the first ones, which the leaderboard and the advice leave out"
    write(path, shown, said, f"Methods for {Path(file).name}: {results['method']} is recommended")


def unfit(alpha: float) -> dict[str, str]:
    """The methods that cannot be made for a level with nothing tuned, and why."""
    import numpy as np

    from wane import trackers
    from wane.checks import share
    from wane.experiments.leaderboard import settings

    share("alpha", alpha)
    found = {}
    for name in trackers.names():
        try:
            trackers.make(name, alpha, **settings(name, np.ones(1)))
        except ValueError as error:
            found[name] = str(error)
    return found
