"""Many (stream, method) pairs at once, on all cores; what was computed once is found again, whatever stopped it."""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import wane
from wane.errors import InputError
from wane.experiments import leaderboard
from wane.experiments.leaderboard import Entry
from wane.experiments.results import write_json

CODE = ("learners", "metrics", "trackers", "theory", "checks.py", "domains.py", "special.py", "vectors.py")
MORE = ("order_statistics.py", "experiments/leaderboard.py", "experiments/protocol.py")


def run(
    entries: Sequence[Entry],
    methods: Sequence[str],
    alpha: float,
    cache: Path,
    workers: int | None = None,
    tick: Callable[[], Any] = lambda: None,
) -> list[dict[str, Any]]:
    """One row for each stream and method, in that order.

    A row is kept in a file of ``cache`` that is called after what it depends on: the scores, the method with its
    defaults, alpha, the code. So a run that was interrupted continues, and a change is computed anew.
    """
    cache.mkdir(parents=True, exist_ok=True)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    waiting = []
    for entry in entries:
        content = digest(*entry.scores)
        for method in methods:
            path = cache / f"{key(content, method, alpha)}.json"
            found = kept(path)
            if found is None:
                waiting.append((entry, method, path))
            else:
                rows[entry.name, method] = found
                tick()
    if waiting:
        for (entry, method, path), row in computed(waiting, alpha, workers):
            write_json(path, row)
            rows[entry.name, method] = row
            tick()
    return [
        {"stream": entry.name, "method": method, **rows[entry.name, method]} for entry in entries for method in methods
    ]


def computed(waiting: Sequence[Any], alpha: float, workers: int | None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each task with its row, as they are done."""
    calls = [((method, entry.scores, alpha, entry.early), (entry, method, path)) for entry, method, path in waiting]
    return spread(leaderboard.play, calls, workers, lambda label: f"{label[1]} on {label[0].name}")


def spread(
    function: Callable[..., Any],
    calls: Sequence[tuple[tuple[Any, ...], Any]],
    workers: int | None = None,
    named: Callable[[Any], str] = str,
) -> Iterator[tuple[Any, Any]]:
    """Call a function with each tuple of arguments on all cores; gives (label, result) as they are done.

    Args:
        function: of a module, so that another process finds it.
        calls: arguments, and a label for the result.
        workers: processes; as many as cores.
        named: what to call a label in an error.
    """
    count = min(workers or os.cpu_count() or 1, len(calls))
    if count <= 1:
        for arguments, label in calls:
            yield label, function(*arguments)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(count, mp_context=spawn)
    try:
        jobs = {pool.submit(function, *arguments): label for arguments, label in calls}
        for job in concurrent.futures.as_completed(jobs):
            try:
                yield jobs[job], job.result()
            except (ArithmeticError, ValueError, TypeError) as error:
                raise InputError(f"{named(jobs[job])}: {error}") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def kept(path: Path, field: str = "coverage") -> dict[str, Any] | None:
    """A row of an earlier run, which has that field; None if there is none, or none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) and field in found else None


def key(content: str, method: str, alpha: float) -> str:
    """What a row depends on."""
    made = [wane.compiled(), np.__version__, scipy.__version__, code()]
    rules = json.dumps([content, method, leaderboard.defaults([method]), repr(alpha), made])
    return hashlib.sha256(rules.encode()).hexdigest()[:32]


def digest(*arrays: Any) -> str:
    """Of the numbers in arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(len(array).to_bytes(8, "little"))
        found.update(array.astype("<f8").tobytes())
    return found.hexdigest()


@functools.cache
def code(names: tuple[str, ...] = (*CODE, *MORE)) -> str:
    """Of the source of everything a row is computed by: files and folders of the package."""
    root = Path(wane.__file__).parent
    found = hashlib.sha256()
    for name in names:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            found.update(file.read_bytes())
    return found.hexdigest()
