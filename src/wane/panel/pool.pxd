cimport cython
from libc cimport math
from wane.learners.rule cimport rule_of_misses
from wane.panel.averages cimport cut_life, scale_of
from wane.panel.histograms cimport add_aged, age_of, bin_of, borrow, log_quantile
from wane.vectors cimport solve_in_place

cdef int FEATURES, AGES, BINS, SCALARS, SUMS
cdef double SLOW, FAST, ROOT, SHAPE, SMALLEST, TINY_SIZE, OFTEN, OWN_SCALE, NO_SCORE, NO_LOG, FAR, WIDE, STEEP
cdef double FORGET, CALM, SHOCK, SHOCK_LABELS, SHOCK_MOST, RIDGE, DENSITY, TRUST, START, FIRST, FIRST_LABELS, OWN_WEIGHT, UNEVEN_MOST
cdef double QUANTILE_STEP, SLOPE_LABELS, SLOPE_MOST, SLOPE_RIDGE, THETA, CAP, CAP_EARLY, SHARE_TO_SOLVE, GRAIN, COARSE, HUGE, ROUND
cdef int STARTED, UNIT, SERIES, LABELS, PENDING, PLAYED, USUAL, MEAN_LOG, MEAN_SIZE, SLOPE, MOMENTS
cdef int N, N_PLAYED, S, F, R, Y, RECORD, ROW
cdef int AT_N, AT_SIZE, X_RECENT, X_SHAPE, X_SIZE, X_PRIOR, NOTE
cdef double NAN

@cython.final
cdef class Pool:
    cdef readonly int levels, row, note, at, note_at, size_at, column
    cdef readonly object memory
    cdef readonly double[::1] alphas, normal, log_normal, slow, fast
    cdef readonly double[::1] scalars, sums, new_sums, shock, uneven, new_misses
    cdef readonly double[:, ::1] weights, new_moments, factors, gram, new_gram, counts, new_counts
    cdef double[::1] x, weights_of_ages, totals
    cdef double[:, ::1] square

    @cython.locals(
        b=int, d=int, n=double, record=double, before=double, age=int, c=int, base=double, x=double,
        radius=double,
    )
    cdef int _predict(
        self, double[:, ::1] states, Py_ssize_t place, double size, double[:, ::1] radii, Py_ssize_t row, int column,
        double[:, ::1] notes, Py_ssize_t slot
    ) noexcept nogil

    @cython.locals(
        b=int, d=int, n=double, size=double, lives=int, slow=double, fast=double, usual=double, m=double,
        mean_size=double, root=double, recent=double, shape=double, large=double, log_m=double, prior=double, own=double, c=int,
        normal=double, quantile=double, total=double,
    )
    cdef void _describe(self, double[:, ::1] states, Py_ssize_t place, double[:, ::1] notes, Py_ssize_t slot) noexcept nogil

    @cython.locals(more=double)
    cdef double _usual(self, double size) noexcept nogil

    @cython.locals(
        b=int, d=int, unit=double, s=double, size=double, n=double, age=double,
        least=double, slow=double, log_score=double, log_s=double, cut=double, c=int, part=double,
        mean=double, q=double, start=double,
    )
    cdef int _learn(
        self, double[:, ::1] states, Py_ssize_t place, double score, double[:, ::1] radii, Py_ssize_t row, int column,
        double[:, ::1] notes, Py_ssize_t slot
    ) noexcept nogil

    @cython.locals(at=int, i=int, j=int)
    cdef void _learn_guess(self, int c, double ratio, int age) noexcept nogil

    @cython.locals(
        scalars=double[::1], pending=double, share=double, age=double, played=double, c=int, alpha=double, late=double,
        shock=double,
    )
    cpdef int solve(self) noexcept nogil

    @cython.locals(
        sums=double[::1], scalars=double[::1], i=int, new=double, variance=double, together=double, slope=double
    )
    cdef void _solve_sums(self, double age) noexcept nogil

    @cython.locals(g=double[:, ::1], x=double[::1], at=int, i=int, j=int, new=double, longest=double)
    cdef void _solve_weights(self, int c, double age) noexcept nogil

    @cython.locals(first=int, i=int, labels=double, wanted=double, q=double, alpha=double, moments=double, extra=double)
    cdef void _solve_factors(self, int c, double age) noexcept nogil

cdef double grains(double x) noexcept nogil
cdef double log_size(double size, double usual) noexcept nogil
cdef double clip(double x, double most) noexcept nogil
cdef double whole(double x) noexcept nogil
