"""``Groups``: a panel with separate trackers for each group of rows within a stream."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from wane.errors import InputError
from wane.panel import batch, ticks
from wane.panel.arrays import Intervals, Played
from wane.panel.batch import Rows, stretches
from wane.panel.index import as_list, no_stream, refuse_repeated
from wane.panel.panel import Panel
from wane.panel.undo import Undo, keep
from wane.state import data as plain_data
from wane.state.encoding import checked_key, decode_key, encode_key
from wane.state.files import known
from wane.state.forks import CONTAINER, lock_of


@known
class Groups:
    """A panel in which each group of a stream has its own trackers, so that coverage holds within each group.

    Use it where errors differ between known groups of rows, such as weekdays and weekends. Each stream also has
    trackers that learn from all of its rows, its *parent*. When a group makes its first prediction, its trackers begin
    as copies of the parent. (A group that begins while its stream is still warming up warms up by itself.) With the
    method "pool" there are no parents: a new group begins with what all groups of all streams have in common.

    The arguments are those of ``Panel``.

    >>> groups = Groups("magl", alpha=0.1)
    >>> for t in range(200):
    ...     weekend = t % 7 >= 5
    ...     p = groups.predict(["shop"], [0.0], ["weekend" if weekend else "weekday"])
    ...     groups.update(["shop"], [9.0 if weekend else 1.0])
    >>> [groups.predict(["shop"], [0.0], [g]).radius.round(1).item() for g in ("weekday", "weekend")]
    [1.0, 9.3]
    """

    def __init__(self, method: str | None = None, alpha: Any = 0.1, score: Any = "absolute", **settings: Any) -> None:
        """Begin without streams and without groups."""
        self.children = Panel(method, alpha, score, **settings)
        self.parent = Panel(method, alpha, score, **{**settings, "on_unbounded": "allow"})  # nobody sees its intervals
        self._last: dict[Any, Any] = {}  # the group of the last prediction of each stream
        self._lock = lock_of(self, CONTAINER)

    def __len__(self) -> int:
        """Return the number of groups in all streams."""
        return len(self.children)

    def predict(self, ids: Any, outputs: Any, groups: Any) -> Intervals:
        """Make one interval for each of these streams, from the trackers of the group that its row is in."""
        with self._lock:
            keys = pairs(ids, groups)
            parent, children = self.parent, self.children
            if children.pools:
                refuse_repeated([id for id, _ in keys])
                made = children._predict(keys, outputs, lambda *_: [partial(self._last.update, keys)])
                return Intervals(made.alpha, ids, made.lower, made.upper, made.radius)
            with Undo(parent, children) as undo:
                undo.steps.append(partial(setattr, self, "_last", dict(self._last)))
                places = parent.index.places(ids, add=True)
                parent._refuse_repeated(places)
                parent._make_room()
                for key, place in zip(keys, places.tolist(), strict=True):
                    self._adopt(key, place)
                at = children.index.places(keys)
                keep(parent, places)
                keep(children, at)
                made = children.predict(keys, outputs)
                parent.predict(ids, outputs)
                children.seen[at] = parent.seen[places]
                self._last.update(keys)
            return Intervals(made.alpha, ids, made.lower, made.upper, made.radius)

    def update(self, ids: Any, y: Any) -> None:
        """Learn the labels of the last predictions of these streams, in their groups and in the streams themselves."""
        with self._lock:
            if self.children.pools:
                self.children.update([(id, self._group_of(id)) for id in as_list(ids)], y)
                return
            parents = ticks.checked(self.parent, ids, y)
            groups = ticks.checked(self.children, [(id, self._last[id]) for id, _ in pairs(ids, ids)], y)
            ticks.learn(parents, groups)

    def _group_of(self, id: Any) -> Any:
        """Return the group of the last prediction of a stream."""
        if checked_key(id) not in self._last:
            raise no_stream(id)
        return self._last[id]

    def run(self, ids: Any, outputs: Any, y: Any, groups: Any, delay: int = 0, *, times: Any = None) -> Intervals:
        """Play whole histories, as ``Panel.run`` does; ``groups`` has the group of each row."""
        with self._lock, Undo(self.parent, self.children):
            keys = pairs(ids, groups)
            places = self.parent.index.places(ids, add=True)
            self.parent._make_room()
            order = np.argsort(places, kind="stable")
            streams, starts = stretches(places[order])
            names = [keys[i][0] for i in order[starts[:-1]]]
            of_rows = [group for _, group in keys]
            played = self._replay(streams, starts, names, outputs, y, of_rows, delay, order, times)
            return self.children._intervals(ids, played.radii, played.lower, played.upper)

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
        times: Any = None,
    ) -> Played:
        """Play rows, and return the results in the order in which they were given.

        ``order`` brings the rows of each stream together. Then stream s is called ``names[s]``, is at ``places[s]`` in
        the parent and has the rows ``starts[s]`` to ``starts[s + 1]``. ``outputs``, ``y`` and ``groups`` are unsorted.
        """
        if self.children.pools:
            return self._replay_pooled(starts, names, outputs, y, groups, delay, order, times)
        # Check the rows, sort them by stream, and count the moments of each: groups share those of their stream.
        parent, children, settings = self.parent, self.children, self.parent.settings
        columns = settings.columns_of(outputs)
        if len(columns) != len(order):
            raise InputError(f"must be one for each of the {len(columns)} rows, got {len(order)}", about="ids")
        columns = columns[order]
        labels, given = (array[order] for array in settings.labels(y, len(columns)))
        parent._make_room()
        began, lengths = parent.seen[places].copy(), np.diff(starts)
        ends = began + lengths
        pos = np.arange(len(labels)) + np.repeat(began - starts[:-1], lengths)
        rows = Rows(places, starts, settings.outputs_of(columns), labels, given, None, ends)

        # Find the rows with which new groups begin.
        owner = np.repeat(np.arange(len(places)), lengths)
        keys = [(names[s], groups[i]) for s, i in zip(owner.tolist(), order.tolist(), strict=True)]
        first: dict[Any, int] = {}
        for t, key in enumerate(keys):
            first.setdefault(key, t)
        new = np.array(sorted(t for key, t in first.items() if key not in children.index.others), dtype=np.intp)
        cuts = np.searchsorted(new, starts)

        # Play the parents up to each of these rows, and copy their trackers there for the new group.
        for s in range(len(places)):
            begin, end = int(starts[s]), int(starts[s + 1])
            for t in [*new[cuts[s] : cuts[s + 1]].tolist(), end]:
                if t > begin:
                    batch.run(parent, rows.part(s, s + 1, begin, t), delay, order[begin:t])
                    begin = t
                if t < end:
                    self._adopt(keys[t], int(places[s]))

        # Play the groups: sort the rows once more, and play each group as a stream of the second panel.
        child_places = children.index.places(keys, add=True)
        by_group = np.argsort(child_places, kind="stable")
        streams, bounds = stretches(child_places[by_group])
        child_ends = ends[owner[by_group]][bounds[:-1]] if len(by_group) else ends[:0]
        children._make_room()
        child_outputs = settings.outputs_of(columns[by_group])
        rows = Rows(streams, bounds, child_outputs, labels[by_group], given[by_group], pos[by_group], child_ends)
        return batch.run(children, rows, delay, order[by_group]).unsorted(order[by_group])

    def _replay_pooled(
        self,
        starts: np.ndarray,
        names: list[Any],
        outputs: Any,
        y: Any,
        groups: list[Any],
        delay: Any,
        order: np.ndarray,
        times: Any,
    ) -> Played:
        """Play rows by the method "pool", in which each group of a stream is a stream of its own."""
        owner = np.empty(len(order), dtype=np.intp)
        owner[order] = np.repeat(np.arange(len(names)), np.diff(starts))
        keys = [(names[s], group) for s, group in zip(owner.tolist(), groups, strict=True)]
        if times is None:  # the k-th rows of all streams are one moment, whatever their groups
            times = np.empty(len(order), dtype=np.intp)
            times[order] = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
            times += 0 if self.children.clock is None else int(self.children.clock) + 1
        last = {names[s]: groups[order[starts[s + 1] - 1]] for s in range(len(names))}
        played = self.children._run_at(self.children.index.places(keys, add=True), outputs, y, delay, times)
        self._last.update(last)
        return played

    def _adopt(self, key: Any, place: int) -> None:
        """If the group is new, make its trackers as copies of those of its stream, the parent at ``place``."""
        children, parent = self.children, self.parent
        if key in children.index.others:
            return
        child = int(children.index.places([key], add=True)[0])
        children._make_room()
        for name in ("states", "warm", "seen"):
            getattr(children, name)[child] = getattr(parent, name)[place]
        if not parent.flat:
            children.objects[child] = copy.copy(parent.objects[place])

    def summary(self) -> dict[str, Any]:
        """Return the columns of ``Panel.summary`` with a row for each group of each stream, and a column ``group``."""
        made = self.children.summary()
        keys, _ = made.pop("id"), made.pop("rows")  # rows are counted by stream
        return {"id": [k[0] for k in keys], "group": [k[1] for k in keys], **made}

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return {
                **plain_data.header(type(self)),
                "parent": self.parent.state_dict(),
                "children": self.children.state_dict(),
                "last": [[encode_key(a), encode_key(b)] for a, b in self._last.items()],
            }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Groups:
        """Make the object whose state this is."""
        plain_data.refuse_other(cls, state)
        made = cls.__new__(cls)
        try:
            made.parent, made.children = (Panel.from_state_dict(state[k]) for k in ("parent", "children"))
            made._last = {decode_key(a): decode_key(b) for a, b in state["last"]}
            waiting = made.parent.waiting[: len(made.parent)]
            lost = [id for id, waits in zip(made.parent.ids(), waiting, strict=True) if waits and id not in made._last]
            lost += [key[0] for key in made._last.items() if key not in made.children.index.others]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"the state of {cls.__name__} is damaged or incomplete: {error}") from error
        if lost:
            problem = f"the last prediction of the series {lost[0]!r} has no group that is known"
            raise InputError(problem, argument="state", cure="restore it from a copy")
        made._lock = lock_of(made, CONTAINER)
        return made

    def __copy__(self) -> Groups:
        """Return a copy that shares nothing that changes."""
        with self._lock:
            made = type(self).__new__(type(self))
            made.parent, made.children = copy.copy(self.parent), copy.copy(self.children)
            made._last, made._lock = dict(self._last), lock_of(made, CONTAINER)
            return made

    def __deepcopy__(self, memo: Any) -> Groups:
        """Return a copy, as ``copy.copy`` does."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state; a pickle holds what a file would."""
        return self.state_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a pickle."""
        vars(self).update(vars(type(self).from_state_dict(state)))


def pairs(ids: Any, groups: Any) -> list[tuple[Any, Any]]:
    """Pair each id with its group, as the keys of the panel of groups."""
    ids, groups = as_list(ids), as_list(groups)
    if len(ids) != len(groups):
        raise InputError(f"must be one for each of the {len(ids)} ids, got {len(groups)}", about="groups")
    return [(checked_key(id), checked_key(group)) for id, group in zip(ids, groups, strict=True)]
