"""TinyImageNet as it is unpacked: 200 classes, images of 64 x 64 pixels in files, 500 a class to learn from."""

from __future__ import annotations

import os
from pathlib import Path

from wane.checks import described
from wane.errors import InputError, MissingFileError
from wane.vision.images import Data, Files

FOLDER = "tiny-imagenet-200"  # what the archive makes
SUFFIXES = (".jpeg", ".jpg", ".png")


def read(root: Path) -> Data:
    """The data set: ``train/CLASS/images/*.JPEG``, ``val/images`` and ``val/val_annotations.txt``.

    ``root`` is its folder, or the one in which that lies. Validation images that were sorted into folders of their
    classes are read as those to learn from are. Classes are in the order of their names. The images of ``test/`` have
    no labels and are not used, nor is anything whose name begins with a dot.
    """
    if (root / FOLDER).is_dir() and not (root / "train").is_dir():
        root = root / FOLDER
    for folder in (root, root / "train", root / "val"):
        if not folder.is_dir():
            raise MissingFileError(f"there is no folder {folder}", cure="wanted is one with train/ and val/ in it")
    classes = _folders(root / "train")
    if len(classes) < 2:
        raise InputError(f"{root / 'train'} must hold a folder for each of at least two classes, got {classes}")
    numbers = {name: k for k, name in enumerate(classes)}
    in_val = [name for name in _folders(root / "val") if name != "images"]
    is_sorted = in_val and not _names(root / "val" / "images")
    train = _sorted(root, "train", classes, numbers)
    test = _sorted(root, "val", in_val, numbers) if is_sorted else _annotated(root, numbers)
    return Data("tinyimagenet", tuple(classes), Files(root, *train), Files(root, *test))


def _names(folder: Path) -> list[str]:
    """What is in a folder, which need not be there."""
    return sorted(name for name in os.listdir(folder) if not name.startswith(".")) if folder.is_dir() else []


def _folders(folder: Path) -> list[str]:
    return [name for name in _names(folder) if (folder / name).is_dir()]


def _sorted(root: Path, part: str, folders: list[str], classes: dict[str, int]) -> tuple[list[str], list[int]]:
    """Names and labels of the images in folders of their classes, one after the other."""
    names, labels = [], []
    for folder in folders:
        if folder not in classes:
            raise InputError(f"{root / part / folder}: no images to learn {folder!r} from in {root / 'train' / folder}")
        images = _images(root, f"{part}/{folder}")
        names += images
        labels += [classes[folder]] * len(images)
    return names, labels


def _images(root: Path, folder: str) -> list[str]:
    """The names of the images of a class, which may also lie in its folder without another in between."""
    inside = f"{folder}/images" if (root / folder / "images").is_dir() else folder
    found = [f"{inside}/{name}" for name in _names(root / inside) if name.lower().endswith(SUFFIXES)]
    if not found:
        raise InputError(f"{root / inside} holds no image ({', '.join(SUFFIXES)}): every class needs some")
    return found


def _annotated(root: Path, classes: dict[str, int]) -> tuple[list[str], list[int]]:
    """Names and labels of the validation images, in the order of the file that lists them."""
    path = root / "val" / "val_annotations.txt"
    if not path.is_file():
        raise MissingFileError(f"there is no file {path}: a line of it is the name of an image, a tab and its class")
    there = {*_names(root / "val" / "images")}
    names, labels = [], []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8", cure="unpack it again") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, label, *_ = [*line.split("\t"), ""]
        if not label:
            raise InputError(f"{path}, line {number}: wanted a name, a tab and a class, got {described(line)}")
        if label not in classes:
            raise InputError(f"{path}, line {number}: no images to learn {label!r} from in {root / 'train' / label}")
        if name not in there:
            raise MissingFileError(f"{path}, line {number}: there is no file {root / 'val' / 'images' / name}")
        names.append(f"val/images/{name}")
        labels.append(classes[label])
    if not names:
        raise InputError(f"{path} names no image")
    return names, labels
