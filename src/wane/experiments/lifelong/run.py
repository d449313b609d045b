"""The experiment into a folder: tables, figures, every number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wane.experiments import figures
from wane.experiments.lifelong import __doc__ as rules
from wane.experiments.lifelong import cost, data, draw, jobs, judge, methods, tables
from wane.experiments.results import markdown, versions, write_csv, write_json
from wane.state.files import replace_file


def run(
    plan: jobs.Plan,
    out: Path,
    count: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
) -> dict[str, Any]:
    """Play, or find again what was played; write results.json, tables in Markdown, figures with their data."""
    methods.needed()
    figures.needed()
    data.loaded("digits")
    out.mkdir(parents=True, exist_ok=True)
    wanted = jobs.jobs(plan)
    rows = jobs.run(wanted, out / "cache", count, started("runs", len(wanted)))
    shapes, turns = ((1000, 2),) if plan.sparse else cost.SHAPES, 1 if plan.sparse else cost.TURNS
    measured = cost.run(shapes, turns, started("cost", len(shapes) * (turns + 1) * len(cost.makers())))
    convex = [row for row in rows if row["kind"] == "convex"]
    board, lines = judge.convex_board(convex), judge.convex_lines(convex)
    trained = judge.nets_lines([row for row in rows if row["kind"] == "nets"])
    found = draw.findings(rows, board, lines, trained)
    texts = {
        "convex": markdown(list(tables.BOARD), tables.cells(board, tables.BOARD)),
        "streams": markdown(list(tables.STREAM), tables.cells(lines, tables.STREAM)),
        "tasks": markdown(list(tables.TASKS), tables.cells(trained, tables.TASKS)),
        "cost": markdown(list(tables.COST), tables.cells(measured, tables.COST)),
    }
    files = ["results.json"]
    for name, text in texts.items():
        replace_file(out / f"{name}.md", text.encode(), sync=False)
        files.append(f"{name}.md")
    for finding in found:
        write_csv(out / f"{finding.name}.csv", finding.data)
        files += [f"{finding.name}.csv", *(path.name for path in figures.save(finding, out))]
    results = {
        "plan": {**plan._asdict(), "size": vars(plan.size)},
        "convex": board,
        "streams": lines,
        "tasks": trained,
        "cost": measured,
        "sentences": {
            "convex": tables.convex_sentence(board),
            **{sequence: tables.nets_sentence(trained, sequence) for sequence in jobs.nets.SEQUENCES},
            "cost": tables.cost_sentence(measured),
        },
        "rules": rules,
        "versions": versions(),
        "files": files,
    }
    write_json(out / "results.json", results)
    return results
