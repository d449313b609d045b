"""Where Algorithm 1 typed literally in float64 fails: prints the rows of a table in ``paper_to_code.md``.

Run it with ``python docs/literal.py``. Every number in that table comes from here, and ``tests/test_docs.py`` compares.
"""

import math

import numpy as np
from scipy.special import erfi

from wane.learners import MagnitudeLearner


class Literal:
    """Algorithm 1 with epsilon = 1, line by line, in the floats of numpy; ``line_7=False`` leaves line 7 out."""

    def __init__(self, line_7=True):
        self.v = self.s = self.h = np.float64(0.0)  # line 1
        self.line_7 = line_7

    def unprojected(self):
        if self.h == 0.0:  # line 3
            return np.float64(0.0)
        e = self.v + 2.0 * self.h * self.s + 16.0 * self.h**2
        left = math.sqrt(math.pi) / 2.0 * erfi(self.s / (2.0 * np.sqrt(e)))
        return left - self.h / np.sqrt(e) * np.exp(self.s**2 / (4.0 * e))

    def predict(self):
        x = self.unprojected()
        return np.float64(0.0) if x < 0.0 else x  # line 4; a NaN stays one

    def update(self, g, discount):
        g, discount = np.float64(g), np.float64(discount)
        x = self.unprojected()
        clipped = min(max(g, -discount * self.h), discount * self.h)  # line 6
        self.h = max(discount * self.h, abs(g))
        if self.line_7 and clipped * x < clipped * max(x, 0.0):  # line 7
            clipped = 0.0
        self.v = discount**2 * self.v + clipped**2  # line 8
        self.s = discount * self.s - clipped

    def age(self, discount):
        """A round without a gradient: lines 6 and 8 with g = 0, which need no prediction."""
        self.h = discount * self.h
        self.v = discount**2 * self.v
        self.s = discount * self.s


def equal_gradients(discount, most):
    """The number of gradients of -1 after which the literal prediction is not finite, and the learner's own then."""
    literal, learner = Literal(), MagnitudeLearner(discount=discount)
    for rounds in range(1, most + 1):
        literal.update(-1.0, discount)
        learner.update(-1.0)
        if not np.isfinite(literal.predict()):
            return rounds, learner.predict()
    raise RuntimeError(f"finite for {most} rounds")


def scaled(factor):
    """Both predictions after sixty gradients of -factor; scale-free means that the factor does not matter."""
    literal, learner = Literal(), MagnitudeLearner()
    for _ in range(60):
        literal.update(-factor, 1.0)
        learner.update(-factor)
    return literal.predict(), learner.predict()


def silence(discount, most, off=0.05):
    """The rounds of silence after which the literal prediction is ``off`` from what it was, and the learner's error."""
    literal, learner = Literal(), MagnitudeLearner(discount=discount)
    for _ in range(60):
        literal.update(-1.0, 1.0)
        learner.update(-1.0, 1.0)
    before = learner.predict()
    for rounds in range(1, most + 1):
        literal.age(discount)
        if not (math.ulp(0.0) * 1e14 < literal.v < 1e300) and not abs(literal.predict() / before - 1.0) < off:
            learner.run(np.zeros(rounds))
            return rounds, abs(learner.predict() / before - 1.0)
    raise RuntimeError(f"right for {most} rounds")


def without_line_7():
    """The number of gradients of +1 after which v + 2 h s + 16 h^2 is not positive, with line 7 left out."""
    literal = Literal(line_7=False)
    for rounds in range(1, 100):
        literal.update(1.0, 1.0)
        if not literal.v + 2.0 * literal.h * literal.s + 16.0 * literal.h**2 > 0.0:
            return rounds
    raise RuntimeError("always positive")


def rows():
    """The lines of the table."""
    with np.errstate(all="ignore"):
        n, x = equal_gradients(1.0, 10_000)
        yield f"| equal gradients, discount 1 | not finite after {n:,} rounds | {x:.3g}, the cap |"
        for factor in (1e-170, 1e155):
            x, y = scaled(factor)
            yield f"| sixty gradients of size {factor:g} | plays {x:.6g} | {y:.6g} |"
        for discount in (0.9, 1.1):
            n, error = silence(discount, 10_000)
            yield f"| silence, discount {discount:g} | 5 % off after {n:,} rounds | moved by {error:g} |"
        n = without_line_7()
        x = MagnitudeLearner().run(np.ones(1000)).max()
        yield f"| gradients of +1, line 7 left out | square root of 0 after {n} rounds | plays {x:g} |"


if __name__ == "__main__":
    print("\n".join(rows()))
