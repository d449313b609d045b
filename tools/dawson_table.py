"""Print the table at the end of ``src/wane/special.py``: Dawson's function as 25 polynomials of degree 11.

Row i < 24 is D(y)/y on [i/4, (i+1)/4] in t = 4y - i - 1/2; row 24 is 2 y D(y) on [6, inf) in t = 36/y^2 - 1/2. Each
polynomial interpolates at Chebyshev points, in 50 digits. Run ``python tools/dawson_table.py`` (needs mpmath).
"""

import mpmath as mp

DEGREE = 11
HALF = mp.mpf(1) / 2


def dawson(y):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-y * y) * mp.erfi(y)


def body(i):
    def f(t):
        y = (t + i + HALF) / 4
        return dawson(y) / y if y else mp.mpf(1)

    return f


def tail(t):
    if t == -HALF:
        return mp.mpf(1)
    y = 6 / mp.sqrt(t + HALF)
    return 2 * y * dawson(y)


def interpolate(f):
    """Coefficients, lowest first, of the polynomial through f at the Chebyshev points of [-1/2, 1/2]."""
    n = DEGREE + 1
    points = [mp.cos(mp.pi * (2 * k + 1) / (2 * n)) / 2 for k in range(n)]
    return mp.lu_solve(mp.matrix([[t**j for j in range(n)] for t in points]), mp.matrix([f(t) for t in points]))


if __name__ == "__main__":
    mp.mp.dps = 50
    for f in [*(body(i) for i in range(24)), tail]:
        numbers = [repr(float(c)) for c in interpolate(f)]
        for k in range(0, DEGREE + 1, 4):
            print("    " + ", ".join(numbers[k : k + 4]) + ",")
