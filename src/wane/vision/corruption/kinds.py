"""Fifteen kinds of corruption and their strengths, for images as bytes.

After D. Hendrycks and T. Dietterich, Benchmarking neural network robustness to common corruptions and perturbations,
ICLR 2019, which defines ImageNet-C. The kinds and their order are the published ones, the implementation is not:

1. Lengths are shares of the shorter side, so that images of all sizes look alike. Noise, pixelate and JPEG count in
   pixels, as the published ones do.
2. The noise of an image is a function of the seed and of its number, and the same at every severity.
3. Frost is drawn, not photographed; snow, fog, glass and elastic bends are made of simpler noise.
4. The mean squared distance from the clean image rises with the severity for every kind. (For the published glass blur
   and elastic transform of small images it does not.)
5. Nothing needs OpenCV or ImageMagick. JPEG is Pillow's: another version of its library may differ in a few bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError, InputTypeError
from wane.streams import corruption
from wane.streams.corruption import Kind, chosen
from wane.streams.pixels import SMALLEST
from wane.vision.corruption import camera, weather
from wane.vision.corruption.camera import WHITE, each_channel

BATCH = 2**19  # numbers that are worked on at a time: a few megabytes for each step of a corruption

# For images of 64 x 64, near the published strengths for that size (Tiny ImageNet-C): the same numbers, up to rounding,
# for noise, zoom, fog, brightness and contrast; about the same distance from photographs for other blurs, snow and
# frost. Bends begin smaller, to rise; pixelate and JPEG go on to the strengths for 224 x 224.
KINDS = {
    "gaussian_noise": Kind(corruption.gaussian_noise, (0.04, 0.08, 0.12, 0.15, 0.18)),
    "shot_noise": Kind(corruption.shot_noise, (0.06, 0.1, 0.14, 0.19, 0.26)),
    "impulse_noise": Kind(corruption.impulse_noise, (0.01, 0.02, 0.05, 0.08, 0.14)),
    "defocus_blur": Kind(each_channel(camera.defocus_blur), (0.005, 0.013, 0.021, 0.033, 0.046)),
    "glass_blur": Kind(each_channel(camera.glass_blur), (0.014, 0.02, 0.028, 0.038, 0.05)),
    "motion_blur": Kind(each_channel(corruption.motion_blur), (0.035, 0.06, 0.085, 0.115, 0.15)),
    "zoom_blur": Kind(each_channel(camera.zoom_blur), (0.06, 0.11, 0.16, 0.21, 0.26)),
    "snow": Kind(weather.snow, (0.4, 0.5, 0.6, 0.7, 0.8)),
    "frost": Kind(weather.frost, (0.3, 0.37, 0.44, 0.51, 0.58)),
    "fog": Kind(each_channel(corruption.fog), (0.29, 0.41, 0.5, 0.6, 0.67)),
    "brightness": Kind(camera.brightness, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "contrast": Kind(corruption.contrast, (0.6, 0.7, 0.8, 0.9, 0.95)),
    "elastic_transform": Kind(each_channel(corruption.elastic), (0.01, 0.018, 0.027, 0.038, 0.05)),
    "pixelate": Kind(each_channel(corruption.pixelate), (0.25, 0.375, 0.5, 0.625, 0.75)),
    "jpeg_compression": Kind(camera.jpeg_compression, (0.4, 0.6, 0.75, 0.85, 0.92)),
}


def kinds() -> tuple[str, ...]:
    """The names of the corruptions, in the order of ImageNet-C.

    >>> len(kinds()), kinds()[0], kinds()[-1]
    (15, 'gaussian_noise', 'jpeg_compression')
    """
    return tuple(KINDS)


def corrupt(images: Any, kind: str, severity: int, seed: int = 0, numbers: Any = None) -> np.ndarray:
    """Corrupted copies of images.

    Only JPEG compression needs Pillow: ``pip install ".[vision]"``.

    Args:
        images: bytes (uint8), (n, h, w, 3) in colour or (n, h, w) in grey, at least 8 pixels high and wide.
        kind: one of ``kinds()``.
        severity: 0, which changes nothing, to 5.
        seed: of the noise, in [0, 2^64).
        numbers: of the images, (n,), in [0, 2^63); None is 0, ..., n - 1. The noise of an image is a function of the
            seed and of its number alone, the same at every severity.

    Returns:
        uint8, in the shape of the images.

    >>> image = np.linspace(0, 255, 192).astype(np.uint8).reshape(1, 8, 8, 3)
    >>> dim = corrupt(image, "contrast", 5)
    >>> dim.shape, int(np.ptp(dim)) < 20
    ((1, 8, 8, 3), True)
    """
    x = _images(images)
    change = chosen(KINDS, kind, severity, seed, numbers, len(x))
    made = x.copy()
    if change is None:
        return made
    channels = made if made.ndim == 4 else made[..., None]  # a view
    batch = 1 + BATCH // math.prod(x.shape[1:])
    for start in range(0, len(x), batch):
        here = slice(start, start + batch)
        channels[here] = np.rint(change(channels[here] / WHITE, here) * WHITE)
    return made


def _images(images: Any) -> np.ndarray:
    try:
        x = np.asarray(images)
    except ValueError:
        problem, cure = f"must have one size, got {described(images)}", "corrupt each size by itself"
        raise InputError(problem, about="images", cure=cure) from None
    if x.dtype != np.uint8:
        cure = "if 1 is white, multiply by 255 and round"
        raise InputTypeError(f"must be bytes (uint8), got type {x.dtype}", about="images", cure=cure)
    if x.ndim not in (3, 4) or min(x.shape[1:3]) < SMALLEST or x.shape[3:] not in ((), (3,)):
        problem = f"must be (n, h, w) or (n, h, w, 3), h and w at least {SMALLEST}, got shape {x.shape}"
        raise InputError(problem, about="images")
    return x
