"""``wane report``: a page about results."""

from __future__ import annotations

import json as plain_json
from pathlib import Path
from typing import Annotated

import typer

from wane.cli.tables import teller


def report(
    results: Annotated[Path, typer.Argument(help="What wane run wrote: .csv, .parquet, .jsonl.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The page; RESULTS with .html at its end if not given.")] = None,
    title: Annotated[str | None, typer.Option(help="Of the page; the name of the series or of the file.")] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="The misses allowed, if the columns are plain lower and upper; 0.1."),
    ] = None,
    method: Annotated[str, typer.Option(help="What made the intervals, if no column says so.")] = "",
    prefix: Annotated[str, typer.Option(help="Of the columns lower and upper, as wane run --prefix.")] = "",
    window: Annotated[int | None, typer.Option(min=1, help="Rounds judged together; 100 if they are there.")] = None,
    y: Annotated[str | None, typer.Option(help="The column of outcomes.")] = None,
    yhat: Annotated[str | None, typer.Option(help="The column of forecasts.")] = None,
    id: Annotated[str | None, typer.Option(help="The column that tells series apart.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of times.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers of each series, and nothing else.")] = False,
) -> None:
    """A report about results in one HTML file, which opens offline and can be sent to a colleague."""
    from wane.report import numbers, read, write
    from wane.report.results import tells_alpha
    from wane.report.sentences import headline
    from wane.tables.files import kind_of
    from wane.tables.paths import STANDARD, refuse_same, refuse_unwritable

    if str(results) == STANDARD:
        raise typer.BadParameter("a report is made from a file, not from standard input", param_hint="RESULTS")
    if results.is_dir():
        raise ValueError(f"{results} is a folder: give the file that wane run wrote")
    kind_of(str(results), option=None)
    path = results.with_suffix(".html") if out is None else out
    refuse_same({"RESULTS": str(results), "--out": str(path)})
    refuse_unwritable({"--out": str(path)})
    if alpha is None and not tells_alpha(results, prefix):
        typer.echo("lower and upper do not say how many misses they allow: taken is --alpha 0.1", err=True)
    tracks = read(results, alpha, method, prefix, teller(json), y=y, y_hat=yhat, id=id, time=time)
    streams = {track.name for track in tracks}
    named = title or (None if len(streams) == 1 else results.stem)
    write(path, tracks, {"results": results.name}, named, window)
    k = numbers.window(tracks) if window is None else window
    if json:
        lines = [numbers.plain(track, k) for track in tracks]
        typer.echo(plain_json.dumps({"report": str(path), "window": k, "tracks": lines}, indent=2))
        return
    mine = [numbers.judged(t, 0, k) for t in tracks if t.method == tracks[0].method]
    typer.echo(headline(numbers.pooled(mine), tracks[0].levels[0], k, len(streams)))
    typer.echo(f"written to {path}")
