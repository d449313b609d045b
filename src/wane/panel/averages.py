"""What the method ``pool`` averages: sums that forget at a constant rate, the scale of a series, and the unit."""

import numpy as np

PRIOR = 1.0  # what series of that size usually have counts as much as one label,
PRIOR_LOW = 3.0  # or less, if the series has more than three times that: it may be in another unit
LIVES = 4096  # after so many labels an average has its full weight, to the last bit


def averages(factor):
    """The weight of an average after 0, 1, 2, ... labels: the sum of the powers of the factor."""
    powers = np.cumprod(np.concatenate([[1.0], np.full(LIVES - 2, factor)]))
    return np.concatenate([[0.0], np.cumsum(powers)])


def cut_life(n):
    """The place of n labels in a table of averages."""
    return int(min(n, LIVES - 1.0))


def scale_of(prior, total, weight):
    """The scale of a series: the average of its scores and of a prior, which counts less where it is far too low."""
    trust = PRIOR
    if PRIOR_LOW * prior * weight < total:
        trust = PRIOR * PRIOR_LOW * prior * weight / total
    return (trust * prior + total) / (trust + weight)


def power_near(values):
    """The power of two near the positive ones of these values; None if there are none."""
    positive = values[values > 0.0]
    if not len(positive):
        return None
    exponents = np.frexp(positive)[1].astype(np.int64)
    return float(np.ldexp(1.0, int(exponents.sum() // len(positive))))
