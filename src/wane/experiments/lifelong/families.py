"""The families "images" and "control": every run, on all cores, and what they say.

An optimiser plays every number of its grid with every seed. For each seed, the number is chosen that was best on the
other seeds: what is reported was not used for the choice. A run that leaves the floats counts as one that guesses.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import wane
from wane.experiments import parallel
from wane.experiments.lifelong import control, images, methods, rivals
from wane.experiments.lifelong import play as single_runs
from wane.experiments.lifelong.judge import OFF
from wane.experiments.results import markdown, versions, write_json
from wane.state.files import replace_file

CODE = (
    *(f"experiments/lifelong/{name}.py" for name in ("control", "images", "methods", "network", "rivals")),
    *("integrations/torch", "integrations/arrays.py", "learners", "checks.py", "special.py", "vectors.py"),
)
COLUMNS = {  # head: key
    "where": "place",
    "method": "method",
    "chosen": "number",
    "score": "mean",
    "last": "last",
    "10x off": "off",
    "default": "default",
    "seeds": "seeds",
}


class Family(NamedTuple):
    """Where it is played, by which function, how much of it, and how much in seconds."""

    places: tuple[str, ...]
    play: Callable[..., dict[str, Any]]
    size: Any
    quick: Any
    ready: Callable[[], Any]  # says what is not installed
    about: str


FAMILIES = {
    "images": Family(
        images.SEQUENCES,
        images.play,
        images.Size(),
        images.Size(tasks=2, steps=4, batch=8, hidden=8),
        images.mnist,
        "share of images that are right at the end of a task",
    ),
    "control": Family(
        tuple(control.WORLDS),
        control.play,
        control.Size(),
        control.Size(phases=2, rollouts=1, steps=16, worlds=2, epochs=1, parts=1, hidden=4),
        control.gym,
        "mean return of an episode",
    ),
}


@dataclasses.dataclass(frozen=True)
class Job:
    """What a run depends on, besides the code."""

    family: str
    place: str
    method: str
    number: float
    seed: int
    quick: bool


def jobs(family: str, seeds: int, quick: bool, defaults: bool = False) -> list[Job]:
    """Every run, seed by seed; with ``defaults`` and in a quick run the default of each optimiser only."""
    return [
        Job(family, place, name, number, seed, quick)
        for seed in range(seeds)
        for place in FAMILIES[family].places
        for name, rival in rivals.installed().items()
        for number in ((rival.default,) if quick or defaults else rivals.numbers(rival))
    ]


def play(job: Job) -> dict[str, Any]:
    """The numbers of a run, with torch on one core."""
    family = FAMILIES[job.family]
    with single_runs.single():
        return family.play(job.place, job.method, job.number, job.seed, family.quick if job.quick else family.size)


def rows_of(wanted: Sequence[Job], cache: Path, count: int | None, tick: Callable[[], Any]) -> list[dict[str, Any]]:
    """A row for each job, in their order; what was computed before is found again."""
    cache.mkdir(parents=True, exist_ok=True)
    made = [wane.compiled(), *(importlib.metadata.version(name) for name in ("numpy", "torch")), parallel.code(CODE)]
    sizes = {name: [dataclasses.astuple(size) for size in (f.size, f.quick)] for name, f in FAMILIES.items()}
    rows: dict[Job, dict[str, Any]] = {}
    waiting = []
    for job in wanted:
        content = json.dumps([dataclasses.astuple(job), sizes[job.family], made])
        path = cache / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}.json"
        found = parallel.kept(path, "score")
        if found is None:
            waiting.append((job, path))
        else:
            rows[job] = found
            tick()
    for (job, path), row in parallel.spread(play, [((job,), (job, path)) for job, path in waiting], count):
        write_json(path, row)
        rows[job] = row
        tick()
    return [{**dataclasses.asdict(job), **rows[job]} for job in wanted]


def lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each place and method, the best of a place first."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["place"], row["method"]), []).append(row)
    made = [{"place": place, "method": method, **line(method, mine)} for (place, method), mine in found.items()]
    places = list(dict.fromkeys(row["place"] for row in rows))
    return sorted(made, key=lambda x: (places.index(x["place"]), -x["mean"]))


def line(method: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Scores with the number that was best on the other seeds, with that number ten times off, and with the default."""
    numbers = sorted({row["number"] for row in rows})
    seeds = sorted({row["seed"] for row in rows})
    by = {(row["number"], row["seed"]): row for row in rows}

    def mean(number: float, over: Sequence[int]) -> float:
        return float(np.mean([by[number, seed]["score"] for seed in over]))

    chosen = {}
    for seed in seeds:
        others = [other for other in seeds if other != seed] or seeds
        means = {number: mean(number, others) for number in numbers}
        chosen[seed] = max(numbers, key=means.__getitem__)
    scores = [by[chosen[seed], seed]["score"] for seed in seeds]
    often = max(numbers, key=lambda number: (list(chosen.values()).count(number), -number))
    off = [mean(n, seeds) for n in numbers for wrong in (often * OFF, often / OFF) if abs(n / wrong - 1.0) < 0.05]
    return {
        "number": often,
        "mean": float(np.mean(scores)),
        "spread": float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0,
        "last": float(np.mean([by[chosen[seed], seed]["last"] for seed in seeds])),
        "off": min(off) if off else None,
        "default": mean(rivals.RIVALS[method].default, seeds),
        "seeds": len(seeds),
    }


def cells(family: str, found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The table as text: shares with three digits, returns with one."""
    digits = ".3f" if family == "images" else ".1f"

    def cell(part: dict[str, Any], key: str) -> str:
        value = part[key]
        if value is None or isinstance(value, str | int):
            return "" if value is None else str(value)
        spread = f" ± {part['spread']:{digits}}" if key == "mean" and part["seeds"] > 1 else ""
        return (f"{value:g}" if key == "number" else f"{value:{digits}}") + spread

    return [[cell(part, key) for key in COLUMNS.values()] for part in found]


def run(
    family: str,
    seeds: int,
    quick: bool,
    out: Path,
    count: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
    defaults: bool = False,
) -> dict[str, Any]:
    """Play a family, or find again what was played; write its table and every number."""
    methods.needed()
    FAMILIES[family].ready()
    out.mkdir(parents=True, exist_ok=True)
    wanted = jobs(family, seeds, quick, defaults)
    rows = rows_of(wanted, out / "cache", count, started(family, len(wanted)))
    found = lines(rows)
    replace_file(out / f"{family}.md", markdown(list(COLUMNS), cells(family, found)).encode(), sync=False)
    left_out = [name for name in rivals.RIVALS if name not in rivals.installed()]
    results = {
        "family": family,
        "about": FAMILIES[family].about,
        "lines": found,
        "not_installed": left_out,
        "rows": rows,
        "rules": __doc__,
        "versions": versions(),
        "files": [f"{family}.md", f"{family}.json"],
    }
    write_json(out / f"{family}.json", results)
    return results
