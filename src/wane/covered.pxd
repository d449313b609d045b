cpdef covers(radius, score)
cpdef holds(radius, score)
