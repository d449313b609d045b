"""``wane run``: intervals for a table of forecasts and true values."""

from __future__ import annotations

import enum
import functools
import json as plain_json
import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wane.cli.console import rows_shown
from wane.cli.main import Interrupted
from wane.cli.options import (
    Alpha,
    Arrived,
    Coverage,
    Cutoff,
    DateOrder,
    DecimalMark,
    Delay,
    File,
    Forecast,
    Format,
    Id,
    InFormat,
    Json,
    NoId,
    NoTime,
    Proba,
    Score,
    Time,
    Y,
    YHat,
    assigned,
    column_words,
    levels,
    method_of,
    speaking,
)


class Duplicates(str, enum.Enum):
    """What to do about rows of a series with the same time."""

    error = "error"
    keep = "keep"


@speaking
def run(
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
    coverage: Coverage = None,
    alpha: Alpha = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Name of a method; wane methods lists them. Default: auto for one series, pool for more.",
            autocompletion=method_of,
        ),
    ] = None,
    score: Annotated[
        Score | None, typer.Option(help="How to measure an error. Default: absolute; raps for a classifier.")
    ] = None,
    delay: Delay = None,
    arrived: Arrived = None,
    warm_up: Annotated[
        int | None, typer.Option(min=0, help="Each series gets intervals only after so many true values.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting of the method (wane methods NAME explains them), or lower_limit or upper_limit of the "
            "intervals. A list is quoted: 'gammas=[0.1,0.2]'.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Cover every group of these columns as asked, such as weekday,region,price:4 (four sizes of price). "
            "Groups may overlap. weekday, hour and month come from the times if there is no such column.",
            metavar="COLUMNS",
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="File to continue from, if it exists; it is replaced at the end.")
    ] = None,
    out: Annotated[str, typer.Option(help="Table to write, or - for standard output.")] = "-",
    report: Annotated[Path | None, typer.Option(help="Also write an HTML page about the run to this file.")] = None,
    prefix: Annotated[str, typer.Option(help="What the names of the new columns begin with.")] = "",
    duplicates: Annotated[
        Duplicates, typer.Option(help="What to do about two rows of a series with the same time.")
    ] = Duplicates.error,
    sort: Annotated[
        bool, typer.Option("--sort", help="The rows are not in order: read the whole table, and play it by time.")
    ] = False,
    skip: Annotated[int, typer.Option(min=0, help="Pass over the first rows, as after an interruption.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Learn the rows even if they are those that the state has learned last.")
    ] = False,
    dates: DateOrder = None,
    decimal: DecimalMark = None,
    format: InFormat = None,
    out_format: Annotated[
        Format | None, typer.Option(help="Format of the output. Default: by its name, or that of FILE.")
    ] = None,
    json: Json = False,
) -> None:
    """Give every row of a table an interval, learned from the rows before it.

    The output is your table with the new columns lower and upper. The table of a classifier gets sets of labels.
    """
    from wane import runs
    from wane.tables.files import STANDARD, unwritable

    if json and out == STANDARD:
        raise typer.BadParameter("--json prints on standard output: give a file", param_hint="--out")
    options = runs.Options(
        y, tuple(yhat or ()), id, time, no_id, no_time, cutoff, method, levels(alpha, coverage), score and score.value,
        delay, warm_up, assigned("--set", set or (), run), duplicates.value, prefix, sort, skip, again,
        tuple(proba or ()), arrived, forecast, dates and dates.value, decimal and decimal.value,
        tuple(by or ()),
    )  # fmt: skip
    kinds = (f".{format.value}" if format else None, f".{out_format.value}" if out_format else None)
    page = None if report is None else str(report)
    written = [out, state]

    def reporting(made: Any) -> None:
        try:
            if write_report(Path(str(page)), made, file):
                written.append(page)
        except OSError as error:
            raise unwritable(str(page), error, "report") from None

    # Rows on the screen and a bar among them would be unreadable.
    on_screen = out == STANDARD and sys.stdout is not None and sys.stdout.isatty()
    with rows_shown(quiet=json or on_screen) as progress:
        made = runs.play(file, out, options, state, kinds, teller(json), progress, report=page, write_report=reporting)
    if json:
        typer.echo(plain_json.dumps(finite(made.plain()), indent=2))
    else:
        tell(made, file, out, written, options)
    if made.interrupted:
        raise Interrupted(cut_off(file, out, state, made.skipped, made.rows))


