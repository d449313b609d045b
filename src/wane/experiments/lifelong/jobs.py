"""All runs of the experiment, on all cores, each kept in a file under the name of what it depends on."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import wane
from wane.experiments import parallel
from wane.experiments.lifelong import convex, methods, nets
from wane.experiments.lifelong.play import HINDSIGHT, Job, play
from wane.experiments.results import write_json

STREAMS = tuple((data, shift) for data in ("digits", "diabetes") for shift in convex.SHIFTS)
PLAYED = ("convex", "data", "methods", "nets", "network", "play")
CODE = (
    *(f"experiments/lifelong/{name}.py" for name in PLAYED),
    *("integrations/torch", "integrations/arrays.py", "learners", "checks.py", "special.py", "vectors.py"),
)


class Plan(NamedTuple):
    """How much is played."""

    seeds: tuple[int, ...]
    rounds: int
    phases: int
    size: nets.Size
    sparse: bool = False  # only whole powers of ten


def full(seeds: int) -> Plan:
    """What the documentation shows."""
    return Plan(tuple(range(seeds)), 2000, 4, nets.Size())


def quick(seeds: int) -> Plan:
    """Seconds: whether everything works, and no evidence."""
    return Plan(tuple(range(seeds)), 60, 2, nets.Size(tasks=2, steps=8, batch=8, hidden=8), sparse=True)


def jobs(plan: Plan) -> list[Job]:
    """Every run, seed by seed."""
    found = []
    for data, shift in STREAMS:
        for seed in plan.seeds:
            size = (plan.rounds, plan.phases)
            found.append(Job("convex", data, shift, HINDSIGHT, 0.0, seed, size))
            for name, method in methods.CONVEX.items():
                numbers = methods.grid(method, plan.sparse)
                found += [Job("convex", data, shift, name, number, seed, size) for number in numbers]
    for sequence in nets.SEQUENCES:
        for seed in plan.seeds:
            for name, method in methods.NETS.items():
                numbers = methods.grid(method, plan.sparse)
                size = dataclasses.astuple(plan.size)
                found += [Job("nets", "digits", sequence, name, number, seed, size) for number in numbers]
    return sorted(found, key=lambda job: job.seed)  # stopped early, it has some seeds whole


def run(
    wanted: Sequence[Job], cache: Path, count: int | None, tick: Callable[[], Any] = lambda: None
) -> list[dict[str, Any]]:
    """A row for each job, in their order; what was computed before is found again."""
    cache.mkdir(parents=True, exist_ok=True)
    made = [wane.compiled(), *(importlib.metadata.version(name) for name in ("numpy", "torch")), parallel.code(CODE)]
    rows: dict[Job, dict[str, Any]] = {}
    waiting = []
    for job in wanted:
        path = cache / f"{key(job, made)}.json"
        found = parallel.kept(path, "diverged")
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


def key(job: Job, made: Sequence[Any]) -> str:
    """What a row depends on."""
    return hashlib.sha256(json.dumps([dataclasses.astuple(job), made]).encode()).hexdigest()[:32]
