"""``wane stream``: a stream of probabilities out of a folder of images."""

from __future__ import annotations

import enum
import json as plain_json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wane.cli.console import made_folder, resumable
from wane.cli.options import speaking


class Name(str, enum.Enum):
    """The data sets that can be read."""

    tinyimagenet = "tinyimagenet"
    cifar10 = "cifar10"
    cifar100 = "cifar100"


@speaking
def stream(
    data: Annotated[Name, typer.Argument(help="Which data set is in the folder.", show_default=False)],
    root: Annotated[Path, typer.Option(help="Folder that the archive was unpacked into.")],
    out: Annotated[
        Path, typer.Option(help="File for the stream, which ends in .npz; give it to wane reproduce --data.")
    ],
    model: Annotated[
        str,
        typer.Option(help="efficientnet-lite0, resnet50 (torchvision), or module:function for a model of your own."),
    ] = "efficientnet-lite0",
    schedule: Annotated[
        str, typer.Option(help="How the severity of the corruption changes: sudden, gradual or none.")
    ] = "sudden",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed for the images, their order, the kinds of corruption and the noise.")
    ] = 0,
    rounds: Annotated[
        int, typer.Option(min=1, help="How many rounds follow the warm-up. If there are fewer images, they come again.")
    ] = 6050,
    warm_up: Annotated[int, typer.Option(min=0, help="How many clean rounds come first.")] = 1000,
    images_per_class: Annotated[
        int,
        typer.Option(
            min=2,
            help="Training images of each class: nine tenths train the head, one tenth sets its temperature.",
        ),
    ] = 100,
    batch: Annotated[
        int, typer.Option(min=1, help="How many images are in memory at a time. The result does not depend on it.")
    ] = 256,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Keep the features in this folder, for another schedule. Default: beside OUT, until it is done."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Make a stream out of images, to which the paper's experiment can be applied.

    A network computes features, a head is trained on them, and the images are corrupted along a schedule. If it is
    interrupted, the same command continues where it was.
    """
    from wane.vision import folders, models, pipeline

    settings = pipeline.Settings(schedule, rounds, warm_up, seed, images_per_class, batch)
    found = folders.read(data.value, root)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # where a model of yours lies
    network = models.load(model)
    made_folder(out.parent)
    if keep is not None:
        made_folder(keep, "keep")
    with resumable(quiet=json) as started:
        made = pipeline.make(found, network, out, settings, keep, started)
    if json:
        typer.echo(plain_json.dumps(plain(made, out, model), indent=2))
        return
    tell(made, out, model)


def plain(made: Any, out: Path, model: str) -> dict[str, Any]:
    """What was made, as plain data for JSON."""
    return {
        "file": str(out),
        "name": made.stream.name,
        "model": model,
        "rounds": len(made.stream) - made.stream.warm_up,
        "warm_up": made.stream.warm_up,
        "classes": made.stream.probabilities.shape[1],
        "images": {"head": made.train, "temperature": made.held, "wrong": made.wrong, "found": made.found},
        "temperature": made.head.temperature,
        "penalty": made.head.penalty,
        "severity": {str(s): row for s, row in made.by_severity().items()},
    }


def tell(made: Any, out: Path, model: str) -> None:
    """Print a table by severity, and what to do next."""
    from wane.cli.console import console, table

    screen = console()
    lines = [
        [str(s), f"{row['rounds']:,}", f"{row['accuracy']:.1%}", f"{row['confidence']:.1%}"]
        for s, row in made.by_severity().items()
    ]
    screen.print(table(made.stream.name, ["severity", "rounds", "accuracy", "confidence"], lines))
    screen.print(
        f"{model}; head of {made.train:,} images, penalty {made.head.penalty:g}; temperature "
        f"{made.head.temperature:.3f} by {made.held:,} more"
    )
    if not made.wrong:
        screen.print(
            "all of the latter were classified rightly, so the temperature is a guess: give more images per class"
        )
    if made.found:
        screen.print(f"features of {made.found:,} images were there already", style="dim")
    screen.print(f"written to {out}; next: wane reproduce table1 --data {out} --out results", style="dim")
