cimport cython
from wane.conformal.labels cimport Label
from wane.conformal.levels cimport Levels, covered_in_order, in_order
from wane.conformal.monitor cimport Monitor
from wane.conformal.waiting cimport Made, Waiting

cpdef moment(Waiting waiting, Levels levels, Monitor monitor)

@cython.locals(waiting=Waiting, levels=Levels, further=tuple, note=tuple, radii=tuple, widths=tuple)
cpdef tuple prepare(oc, output, id, context, groups)

@cython.locals(sets=tuple, each=tuple)
cpdef drawn(settings, Levels levels, id, output, u, tuple radii)

@cython.locals(waiting=Waiting, made=Made)
cpdef Label checked_label(oc, id, y, double discount)
