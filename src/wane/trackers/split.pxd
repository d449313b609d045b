cimport cython
from wane.trackers.history cimport History, finite_sample, inverted_cdf
from wane.trackers.base cimport Tracker

@cython.final
cdef class SplitConformal(Tracker):
    cdef readonly bint finite_sample
    cdef readonly History past
