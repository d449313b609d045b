"""What learners and trackers share: state as plain data, copies, pickles, a repr."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.state import data as plain_data
from wane.state.cells import Cells


class Stateful:
    """An object that is its arguments (``parameters``) and what the next round needs (``memory``)."""

    parameters = ()  # type: tuple[str, ...]  # the arguments of __init__, kept under the same names
    added = ()  # type: tuple[str, ...]  # those that older files may lack
    removed = ()  # type: tuple[str, ...]  # those that older files may have, and that mean nothing any more
    memory = ()  # type: tuple[str, ...]  # numbers, arrays, and objects that are Stateful themselves

    # True says that an update cannot fail, once its input was checked and ``_ready``, if there is one, has passed it.
    # Whoever calls one that may fail (the default) keeps the state first, and puts it back after an error.
    atomic = False  # type: Any

    # What a state may hold; ``wane.state.limits`` refuses any other when it is read.
    extents = ()  # type: tuple[str, ...]  # arguments, or fields of the memory, that are lengths of arrays

    @classmethod
    def least_numbers(cls, given: Any) -> int:
        """How many numbers the memory holds at least; given are arguments, or a memory, as plain data not checked."""
        asked = [given.get(name) for name in cls.extents]
        return max((n for n in asked if isinstance(n, int)), default=0)

    def limits(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value of fields of the memory; every count and every index must be among them."""
        return {}

    def misfit(self) -> str | None:
        """The name of a field that contradicts the others, such as a count of rounds that are not there; or None."""
        return None

    def _older(self, memory: Any) -> bool:
        """Take over a memory that an older version wrote in another form; False if it is none."""
        return False

    def flat(self) -> int:
        """How many floats hold all that tells it from another of the same arguments; 0 if no fixed number does."""
        cells = Cells()
        self._fields(cells)
        return cells.at if cells.fixed else 0

    def as_row(self) -> np.ndarray:
        """The state as that many floats."""
        cells = Cells()
        rows = np.zeros((1, self.flat()))
        if rows.size:
            cells._write(rows.data, 0)  # type: ignore[attr-defined]
            self._fields(cells)
        return rows[0]

    def set_row(self, row: np.ndarray) -> None:
        """Take the state of another that was made with the same arguments."""
        cells = Cells()
        rows = np.array(row, dtype=float, ndmin=2)
        if rows.shape != (1, self.flat()):
            raise InputError(f"must be {self.flat()} numbers, got shape {np.shape(row)}", about="row")
        cells._read(rows.data, 0)  # type: ignore[attr-defined]
        self._fields(cells)

    def _fields(self, cells):
        """Show each field of the state to ``cells``, always in the same order; a class that does not is not flat."""
        cells.vary()

    def reset(self) -> None:
        """Forget everything: it is as it was made."""
        for value in plain_data.parts_of(self):
            value.reset()
        self.__init__(**{k: getattr(self, k) for k in self.parameters})  # type: ignore[misc]

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data that ``load`` turns back into the same object."""
        return plain_data.state_dict(self)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> Any:
        """Rebuild an object of this class; ``objects`` are the arguments that plain data cannot hold."""
        return plain_data.rebuild(cls, state, dict(objects))

    def __reduce__(self) -> Any:
        """Pickle by the arguments and the memory."""
        return plain_data.remade, (type(self), {k: getattr(self, k) for k in self.parameters}, plain_data.memory(self))

    def __copy__(self) -> Any:
        """A copy shares nothing with the original."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        """The call that makes it."""
        inside = ", ".join(f"{k}={plain_data.short(getattr(self, k))}" for k in self.parameters)
        return f"{type(self).__name__}({inside})"
