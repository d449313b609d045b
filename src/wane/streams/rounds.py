"""The rounds of a stream of images: which image comes when, how it is corrupted, and that it is.

Image, kind and noise of a round depend on the seed and the round alone: two schedules differ only where their
severities do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wane.streams.schedules import severities

PURPOSES = ("split", "order", "kinds")  # of randomness, besides the noise of the corruption


class Rounds(NamedTuple):
    """For each round: which image, its severity, and its kind of corruption, -1 where it is clean."""

    image: np.ndarray
    severity: np.ndarray
    kind: np.ndarray


def drawn(images: int, kinds: int, schedule: Any, rounds: int, warm_up: int, seed: int) -> Rounds:
    """Images in random order, again and again, each pass in an order of its own; kinds are drawn uniformly.

    >>> drawn(3, 15, lambda t: t, rounds=2, warm_up=3, seed=0).severity
    array([0, 0, 0, 0, 1])
    """
    severity = severities(schedule, rounds, warm_up)
    image = _passes(rng(seed, "order"), images, len(severity))
    kind = np.where(severity > 0, rng(seed, "kinds").integers(kinds, size=len(severity)), -1)
    return Rounds(image, severity, kind)


def corrupted(
    images: np.ndarray,
    kind: np.ndarray,
    severity: np.ndarray,
    numbers: np.ndarray,
    seed: int,
    corrupt: Callable[..., np.ndarray],
    names: tuple[str, ...],
) -> np.ndarray:
    """Each image with the kind, the severity and the number of its round, by a function such as ``streams.corrupt``."""
    images = images.copy()
    for k, s in sorted({*zip(kind.tolist(), severity.tolist(), strict=True)} - {(-1, 0)}):
        here = np.flatnonzero((kind == k) & (severity == s))
        images[here] = corrupt(images[here], names[k], s, seed, numbers=numbers[here])
    return images


def rng(seed: int, purpose: str) -> np.random.Generator:
    """One generator for each purpose, so that more of one takes nothing from another."""
    return np.random.default_rng([seed, PURPOSES.index(purpose)])


def _passes(rng: np.random.Generator, size: int, n: int) -> np.ndarray:
    """The first n of endless passes over range(size), each in an order of its own."""
    return np.concatenate([np.arange(0), *(rng.permutation(size) for _ in range(-(-n // size)))])[:n]