def cut_off(file: str, out: str, state: str | None, skip: int, rows: int) -> str:
    """What Ctrl-C has left, and how to go on.

    >>> cut_off("in.csv", "out.csv", "state", 10, 1024)
    'interrupted: out.csv and state have rows 11 to 1,034; for the others, run wane run in.csv --skip 1034 ...'
    """
    name = "standard output" if out == "-" else out
    kept = f"{name} has" if state is None else f"{name} and {state} have"
    these = f"rows {skip + 1:,} to {skip + rows:,}" if skip else f"the first {rows:,} rows"
    after = f"; for the others, run wane run {file} --skip {skip + rows} ..." if state is not None else ""
    return f"interrupted: {kept} {these}{after}"


def teller(quiet: bool) -> Any:
    """A function that prints sentences for the user on standard error, or nothing."""
    return (lambda text: None) if quiet else functools.partial(typer.echo, err=True)


def write_report(path: Path, made: Any, file: str) -> bool:
    """Write the rows of a run as a report; False if there is none to write."""
    from wane.report import write
    from wane.report.runs import tracks as tracks_of

    tracks = tracks_of(made, file)
    if not tracks:
        typer.echo("no row has an interval: there is nothing to report", err=True)
        return False
    design = made.panel.settings
    limits = dict(zip(("lower_limit", "upper_limit"), design.limits, strict=True))
    said = {"file": file, "score": made.score, "delay": made.delay, "warm_up": design.warm_up}
    said["set"] = {**design.hyperparameters, **{name: x for name, x in limits.items() if math.isfinite(x)}}
    said["set"]["on_unbounded"] = design.on_unbounded
    if made.resumed:
        said["went_on"] = "from a state: the rows before are not in this report"
    write(path, tracks, {**said, "columns": made.columns.said()}, f"Intervals for {Path(file).name}")
    return True


def next_command(verdict: Any, made: Any, file: str, out: str, options: Any) -> str:
    """What to run after a run whose coverage is bad."""
    from wane.panel.settings import default_method

    if verdict.cause in ("few labels", "cold start") and made.method != default_method(made.series):
        return shlex.join(["wane", "run", file, *column_words(options)])  # without --method
    if verdict.cause in ("few labels", "throughout") or out == "-":
        return shlex.join(["wane", "compare", file, *column_words(options)])
    return shlex.join(["wane", "report", out])


def tell(made: Any, file: str, out: str, written: list[str | None], options: Any) -> None:
    """Print what became of the rows; on standard error, if the table itself is on standard output."""
    from wane.metrics.groups import worst_group

    on_error = out == "-"
    speed = made.rows / made.seconds if made.seconds else 0.0
    for verdict in filter(None, made.bad):
        typer.echo(verdict.said(next_command(verdict, made, file, out, options)), err=on_error)
    sets = bool(made.columns.classes)
    without, what, size = ("a set", "labels", "size") if sets else ("an interval", "true values", "width")
    cold = f", {made.cold:,} without {without} (cold)" if made.cold else ""
    typer.echo(f"{made.rows:,} rows{cold}, {made.series:,} series, {speed:,.0f} rows a second", err=on_error)
    if made.rows and not made.learned:
        typer.echo(
            f"no true value was learned: each is known {made.delay:,} rows later (--delay), and no series has more "
            "rows",
            err=on_error,
        )
    elif not made.labels:
        typer.echo(f"no row has {without} and a true value: nothing can be judged", err=on_error)
    else:
        for level, coverage, width, n in zip(made.alpha, made.coverage, made.width, made.infinite, strict=True):
            typer.echo(
                f"{made.method}: {100 * coverage:.1f} % of {made.labels:,} {what} inside (target "
                f"{100 * (1 - level):g} %); mean {size} {width:.4g}"
                + (f" without {n:,} that are infinite" if n else ""),
                err=on_error,
            )
    for level in made.groups:
        worst = worst_group(level)
        if worst is not None:
            typer.echo(f"worst of {len(level):,} groups: {worst.said()}", err=on_error)
    if made.rows > 10 and made.series >= made.rows:
        typer.echo(
            f"Every row is a series of its own. If {made.columns.id!r} only numbers the rows, give --no-id.", err=True
        )
    files = [name for name in written if name is not None and name != "-"]
    if files:
        typer.echo(f"written: {', '.join(files)}", err=on_error)


def finite(data: Any) -> Any:
    """Plain data in which NaN is null, as JSON has it."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and data != data else data
