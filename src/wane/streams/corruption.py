"""Corruption of small grey images: noise, blur, weather and distortion in five severities.

Noise is drawn image by image, each from a generator of its own, so an image is corrupted in the same way alone and
among others, and with the same draws at every severity. Lengths are shares of the shorter side of the image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from wane.checks import described, real_array, whole
from wane.errors import InputError
from wane.streams.pixels import (
    SMALLEST,
    Generators,
    Rngs,
    blocks,
    checked_numbers,
    draws,
    moved,
    side,
    smooth,
    streaked,
)

SEVERITIES = 5  # levels beside 0, the clean image

Apply = Callable[[np.ndarray, float, Rngs], np.ndarray]


def gaussian_noise(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Normal noise of that standard deviation."""
    return x + strength * draws(rngs, lambda rng: rng.standard_normal(x.shape[1:]))


def shot_noise(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Photons counted: a white pixel has this standard deviation, a grey one less, a black one none."""
    photons = strength**-2.0
    return np.stack([rng.poisson(photons * image) for image, rng in zip(x, rngs, strict=False)]) / photons


def speckle_noise(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Normal noise in proportion to the pixel."""
    return x * (1.0 + strength * draws(rngs, lambda rng: rng.standard_normal(x.shape[1:])))


def impulse_noise(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Salt and pepper: this share of the pixels is replaced by black or white."""
    u = draws(rngs, lambda rng: rng.random((2, *x.shape[1:])))
    return np.where(u[:, 0] < strength, u[:, 1] < 0.5, x)


def defocus_blur(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """The mean over a disc of this radius; pixels on its edge count in part."""
    radius = strength * side(x)
    reach = np.arange(-math.ceil(radius), math.ceil(radius) + 1)
    disc = np.clip(radius + 0.5 - np.hypot(reach[:, None], reach), 0.0, 1.0)
    return ndimage.convolve(x, disc[None] / disc.sum(), mode="nearest")


def motion_blur(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """The mean along a path of this length, in a direction of its own for each image."""
    return streaked(x, strength * side(x), (np.pi * rng.random() for rng in rngs))


def contrast(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """This share of the contrast is lost: pixels move towards the mean of their image."""
    return x + strength * (x.mean(axis=(1, 2), keepdims=True) - x)


def brightness(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Every pixel this much brighter, up to white."""
    return x + strength


def fog(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """This share of the light comes from a cloud: smooth noise that reaches from black to white."""
    cloud = smooth(x, rngs, 1)[:, 0]
    low, high = cloud.min(axis=(1, 2), keepdims=True), cloud.max(axis=(1, 2), keepdims=True)
    return (1.0 - strength) * x + strength * (cloud - low) / (high - low)


def pixelate(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """This share of the rows and of the columns is lost: blocks take the mean of what they cover."""
    rows, columns = (blocks(n, max(1, round((1.0 - strength) * n))) for n in x.shape[1:])
    return rows @ x @ columns.T


def rotation(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Turned by this many degrees, to the left or to the right."""
    angle = np.deg2rad(strength) * np.where(draws(rngs, lambda rng: rng.random((1, 1))) < 0.5, -1.0, 1.0)
    i, j = (np.arange(n) - (n - 1) / 2.0 for n in x.shape[1:])
    sin, cos = np.sin(angle), np.cos(angle) - 1.0
    return moved(x, cos * i[:, None] - sin * j, sin * i[:, None] + cos * j)


def elastic(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Bent: pixels come from elsewhere, this far away in the mean square of each direction."""
    shift = smooth(x, rngs, 2)
    shift *= strength * side(x) / np.sqrt(np.mean(shift**2, axis=(2, 3), keepdims=True))
    return moved(x, shift[:, 0], shift[:, 1])


class Kind(NamedTuple):
    """A kind of corruption: what it does, and how strongly at severities 1 to 5."""

    apply: Apply
    strengths: tuple[float, ...]


# Chosen so that a linear classifier of 8 x 8 digits errs about 10, 20, 30, 45 and 60 % of the time; speckles, which
# leave black pixels alone, stay below that, and blocks of 8 pixels come in whole numbers.
KINDS = {
    "gaussian_noise": Kind(gaussian_noise, (0.24, 0.37, 0.5, 0.63, 0.85)),
    "shot_noise": Kind(shot_noise, (0.4, 0.65, 0.85, 1.1, 1.4)),
    "speckle_noise": Kind(speckle_noise, (0.5, 0.8, 1.3, 2.2, 4.0)),
    "impulse_noise": Kind(impulse_noise, (0.1, 0.2, 0.32, 0.44, 0.58)),
    "defocus_blur": Kind(defocus_blur, (0.13, 0.19, 0.22, 0.25, 0.3)),
    "motion_blur": Kind(motion_blur, (0.3, 0.42, 0.5, 0.65, 0.9)),
    "contrast": Kind(contrast, (0.54, 0.63, 0.7, 0.76, 0.81)),
    "brightness": Kind(brightness, (0.42, 0.58, 0.67, 0.73, 0.79)),
    "fog": Kind(fog, (0.41, 0.51, 0.57, 0.63, 0.71)),
    "pixelate": Kind(pixelate, (0.125, 0.25, 0.5, 0.625, 0.75)),
    "rotation": Kind(rotation, (10.0, 15.0, 20.0, 25.0, 31.0)),
    "elastic": Kind(elastic, (0.044, 0.065, 0.08, 0.1, 0.13)),
}


def kinds() -> tuple[str, ...]:
    """The names of the corruptions.

    >>> len(kinds()), kinds()[0]
    (12, 'gaussian_noise')
    """
    return tuple(KINDS)


def corrupt(images: Any, kind: str, severity: int, seed: int = 0, numbers: Any = None) -> np.ndarray:
    """Corrupted copies of images.

    Args:
        images: (n, h, w), grey, from 0 (black) to 1, at least 8 pixels high and wide.
        kind: one of ``kinds()``.
        severity: 0, which changes nothing, to 5.
        seed: of the noise, in [0, 2^64).
        numbers: of the images, (n,), in [0, 2^63); None is 0, ..., n - 1. The noise of an image is a function of the
            seed and of its number alone, the same at every severity.

    Returns:
        float64, (n, h, w), from 0 to 1.

    >>> image = np.linspace(0.0, 1.0, 64).reshape(1, 8, 8)
    >>> dim = corrupt(image, "contrast", 5)
    >>> dim.shape, float(np.ptp(dim)) < 0.5
    ((1, 8, 8), True)
    """
    x = _images(images)
    change = chosen(KINDS, kind, severity, seed, numbers, len(x))
    return change(x, slice(None)) if change and len(x) else x.copy()


def chosen(
    table: Mapping[str, Kind], kind: str, severity: int, seed: int, numbers: Any, n: int
) -> Callable[[np.ndarray, slice], np.ndarray] | None:
    """What a kind out of a table does to n images: a function of some of them and of their places; None at severity 0.

    It takes and returns light from 0 to 1, which it clips.
    """
    if not isinstance(kind, str) or kind not in table:
        raise InputError(
            f"no corruption is called {described(kind)}", argument="kind", cure=f"known are {', '.join(table)}"
        )
    severity = whole("severity", severity, 0, SEVERITIES + 1)
    seed, given = whole("seed", seed, 0, 2**64), checked_numbers(numbers, n)
    if not severity:
        return None
    apply, strength = table[kind].apply, table[kind].strengths[severity - 1]
    return lambda light, here: np.clip(apply(light, strength, Generators(seed, given[here])), 0.0, 1.0)


def _images(images: Any) -> np.ndarray:
    x = real_array("images", images)
    if x.ndim != 3 or min(x.shape[1:]) < SMALLEST:
        raise InputError(f"must have shape (n, h, w), h and w at least {SMALLEST}, got {x.shape}", about="images")
    if x.size and not (x.min() >= 0.0 and x.max() <= 1.0):  # false for NaN too
        cure = "divide by the value of white"
        raise InputError(f"must lie in [0, 1], got {x.min()} to {x.max()}", about="images", cure=cure)
    return x
