"""Labelled images, in files or in memory: what a data set is made of."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from wane.errors import InputError, MissingExtraError, installing


class Images(Protocol):
    """Images with labels, read when they are asked for."""

    labels: np.ndarray

    def read(self, indices: np.ndarray) -> np.ndarray:
        """Those images, uint8, (n, height, width, 3)."""

    def marks(self, indices: np.ndarray) -> list[str]:
        """A text for each image, which is another one when the image is."""


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """A data set: the names of its classes, images to learn from, and images that a stream is made of."""

    name: str
    classes: tuple[str, ...]
    train: Images
    test: Images


class Arrays:
    """Images in memory.

    >>> black = Arrays(np.zeros((2, 8, 8, 3), dtype=np.uint8), [0, 1])
    >>> black.read(np.array([1])).shape, black.marks(np.array([1]))
    ((1, 8, 8, 3), ['1 8bff08f2'])
    """

    def __init__(self, images: np.ndarray, labels: Sequence[int]) -> None:
        """Keep (n, height, width, 3), uint8, and a label for each."""
        self.images, self.labels = images, np.array(labels, dtype=np.int64)

    def read(self, indices: np.ndarray) -> np.ndarray:
        """Those images."""
        return self.images[indices]

    def marks(self, indices: np.ndarray) -> list[str]:
        """The place and a checksum of the pixels."""
        return [f"{i} {zlib.crc32(self.images[i].tobytes()):08x}" for i in indices]


class Files:
    """Images in files, all of the size of the first that is read.

    Args:
        root: the folder that the names start from.
        names: of the files.
        labels: one for each.
    """

    def __init__(self, root: Path, names: Sequence[str], labels: Sequence[int]) -> None:
        """Nothing is read yet."""
        self.root, self.names, self.labels = root, names, np.array(labels, dtype=np.int64)
        self.first: tuple[str, tuple[int, ...]] | None = None  # the name and the shape of the first that was read

    def read(self, indices: np.ndarray) -> np.ndarray:
        """Those images, in colour whatever they are in the files."""
        found = [pixels(self.root / self.names[i]) for i in indices]
        self.first = self.first or (self.names[indices[0]], found[0].shape)
        for i, image in zip(indices, found, strict=True):
            if image.shape != self.first[1]:
                is_, wanted = (f"{shape[1]} x {shape[0]}" for shape in (image.shape, self.first[1]))
                problem = f"{self.root / self.names[i]} is {is_} pixels, and {self.first[0]} is {wanted}"
                raise InputError(problem, cure="bring all images to one size")
        return np.stack(found)

    def marks(self, indices: np.ndarray) -> list[str]:
        """The name and a checksum of the file."""
        return [f"{self.names[i]} {_checksum(self.root / self.names[i]):08x}" for i in indices]


def _checksum(path: Path) -> int:
    try:
        return zlib.crc32(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from error


def pixels(path: Path) -> np.ndarray:
    """An image file in colour, uint8, (height, width, 3)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("images are read with Pillow", cure=installing("vision")) from error
    try:
        with Image.open(path) as image:
            if image.mode.startswith("I"):  # 16 bits of grey, of which Pillow would make white
                return np.stack([(np.asarray(image) >> 8).astype(np.uint8)] * 3, axis=-1)
            return np.asarray(image.convert("RGB"))
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    said = getattr(error, "strerror", None) or error
    return InputError(f"{path} cannot be read as an image ({said})", cure="replace it, or leave it out")
