"""``wane serve``: the service over HTTP, on a journal in a folder."""

from __future__ import annotations

import enum
import math
import os
import warnings
from pathlib import Path
from typing import Annotated

import typer

from wane.cli.options import speaking
from wane.cli.serve_settings import (
    Alpha,
    CompactEvery,
    Groups,
    LowerLimit,
    MaxPending,
    MaxSeries,
    Method,
    OnUnbounded,
    Policy,
    Score,
    ScoreSet,
    Set,
    UpperLimit,
    going_on,
    many_of,
    note,
    told,
    unopened,
)
from wane.errors import FileError, MissingExtraError, installing


class Sync(str, enum.Enum):
    """When the disk is waited for."""

    group = "group"
    each = "each"
    none = "none"


@speaking
def serve(
    journal: Annotated[
        Path, typer.Option(help="Folder that keeps every request that was answered; continue from it if it exists.")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Beyond this machine, a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 8470,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token that requests must give. Without it, WANE_TOKEN has the token."),
    ] = None,
    sync: Annotated[
        Sync,
        typer.Option(
            help="Wait for the disk before answers: group shares one wait among requests, each waits for every "
            "operation, none trusts the system, which loses nothing unless the power fails."
        ),
    ] = Sync.group,
    method: Method = "auto",
    alpha: Alpha = None,
    score: Score = "absolute",
    lower_limit: LowerLimit = -math.inf,
    upper_limit: UpperLimit = math.inf,
    on_unbounded: OnUnbounded = Policy.error,
    max_pending: MaxPending = 10_000,
    max_series: MaxSeries = 10_000,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="How many predictions of all series together may wait for their labels.")
    ] = 1_000_000,
    max_body: Annotated[int, typer.Option(min=100, help="How many bytes the body of a request may have.")] = 1_000_000,
    max_batch: Annotated[int, typer.Option(min=1, help="How many operations a batch may have.")] = 1_000,
    max_name: Annotated[
        int, typer.Option(min=1, help="How many characters the name of a series or an id may have.")
    ] = 200,
    groups: Groups = None,
    set: Set = None,
    score_set: ScoreSet = None,
    shard: Annotated[
        str, typer.Option(help="Which share of the series is here, as i/n; others are refused.", metavar="I/N")
    ] = "1/1",
    archive: Annotated[
        str | None,
        typer.Option(help="Copy every prediction and label to this Postgres: postgresql://USER@HOST/NAME."),
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(help="Post every alarm to this address, signed with WANE_WEBHOOK_SECRET.")
    ] = None,
    compact_every: CompactEvery = 100_000,
) -> None:
    """Serve intervals over HTTP, with a journal that loses nothing and a live page.

    POST /v1/series/NAME/predictions takes {"output": 1.5}, POST /v1/series/NAME/labels takes {"id": 0, "y": 1.7}. The
    page /live shows how every series is doing, and /docs lets you try every address.
    """
    try:
        from wane.serve.http.archive import Archive
        from wane.serve.http.guard import Guard, checked_host, token_from
        from wane.serve.http.limits import Limits
        from wane.serve.http.run import listening, run
        from wane.serve.http.service import NAME, Service
        from wane.serve.http.shards import Shard
        from wane.serve.http.webhook import Webhook, secret_from
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in (
            "starlette",
            "uvicorn",
            "msgspec",
            "prometheus_client",
        ):
            raise
        problem = f"the service needs {error.name}, which is not installed"
        raise MissingExtraError(problem, cure=installing("serve")) from error
    from wane.serve import opened

    # Everything is checked before anything is opened.
    warnings.showwarning = told
    part = Shard.of(shard)
    token = token_from(token_file, os.environ)
    checked_host(host, token)
    secret = None if webhook is None else secret_from(os.environ)
    fresh = many_of(
        serve,
        method,
        alpha,
        score,
        score_set,
        set,
        groups,
        lower_limit=lower_limit,
        upper_limit=upper_limit,
        on_unbounded=on_unbounded.value,
        max_pending=max_pending,
        max_series=max_series,
    )
    # Continue from the journal, if there is one, and serve until a signal comes.
    listener = listening(host, port)
    try:
        os.makedirs(journal, exist_ok=True)
        lines = opened(
            fresh, journal / NAME, None, sync.value, compact_every, background=True, remarks=True,
            max_waiting=max_waiting,
        )  # fmt: skip
    except RuntimeError as error:  # the journal is in use
        raise FileError(str(error), argument="journal") from error
    except OSError as error:
        raise unopened(error, journal, None) from error
    if lines.many.series:
        note(going_on(lines))
    service = Service(lines, Guard(token), Limits(max_body, max_batch, max_name), part)
    if archive is not None:
        service.sinks.append(Archive(service.journal, archive))
    if webhook is not None and secret is not None:
        service.sinks.append(Webhook(service.journal, webhook, secret))
    for sink in service.sinks:
        sink.start()
    bound = listener.getsockname()
    note(f"serving on http://{f'[{bound[0]}]' if ':' in bound[0] else bound[0]}:{bound[1]}, the live page is /live")
    raise typer.Exit(run(service, listener))
