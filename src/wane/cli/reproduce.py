"""``wane reproduce``: the paper's table and figures."""

from __future__ import annotations

import enum
import json as plain_json
from pathlib import Path
from typing import Annotated, Any

import typer

from wane.cli.console import owned_folder, parts_shown
from wane.cli.options import speaking

LEAST = ("in the paper", "smoothed", "time, step")  # what a narrow terminal does not show
CAPTION = "the best is bold, the second underlined; the last column has coverage, width, LCE_100 and time in the paper"


class Target(str, enum.Enum):
    """What can be made."""

    table1 = "table1"
    fig1 = "fig1"
    fig2 = "fig2"
    fig3 = "fig3"
    theory = "theory"
    all = "all"


@speaking
def reproduce(
    targets: Annotated[list[Target], typer.Argument(help="Which parts of the paper to make.")],
    out: Annotated[Path, typer.Option(help="Folder for results.json, tables and figures.")],
    data: Annotated[
        list[str] | None,
        typer.Option(help="digits (the default), or FILE.npz with probs and label. fig1 takes a gradual stream too."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Follow the published code where it differs from the paper.")
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Repeat Table 1 with this many seeds, and show mean and spread.")
    ] = 1,
    trials: Annotated[int, typer.Option(min=1, help="How many times to measure the runtime.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Take few digits and small games, to try it out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print results.json and nothing else.")] = False,
) -> None:
    """Make the paper's table and figures: from bundled data, or from a stream of your own."""
    from wane.experiments.data import Digits, Files, Source
    from wane.experiments.reproduce import TARGETS, Reproduction

    given = data or ["digits"]
    source: Source
    if "digits" in given:
        if len(given) > 1:
            raise typer.BadParameter("digits has both schedules: give no other data beside it", param_hint="--data")
        source = Digits(rounds=1200 if quick else None)
    else:
        source = Files([Path(name) for name in given])
    source.stream(source.main, 0)  # before a folder is made: the file may not be there
    wanted = [t for t in TARGETS if Target.all in targets or Target(t) in targets]
    with owned_folder(out), parts_shown(quiet=json) as started:
        work = Reproduction(source, out, published, seeds, trials, quick, started)
        work.run(wanted)
    if json:
        typer.echo(plain_json.dumps(work.results, indent=2))
        return
    tell(work, wanted)


def tell(work: Any, wanted: list[str]) -> None:
    """Print the table, a sentence for each figure, and the names of the files."""
    from rich.text import Text

    from wane.cli.console import console, table
    from wane.experiments import table1

    screen = console()
    results = work.results
    if "table1" in wanted:
        way = "as the published code does it" if work.published else "as the paper defines it"
        lines = table1.cells(results["table1_mean"])
        title = f"Table 1 on {work.source.name}, {way}"
        screen.print(table(title, table1.HEADS, lines, CAPTION, LEAST, screen.width))
    for name in wanted:
        found = results[name] if name == "theory" else {name: results[name]} if name.startswith("fig") else {}
        for title, finding in found.items():
            screen.print(Text.assemble((f"{title}: ", "bold"), finding["sentence"]))
    screen.print(f"written to {work.out}: {', '.join(path.name for path in work.files)}", style="dim")
