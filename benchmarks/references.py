"""What MagnitudeLearner is measured against: Algorithm 1 typed from the paper in Python, and the C loop by hand."""

import ast
import ctypes
import math
import os
import shlex
import shutil
import subprocess
import sysconfig
from math import exp, sqrt
from pathlib import Path

import numpy as np
from scipy.special import erfi

import wane

FLAGS = ["-O3", "-ffp-contract=off", "-shared", "-fPIC"]  # as setup.py compiles the learner
HALF_ROOT_PI = math.sqrt(math.pi) / 2.0  # the paper's erfi is the integral of exp(u^2); scipy's is 2/sqrt(pi) times it


class Typed:
    """Algorithm 1 as one types it from the paper: v, s, h as floats, predict and update."""

    def __init__(self, epsilon, discount):
        self.epsilon = epsilon
        self.discount = discount
        self.v = self.s = self.h = self.x = 0.0

    def predict(self):
        v, s, h = self.v, self.s, self.h
        if h == 0.0:
            return 0.0
        e = v + 2.0 * h * s + 16.0 * h**2
        root = sqrt(e)
        self.x = self.epsilon * (HALF_ROOT_PI * float(erfi(s / (2.0 * root))) - h / root * exp(s**2 / (4.0 * e)))
        return max(self.x, 0.0)

    def update(self, g):
        discount = self.discount
        old = discount * self.h
        self.h = max(old, abs(g))
        g = max(-old, min(g, old))
        if g > 0.0 and self.x < 0.0:
            g = 0.0
        self.v = discount**2 * self.v + g**2
        self.s = discount * self.s - g


class Tuned(Typed):
    """The same by someone who counts the calls: comparisons for max and min, products for powers."""

    def predict(self):
        s, h = self.s, self.h
        if h == 0.0:
            return 0.0
        e = self.v + 2.0 * h * s + 16.0 * h * h
        root = sqrt(e)
        x = self.epsilon * (HALF_ROOT_PI * float(erfi(s / (2.0 * root))) - h / root * exp(s * s / (4.0 * e)))
        self.x = x
        return x if x > 0.0 else 0.0

    def update(self, g):
        discount = self.discount
        old = discount * self.h
        if g > old:
            self.h = g
            g = old
        elif g < -old:
            self.h = -g
            g = -old
        else:
            self.h = old
        if g > 0.0 and self.x < 0.0:
            g = 0.0
        self.v = discount * discount * self.v + g * g
        self.s = discount * self.s - g


def tuned_loop(epsilon, discount, gradients, erfi=erfi):
    """The same in one function, every name local: about as fast as the formula gets in Python."""
    v = s = h = x = 0.0
    squared = discount * discount
    predictions = []
    play = predictions.append
    for g in gradients:
        if h > 0.0:
            e = v + 2.0 * h * s + 16.0 * h * h
            root = sqrt(e)
            x = epsilon * (HALF_ROOT_PI * float(erfi(s / (2.0 * root))) - h / root * exp(s * s / (4.0 * e)))
        play(x if x > 0.0 else 0.0)
        old = discount * h
        if g > old:
            h = g
            g = old
        elif g < -old:
            h = -g
            g = -old
        else:
            h = old
        if g > 0.0 and x < 0.0:
            g = 0.0
        v = squared * v + g * g
        s = discount * s - g
    return predictions


def series(x):
    """erfi(x) without scipy, term by term: nothing cancels, and about twenty terms do near 1."""
    q = x * x
    term = total = x
    last = 0.0
    n = 0
    while total != last:
        last = total
        n += 1
        term *= q / n
        total += term / (2 * n + 1)
    return total / HALF_ROOT_PI


def loop_without_scipy(epsilon, discount, gradients):
    return tuned_loop(epsilon, discount, gradients, series)


def c_compiler():
    """The C compiler as a list of words, or None."""
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc"):
        words = shlex.split(command or "")
        if words and shutil.which(words[0]):
            return words
    return None


def c_loop(folder):
    """Compile magnitude.c in that folder; returns a function of epsilon, gradients and discounts, or None."""
    compiler = c_compiler()
    if compiler is None:
        return None
    library = Path(folder) / "magnitude.so"
    source = Path(__file__).with_name("magnitude.c")
    subprocess.run([*compiler, *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).magnitude_run
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    function.argtypes = [doubles, ctypes.c_double, doubles, doubles, doubles, ctypes.c_ssize_t]
    function.restype = None
    table = dawson_table()

    def run(epsilon, gradients, discounts):
        predictions = np.empty_like(gradients)
        function(table, epsilon, gradients, discounts, predictions, len(gradients))
        return predictions

    return run


def dawson_table():
    """TABLE of wane.special, from the source that lies beside the module: compiled, it is invisible to Python."""
    source = Path(wane.__file__).with_name("special.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "TABLE":
            return np.array(ast.literal_eval(node.value))
    raise SystemExit("no TABLE in special.py: the C loop needs the learner's own table to do the same arithmetic")
