"""``wane compare``: every method on a table of the user's."""

from __future__ import annotations

import dataclasses
import json as plain_json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from wane.cli.console import parts_shown
from wane.cli.options import (
    Arrived,
    Cutoff,
    DateOrder,
    DecimalMark,
    Delay,
    File,
    Forecast,
    Id,
    InFormat,
    Json,
    Methods,
    NoId,
    NoTime,
    OneAlpha,
    OneCoverage,
    Proba,
    Score,
    Time,
    Y,
    YHat,
    column_words,
    levels,
    speaking,
)
from wane.cli.run import finite, teller

LEAST = ("infinite", "off target", "ns")  # what a narrow terminal does not show
CHARTED = 5  # methods in a report: more lines than that are hard to tell apart


@speaking
def compare(
    file: File,
    y: Y = None,
    yhat: YHat = None,
    id: Id = None,
    time: Time = None,
    no_id: NoId = False,
    no_time: NoTime = False,
    cutoff: Cutoff = None,
    proba: Proba = None,
    forecast: Forecast = None,
    methods: Methods = "all",
    coverage: OneCoverage = None,
    alpha: OneAlpha = None,
    score: Annotated[
        Score | None,
        typer.Option(help="How to measure an error: absolute or normalised; lac, aps or raps for a classifier."),
    ] = None,
    delay: Delay = None,
    arrived: Arrived = None,
    series: Annotated[
        int | None, typer.Option(min=1, help="How many series to judge. Default: up to 300, and 30,000 rows.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write an HTML page about the best ones, side by side.")
    ] = None,
    dates: DateOrder = None,
    decimal: DecimalMark = None,
    format: InFormat = None,
    json: Json = False,
) -> None:
    """Try every method on your own table, and say which one to take and why."""
    from wane import runs, trackers
    from wane.cli.console import console, table
    from wane.experiments import compare as comparing
    from wane.experiments import compare_panel, compare_sets
    from wane.experiments.compare_late import Lateness
    from wane.panel.settings import POOL
    from wane.tables.files import STANDARD, refuse_same, refuse_unwritable
    from wane.trackers.registry import refuse_unknown

    # What cannot work is refused before anything is read.
    level = (levels(alpha, coverage) or (0.1,))[0]
    page = None if report is None else str(report)
    if page is not None and (file == STANDARD or (os.path.exists(file) and not os.path.isfile(file))):  # a pipe
        raise typer.BadParameter("a report reads the table again for each method: give a file", param_hint="--report")
    refuse_same({"path": file, "report": page})
    refuse_unwritable({"report": page})
    # Without --methods, leave out those that cannot be made for this alpha, and say so.
    told = teller(json)
    left_out = unfit(level) if methods == "all" else {}
    given = [POOL, *trackers.names()] if methods == "all" else methods.split(",")
    names = [name for name in dict.fromkeys(map(str.strip, given)) if name and name not in left_out]
    refuse_unknown(names, POOL)
    for name, why in left_out.items():
        told(f"{name} is left out: {why}")
    options = runs.Options(
        y, tuple(yhat or ()), id, time, no_id, no_time, cutoff, score=score and score.value, proba=tuple(proba or ()),
        delay=delay, arrived=arrived, forecast=forecast, dates=dates and dates.value, decimal=decimal and decimal.value,
    )  # fmt: skip
    kind = f".{format.value}" if format else None
    with parts_shown(quiet=json) as started:
        found = runs.series(file, options, kind, told)
        if found.columns.classes or (len(found.series) == 1 and found.columns.cutoff is None):
            names = [name for name in names if name != POOL] or [comparing.FAMILIAR]
        if found.columns.classes:
            come = found.lateness(delay or 0)
            late = [None if come is None else Lateness(*come).take(s.rows) for s in found.series]
            labelled = [compare_sets.Labelled(*found.labelled(k), one) for k, one in enumerate(late)]
            results = compare_sets.judged(labelled, found.scorer, names, level, series, started)
        else:
            results = compare_panel.judged(panel_rows(found, options), names, level, series, started)
        words = suggested(file, options, level, format and format.value, found, results)
        results = {**results, "left_out": left_out, "command": words}
        if report is not None:
            side_by_side(report, file, replace(options, alpha=(level,)), kind, found, results, started)
            results["report"] = page
    # Print the leaderboard, the recommendation and the command that follows it.
    bad = results.pop("bad")
    if json:
        results["bad"] = None if bad is None else dataclasses.asdict(bad)
        typer.echo(plain_json.dumps(finite(results), indent=2))
        return
    if bad is not None:
        typer.echo(f"{results['method']}: {bad.said(results['command'] + ' --report report.html')}")
    screen = console()
    lines = results["leaderboard"]
    many = f"{results['series']} of {results['series_in_all']} series" if results["series_in_all"] > 1 else "one series"
    title = f"{len(lines)} methods on {many}, {results['rounds']:,} rounds, target {100 * (1 - level):.4g} %"
    shape = compare_sets if found.columns.classes else compare_panel
    screen.print(
        table(title, list(shape.COLUMNS), comparing.cells(lines, shape.COLUMNS), shape.CAPTION, LEAST, screen.width)
    )
    screen.print(results["recommendation"], soft_wrap=not sys.stdout.isatty())
    screen.print(results["command"], soft_wrap=True, markup=False)
    if results["too_short"]:
        screen.print(f"{results['too_short']} series are too short to be judged, and were left out", style="dim")
    if page is not None:
        screen.print(f"written: {page}", soft_wrap=True, markup=False)


