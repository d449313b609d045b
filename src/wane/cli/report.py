"""``wane report``: a page about results."""

from __future__ import annotations

import json as plain_json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from wane.cli.options import ID_HELP, Y_HELP, Cutoff, Json, speaking
from wane.cli.run import teller


@speaking
def report(
    results: Annotated[
        Path,
        typer.Argument(
            help="The table that wane run or conformalize wrote: .csv, .parquet or .jsonl.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the page. Default: RESULTS, with .html at its end.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the page. Default: the name of the series, or of the file.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="The share that may lie outside, if the columns do not say it. Default: 0.1."
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="Name of the method that made the intervals, if no column says it.")] = "",
    prefix: Annotated[str, typer.Option(help="What the names of the new columns begin with, as for wane run.")] = "",
    window: Annotated[
        int | None, typer.Option(min=1, help="How many rounds to judge together. Default: 100, if there are enough.")
    ] = None,
    y: Annotated[str | None, typer.Option(help=Y_HELP)] = None,
    yhat: Annotated[str | None, typer.Option(help="Column with the forecasts.")] = None,
    id: Annotated[str | None, typer.Option(help=ID_HELP)] = None,
    time: Annotated[str | None, typer.Option(help="Column with the times.")] = None,
    cutoff: Cutoff = None,
    json: Json = False,
) -> None:
    """Write a page about the results of wane run: one HTML file, which opens offline and can be sent to a colleague."""
    from wane.errors import InputError
    from wane.report import LabelTrack, numbers, read, write
    from wane.report.sentences import INTERVALS, SETS, headline
    from wane.tables.files import STANDARD, kind_of, refuse_same, refuse_unwritable

    if str(results) == STANDARD:
        raise typer.BadParameter("a report is made from a file, not from standard input", param_hint="RESULTS")
    if results.is_dir():
        raise InputError(f"{results} is a folder", argument="results", cure="give the file that wane run wrote")
    kind_of(str(results), setting=None)
    path = results.with_suffix(".html") if out is None else out
    refuse_same({"results": str(results), "out": str(path)})
    refuse_unwritable({"out": str(path)})
    tracks = read(results, alpha, method, prefix, teller(json), y=y, y_hat=yhat, id=id, time=time, cutoff=cutoff)
    streams = {track.name for track in tracks}
    named = title or (None if len(streams) == 1 else results.stem)
    write(path, tracks, {"results": results.name}, named, window)
    k = numbers.window(tracks) if window is None else window
    if json:
        lines = [numbers.plain(track, k) for track in tracks]
        typer.echo(plain_json.dumps({"report": str(path), "window": k, "tracks": lines}, indent=2))
        return
    mine = [numbers.judged(t, 0, k) for t in tracks if t.method == tracks[0].method]
    if (bad := numbers.verdict([t for t in tracks if t.method == tracks[0].method], 0)) is not None:
        typer.echo(bad.said(shlex.join(["wane", "compare", str(results)])))
    words = SETS if isinstance(tracks[0], LabelTrack) else INTERVALS
    typer.echo(headline(numbers.pooled(mine), tracks[0].levels[0], k, len(streams), words))
    typer.echo(f"written to {path}")
