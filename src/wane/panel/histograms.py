# cython: boundscheck=False, wraparound=False, cdivision=True
"""Histograms of ratios on a logarithmic scale, one for each age of a series, and quantiles of several of them together.

Age i of a level has row ``first + i`` of ``counts``; the number of ages is that of ``weights``.
"""

LOW = -4.0  # the bins of log(score / guess) begin here,
BIN = 1.0 / 30.0  # and are 3 % wide
ENOUGH = 200.0  # a histogram with fewer labels borrows from the neighbouring ages


def age_of(n):
    """The histogram of series with n labels: 0, 1, 2, 3, 4-5, 6-8, 9-13, 14-21, 22-50, more."""
    if n < 4.0:
        return int(max(n, 0.0))
    return 4 if n < 6.0 else 5 if n < 9.0 else 6 if n < 14.0 else 7 if n < 22.0 else 8 if n < 51.0 else 9


def bin_of(ratio, bins):
    """The bin of a ratio, given as its logarithm."""
    if not ratio > LOW:  # NaN is not: what a file says must not lead beyond the bins
        return 0
    return int(min((ratio - LOW) / BIN, bins - 1.0))


def add_aged(counts, new, at, age):
    """Let the counts of a histogram age, add new ones, which become 0, and return how many labels there are."""
    total = 0.0
    for j in range(counts.shape[1]):
        counts[at, j] = age * counts[at, j] + new[at, j]
        new[at, j] = 0.0
        total = total + counts[at, j]
    return total


def borrow(totals, age, weights):
    """Weigh the histograms so that this age has enough labels: its own, then those of the nearest ages.

    ``totals`` are the labels of each age; returned are those of the weighted histograms.
    """
    labels = 0.0
    for distance in range(weights.shape[0]):
        below, above = age - distance, age + distance
        there = totals[below] if below >= 0 else 0.0
        if distance > 0 and above < weights.shape[0]:
            there = there + totals[above]
        share = 1.0 if distance == 0 else min(1.0, max(ENOUGH - labels, 0.0) / there) if there > 0.0 else 0.0
        labels = labels + share * there
        if below >= 0:
            weights[below] = share
        if above < weights.shape[0]:
            weights[above] = share
    return labels


def log_quantile(counts, first, weights, wanted):
    """The logarithm of the ratio below which so many labels of the weighted histograms lie."""
    total, there, last = 0.0, 0.0, 0
    begin, end = 0, weights.shape[0]  # only neighbouring ages count
    while begin < end and weights[begin] == 0.0:
        begin = begin + 1
    while end > begin and weights[end - 1] == 0.0:
        end = end - 1
    for j in range(counts.shape[1]):
        there = 0.0
        for i in range(begin, end):
            there = there + weights[i] * counts[first + i, j]
        if there > 0.0:
            last = j
            if total + there >= wanted:
                return LOW + BIN * (j + (wanted - total) / there)
            total = total + there
    return LOW + BIN * (last + 1)
