from wane.state.cells cimport Cells

cdef class Stateful:
    cdef void _fields(self, Cells cells) noexcept nogil
