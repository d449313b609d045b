"""The command that does what ``wane compare`` recommends."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any


def suggested(file: str, options: Any, alpha: float, kind: str | None, table: Any, results: dict[str, Any]) -> str:
    """``wane run`` on the table that was compared, complete: it can be copied into a shell.

    Args:
        file: the table.
        options: the columns and the score, as they were given.
        alpha: the level.
        kind: what --format said.
        table: as ``wane.tables.series`` gave it.
        results: of the comparison: the method, and the settings it needs.

    >>> from wane.tables import Columns, Options, Whole
    >>> table = Whole(Columns("y", ("yhat",), "shop"), [], True, ["shop", "y", "yhat"])
    >>> chosen = {"method": "sf-ogd", "settings": {"max_score": 3.2, "warm_up": 20}}
    >>> suggested("my sales.csv", Options(id="shop"), 0.1, None, table, chosen)
    "wane run 'my sales.csv' --id shop --method sf-ogd --warm-up 20 --set max_score=3.2 --out 'my sales_intervals.csv'"
    """
    words = ["wane", "run", file]
    for option, value in (("--y", options.y), *(("--yhat", name) for name in options.y_hat)):
        words += [option, value] if value is not None else []
    for option, value, none in (("--id", options.id, options.no_id), ("--time", options.time, options.no_time)):
        words += [f"--no-{option[2:]}"] if none else [option, value] if value is not None else []
    words += ["--score", options.score] if options.score is not None else []
    words += ["--format", kind] if kind is not None else []
    words += [] if table.ordered else ["--sort"]
    words += ["--prefix", table.prefix] if table.prefix else []
    words += ["--alpha", f"{alpha!r}"] if alpha != 0.1 else []
    words += ["--method", results["method"]]
    settings = dict(results["settings"])
    words += ["--warm-up", str(settings.pop("warm_up"))] if "warm_up" in settings else []
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    if file != "-":
        path = Path(file)
        words += ["--out", str(path.with_name(f"{path.stem}_intervals{path.suffix}"))]
        words += ["--out-format", kind] if kind is not None else []
    return shlex.join(words)
