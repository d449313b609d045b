"""What a camera does to images from 0 to 1: blur, light, compression; lengths are shares of the shorter side."""

from __future__ import annotations

import functools
import io
import math
from typing import Any

import numpy as np

from wane.errors import MissingExtraError, installing
from wane.streams import corruption
from wane.streams.corruption import Apply
from wane.streams.pixels import Rngs, blurred, draws, hats, moved, side

WHITE = 255  # of a byte
GLASS = 0.007  # the blur of frosted glass: it softens the grain and leaves it
CHROMA = "4:2:0"  # JPEG keeps every second row and column of the colours, as cameras do


def each_channel(apply: Apply) -> Apply:
    """A corruption of grey images (n, h, w), of each channel of images (n, h, w, channels).

    The draws are the same in each: the generators must begin anew whenever they are asked for.
    """

    @functools.wraps(apply)
    def applied(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
        channels = np.ascontiguousarray(np.moveaxis(x, -1, 0))
        return np.stack([apply(channel, strength, rngs) for channel in channels], axis=-1)

    return applied


def defocus_blur(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """The mean over a disc that reaches this far beyond the edge of a pixel: at 0 it is the pixel itself."""
    return corruption.defocus_blur(x, strength + 0.5 / side(x), rngs)


def glass_blur(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Frosted glass: each pixel comes from a place of its own, up to this far away in each direction; then blurred.

    The blur is the same at every strength. One that grew as the scatter does would take the grain away, and the image
    could come nearer to the clean one.
    """
    shift = strength * side(x) * draws(rngs, lambda rng: rng.uniform(-1.0, 1.0, (2, *x.shape[1:])))
    return blurred(moved(x, shift[:, 0], shift[:, 1]), GLASS)


def zoom_blur(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """The mean over the images enlarged by 1 to 1 + strength, at most half a pixel apart at the edge."""
    steps = 1 + math.ceil(strength * max(x.shape[1:]))
    pairs = [[_enlarged(n, zoom) for n in x.shape[1:]] for zoom in np.linspace(1.0, 1.0 + strength, steps)]
    return sum(rows @ x @ columns.T for rows, columns in pairs) / steps


def brightness(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """The brightest channel of each pixel this much brighter, up to white; hue and saturation stay."""
    value = x.max(axis=-1, keepdims=True)
    more = np.minimum(corruption.brightness(value, strength, rngs), 1.0)
    return np.where(value > 0.0, x * (more / np.where(value > 0.0, value, 1.0)), more)


def jpeg_compression(x: np.ndarray, strength: float, rngs: Rngs) -> np.ndarray:
    """Written as JPEG, with this share of the quality lost, and read again."""
    image, quality = _pillow(), round(100.0 * (1.0 - strength))
    return np.stack([_as_jpeg(image, one, quality) for one in np.rint(x * WHITE).astype(np.uint8)]) / WHITE


def _enlarged(n: int, zoom: float) -> np.ndarray:
    """(n, n): from n pixels to n pixels of the middle, enlarged."""
    middle, at = (n - 1) / 2.0, np.arange(n)
    return hats(middle + (at - middle) / zoom, at)


def _as_jpeg(image: Any, pixels: np.ndarray, quality: int) -> np.ndarray:
    with io.BytesIO() as file:
        image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(
            file, "JPEG", quality=quality, subsampling=CHROMA
        )
        with image.open(file) as read:
            return np.asarray(read).reshape(pixels.shape)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("JPEG compression needs Pillow", cure=installing("vision")) from error
    return Image
