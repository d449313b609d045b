cpdef covers(radius, score)
