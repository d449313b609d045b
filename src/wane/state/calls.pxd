from wane.state.text cimport Text, put_list, put_object

cpdef bint put_call(Text text, Py_ssize_t number, str name, tuple arguments, dict keywords) except -1
cpdef tuple put_any_call(Text text, Py_ssize_t number, str name, tuple arguments, dict keywords)
