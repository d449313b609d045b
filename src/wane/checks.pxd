cimport cython
from libc cimport math
from wane.vectors cimport within

@cython.locals(x=double)
cpdef double number(str name, value) except? -1.0

@cython.locals(x=double)
cpdef double discount_factor(value, str name=*) except? -1.0

cpdef double scalar(str name, value) except? -1.0
