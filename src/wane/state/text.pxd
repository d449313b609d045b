cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy

cdef extern from *:
    """
    #ifdef _WIN32
    #include <io.h>
    #define wane_write _write
    #else
    #include <unistd.h>
    #define wane_write write
    #endif
    /* The CRC-32 of zlib, without an object of Python for the text; four bytes at a time. */
    static unsigned int wane_crc32(const unsigned char* p, size_t n) {
        static unsigned int t[4][256];
        unsigned int c, i, k;
        if (!t[0][1]) {
            for (i = 0; i < 256; i++) {
                for (c = i, k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
                t[0][i] = c;
            }
            for (i = 0; i < 256; i++)
                for (k = 1; k < 4; k++) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
        }
        for (c = ~0u; n >= 4; n -= 4, p += 4)
            c = t[3][(c ^ p[0]) & 255] ^ t[2][(c >> 8 ^ p[1]) & 255] ^ t[1][(c >> 16 ^ p[2]) & 255] ^ t[0][c >> 24 ^ p[3]];
        for (; n; n--, p++) c = c >> 8 ^ t[0][(c ^ *p) & 255];
        return ~c;
    }
    """
    unsigned int wane_crc32(const unsigned char* data, size_t size) nogil
    Py_ssize_t wane_write(int descriptor, const void* data, size_t size) nogil

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    char* PyOS_double_to_string(double value, char form, int precision, int flags, int* kind) except NULL
    int PyUnicode_IS_ASCII(object text)
    int Py_DTSF_ADD_DOT_0

# What Text does, once more in C: two calls of a journal write some thirty pieces of text.

cdef enum:
    HEAD = 32  # room before the text for its length and its checksum

@cython.final
cdef class Text:
    cdef char* room
    cdef Py_ssize_t size, first, used

    cdef inline int need(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t size = self.size
        cdef char* room
        if self.used + more > size:
            size = 2 * (self.used + more)
            room = <char*> PyMem_Realloc(self.room, size)
            if room == NULL:
                raise MemoryError()
            self.room, self.size = room, size
        return 0

    cdef inline int put(self, str text) except -1:
        cdef Py_ssize_t size = 0
        cdef const char* found = PyUnicode_AsUTF8AndSize(text, &size)
        self.need(size)
        memcpy(self.room + self.used, found, size)
        self.used += size
        return 0

    cdef inline int put_whole(self, long long value) except -1:
        cdef char[24] digits
        cdef int first = 24
        cdef unsigned long long rest = value if value >= 0 else -<unsigned long long> value
        while True:
            first -= 1
            digits[first] = 48 + rest % 10
            rest //= 10
            if rest == 0:
                break
        if value < 0:
            first -= 1
            digits[first] = 45
        self.need(24 - first)
        memcpy(self.room + self.used, &digits[first], 24 - first)
        self.used += 24 - first
        return 0

    cdef inline int put_float(self, double value) except -1:
        cdef char* found = PyOS_double_to_string(value, c'r', 0, Py_DTSF_ADD_DOT_0, NULL)
        cdef Py_ssize_t size = 0
        self.need(32)
        while found[size] != 0:
            self.room[self.used + size] = found[size]
            size += 1
        self.used += size
        PyMem_Free(found)
        return 0

    cdef inline bint put_name(self, str text) except -1:
        cdef Py_ssize_t i, size = 0
        cdef const char* found
        cdef char* room
        if not PyUnicode_IS_ASCII(text):
            return False
        found = PyUnicode_AsUTF8AndSize(text, &size)
        self.need(size + 2)
        room = self.room + self.used
        room[0] = c'"'
        for i in range(size):
            if found[i] < 32 or found[i] == c'"' or found[i] == c'\\':
                return False
            room[i + 1] = found[i]
        room[size + 1] = c'"'
        self.used += size + 2
        return True

    cdef inline int clear(self) except -1:
        self.need(HEAD)
        self.first = self.used = HEAD
        return 0

    cdef inline Py_ssize_t end(self) noexcept:
        return self.used

    cdef inline void cut(self, Py_ssize_t end) noexcept:
        self.used = end

    cdef inline int seal(self) except -1:
        cdef Py_ssize_t i, rest = self.used - HEAD
        cdef unsigned int checksum = wane_crc32(<const unsigned char*> self.room + HEAD, rest)
        cdef const char* hexadecimal = b"0123456789abcdef"
        cdef char* head = self.room + HEAD
        head -= 1
        head[0] = c' '
        for i in range(8):
            head -= 1
            head[0] = hexadecimal[checksum & 15]
            checksum >>= 4
        head -= 1
        head[0] = c' '
        while rest > 0:
            head -= 1
            head[0] = 48 + rest % 10
            rest //= 10
        self.first = head - self.room
        return self.put("\n")

    cdef inline bytes get(self):
        return PyBytes_FromStringAndSize(self.room + self.first, self.used - self.first)

    cdef inline bint sent(self, int descriptor) except -1:
        cdef const char* data = self.room + self.first
        cdef Py_ssize_t done, size = self.used - self.first
        with nogil:
            done = wane_write(descriptor, data, size)
        if done > 0:
            self.first += done
        return done == size

@cython.locals(number=double)
cpdef bint put_plain(Text to, value) except -1
cpdef bint put_list(Text to, values) except -1
cpdef bint put_object(Text to, dict fields) except -1
