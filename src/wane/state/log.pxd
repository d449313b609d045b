cimport cython
from wane.state.text cimport Text

@cython.locals(text=Text)
cpdef bytes line_of(number, list record)
