"""Stands in for the ``cython`` module when uncompiled: the two names this package uses."""

from contextlib import nullcontext

nogil = nullcontext()
compiled = False
