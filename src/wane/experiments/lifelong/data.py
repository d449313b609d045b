"""Real tables that come with scikit-learn, as arrays: nothing is downloaded."""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

import numpy as np

from wane.errors import MissingExtraError, installing

WHITE = 16.0  # the largest pixel of the digits


class Table(NamedTuple):
    """Inputs (n, d), targets (n,), and how many classes there are; 0 where the targets are numbers."""

    x: np.ndarray
    y: np.ndarray
    classes: int


@functools.cache
def table(name: str) -> Table:
    """A table by its name: digits, wine, breast_cancer or diabetes; columns of mean 0, variance 1, but for pixels."""
    found = loaded(name)
    y = np.asarray(found.target)
    if name == "digits":
        return Table(np.asarray(found.data, dtype=np.float64) / WHITE, y, 10)
    x = standard(np.asarray(found.data, dtype=np.float64))
    if name == "diabetes":
        return Table(x, standard(y.astype(np.float64)), 0)
    return Table(x, y, int(y.max()) + 1)


def loaded(name: str) -> Any:
    """What scikit-learn holds under that name."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ModuleNotFoundError:
        raise MissingExtraError("these data are bundled with scikit-learn", cure=installing("data")) from None
    return getattr(datasets, f"load_{name}")()


def standard(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1."""
    return (x - x.mean(axis=0)) / x.std(axis=0)
