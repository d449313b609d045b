"""Stands in for the ``cython`` module when uncompiled: the one name this package uses, doing nothing."""

from contextlib import nullcontext

nogil = nullcontext()