def panel_rows(found: Any, options: Any) -> Any:
    """The rows of a table as a panel."""
    from wane.experiments.compare_panel import PanelRows
    from wane.tables.chunks import grouped

    rows = found.rows
    columns = grouped(rows.ids)[1], rows.times, rows.cutoffs, rows.outputs, rows.y, found.scores
    return PanelRows(*columns, options.score or "absolute", options.delay or 0, rows.arrived)


def suggested(file: str, options: Any, alpha: float, kind: str | None, table: Any, results: dict[str, Any]) -> str:
    """The ``wane run`` command that does what is recommended; it can be copied into a shell as it is.

    Args:
        file: the table.
        options: the columns and the score, as they were given.
        alpha: the level.
        kind: what --format said.
        table: as ``wane.runs.series`` gave it.
        results: of the comparison: the method, and the settings it needs.

    >>> from wane.runs import Options, ScoredTable
    >>> from wane.tables import Columns
    >>> table = ScoredTable(Columns("y", ("yhat",), "shop"), [], True, ["shop", "y", "yhat"])
    >>> chosen = {"method": "sf-ogd", "settings": {"max_score": 3.2, "warm_up": 20}}
    >>> suggested("my sales.csv", Options(id="shop"), 0.1, None, table, chosen)
    "wane run 'my sales.csv' --id shop --method sf-ogd --warm-up 20 --set max_score=3.2 --out 'my sales_intervals.csv'"
    """
    words = ["wane", "run", file, *column_words(options)]
    words += ["--format", kind] if kind is not None else []
    words += [] if table.ordered or table.columns.cutoff is not None else ["--sort"]
    words += ["--prefix", table.prefix] if table.prefix else []
    words += ["--alpha", f"{alpha!r}"] if alpha != 0.1 else []
    words += ["--method", results["method"]]
    settings = dict(results["settings"])
    words += ["--warm-up", str(settings.pop("warm_up"))] if "warm_up" in settings else []
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    if file != "-":
        path = Path(file)
        stem, dot, ends = path.name.partition(".") if path.suffix == ".gz" else (path.stem, "", path.suffix)
        ends = ".parquet" if path.is_dir() else ends
        words += ["--out", str(path.with_name(f"{stem}_{'sets' if table.columns.classes else 'intervals'}{dot}{ends}"))]
        words += ["--out-format", kind] if kind is not None else []
    return shlex.join(words)


def side_by_side(
    path: Path,
    file: str,
    options: Any,
    kind: str | None,
    found: Any,
    results: dict[str, Any],
    started: Callable[[str, int], Callable[[], Any]],
) -> None:
    """Write a report about the recommended method and the next best ones.

    Each plays the whole table, with the settings that it needs.
    """
    from wane import runs
    from wane.experiments import compare_panel, compare_sets
    from wane.experiments.compare import needed
    from wane.panel.settings import POOL
    from wane.report import write
    from wane.report.runs import judged_rounds, tracks
    from wane.tables.files import kind_of

    kind = kind or kind_of(file)  # also of the output, which nobody reads: rows of the same kind are copied untouched
    ranked = [line["method"] for line in results["leaderboard"]]
    names = sorted(ranked, key=lambda name: name != results["method"])[:CHARTED]
    scores = [] if found.columns.classes else [s.scores for s in found.series]
    tick, played = started("report", len(names)), []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            told = {} if name == POOL else needed(name, scores, options.alpha[0], warm=found.columns.arrived is None)
            asked = replace(
                options, method=name, warm_up=told.pop("warm_up", 0), settings=told, sort=not found.ordered,
                prefix=found.prefix,
            )  # fmt: skip
            made = runs.play(file, str(Path(folder) / "out"), asked, kinds=(kind, kind), record=True)
            if made.interrupted:
                raise KeyboardInterrupt
            played += judged_rounds(tracks(made, file), {str(s.id): len(s.scores) for s in found.series})
            tick()
    said = {"file": file, "score": made.score, "methods judged": ", ".join(ranked), "columns": made.columns.said()}
    said |= {"advice": results["recommendation"], "command": results["command"]}
    said["rounds"] = "those that the leaderboard judges: the beginning of each long series is left out"
    shape = compare_sets if found.columns.classes else compare_panel
    advice = {name: results[name] for name in ("method", "recommendation", "command", "reason")}
    advice |= {"lines": results["leaderboard"], "columns": shape.COLUMNS, "caption": shape.CAPTION}
    write(path, played, said, f"Methods for {Path(file).name}", advice=advice)


def unfit(alpha: float) -> dict[str, str]:
    """The methods that cannot be made for this alpha with nothing tuned, and why."""
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
