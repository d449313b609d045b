from wane.state.text cimport Text, put_list, put_object

cdef bint put_call(Text text, Py_ssize_t number, str name, tuple arguments, dict keywords) except -1
cdef tuple put_any_call(Text text, Py_ssize_t number, str name, tuple arguments, dict keywords)
