"""TinyImageNet as it is unpacked: 200 classes, images of 64 x 64 pixels in files, 500 a class to learn from."""

from __future__ import annotations

import os
from pathlib import Path

from wane.checks import described
from wane.vision.images import Data, Files

SUFFIXES = (".jpeg", ".jpg", ".png")


def read(root: Path) -> Data:
    """The data set below ``root``: ``train/CLASS/images/*.JPEG``, ``val/images`` and ``val/val_annotations.txt``.

    Classes are in the order of their names. The images of ``test/`` have no labels and are not used.
    """
    for folder in (root, root / "train", root / "val"):
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}: wanted is one with train/ and val/ in it")
    classes = sorted(path.name for path in (root / "train").iterdir() if path.is_dir())
    if len(classes) < 2:
        raise ValueError(f"{root / 'train'} must hold a folder for each of at least two classes, got {classes}")
    found = [_images(root, f"train/{name}") for name in classes]
    names = [name for images in found for name in images]
    labels = [k for k, images in enumerate(found) for _ in images]
    test = _annotated(root, {name: k for k, name in enumerate(classes)})
    return Data("tinyimagenet", tuple(classes), Files(root, names, labels), Files(root, *test))


def _images(root: Path, folder: str) -> list[str]:
    """The names of the images of a class, which may also lie in its folder without another in between."""
    inside = f"{folder}/images" if (root / folder / "images").is_dir() else folder
    found = sorted(f"{inside}/{name}" for name in os.listdir(root / inside) if name.lower().endswith(SUFFIXES))
    if not found:
        raise ValueError(
            f"{root / inside} holds no image ({', '.join(SUFFIXES)}): every class needs some to learn from"
        )
    return found


def _annotated(root: Path, classes: dict[str, int]) -> tuple[list[str], list[int]]:
    """Names and labels of the validation images, in the order of the file that lists them."""
    path = root / "val" / "val_annotations.txt"
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: a line of it is the name of an image, a tab and its class")
    there = {*os.listdir(root / "val" / "images")} if (root / "val" / "images").is_dir() else set()
    names, labels = [], []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: unpack it again") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, label, *_ = [*line.split("\t"), ""]
        if not label:
            raise ValueError(f"{path}, line {number}: wanted a name, a tab and a class, got {described(line)}")
        if label not in classes:
            raise ValueError(f"{path}, line {number}: no images to learn {label!r} from in {root / 'train' / label}")
        if name not in there:
            raise FileNotFoundError(f"{path}, line {number}: there is no file {root / 'val' / 'images' / name}")
        names.append(f"val/images/{name}")
        labels.append(classes[label])
    if not names:
        raise ValueError(f"{path} names no image")
    return names, labels
