"""A state of fixed size as a row of numbers: many states, one object, as in a panel of a million series.

A class lists its fields once, in ``_fields(cells)``. The same list counts the numbers, writes them and reads them, so
that no place in a row is known anywhere:

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        self.q = cells.number(self.q)
        cells.vector(self.weights)
        self.spread._fields(cells)

Rows are of 64-bit floats, which hold whole numbers exactly up to 2^53: at a million rounds a second, 285 years. Files
hold such rows, so the order of a list does not change.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from wane import _cython as cython


class Cells:
    """A cursor over the numbers of a row, which counts, writes or reads the fields that it is shown."""

    def __init__(self) -> None:
        """Count, until ``_write`` or ``_read`` is called."""
        self.writing = self.reading = False
        self.fixed = True
        self.at = 0  # how many were counted


if not cython.compiled:  # compiled, these are in the .pxd, where C can make them part of whoever calls them

    class Cursor:
        """What ``Cells`` does."""

        def number(self: Any, value: Any) -> Any:
            """A float: what was read, or the value itself, which is written."""
            at = self.at
            self.at = at + 1
            if self.reading:
                return self.rows[self.i, at]
            if self.writing:
                self.rows[self.i, at] = value
            return value

        def whole(self: Any, value: Any) -> int:
            """A whole number."""
            return int(self.number(value))

        def vector(self: Any, values: Any) -> None:
            """An array of floats, in place."""
            for i in range(values.shape[0]):
                values[i] = self.number(values[i])

        def vary(self: Any) -> None:
            """Say that no fixed number of floats holds this state."""
            self.fixed = False

        def _read(self: Any, rows: Any, i: int) -> None:
            """Begin to read row i."""
            self.rows, self.i, self.at = rows, i, 0
            self.reading, self.writing = True, False

        def _write(self: Any, rows: Any, i: int) -> None:
            """Begin to write row i."""
            self.rows, self.i, self.at = rows, i, 0
            self.reading, self.writing = False, True

    for name, method in vars(Cursor).items():
        if not name.startswith("__"):
            setattr(Cells, name, method)
