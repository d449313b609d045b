"""What corruptions of images are made of: a generator for each image, smooth noise, moves, and means of pixels.

Images are (n, h, w). The noise of an image comes from a generator of its own: a function of the seed and of the number
of the image alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import ndimage

from wane.checks import described
from wane.errors import InputError

SMALLEST = 8  # pixels: what is smaller has nothing to blur
SMOOTH = 0.15  # how far the bends of an elastic image and the wisps of fog reach

Rngs = Iterable[np.random.Generator]


def checked_numbers(numbers: Any, n: int) -> np.ndarray:
    """The numbers of n images, by default 0, ..., n - 1."""
    given = np.arange(n) if numbers is None else np.asarray(numbers)
    whole = given.shape == (n,) and given.dtype.kind in "iu"
    if not whole or (n and not (int(given.min()) >= 0 and int(given.max()) < 2**63)):
        problem = f"must be whole numbers in [0, 2^63), one an image ({n}), got {described(numbers)}"
        raise InputError(problem, about="numbers")
    return given


class Generators:
    """One generator an image; fresh ones, which draw the same again, each time they are asked for."""

    def __init__(self, seed: int, numbers: np.ndarray) -> None:
        """Of a seed and the numbers of the images."""
        self.seed = seed
        self.numbers = numbers

    def __iter__(self) -> Iterator[np.random.Generator]:
        """The generators, in the order of the images."""
        keys = (np.array([self.seed, number], dtype=np.uint64) for number in self.numbers)
        return (np.random.Generator(np.random.Philox(key=key)) for key in keys)


def draws(rngs: Rngs, draw: Callable[[np.random.Generator], np.ndarray]) -> np.ndarray:
    """One draw from each generator."""
    return np.stack([draw(rng) for rng in rngs])


def side(x: np.ndarray) -> int:
    """The shorter side, in pixels."""
    return min(x.shape[1:])


def smooth(x: np.ndarray, rngs: Rngs, fields: int) -> np.ndarray:
    """Smooth noise, (n, fields, h, w)."""
    return blurred(draws(rngs, lambda rng: rng.standard_normal((fields, *x.shape[1:]))), SMOOTH)


def blurred(x: np.ndarray, reach: float) -> np.ndarray:
    """Images (..., h, w) under a bell that reaches this far."""
    sigma = reach * min(x.shape[-2:])
    return ndimage.gaussian_filter(x, (*[0.0] * (x.ndim - 2), sigma, sigma), mode="nearest")


def streaked(x: np.ndarray, length: float, angles: Iterable[float], mode: str = "nearest") -> np.ndarray:
    """The mean along a line of this length, in pixels, at an angle of its own for each image."""
    return np.stack([ndimage.correlate(i, trace(path(length, a)), mode=mode) for i, a in zip(x, angles, strict=True)])


def moved(x: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Each pixel from where it is moved, between pixels the bilinear mean, beyond the edge the nearest pixel."""
    n, i, j = np.ogrid[tuple(slice(size) for size in x.shape)]
    places = np.broadcast_arrays(n + 0.0, i + down, j + right)
    return ndimage.map_coordinates(x, places, order=1, mode="nearest")


def hats(places: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The weights of pixels at whole places in the linear mean at other places: (*places, at)."""
    return np.maximum(0.0, 1.0 - np.abs(places[..., None] - at))


def trace(points: np.ndarray) -> np.ndarray:
    """The weights of pixels around the middle in the mean over these points, (2, n), each between four pixels."""
    reach = math.ceil(np.abs(points).max())
    rows, columns = hats(points, np.arange(-reach, reach + 1))
    return rows.T @ columns / points.shape[1]


def path(length: float, angle: float) -> np.ndarray:
    """Points on a line through the middle, (2, n), at most half a pixel apart; angle 0 is level, pi / 2 upright."""
    steps = np.linspace(-length / 2.0, length / 2.0, 2 * math.ceil(length) + 1)
    return steps * np.array([[np.sin(angle)], [np.cos(angle)]])


def blocks(n: int, count: int) -> np.ndarray:
    """(n, n): the means of n pixels over equal blocks, and back."""
    edges, cuts = np.arange(n + 1.0), np.linspace(0.0, n, count + 1)
    share = np.minimum(edges[1:, None], cuts[1:]) - np.maximum(edges[:-1, None], cuts[:-1])
    share = np.maximum(share, 0.0)  # of each pixel, in each block
    return share @ share.T * (count / n)
