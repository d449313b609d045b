cimport cython

@cython.final
cdef class Made:
    cdef readonly object id, number, output, u
    cdef readonly tuple radii, widths, note

@cython.final
cdef class Waiting:
    cdef readonly Py_ssize_t most, history
    cdef public object made, expired, next_id, pending, closed
    cpdef free(self, id)
    @cython.locals(made=Made)
    cpdef add(self, id, output, u, tuple radii, tuple widths, tuple note=*)
    cpdef add_prepared(self, tuple prepared)
    cpdef reserve(self, id)
    cpdef Made find(self, id)
    cpdef wait_again(self, Made made)
    cpdef labelled(self, id, number, radii, said, covered, before, after)
    @cython.locals(made=Made)
    cpdef expire(self, id)
    cpdef gave_up(self, id, tuple radii)
    cdef _close(self, id, tuple what)
    cpdef close(self, id, tuple what)
    cpdef reopen(self, id, before, oldest)

@cython.locals(waiting=Waiting, prepared=tuple)
cpdef add_all(list parts, dict fields, str name, value)
