"""From images to a stream of probabilities: features, a head with a temperature, corruption along a schedule.

1. Of each class, some training images are drawn: most to train the head, a tenth to set its temperature.
2. A pretrained network, in evaluation mode and not changed, turns them into features (`wane.vision.models`).
3. A linear head is trained on the features, and its temperature set (`wane.vision.head`).
4. The test images come in random order, corrupted as the schedule says, through network and head.

Nothing depends on how many images are worked on at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wane.checks import whole
from wane.errors import InputError
from wane.streams import LabelStream, write
from wane.streams.rounds import Rounds, corrupted, drawn, rng
from wane.version import __version__
from wane.vision import head
from wane.vision.corruption import corrupt, kinds
from wane.vision.images import Data, Images
from wane.vision.models import BLOCK, Model
from wane.vision.parts import Parts

HELD = 0.1  # the share of a class's images that sets the temperature
FORMAT = 2  # raised when the same settings come to mean other features

Started = Callable[[str, int], Callable[[], Any]]  # a step begins, so many ticks long; returns what to call at each


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is made.

    Args:
        schedule: "sudden", "gradual", "none", or what else ``wane.streams.severities`` takes.
        rounds: after the warm-up; with fewer images than rounds they come again, each time in another order.
        warm_up: clean rounds before it.
        seed: of the images that are drawn, their order, the kinds and the noise.
        images_per_class: to train the head and set the temperature, or all there are of a class if those are fewer.
        batch: images in memory, and computed between two files; a multiple of 16 is made of it.
    """

    schedule: Any = "sudden"
    rounds: int = 6050
    warm_up: int = 1000
    seed: int = 0
    images_per_class: int = 100
    batch: int = 256

    def __post_init__(self) -> None:
        """Check what no one else does."""
        whole("rounds", self.rounds, 1)
        whole("seed", self.seed, 0, 2**64)
        whole("images_per_class", self.images_per_class, 2)
        whole("batch", self.batch, 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """A stream, the head that made its probabilities, and how many images it took."""

    stream: LabelStream
    head: head.Head
    train: int
    held: int
    wrong: int  # of those held back: with none the temperature says little
    found: int  # images whose features an earlier run had computed

    def by_severity(self) -> dict[int, dict[str, Any]]:
        """How many rounds each severity has, how often the likeliest label was right, and how likely it was."""
        p, severity = self.stream.probabilities, self.stream.severity
        assert severity is not None
        right, sure = p.argmax(axis=1) == self.stream.labels, p.max(axis=1)
        return {
            int(s): {
                "rounds": int(np.sum(here)),
                "accuracy": float(right[here].mean()),
                "confidence": sure[here].mean(),
            }
            for s in np.unique(severity)
            if (here := severity == s).any()
        }


def make(
    data: Data,
    model: Model,
    out: Path,
    settings: Settings | None = None,
    keep: Path | None = None,
    started: Started = lambda name, ticks: lambda: None,
) -> Made:
    """Make a stream and write it to a file that ends in .npz.

    Features are kept in the folder ``keep``, or in one beside the file, which is deleted at the end; an interrupted run
    goes on from there, and gives the file that an uninterrupted one does.
    """
    if out.suffix != ".npz":
        raise InputError(f"a stream is written to a file that ends in .npz, got {str(out)!r}", argument="out")
    if out.is_dir():
        raise InputError(f"{out} is a folder", argument="out", cure="give the name of a file that ends in .npz")
    settings = settings or Settings()
    train, held = chosen(data, settings.images_per_class, settings.seed)
    rounds = drawn(
        len(data.test.labels), len(kinds()), settings.schedule, settings.rounds, settings.warm_up, settings.seed
    )
    digest = _digest(data, model)  # before there is a folder: the model may fail
    out.parent.mkdir(parents=True, exist_ok=True)
    parts = Parts(keep or out.with_name(f"{out.name}.parts"))
    work = Work(model, parts, settings, digest)
    clean = Rounds(np.concatenate([train, held]), *(np.full(len(train) + len(held), k) for k in (0, -1)))
    known = work.features(data.train, clean, started("training images", len(clean.image)))
    seen = work.features(data.test, rounds, started("rounds", len(rounds.image)))
    labels = data.train.labels
    made = head.trained(
        known[: len(train)],
        labels[train],
        known[len(train) :],
        labels[held],
        len(data.classes),
        started("head", len(head.PENALTIES)),
    )
    schedule = settings.schedule if isinstance(settings.schedule, str) else "own"
    stream = LabelStream(
        name=f"{data.name}-{schedule}",
        probabilities=np.exp(made.log_probabilities(seen)),
        labels=data.test.labels[rounds.image],
        severity=rounds.severity,
        corruption=rounds.kind,
        kinds=kinds(),
        warm_up=settings.warm_up,
    )
    write(out, stream, half=True)
    if keep is None:
        parts.remove()
    wrong = made.logits(known[len(train) :]).argmax(axis=1) != labels[held]
    return Made(stream, made, len(train), len(held), int(wrong.sum()), parts.found)


def chosen(data: Data, images_per_class: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which training images train the head, and which set its temperature; class after class."""
    draw = rng(seed, "split")
    train, held = [], []
    for k, name in enumerate(data.classes):
        mine = draw.permutation(np.flatnonzero(data.train.labels == k))[:images_per_class]
        if len(mine) < 2:
            wanted = "at least 2 are wanted, one to learn from and one to set the temperature with"
            raise InputError(f"the class {name} has {len(mine)} training images: {wanted}", argument="data")
        back = max(1, round(HELD * len(mine)))
        train.append(mine[back:])
        held.append(mine[:back])
    return np.concatenate(train), np.concatenate(held)


@dataclasses.dataclass(frozen=True, eq=False)
class Work:
    """Features of corrupted images, chunk by chunk."""

    model: Model
    parts: Parts
    settings: Settings
    digest: str

    def features(self, images: Images, rounds: Rounds, tick: Callable[[], Any]) -> np.ndarray:
        """Float32, (n, d)."""
        size = -(-self.settings.batch // BLOCK) * BLOCK
        numbers = np.arange(len(rounds.image))
        return np.concatenate([self._chunk(images, rounds, n, tick) for n in np.split(numbers, numbers[size::size])])

    def _chunk(self, images: Images, rounds: Rounds, numbers: np.ndarray, tick: Callable[[], Any]) -> np.ndarray:
        image, severity, kind = (column[numbers] for column in rounds)

        def compute() -> np.ndarray:
            return self.model(
                corrupted(images.read(image), kind, severity, numbers, self.settings.seed, corrupt, kinds()), tick
            )

        before = self.parts.found
        noise = [
            [kinds()[k], s, n, self.settings.seed] if s else []
            for k, s, n in zip(kind.tolist(), severity.tolist(), numbers.tolist(), strict=True)
        ]
        depends = [FORMAT, __version__, self.digest, images.marks(image), noise]
        found = self.parts.of(depends, len(numbers), compute)
        for _ in range(self.parts.found - before):
            tick()
        return found


def _digest(data: Data, model: Model) -> str:
    """Of the model, by what it makes of images from here and there in the training part."""
    last = len(data.train.labels) - 1
    return model.digest(data.train.read(np.unique(np.linspace(0, last, BLOCK).astype(int))))
