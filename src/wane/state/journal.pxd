# Every call passes here.
cimport cython
from wane.state.calls cimport put_any_call, put_call
from wane.state.text cimport Text, put_object, put_plain

cdef class Journal:
    cdef readonly str path, log, sync
    cdef readonly Py_ssize_t compact_every
    cdef readonly bint background, keep_logs
    cdef public object on_snapshot
    cdef public object object
    cdef readonly Py_ssize_t sequence, durable
    cdef readonly object recovered
    cdef public object _mutex, _disk
    cdef object _objects, _process, _file, _lock, __weakref__
    cdef list _lines
    cdef Text _text
    cdef Py_ssize_t _records
    cdef object _told, _aside
    cdef int _descriptor
    cdef bint _behind, _waits, _closed
    cdef _check(self)
    cdef _logged(self, str name, tuple arguments, dict keywords)
    @cython.locals(number=Py_ssize_t, end=Py_ssize_t, text=Text)
    cdef _call(self, str name, tuple arguments, dict keywords, remark)
    cdef _keep(self)
    cdef _write(self)
    cdef _put(self, list lines, Py_ssize_t last)
