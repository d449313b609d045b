"""Numbers and times that are written as text. This is the one rule about them, for files and for data frames.

Text that is sorted as text puts 31.01.2024 after 29.02.2024, so that rows would learn from the future. And 1,234 is one
number in London and another one in Berlin. What a cell does not say by itself, other cells of the table say, or else
the user does.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import AmbiguousDatesError, InputError, Setting

MOMENT = "datetime64[us]"
POINT, COMMA = "point", "comma"  # what separates decimals
DMY, MDY = "dmy", "mdy"  # orders of dates that end with the year
HALF_DAY = 12  # hours, for am and pm
SPACES = "' \u2019\u00a0\u202f"  # what may stand between thousands besides a point or a comma
GROUPED = {  # numbers as people write them, by what separates their decimals
    POINT: re.compile(rf"[-+]?(\d+|\d{{1,3}}([,{SPACES}])\d{{3}}(\2\d{{3}})*)(\.\d*)?([eE][-+]?\d+)?"),
    COMMA: re.compile(rf"[-+]?(\d+|\d{{1,3}}([.{SPACES}])\d{{3}}(\2\d{{3}})*)(,\d*)?([eE][-+]?\d+)?"),
}
COMMAS = re.compile(
    r"[-+]?(\d+,(\d{1,2}|\d{4,})?|0+,\d+|\d{1,3}(\.\d{3})+,\d*)([eE][-+]?\d+)?"
)  # surely decimal commas
POINTS = re.compile(r"[-+]?(\d+\.(\d{1,2}|\d{4,})|0+\.\d+|\d{1,3}(,\d{3})+\.\d*|\d{1,3}(,\d{3}){2,})")  # surely points
DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,6})?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
)
MONTH = re.compile(r"(\d{4})[-/.](\d{1,2})")
MONTH_LAST = re.compile(r"(0?[1-9]|1[0-2])[-/.]((?:19|20)\d\d)")
QUARTER = re.compile(r"(\d{4})[-/ ]?[Qq]([1-4])")
QUARTER_LAST = re.compile(r"[Qq]([1-4])[-/ ]?(\d{4})")


class Notation:
    """How a table writes its numbers and dates: what the user says, or what its cells have shown so far.

    Args:
        decimal: "point" or "comma"; None if the cells are to show it.
        dates: "dmy" for 31/01/2024, "mdy" for 01/31/2024; None if the cells are to show it.
        likely: the decimal mark, if a cell such as 1,234 could be read in both ways and no other cell says more.
        cells: gives all cells of a column, piece by piece, in case that the first ones do not show the order of dates;
            None if a table cannot be read twice.
    """

    def __init__(
        self,
        decimal: str | None = None,
        dates: str | None = None,
        likely: str | None = None,
        cells: Callable[[str], Iterable[list[str]]] | None = None,
    ) -> None:
        """Begin without having seen a cell."""
        if dates not in (None, DMY, MDY):
            raise InputError(f"must be 'dmy' or 'mdy', got {described(dates)}", about="dates")
        if decimal not in (None, POINT, COMMA):
            raise InputError(f"must be 'point' or 'comma', got {described(decimal)}", about="decimal")
        self.decimal, self.dates, self.likely, self.cells = decimal, dates, likely, cells
        self.points = False  # whether numbers were read that have a point

    def settle(self, columns: list[Any]) -> None:
        """Look at columns of numbers, to know whether their decimals follow a comma; other cells than text are skipped.

        >>> notation = Notation()
        >>> notation.settle([["1.234", "1.100,5"]])
        >>> notation.floats(["1.234", "7"]).tolist()
        [1234.0, 7.0]
        """
        if self.decimal is not None:
            return
        cells = [c for column in columns if isinstance(column, list) for c in column if isinstance(c, str)]
        text = "".join(cells)
        if "," not in text:
            self.points = self.points or "." in text
            return
        found = {
            COMMA if COMMAS.fullmatch(c) else POINT if POINTS.fullmatch(c) else None for c in map(str.strip, cells)
        }
        known = found & {COMMA, POINT} or ({POINT} if self.points else {self.likely})
        if COMMA in known and (self.points or len(known) > 1):
            raise InputError(
                "some numbers have a decimal point and others a decimal comma",
                argument="decimal",
                cure=("write them alike, or give ", Setting("decimal", COMMA), " or ", Setting("decimal", POINT)),
            )
        self.decimal = known.pop()

    def floats(self, cells: Any) -> np.ndarray:
        """Text as numbers; a ValueError if a cell is not a number, and a TypeError if it is not text."""
        text = "".join(cells)
        if "_" in text:
            raise InputError("1_000 is a number in Python only")
        plain = self.decimal != COMMA or "." not in text
        return np.array(list(map(float if plain else self.number, cells)), dtype=np.float64)

    def number(self, cell: str) -> float:
        """One number; a ValueError if the cell is none.

        >>> Notation(decimal="comma").number("1.234,5"), Notation(decimal="point").number("1,234.5")
        (1234.5, 1234.5)
        """
        cell = cell.strip()
        decimal = POINT if self.decimal is None and "," not in cell else self.decimal
        if decimal is not None and GROUPED[decimal].fullmatch(cell):
            mark = "." if decimal == COMMA else ","
            return float(re.sub(f"[{mark}{SPACES}]", "", cell).replace(",", "."))
        if self.decimal == COMMA and "." in cell:
            raise InputError(f"{cell!r} has a decimal point, and others have decimal commas")
        return float(cell)

    def moment(self, cell: str) -> datetime.datetime:
        """One date or time; a ValueError if the cell is none, or if its order of day and month is not known.

        A month or a quarter is its first day.

        >>> cells = "01/31/2024", "31.01.2024", "2024Q2", "2024-03"
        >>> [str(Notation(dates="mdy").moment(cell).date()) for cell in cells]
        ['2024-01-31', '2024-01-31', '2024-04-01', '2024-03-01']
        """
        try:
            return instant(cell.replace("Z", "+00:00"))
        except ValueError:
            pass
        if found := DATE.fullmatch(cell):
            return at_time(found, *ordered(found, self.dates))
        for form, year, part in ((MONTH, 1, 2), (MONTH_LAST, 2, 1), (QUARTER, 1, 2), (QUARTER_LAST, 2, 1)):
            if found := form.fullmatch(cell):
                number = int(found[part])
                month = 3 * number - 2 if form in (QUARTER, QUARTER_LAST) else number
                return datetime.datetime(int(found[year]), month, 1)
        raise InputError(f"{cell!r} is not a time")

    def find_order(self, name: str, cells: list[str]) -> None:
        """Find out whether the day or the month comes first in the dates of a column, if that is not known yet.

        >>> notation = Notation()
        >>> notation.find_order("ds", ["01/02/2024", "13/02/2024"])
        >>> notation.dates
        'dmy'
        """
        open_ended = next((c for c in cells if (d := DATE.fullmatch(c)) and undecided(d)), None)
        if self.dates is not None or open_ended is None:
            return
        self.dates = order_shown(cells)
        if self.dates is None and self.cells is not None:
            for more in self.cells(name):
                self.dates = self.dates or order_shown(more)
        if self.dates is None:
            raise AmbiguousDatesError(
                f"the column {name!r} has dates such as {open_ended}, and none of them shows whether the day or the "
                "month comes first",
                argument="dates",
                cure=("give ", Setting("dates", DMY), " or ", Setting("dates", MDY)),
                example=open_ended,
            )


def undecided(date: re.Match[str]) -> bool:
    """Whether a date ends with its year, and its separator does not say whether the day comes first; a point does."""
    return len(date[1]) <= 2 and len(date[4]) == 4 and date[2] != "."


def order_shown(cells: Iterable[str]) -> str | None:
    """The order of the first date that has only one, such as 01/31/2024; None if there is none."""
    for cell in cells:
        date = DATE.fullmatch(cell.strip())
        if date and undecided(date):
            if int(date[1]) > HALF_DAY:
                return DMY
            if int(date[3]) > HALF_DAY:
                return MDY
    return None


def ordered(date: re.Match[str], order: str | None) -> tuple[int, int, int]:
    """The year, the month and the day of a date."""
    first, second, last = int(date[1]), int(date[3]), int(date[4])
    if len(date[1]) == 4 and len(date[4]) <= 2:
        return first, second, last
    if len(date[1]) > 2 or len(date[4]) != 4:
        raise InputError(f"{date[0]!r} needs a year of four digits")
    return (last, first, second) if order == MDY and date[2] != "." else (last, second, first)


def at_time(date: re.Match[str], year: int, month: int, day: int) -> datetime.datetime:
    """A date with the time that is written behind it."""
    hour, minute, second = (int(date[k] or 0) for k in (5, 6, 7))
    if date[9]:
        if not 1 <= hour <= HALF_DAY:
            raise InputError(f"{date[0]!r} has an hour that does not exist")
        hour = hour % HALF_DAY + HALF_DAY * (date[9] in "Pp")
    fraction = int((date[8] or ".0")[1:].ljust(6, "0"))
    return datetime.datetime(year, month, day, hour, minute, second, fraction)


def read_times(cells: list[str], name: str = "time", notation: Notation | None = None) -> tuple[np.ndarray, int | None]:
    """Read numbers, or dates and times. The second result is the first row that is neither, or None.

    >>> read_times(["2024-01-31", "2024-02-29"])[0].tolist()[0]
    datetime.datetime(2024, 1, 31, 0, 0)
    >>> read_times(["31.01.2024", "29.02.2024"])[0].tolist()[0]
    datetime.datetime(2024, 1, 31, 0, 0)
    >>> read_times(["31 Jan", "29 Feb"])[1]
    0
    """
    # Numbers and plain ISO dates are common, and can be read all at once. 01.2024 is a month and not a number.
    notation = Notation() if notation is None else notation
    try:
        found = notation.floats(cells)
        if not (cells and MONTH_LAST.fullmatch(cells[0].strip()) and all(map(MONTH_LAST.fullmatch, cells))):
            return found, None
    except ValueError:
        pass
    if all(len(cell) >= 10 and cell[4] == "-" for cell in cells):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy warns of a time zone: below
                return np.array(cells, dtype=MOMENT), None
        except (ValueError, Warning):
            pass
    # The rest is read one by one, to know time zones and to find the first cell that is not a time.
    cells = [cell.strip() for cell in cells]
    notation.find_order(name, cells)
    times = np.empty(len(cells), dtype=MOMENT)
    for i, cell in enumerate(cells):
        try:
            times[i] = notation.moment(cell)
        except (ValueError, OverflowError):
            return times, i
    return times, None


def no_moment(name: str, cell: str) -> str:
    """Say that a cell of a column is not a time, and what is one."""
    return (
        f"the column {name!r} must hold numbers or dates (such as 2024-01-31, 31.01.2024, 01/31/2024, 2024-01 or "
        f"2024Q1), which put the rows in order, got {described(cell)}"
    )


def instant(cell: str) -> datetime.datetime:
    """A moment in ISO form; in UTC if the cell says its zone."""
    moment = datetime.datetime.fromisoformat(cell)
    return moment.astimezone(datetime.timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment
