cimport cython
from libc cimport math
from wane.learners.base cimport VectorLearner
from wane.learners.rule cimport capped_exp
from wane.vectors cimport dot, norm

cdef double MOST_COINS

@cython.final
cdef class CoinBetting(VectorLearner):
    cdef readonly double epsilon, lipschitz
    cdef public double[::1] s
    cdef public double count, log_wealth
    cdef int _too_large(self, double size) except -1 with gil
