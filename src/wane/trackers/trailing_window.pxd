cimport cython
from libc cimport math
from wane.trackers.history cimport History, higher
from wane.trackers.base cimport Tracker

cdef double INFINITY

@cython.final
cdef class TrailingWindow(Tracker):
    cdef readonly object window
    cdef readonly History past
