"""Predictions by id: those that wait for their label, and the last of those that do not any more.

Every prediction of an ``OnlineConformal`` comes here, one at a time or, after a batch, those of the batch that leave a
trace. What happens to it (it waits, its label comes, it expires) is decided here and nowhere else.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from wane.errors import IdError


class Made:
    """A prediction that waits: its number, the model's output, its uniform, radii by column, widths by level."""

    def __init__(self, number: int, output: Any, u: Any, radii: tuple[float, ...], widths: tuple[float, ...]) -> None:
        """As it was made; it does not change."""
        self.number = number
        self.output = output
        self.u = u
        self.radii = radii
        self.widths = widths


class Waiting:
    """The predictions that wait for their label, the oldest first, and those that were closed last.

    Args:
        most: how many may wait; the oldest expires when another comes.
        history: how many closed ones are remembered.
    """

    def __init__(self, most: int, history: int) -> None:
        """No prediction has been made."""
        self.most, self.history = most, history
        self.made = 0  # predictions so far
        self.expired = 0  # of them, without a label
        self.next_id = 0  # above every number that was an id
        # Ordered: a plain dict slows down when its first entry is removed over and over.
        self.pending: Any = OrderedDict()  # id -> Made
        self.closed: Any = OrderedDict()  # id -> status, radii, what is known

    def free(self, id: Hashable | None) -> Hashable:
        """The id of the next prediction: the next whole number, or the user's, which must not be in use."""
        if id is None:
            return self.next_id
        if id in self.pending:
            raise IdError(
                f"a prediction with id {id!r} waits for its label", argument="id", cure="update or expire it first"
            )
        return id

    def add(self, id: Any, output: Any, u: float | None, radii: tuple[float, ...], widths: tuple[float, ...]) -> None:
        """A prediction begins to wait; if too many do, the oldest expires."""
        if len(self.pending) >= self.most:
            self.expire(next(iter(self.pending)))
        self.pending[id] = Made(self.made, output, u, radii, widths)
        self.made += 1
        self.reserve(id)

    def reserve(self, id: Any) -> None:
        """An id is in use: the next whole number lies above it (1, 1.0 and True are the same key)."""
        if type(id) is int:
            if id >= self.next_id:
                self.next_id = id + 1
        elif isinstance(id, (int, float)) and self.next_id <= id < math.inf:
            self.next_id = math.floor(id) + 1

    def find(self, id: Hashable) -> Made:
        """The prediction that waits under this id, or an error that says why there is none."""
        found = self.pending.get(id)
        if found is None:
            raise self.unknown(id)
        return found

    def label(self, id: Hashable, said: Any, covered: Any, before: Any, after: Any) -> None:
        """The label of a prediction has been learned.

        Args:
            id: of the prediction.
            said: the score, or those of both sides.
            covered: whether each level covered it.
            before, after: what the trackers would play by themselves before and after they learned it.
        """
        made = self.pending.pop(id)
        self.close(id, ("labelled", made.radii, said, covered, before, after, self.made - made.number - 1))

    def expire(self, id: Hashable) -> None:
        """The label of a prediction will not be learned."""
        made = self.pending.pop(id)
        self.expired += 1
        self.close(id, ("expired", made.radii))

    def close(self, id: Hashable, what: tuple[Any, ...]) -> None:
        """Remember what became of a prediction that waits no longer."""
        if not self.history:
            return
        if id in self.closed:
            del self.closed[id]  # to the end
        elif len(self.closed) >= self.history:
            self.closed.popitem(last=False)
        self.closed[id] = what

    def unknown(self, id: Any) -> IdError:
        """The error about an id under which nothing waits."""
        if id in self.closed:
            if self.closed[id][0] == "labelled":
                return IdError(f"prediction {id!r} has had its label", argument="id", cure="each id is updated once")
            return IdError(
                f"prediction {id!r} has expired",
                argument="id",
                cure=f"it was given up, or more than {self.most} (max_pending) waited",
            )
        old = isinstance(id, int) and 0 <= id < self.next_id
        over = f", or it was over long ago: history keeps {self.history}" if old else ""
        return IdError(
            f"no prediction has the id {id!r}{over}",
            argument="id",
            cure="take it from predict(...).id, and check its type",
        )

    def __reduce__(self) -> Any:
        """Copies and pickles share nothing that changes."""
        pending = [(id, made.number, made.output, made.u, made.radii, made.widths) for id, made in self.pending.items()]
        return restored, (self.most, self.history, self.made, self.expired, self.next_id, pending, self.closed.copy())


def restored(most: int, history: int, made: int, expired: int, next_id: int, pending: Any, closed: Any) -> Waiting:
    """What ``__reduce__`` took apart."""
    waiting = Waiting(most, history)
    waiting.made, waiting.expired, waiting.next_id, waiting.closed = made, expired, next_id, closed
    waiting.pending = OrderedDict((id, Made(*parts)) for id, *parts in pending)
    return waiting
