"""What learners and trackers share: state as plain data, copies, pickles, a repr."""

from __future__ import annotations

import copy
from typing import Any

from wane.state import data as plain_data


class Stateful:
    """An object that is its arguments (``parameters``) and what the next round needs (``memory``)."""

    parameters = ()  # type: tuple[str, ...]  # the arguments of __init__, kept under the same names
    added = ()  # type: tuple[str, ...]  # those that older files may lack
    memory = ()  # type: tuple[str, ...]  # numbers, arrays, and objects that are Stateful themselves

    def sound(self) -> bool:
        """Whether the memory is one that the rounds could have left; a state that fails this is refused."""
        return True

    def flat(self) -> int:
        """How many floats hold all that tells it from another of its kind; 0 if no fixed number does.

        Then ``_write`` puts them into a row of an array, ``_read`` takes them back: many states, one object.
        """
        return 0

    def _write(self, rows, i, at):
        return at

    def _read(self, rows, i, at):
        return at

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
