"""Groups within streams: trackers for each group, which begin where the stream's own are."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.panel import batch, ticks
from wane.panel.batch import Played, Rows, stretches
from wane.panel.index import as_list
from wane.panel.panel import Intervals, Panel
from wane.state import data as plain_data
from wane.state.encoding import checked_key, decode_key, encode_key
from wane.state.files import known


@known
class Groups:
    """A panel in which each group of a stream has trackers of its own, so that each group keeps its coverage.

    The first prediction of a group in a stream makes its trackers: copies of the stream's own, the *parent*, which
    learn from every row of the stream. (A group that begins while its stream is still warming up warms up by itself.)
    Arguments as for ``Panel``.

    >>> groups = Groups("magl", alpha=0.1)
    >>> for t in range(200):
    ...     weekend = t % 7 >= 5
    ...     p = groups.predict(["shop"], [0.0], ["weekend" if weekend else "weekday"])
    ...     groups.update(["shop"], [9.0 if weekend else 1.0])
    >>> [groups.predict(["shop"], [0.0], [g]).radius.round(1).item() for g in ("weekday", "weekend")]
    [1.0, 9.3]
    """

    def __init__(self, method: str, alpha: Any = 0.1, score: Any = "absolute", **settings: Any) -> None:
        """No stream, no group."""
        self.children = Panel(method, alpha, score, **settings)
        self.parent = Panel(method, alpha, score, **{**settings, "on_unbounded": "allow"})  # nobody sees its intervals
        self._last: dict[Any, Any] = {}  # the group of the last prediction of each stream
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """How many groups, over all streams."""
        return len(self.children)

    def predict(self, ids: Any, outputs: Any, groups: Any) -> Intervals:
        """One interval for each of these streams, from the trackers of the group that it is in now."""
        with self._lock:
            keys = pairs(ids, groups)
            parent, children = self.parent, self.children
            with parent._index_kept(), children._index_kept():
                places = parent.index.places(ids, add=True)
                parent._refuse_repeated(places)
                parent._make_room()
                for key, place in zip(keys, places.tolist(), strict=True):
                    self._adopt(key, place)
                made = children.predict(keys, outputs)  # all that can fail
            parent.predict(ids, outputs)
            children.seen[children.index.places(keys)] = parent.seen[places]
            self._last.update(keys)
            return Intervals(made.alpha, ids, made.lower, made.upper, made.radius)

    def update(self, ids: Any, y: Any) -> None:
        """Learn the labels of the last predictions of these streams: their groups do, and the streams themselves."""
        with self._lock:
            parents = ticks.checked(self.parent, ids, y)
            groups = ticks.checked(self.children, [(id, self._last[id]) for id, _ in pairs(ids, ids)], y)
            with ticks.undone(self.parent, parents), ticks.undone(self.children, groups):
                ticks.learn(self.parent, parents)
                ticks.learn(self.children, groups)

    def run(self, ids: Any, outputs: Any, y: Any, groups: Any, delay: int = 0) -> Intervals:
        """Whole histories, as ``Panel.run``, with the group of each row."""
        with self._lock, self._kept():
            keys = pairs(ids, groups)
            places = self.parent.index.places(ids, add=True)
            order = np.argsort(places, kind="stable")
            streams, starts = stretches(places[order])
            names = [keys[i][0] for i in order[starts[:-1]]]
            played = self._replay(streams, starts, names, outputs, y, [group for _, group in keys], delay, order)
            return self.children._intervals(ids, played.radii, played.lower, played.upper)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """After an error everything is as before."""
        before = copy.copy(self.parent), copy.copy(self.children)
        try:
            yield
        except BaseException:
            self.parent, self.children = before
            raise

    def _replay(
        self,
        places: np.ndarray,
        starts: np.ndarray,
        names: list[Any],
        outputs: Any,
        y: Any,
        groups: list[Any],
        delay: Any,
        order: np.ndarray,
    ) -> Played:
        """Rows that ``order`` brings into streams; played in the order given. First the parents, then the groups."""
        parent, children, settings = self.parent, self.children, self.parent.settings
        columns = settings.columns_of(outputs)
        if len(columns) != len(order):
            raise InputError(f"must be one for each of the {len(columns)} rows, got {len(order)}", about="ids")
        columns = columns[order]
        labels, known_ones = (array[order] for array in settings.labels(y, len(columns)))
        parent._make_room()
        began, lengths = parent.seen[places].copy(), np.diff(starts)
        ends = began + lengths
        pos = np.arange(len(labels)) + np.repeat(began - starts[:-1], lengths)
        rows = Rows(places, starts, settings.outputs_of(columns), labels, known_ones, None, ends)

        # The parents first: up to the row with which a group begins, then its trackers are copied, and so on.
        owner = np.repeat(np.arange(len(places)), lengths)
        keys = [(names[s], groups[i]) for s, i in zip(owner.tolist(), order.tolist(), strict=True)]
        first: dict[Any, int] = {}
        for t, key in enumerate(keys):
            first.setdefault(key, t)
        new = np.array(sorted(t for key, t in first.items() if key not in children.index.others), dtype=np.intp)
        cuts = np.searchsorted(new, starts)
        for s in range(len(places)):
            at, end = int(starts[s]), int(starts[s + 1])
            for t in [*new[cuts[s] : cuts[s + 1]].tolist(), end]:
                if t > at:
                    batch.run(parent, rows.part(s, s + 1, at, t), delay)
                    at = t
                if t < end:
                    self._adopt(keys[t], int(places[s]))

        mine = children.index.places(keys, add=True)
        again = np.argsort(mine, kind="stable")
        streams, bounds = stretches(mine[again])
        form = settings.outputs_of(columns[again])
        last = ends[owner[again]][bounds[:-1]] if len(again) else ends[:0]
        children._make_room()
        rows = Rows(streams, bounds, form, labels[again], known_ones[again], pos[again], last)
        played = batch.run(children, rows, delay, order[again])
        back = np.empty(len(again), dtype=np.intp)
        back[order[again]] = np.arange(len(again))
        return played.at(back)

    def _adopt(self, key: Any, place: int) -> None:
        """Trackers for a new group: those of its stream, as they are."""
        children, parent = self.children, self.parent
        if key in children.index.others:
            return
        at = int(children.index.places([key], add=True)[0])
        children._make_room()
        children.states[at], children.warm[at], children.seen[at] = (
            parent.states[place],
            parent.warm[place],
            parent.seen[place],
        )
        if not parent.flat:
            children.objects[at] = copy.copy(parent.objects[place])

    def summary(self) -> dict[str, Any]:
        """For each group of each stream, as ``Panel.summary``, with the columns id and group."""
        made = self.children.summary()
        keys, _ = made.pop("id"), made.pop("rows")  # rows are counted by stream
        return {"id": [k[0] for k in keys], "group": [k[1] for k in keys], **made}

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return {
                **plain_data.header(type(self)),
                "parent": self.parent.state_dict(),
                "children": self.children.state_dict(),
                "last": [[encode_key(a), encode_key(b)] for a, b in self._last.items()],
            }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Groups:
        """The object whose state this is."""
        plain_data.refuse_other(cls, state)
        made = cls.__new__(cls)
        try:
            made.parent, made.children = (Panel.from_state_dict(state[k]) for k in ("parent", "children"))
            made._last = {decode_key(a): decode_key(b) for a, b in state["last"]}
        except (KeyError, TypeError) as error:
            raise InputError(f"the state of {cls.__name__} is damaged or incomplete: {error!r}") from error
        made._lock = threading.RLock()
        return made

    def __copy__(self) -> Groups:
        """A copy shares nothing that changes."""
        with self._lock:
            made = type(self).__new__(type(self))
            made.parent, made.children = copy.copy(self.parent), copy.copy(self.children)
            made._last, made._lock = dict(self._last), threading.RLock()
            return made

    def __deepcopy__(self, memo: Any) -> Groups:
        """The same."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled as it is saved."""
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was."""
        vars(self).update(vars(type(self).from_state_dict(state)))


def pairs(ids: Any, groups: Any) -> list[tuple[Any, Any]]:
    """Ids with their groups, numpy's scalars as Python's own."""
    plain = [as_list(values) for values in (ids, groups)]
    if len(plain[0]) != len(plain[1]):
        raise InputError(f"must be one for each of the {len(plain[0])} ids, got {len(plain[1])}", about="groups")
    return [(id, checked_key(group)) for id, group in zip(*plain, strict=True)]
