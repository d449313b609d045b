"""A small network on one image task after another, and no word about where a task ends.

Every task has the same digits. "permuted": their pixels in another order, the same for all images of the task, judged
on images that were not trained on. "shuffled": each image gets a random label, which must be learned by heart, so that
what counts is whether the network can still learn at all (its plasticity).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from wane.experiments.lifelong.data import table

SEQUENCES = ("permuted", "shuffled")
TRAINED = {"permuted": 1200, "shuffled": 200}  # images; of "permuted" the other 597 are for judging
PIXELS, CLASSES = 64, 10


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is played: tasks, steps in each, images in a step, units in each of two hidden layers."""

    tasks: int = 16
    steps: int = 150
    batch: int = 32
    hidden: int = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """Images to train on and to judge by, with their labels, and which images each step takes."""

    x: np.ndarray
    y: np.ndarray
    judged_x: np.ndarray
    judged_y: np.ndarray
    batches: np.ndarray


def tasks(sequence: str, seed: int, size: Size) -> Iterator[Task]:
    """The tasks of a sequence; the same for the same arguments."""
    found = table("digits")
    order = np.random.default_rng([seed, 10]).permutation(len(found.y))
    x, y = found.x[order].astype(np.float32), found.y[order]
    n = TRAINED[sequence]
    for number in range(size.tasks):
        rng = np.random.default_rng([seed, 11, number])
        epochs = -(-size.steps * size.batch // n)
        batches = np.concatenate([rng.permutation(n) for _ in range(epochs)])[: size.steps * size.batch]
        batches = batches.reshape(size.steps, size.batch)
        if sequence == "permuted":
            seen = x[:, rng.permutation(x.shape[1])]
            yield Task(seen[:n], y[:n], seen[n:], y[n:], batches)
        else:
            labels = rng.integers(CLASSES, size=n)
            yield Task(x[:n], labels, x[:n], labels, batches)
