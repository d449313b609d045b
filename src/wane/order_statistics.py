# cython: boundscheck=False, wraparound=False
"""The past, sorted: the k-th smallest of many numbers, while numbers come and go.

Sorted blocks of at most ``BLOCK`` numbers lie in one array. ``order`` lists the places of the blocks from small to
large numbers, then the free places; ``tops`` are their largest numbers, ``counts`` their sizes, and ``tree`` is a
Fenwick tree (Fenwick, "A new data structure for cumulative frequency tables", 1994) over the sizes. A number costs two
binary searches, a shift within one block and a walk up the tree, and now and then a pass over the list of blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import InputError
from wane.state.limits import GREATEST, MOST
from wane.state.stateful import Stateful

BLOCK = 256  # shifts within a block and passes over the blocks cost the same at about 30,000 numbers
INFINITY = float("inf")


class OrderStatistics(Stateful):
    """A bag of floats that knows its k-th smallest, in logarithmic time.

    >>> bag = OrderStatistics()
    >>> for x in [3.0, 1.0, 2.0, 1.0]:
    ...     _ = bag.insert(x)
    >>> [bag.select(k) for k in range(bag.size)], bag.count_below(2.0), bag.count_at_most(2.0)
    ([1.0, 1.0, 2.0, 3.0], 2, 3)
    """

    memory = ("size", "values")  # in this order: the size makes room for the values
    extents = ("size",)

    def __init__(self) -> None:
        """Empty."""
        self.n = self.blocks = self.slots = 0
        self.room = 0  # for how many numbers, if that is known; 0 makes room as they come
        self._fill(np.empty(0))

    def keep_room(self, room: int) -> None:
        """Say that there will be at most so many numbers: then the state is of fixed size."""
        self.room = room
        self._fill(self.values)

    @property
    def size(self) -> int:
        """How many numbers there are; setting it (as reading a state does) leaves that many zeros."""
        return self.n

    @size.setter
    def size(self, size: int) -> None:
        if size < 0:
            raise InputError(f"must be at least 0, got {described(size)}", about="size")
        self._fill(np.zeros(size))

    @property
    def values(self) -> np.ndarray:
        """The numbers, sorted."""
        data, order, counts = np.asarray(self.data), self.order, self.counts
        # Not np.concatenate, which begins in Python: no signal may be handled while an update makes room.
        values, at = np.empty(self.n), 0
        for b in range(self.blocks):
            start, count = order[b] * BLOCK, counts[b]
            values[at : at + count] = data[start : start + count]
            at += count
        return values

    @values.setter
    def values(self, values: Any) -> None:
        array = np.array(values, dtype=float)
        if array.ndim != 1 or not np.isfinite(array).all() or (array != np.sort(array)).any():
            raise InputError(f"must be finite and sorted, got {described(values)}", about="values")
        self._fill(array)

    def limits(self) -> dict[str, tuple[float, float]]:
        """There are at most as many as there is room for."""
        return {"size": (0, self.room if self.room > 0 else MOST)}

    def move_to(self, end: int) -> None:
        """Be full of the least or of the greatest numbers."""
        self._fill(np.full(self.room, GREATEST if end else -GREATEST))

    def insert(self, x):
        """Put a number in."""
        if not math.isfinite(x):
            self._not_finite(x)
        b = min(self._block(x), self.blocks - 1)
        if self.counts[b] == BLOCK:
            if self.blocks == self.slots:
                self._make_room()
                b = min(self._block(x), self.blocks - 1)
            if self.counts[b] == BLOCK:
                self._split(b)
                if x > self.tops[b]:
                    b += 1
        start = self.order[b] * BLOCK
        i, j = self._at_most(start, self.counts[b], x), start + self.counts[b]
        while j > i:
            self.data[j] = self.data[j - 1]
            j -= 1
        self.data[i] = x
        self.counts[b] += 1
        self.tops[b] = max(self.tops[b], x)
        self._add(b, 1)
        return 0

    def remove(self, x):
        """Take a number out, once; it must be there."""
        b = self._block(x)
        if b == self.blocks or x != x:
            self._not_there(x)
        start = self.order[b] * BLOCK
        end = start + self.counts[b] - 1
        i = self._below(start, self.counts[b], x)
        if self.data[i] != x:
            self._not_there(x)
        while i < end:
            self.data[i] = self.data[i + 1]
            i += 1
        self.counts[b] -= 1
        self._add(b, -1)
        if self.counts[b] > 0:
            self.tops[b] = self.data[end - 1]
        else:
            self._drop(b)
        return 0

    def select(self, k):
        """The k-th smallest, from k = 0."""
        if k < 0 or k >= self.n:
            self._no_rank(k)
        b, step = 0, self.slots
        while step > 0:
            if b + step <= self.slots and self.tree[b + step] <= k:
                b += step
                k -= self.tree[b]
            step = step >> 1
        return self.data[self.order[b] * BLOCK + k]

    def count_below(self, x):
        """How many numbers are less than x."""
        b = self._block(x)
        if b == self.blocks:
            return self.n
        start = self.order[b] * BLOCK
        return self._before(b) + self._below(start, self.counts[b], x) - start

    def count_at_most(self, x):
        """How many numbers are less than x or equal to it."""
        low, high = 0, self.blocks
        while low < high:  # the first block with a number above x
            middle = (low + high) >> 1
            if self.tops[middle] <= x:
                low = middle + 1
            else:
                high = middle
        if low == self.blocks:
            return self.n
        start = self.order[low] * BLOCK
        return self._before(low) + self._at_most(start, self.counts[low], x) - start

    def _block(self, x):
        """The first block with a number that is not less than x."""
        low, high = 0, self.blocks
        while low < high:
            middle = (low + high) >> 1
            if self.tops[middle] < x:
                low = middle + 1
            else:
                high = middle
        return low

    def _below(self, start, count, x):
        """The first place of a block whose number is not less than x."""
        low, high = start, start + count
        while low < high:
            middle = (low + high) >> 1
            if self.data[middle] < x:
                low = middle + 1
            else:
                high = middle
        return low

    def _at_most(self, start, count, x):
        """The first place of a block whose number is greater than x."""
        low, high = start, start + count
        while low < high:
            middle = (low + high) >> 1
            if self.data[middle] <= x:
                low = middle + 1
            else:
                high = middle
        return low

    def _before(self, b):
        """How many numbers lie in the blocks before b."""
        count = 0
        while b > 0:
            count += self.tree[b]
            b -= b & -b
        return count

    def _add(self, b, change):
        """One number more or less in block b."""
        self.n = self.n + change
        i = b + 1
        while i <= self.slots:
            self.tree[i] += change
            i += i & -i

    def _split(self, b):
        """Move the upper half of a full block to a free place, next to it in the order."""
        half = BLOCK >> 1
        old, new = self.order[b], self.order[self.blocks]
        for i in range(half):
            self.data[new * BLOCK + i] = self.data[old * BLOCK + half + i]
        i = self.blocks
        while i > b + 1:
            self.order[i] = self.order[i - 1]
            self.counts[i] = self.counts[i - 1]
            self.tops[i] = self.tops[i - 1]
            i -= 1
        self.order[b + 1] = new
        self.counts[b + 1] = half
        self.tops[b + 1] = self.tops[b]
        self.counts[b] = half
        self.tops[b] = self.data[old * BLOCK + half - 1]
        self.blocks = self.blocks + 1
        self._plant()

    def _drop(self, b):
        """Free the place of an empty block; the last one stays."""
        if self.blocks == 1:
            self.tops[0] = -INFINITY
        else:
            old = self.order[b]
            for i in range(b, self.blocks - 1):
                self.order[i] = self.order[i + 1]
                self.counts[i] = self.counts[i + 1]
                self.tops[i] = self.tops[i + 1]
            self.blocks = self.blocks - 1
            self.order[self.blocks] = old
            self.counts[self.blocks] = 0
            self._plant()

    def _plant(self):
        """The tree of the counts."""
        for i in range(self.slots):
            self.tree[i + 1] = self.counts[i]
        for i in range(1, self.slots):
            j = i + (i & -i)
            if j <= self.slots:
                self.tree[j] += self.tree[i]

    def _fields(self, cells):
        self._sorted(cells)

    def _sorted(self, cells):
        """How many numbers, and the numbers, sorted; a past without a limit is no row, and is not walked through."""
        if self.room == 0:
            cells.vary()
            return
        n = cells.whole(self.n)
        if cells.reading:
            n = min(max(n, 0), self.room)  # nothing in a row may reach beyond the arrays
            self._lay_out(n)
        last = -INFINITY
        for b in range(self.blocks):
            start = self.order[b] * BLOCK
            for i in range(start, start + self.counts[b]):
                x = cells.number(self.data[i])
                if x > last:  # a row that is not sorted, or holds NaN, must not become a bag that is not
                    last = x
                self.data[i] = x if x == last else last
            self.tops[b] = self.data[start + self.counts[b] - 1] if self.counts[b] > 0 else -INFINITY
        for _ in range(n, self.room):
            cells.number(0.0)

    def _lay_out(self, n):
        """Empty places for n numbers, in the arrays that there are: blocks that are half full."""
        half = BLOCK >> 1
        self.n = n
        self.blocks = max(1, (n + half - 1) // half)
        for b in range(self.slots):
            self.order[b] = b
            self.counts[b] = 0 if b >= self.blocks else half if (b + 1) * half <= n else n - b * half
        self._plant()

    def _make_room(self):
        """New places: full blocks are spread over twice as many, and those that are nearly empty merged."""
        self._fill(self.values)

    def _fill(self, values):
        """Hold these sorted numbers, in new arrays with as many free places as blocks or more."""
        half = BLOCK >> 1
        n = len(values)
        blocks = max(1, -(-n // half))
        slots = 4
        while slots < 2 * max(blocks, -(-self.room // half)):
            slots *= 2
        data, tops, padded = np.zeros(slots * BLOCK), np.empty(slots), np.zeros(blocks * half)
        tops[:] = -np.inf  # np.full begins in Python, as above
        self.data: Any = data.data
        self.tops: Any = tops.data
        self.order, self.counts, self.tree = (np.zeros(slots + 1, dtype=np.intp).data for _ in range(3))
        self.slots = slots
        self._lay_out(n)
        padded[:n] = values
        data[: blocks * BLOCK].reshape(blocks, BLOCK)[:, :half] = padded.reshape(blocks, half)
        if n:
            tops[:blocks] = values[np.minimum(np.arange(1, blocks + 1) * half, n) - 1]

    def _not_finite(self, x):
        raise InputError(f"only finite numbers can be sorted, got {x!r}")

    def _not_there(self, x):
        raise InputError(f"there is no {x!r} to remove")

    def _no_rank(self, k):
        raise IndexError(f"rank {k} is not among the {self.n} numbers: the smallest has rank 0")
