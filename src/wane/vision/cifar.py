"""CIFAR-10 and CIFAR-100 as they are unpacked, the binary version and the one for Python.

The latter are pickles, and a pickle is a program. Here it can name nothing but the few functions of numpy that these
files name, and gets stand-ins for them, which keep their arguments and do nothing: reading a file runs no code of it.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wane.checks import described
from wane.errors import InputError, MissingFileError
from wane.vision.images import Arrays, Data

SIDE = 32  # pixels
PIXELS = 3 * SIDE * SIDE  # bytes of an image: all of its reds, its greens, its blues


class Layout(NamedTuple):
    """How a version of the data lies in files."""

    folders: tuple[str, str]  # of the version for Python, and of the binary one
    train: tuple[str, ...]
    test: tuple[str, ...]
    classes: int
    key: str  # of the labels, in the version for Python
    header: int  # bytes before an image, in the binary version; the last is its label


LAYOUTS = {
    "cifar10": Layout(
        ("cifar-10-batches-py", "cifar-10-batches-bin"),
        tuple(f"data_batch_{i}" for i in range(1, 6)),
        ("test_batch",),
        10,
        "labels",
        1,
    ),
    "cifar100": Layout(("cifar-100-python", "cifar-100-binary"), ("train",), ("test",), 100, "fine_labels", 2),
}


def read(name: str, root: Path) -> Data:
    """The data set cifar10 or cifar100: ``root`` is its folder, or the one in which that lies."""
    layout = LAYOUTS[name]
    train, test = ([_file(root, layout, file) for file in files] for files in (layout.train, layout.test))
    classes = tuple(map(str, range(layout.classes)))
    return Data(name, classes, _joined(train, layout), _joined(test, layout))


def _file(root: Path, layout: Layout, name: str) -> Path:
    python, binary = layout.folders
    places = [root / python / name, root / name, root / binary / f"{name}.bin", root / f"{name}.bin"]
    for path in places:
        if path.is_file():
            return path
    raise MissingFileError(f"there is no file {places[0]} or {places[2]}", cure="unpack the archive there")


def _joined(paths: list[Path], layout: Layout) -> Arrays:
    parts = [(_binary if path.suffix == ".bin" else _pickled)(path, layout) for path in paths]
    for path, (_, labels) in zip(paths, parts, strict=True):
        if not len(labels) or labels.min() < 0 or labels.max() >= layout.classes:
            raise InputError(f"{path}: labels must lie in [0, {layout.classes}), one an image, got {described(labels)}")
    planes = np.concatenate([images for images, _ in parts]).reshape(-1, 3, SIDE, SIDE)
    return Arrays(planes.transpose(0, 2, 3, 1), np.concatenate([labels for _, labels in parts]).tolist())


def _binary(path: Path, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Images, (n, 3072), and labels of a file of records: label and pixels."""
    data, record = np.fromfile(path, dtype=np.uint8), layout.header + PIXELS
    if len(data) % record:
        raise InputError(f"{path} has {len(data)} bytes, which are no records of {record}", cure="download it again")
    rows = data.reshape(-1, record)
    return rows[:, layout.header :], rows[:, layout.header - 1].astype(np.int64)


def _pickled(path: Path, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Images, (n, 3072), and labels of a pickle: a dictionary of an array and a list."""
    try:
        found = _Unpickler(io.BytesIO(path.read_bytes()), encoding="bytes").load()
        named = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
        images, labels = named["data"].array(), np.array(named[layout.key])
        if labels.ndim != 1 or (len(labels) and labels.dtype.kind not in "iu"):
            raise InputError("its labels must be a list of whole numbers")
        if images.shape != (len(labels), PIXELS):
            raise InputError(f"the shape of the data is {images.shape}, with {len(labels)} labels")
    except Exception as error:  # what is no pickle at all raises nearly anything
        said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} is not a batch of CIFAR as it was published: {said}") from error
    return images, labels.astype(np.int64)


class _Unpickler(pickle.Unpickler):
    """Knows the names in CIFAR's files, and refuses all others."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in; as numpy writes it today and as it did when the files were made."""
        if f"{module}.{name}" not in STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which such a file does not need: refused")
        return STAND_INS[f"{module}.{name}"]


class _Array:
    """Stands for an array: keeps what it would be made of."""

    def __init__(self, *arguments: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> np.ndarray:
        """The bytes as an array, if that is what they are."""
        _, shape, kind, transposed, raw = self.state
        if not (isinstance(kind, _Kind) and kind.code == "u1" and isinstance(raw, bytes) and transposed in (0, 1)):
            raise InputError("its data must be an array of bytes")
        return np.frombuffer(raw, dtype=np.uint8).reshape(shape, order="F" if transposed else "C")


class _Kind:
    """Stands for the type of an array's entries: keeps its code."""

    def __init__(self, code: Any = None, *arguments: Any) -> None:
        self.code = code.decode("ascii") if isinstance(code, bytes) else code

    def __setstate__(self, state: Any) -> None:
        pass


def _encode(text: str, coding: str = "latin1") -> bytes:
    """Stands for codecs.encode: Python 3 writes bytes in old protocols as this."""
    return text.encode("latin1")


STAND_INS: dict[str, Any] = {
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy._core.multiarray._reconstruct": _Array,
    "numpy.ndarray": _Array,
    "numpy.dtype": _Kind,
    "_codecs.encode": _encode,
}
