"""The bookkeeping of predictions by id: which wait for their label, and which were labelled or expired last.

Every prediction of an ``OnlineConformal`` comes here, either one at a time or after a batch. Whether it waits, gets its
label or expires is decided here and nowhere else.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from wane.errors import IdError


class Made:
    """A prediction that waits for its label, with everything that is needed to learn it.

    ``id`` is the very key under which it waits, ``number`` counts predictions, ``u`` is the uniform of a randomised
    score, ``radii`` are by column and ``widths`` by level, and ``note`` is what the trackers keep with it.
    """

    def __init__(
        self,
        id: Hashable,
        number: int,
        output: Any,
        u: Any,
        radii: tuple[float, ...],
        widths: tuple[float, ...],
        note: tuple[float, ...] = (),
    ) -> None:
        """Keep what was predicted."""
        self.id = id
        self.number = number
        self.output = output
        self.u = u
        self.radii = radii
        self.widths = widths
        self.note = note


class Waiting:
    """The predictions that wait for their label, the oldest first, and the last ones that do not wait any more.

    Args:
        most: how many may wait; the oldest expires when one more is made.
        history: how many labelled or expired predictions are remembered.
    """

    def __init__(self, most: int, history: int) -> None:
        """Begin without predictions."""
        self.most, self.history = most, history
        self.made = 0  # how many predictions were made
        self.expired = 0  # how many of them expired
        self.next_id = 0  # above every number that was an id
        # A plain dict slows down when its first entry is removed over and over; an OrderedDict does not.
        self.pending: Any = OrderedDict()  # id -> Made
        self.closed: Any = OrderedDict()  # id -> status, radii, and for labelled ones what the label did

    def free(self, id: Hashable) -> Hashable:
        """Return a user's id for the next prediction; an error if a prediction waits under it."""
        if id in self.pending:
            raise IdError(
                f"a prediction with id {id!r} waits for its label", argument="id", cure="update or expire it first"
            )
        return id

    def add(
        self,
        id: Any,
        output: Any,
        u: float | None,
        radii: tuple[float, ...],
        widths: tuple[float, ...],
        note: tuple[float, ...] = (),
    ) -> None:
        """Let a prediction wait for its label. If too many wait, the oldest expires."""
        self.pending[id] = Made(id, self.made, output, u, radii, widths, note)
        self.made += 1
        self.reserve(id)
        if len(self.pending) > self.most:
            oldest, made = self.pending.popitem(last=False)
            self.gave_up(oldest, made.radii)

    def add_prepared(self, prepared: tuple[Any, ...]) -> None:
        """Do what ``add`` does with what an ``OnlineConformal`` has prepared: a prediction, and the arguments."""
        self.add(prepared[1], prepared[2], prepared[3], prepared[4], prepared[5], prepared[6])

    def reserve(self, id: Any) -> None:
        """Raise ``next_id`` above an id that is in use. (1, 1.0 and True are the same key.)"""
        if type(id) is int:
            if id >= self.next_id:
                self.next_id = id + 1
        elif isinstance(id, (int, float)) and self.next_id <= id < math.inf:
            self.next_id = math.floor(id) + 1

    def find(self, id: Hashable) -> Made:
        """Return the prediction that waits under this id; if there is none, the error says why."""
        found = self.pending.get(id)
        if found is None:
            raise self.unknown(id)
        return found

    def wait_again(self, made: Made) -> None:
        """Let a prediction wait again, in the place that it had, because its label could not be learned."""
        self.pending[made.id] = made
        self.pending = OrderedDict(sorted(self.pending.items(), key=number_of))

    def labelled(self, id: Hashable, number: int, radii: Any, said: Any, covered: Any, before: Any, after: Any) -> None:
        """Remember a prediction whose label has been learned, after all predictions that were made.

        Args:
            id: of the prediction.
            number: which prediction it was.
            radii: those that were played.
            said: the score of the label, or those of both sides.
            covered: whether each level covered it.
            before, after: what the trackers would play by themselves before and after they learned it.
        """
        self.close(id, ("labelled", radii, said, covered, before, after, self.made - number - 1))

    def expire(self, id: Hashable) -> None:
        """Give up waiting for the label of a prediction."""
        made = self.find(id)
        del self.pending[made.id]
        self.gave_up(made.id, made.radii)

    def gave_up(self, id: Hashable, radii: tuple[float, ...]) -> None:
        """Remember a prediction, which does not wait any more, whose label did not come in time."""
        self.expired += 1
        self.close(id, ("expired", radii))

    def close(self, id: Hashable, what: tuple[Any, ...]) -> None:
        """Remember what became of a prediction, if a history is kept.

        The hash of a key may be Python code, as that of a UUID is, in which a signal may be handled. What is remembered
        is remembered all the same, and the exception comes afterwards. This is the last step of whoever calls it.
        """
        if self.history:
            try:
                self._close(id, what)
            except BaseException:
                self._close(id, what)
                raise

    def _close(self, id, what):
        if id in self.closed:
            del self.closed[id]  # so that it moves to the end
        elif len(self.closed) >= self.history:
            self.closed.popitem(last=False)
        self.closed[id] = what

    def reopen(self, id: Hashable, before: Any, oldest: Any) -> None:
        """Undo ``labelled``, whether or not it was completed.

        ``before`` is the whole history if the id was in it, else None, and ``oldest`` is its first entry, if any.
        """
        if before is not None:
            self.closed = before
        else:
            self.closed.pop(id, None)
            if oldest is not None and oldest[0] not in self.closed:
                self.closed[oldest[0]] = oldest[1]
                self.closed.move_to_end(oldest[0], last=False)

    def unknown(self, id: Any) -> IdError:
        """Make the error about an id under which no prediction waits."""
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

    def __copy__(self) -> Waiting:
        """Return a copy that shares nothing that changes."""
        made = Waiting(self.most, self.history)
        made.made, made.expired, made.next_id = self.made, self.expired, self.next_id
        made.pending, made.closed = self.pending.copy(), self.closed.copy()
        return made

    def __reduce__(self) -> Any:
        """Let copies and pickles share nothing that changes."""
        pending = [
            (id, made.number, made.output, made.u, made.radii, made.widths, made.note)
            for id, made in self.pending.items()
        ]
        return restored, (self.most, self.history, self.made, self.expired, self.next_id, pending, self.closed.copy())


def add_all(parts: list[tuple[Waiting, tuple[Any, ...]]], fields: dict[str, Any], name: str, value: Any) -> None:
    """Let several predictions wait, each where it belongs, and set a field of their owner.

    Compiled, no signal is handled in between. A part is a ``Waiting`` and what ``OnlineConformal`` has prepared.
    """
    for waiting, prepared in parts:
        waiting.add_prepared(prepared)
    fields[name] = value


def number_of(item: tuple[Hashable, Made]) -> int:
    """Return the number of a prediction that waits, for sorting."""
    return item[1].number


def restored(most: int, history: int, made: int, expired: int, next_id: int, pending: Any, closed: Any) -> Waiting:
    """Put together what ``__reduce__`` took apart."""
    waiting = Waiting(most, history)
    waiting.made, waiting.expired, waiting.next_id, waiting.closed = made, expired, next_id, closed
    waiting.pending = OrderedDict((parts[0], Made(*parts)) for parts in pending)
    return waiting
