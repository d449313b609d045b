"""Small arithmetic of the method ``pool``: rounding, and the weights of averages that forget at a constant rate."""

import math

import numpy as np

LIVES = 4096  # after so many labels an average has its full weight, to the last bit


def averages(factor):
    """The weight of an average after 0, 1, 2, ... labels: the sum of the powers of the factor."""
    powers = np.cumprod(np.concatenate([[1.0], np.full(LIVES - 2, factor)]))
    return np.concatenate([[0.0], np.cumsum(powers)])


def cut_life(n):
    """The place of n labels in a table of averages."""
    return int(min(n, LIVES - 1.0))


def clip(x, most):
    """The number nearest to x within +-most."""
    return max(min(x, most), -most)


def whole(x):
    """The nearest whole number, as a float."""
    return math.floor(x + 0.5)
