"""The index of a panel: in which row of its arrays each stream is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import described, listed
from wane.errors import IdError, InputError, InputTypeError
from wane.state.encoding import checked_key, decode_key, encode_key, own_kind

LARGEST = 2**63 - 1  # the largest whole number that may be an id


class Index:
    """Give each id a place 0, 1, 2, ... in the order in which the ids came.

    Ids that are whole numbers are kept in sorted arrays, which takes 16 bytes for each, or nothing at all while the ids
    are 0, 1, 2, ... themselves. Other ids are kept in a dict. An index holds one of the two kinds.

    >>> index = Index()
    >>> index.places(np.array([7, 3, 7]), add=True), len(index), index.ids()
    (array([0, 1, 0]), 2, [7, 3])
    """

    def __init__(self) -> None:
        """Begin without streams."""
        self.count = 0
        self.identity = True  # every id is its own place
        self.sorted: np.ndarray = np.zeros(0, dtype=np.int64)
        self.order: np.ndarray = np.zeros(0, dtype=np.intp)
        self.others: dict[Any, int] = {}

    def __copy__(self) -> Index:
        """Return a copy that shares nothing that changes: arrays are replaced, never written to."""
        made = Index()
        vars(made).update(vars(self), others=dict(self.others))
        return made

    def __len__(self) -> int:
        """Return the number of streams."""
        return self.count

    def places(self, ids: Any, add: bool = False) -> np.ndarray:
        """Return the place of each id. Ids that are new are added if ``add`` is set, and are an error otherwise."""
        if hasattr(ids, "__array__"):
            array = np.asarray(ids)
            if array.dtype.kind in "iu" and array.ndim == 1:
                return self._whole(signed(array), add)
            ids = in_microseconds(array).tolist() if array.dtype.kind == "M" else array.tolist()
        ids = listed("ids", ids)
        if not ids:
            return np.zeros(0, dtype=np.intp)
        if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in set(map(type, ids))):
            return self._whole(signed(ids), add)
        return self._other(ids, add)

    def ids(self) -> list[Any]:
        """Return the ids in the order of their places."""
        return list(self.others) if self.others else self.whole_ids().tolist()

    def whole_ids(self) -> np.ndarray:
        """Return the ids as an array, in the order of their places, if they are whole numbers."""
        if self.identity:
            return np.arange(self.count)
        ids = np.empty(self.count, dtype=np.int64)
        ids[self.order] = self.sorted
        return ids

    def _whole(self, ids: np.ndarray, add: bool) -> np.ndarray:
        """Find, and perhaps add, ids that are whole numbers."""
        if self.others:
            raise InputTypeError(
                f"ids of this panel are like {described(next(iter(self.others)))}, got whole numbers", argument="ids"
            )
        if ids.size == 0:
            return np.zeros(0, dtype=np.intp)
        # While every id is its own place, nothing is stored. This ends when ids come in another order.
        if self.identity:
            least, most = int(ids.min()), int(ids.max())
            if least >= 0 and most < self.count:
                return np.ascontiguousarray(ids, dtype=np.intp)
            if add and least >= 0 and most < self.count + len(ids):
                so_far = np.maximum.accumulate(np.concatenate([[self.count - 1], ids]))
                if (np.diff(so_far) <= 1).all():  # new ids come in order, and none is left out
                    self.count = most + 1
                    return np.ascontiguousarray(ids, dtype=np.intp)
            if not add:
                raise no_stream(ids[np.argmin((ids >= 0) & (ids < self.count))])
            self.sorted, self.order = np.arange(self.count), np.arange(self.count)
            self.identity = False
        # Look the ids up in the sorted ones.
        at = np.searchsorted(self.sorted, ids)
        found = np.zeros(len(ids), dtype=bool)
        if len(self.sorted):
            found = self.sorted[np.minimum(at, len(self.sorted) - 1)] == ids
        if not found.all():
            if not add:
                raise no_stream(ids[np.argmin(found)])
            # Merge new ids into the sorted ones; their places continue in the order in which they appear.
            unique, first = np.unique(ids[~found], return_index=True)
            rank = np.argsort(np.argsort(first))
            merged = np.concatenate([self.sorted, unique])
            order = np.argsort(merged, kind="stable")
            self.order = np.concatenate([self.order, self.count + rank])[order]
            self.sorted = merged[order]
            self.count += len(unique)
            self.identity = False
            at = np.searchsorted(self.sorted, ids)
        return self.order[at]

    def _other(self, ids: list[Any], add: bool) -> np.ndarray:
        """Find, and perhaps add, ids of any other kind."""
        if self.count and not self.others:
            raise InputTypeError(f"ids of this panel are whole numbers, got {described(ids[0])}", argument="ids")
        try:
            unknown = [key for key in ids if key not in self.others]
        except TypeError:  # one of them cannot be hashed, which ``checked_key`` explains
            unknown = ids
        new = [checked_key(key) for key in unknown]
        if new and not add:
            raise no_stream(new[0])
        if mixed := [key for key in new if isinstance(key, int) and not isinstance(key, bool)]:
            raise InputTypeError(
                f"ids are whole numbers or something else, got {mixed[0]} among others",
                argument="ids",
                cure="use str(id)",
            )
        for key in new:
            self.others.setdefault(key, len(self.others))
        self.count = len(self.others)
        return np.array([self.others[key] for key in ids], dtype=np.intp)

    def state(self) -> Any:
        """Return the ids as plain data."""
        if self.others:
            return {"keys": [encode_key(k) for k in self.others]}
        return {"count": self.count, "ids": None if self.identity else self.whole_ids().tolist()}

    @classmethod
    def from_state(cls, state: Any) -> Index:
        """Make the index whose state this is."""
        index = cls()
        if "keys" in state:
            index._other([decode_key(k) for k in state["keys"]], add=True)
        elif state["ids"] is None:
            index.count = int(state["count"])
        else:
            index._whole(np.array(state["ids"], dtype=np.int64), add=True)
        return index


def no_stream(id: Any) -> IdError:
    """Make the error about an id that no stream has."""
    return IdError(
        f"no stream has the id {own_kind(id)!r}", argument="ids", cure="predict and run add streams, update does not"
    )


def repeated(id: Any) -> InputError:
    """Make the error about a stream that comes twice in a batch."""
    return InputError(
        f"stream {id!r} comes more than once in this batch", argument="ids", cure="give it one row, or use run"
    )


def refuse_repeated(ids: list[Any]) -> None:
    """Raise an error if a stream comes twice in a batch."""
    seen: set[Any] = set()
    for id in ids:
        if id in seen:
            raise repeated(id)
        seen.add(id)


def signed(ids: Any) -> np.ndarray:
    """Return whole numbers as an array of 64 bits; larger ones are an error."""
    try:
        array = np.asarray(ids) if hasattr(ids, "__array__") else np.array(ids, dtype=np.int64)
    except OverflowError:
        array = np.array([max(ids, key=abs)])
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and len(array) and array.max() > LARGEST):
        raise InputError(
            f"ids that are whole numbers must fit 64 bits with a sign, got {array.max()}",
            argument="ids",
            cure="use str(id)",
        )
    return array.astype(np.int64, copy=False)


def as_list(values: Any) -> list[Any]:
    """Return keys as a list in which scalars of numpy have become those of Python."""
    if isinstance(values, np.ndarray) and values.ndim:
        return (in_microseconds(values) if values.dtype.kind == "M" else values).tolist()
    return values.to_pylist() if hasattr(values, "to_pylist") else [own_kind(v) for v in listed("ids", values)]


def in_microseconds(times: np.ndarray) -> np.ndarray:
    """Round times to microseconds, which Python's datetime holds; an error if that would lose something."""
    rounded = times.astype("M8[us]")
    if (lost := (rounded != times) & ~np.isnat(times)).any():
        raise InputError(
            f"times as ids are kept to the microsecond, got {times[lost][0]}", argument="ids", cure="round it"
        )
    return rounded
