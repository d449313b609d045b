"""Run a command as on an older processor: `python tools/old_cpu.py python -m pytest tests/test_digits.py`.

NumPy and its matrix library choose their loops by the processor, and loops of another width add in another order. Here
they take those that every processor of the last fifteen years has. The features to turn off are those that the
installed NumPy itself names: the names differ between versions, and some versions warn of a name that they do not know.
"""

import os
import sys

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # before NumPy 2
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
os.environ["OPENBLAS_CORETYPE"] = "Nehalem"  # of 2008; other matrix libraries, and other machines, take no notice
os.environ["ATEN_CPU_CAPABILITY"] = "default"  # of torch
os.execvp(sys.argv[1], sys.argv[1:])
