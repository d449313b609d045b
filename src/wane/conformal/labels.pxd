cimport cython
from wane.conformal.levels cimport Levels
from wane.conformal.monitor cimport Monitor
from wane.conformal.waiting cimport Made, Waiting

@cython.final
cdef class Label:
    cdef Levels levels
    cdef Waiting waiting
    cdef list monitors
    cdef dict alarmed
    cdef Made made
    cdef double below, above, discount
    cdef tuple said, covered
    cdef readonly list alarms
    cdef object before, after, trackers, counts
    cdef _keep(self)
    cdef _put_back(self)
    cdef _take(self)
    cdef _teach(self)
    @cython.locals(i=Py_ssize_t, monitor=Monitor, rate=double, side=int)
    cdef _count(self)
    @cython.locals(made=Made)
    cdef _close(self)

@cython.locals(label=Label)
cpdef learn(tuple labels)

cpdef note(list alarms, dict alarmed, Monitor monitor, round, double side, double local)
