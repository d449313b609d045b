"""Locks that survive a fork: a process that is forked while threads are at work gets objects between two calls.

A child has only the thread that forked. A lock that another thread held would be held for ever there, and what it
protects might be half changed. So the thread that forks takes all locks first, the outermost objects before the ones
inside them, as every call does. It waits for the calls of other threads, but not for long ones: an object that is still
in use then refuses every call in the child.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from functools import partial
from typing import Any

from wane.errors import ForkError

PROCESS = [os.getpid()]  # of this process; asking the system at each call would take as long as a lock
PATIENCE = 1.0  # seconds that a fork waits for calls of other threads, in all
OUTERMOST, CONTAINER, SINGLE = 0, 1, 2  # how deep an object lies in others: a journal, many series, one series
OWNERS: dict[int, tuple[weakref.ref[Any], str, int]] = {}  # objects with a lock, by id
TAKEN: dict[int, list[tuple[Any, str, bool]]] = {}  # by the thread that forks: owners, and whether their lock was free


def lock_of(owner: Any, depth: int, name: str = "_lock") -> Any:
    """Make a lock for an object, which keeps it as the attribute ``name``.

    >>> class Counter:
    ...     def __init__(self):
    ...         self._lock = lock_of(self, SINGLE)
    >>> with Counter()._lock:
    ...     pass
    """
    key = id(owner)
    OWNERS[key] = (weakref.ref(owner, partial(forgotten, key)), name, depth)
    return threading.RLock()


def forgotten(key: int, reference: Any) -> None:
    """Forget an object that is no more."""
    OWNERS.pop(key, None)


class Refusing:
    """Stands for the lock of an object that another thread was changing when the process was forked."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Refuse, in words."""
        raise ForkError(
            "another thread was using this object when the process was forked, and it may be half changed here",
            cure="make or load it in this process, or fork while no thread uses it",
        )

    def release(self) -> None:
        """Nothing was taken."""

    __enter__ = acquire

    def __exit__(self, *exception: object) -> None:
        """Nothing was taken."""


def take_all() -> None:
    """Before a fork: wait until no other thread is inside an object."""
    deadline = time.monotonic() + PATIENCE
    taken = TAKEN[threading.get_ident()] = []
    living = [(reference(), name, depth) for reference, name, depth in list(OWNERS.values())]
    for owner, name, _ in sorted(living, key=lambda entry: entry[2]):
        lock = getattr(owner, name, None)
        if isinstance(lock, type(threading.RLock())):
            taken.append((owner, name, lock.acquire(timeout=max(0.0, deadline - time.monotonic()))))


def release_all() -> None:
    """After a fork, in the parent: let the other threads go on."""
    for owner, name, free in TAKEN.pop(threading.get_ident(), []):
        if free:
            getattr(owner, name).release()


def release_in_child() -> None:
    """After a fork, in the child: objects that were still in use refuse from now on."""
    PROCESS[0] = os.getpid()
    for owner, name, free in TAKEN.pop(threading.get_ident(), []):
        if free:
            getattr(owner, name).release()
        else:
            setattr(owner, name, Refusing())
    TAKEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=take_all, after_in_parent=release_all, after_in_child=release_in_child)
