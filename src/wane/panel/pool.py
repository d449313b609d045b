# cython: boundscheck=False, wraparound=False, cdivision=True
"""The method ``pool``: what the series of a panel share, and the correction that each series has for itself.

A panel of short series cannot wait until each of them has enough labels. So knowledge is shared, in order of time:

1. Every series has a scale of its own, a slow average of its scores, which is shrunk to what series with forecasts of
   that size usually have.
2. A small quantile regression, one for all series, says how large the next score is likely to be: from the recent
   scores of the series, its own quantile, the shape of its scores, the size of this forecast, and how new it is.
3. A histogram for each age of a series (in labels) holds the ratio of scores to that guess. Its quantile is a factor,
   and a common factor follows shocks that hit the whole panel at once.
4. Each series corrects the result by itself: the rule of the paper, odd, fed with its own misses. This part has a
   theorem (``wane.theory.pool_bound``): in the long run each series is covered as asked, whatever the others do.

Scores are measured in a power of two near the first ones, so that nothing depends on the user's unit. What labels add
to the shared part is rounded to whole numbers. Their sums are exact, so neither order nor threads change a bit. The
state of a series is a row of numbers, and a note is what one prediction was made of; ``pool.pxd`` names their places.
"""

import math
import operator
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from wane.learners.rule import rule_of_misses
from wane.panel.averages import averages, cut_life, power_near, scale_of
from wane.panel.histograms import add_aged, age_of, bin_of, borrow, log_quantile
from wane.vectors import solve_in_place, view

FEATURES, AGES, BINS = 7, 10, 240

# Half-lives of 40 and 4 labels: long enough to know a series, short enough to follow it.
SLOW = math.exp(-math.log(2.0) / 40.0)
FAST = math.exp(-math.log(2.0) / 4.0)
MEAN = math.sqrt(2.0 / math.pi)  # of the absolute value of a standard normal number: relates a mean to a quantile
ROOT = 1.74  # twice the mean root of a score over the root of its mean, if errors are normal: a start for the shape
SHAPE = 0.78  # the square of that mean root over the mean, the shape of normal errors
SMALLEST = 0.02  # scales below this share of the usual one count as this share
TINY_SIZE = 1e-3  # sizes of forecasts below this share of the usual score count as this share
OFTEN = 30.0  # a score counts as at most 30 scales in the averages
OWN_SCALE = 1.5  # the mean of normal errors over their geometric mean
NO_LOG = -1e3  # the logarithm of a score of 0: below that of any other float
NO_SCORE = 1e-3  # in units: the usual score while all scores are 0
FAR = 4.0  # a guess is within exp(+-4) of the quantile that normal errors of the scale have
WIDE, STEEP = 64.0, 16.0  # logarithms are clipped to +-64, features to +-16, so that sums of whole numbers stay exact
FORGET = math.log(0.995)  # the shared part forgets half in 138 labels of each series
CALM = math.log(0.5)  # the common factor forgets a shock in a few moments
SHOCK, SHOCK_MOST = 1.0, 1.5  # how much it follows the misses of one moment, and how far it goes
SHOCK_LABELS = 50.0  # the misses of so many labels at one moment are believed by half
RIDGE = 20.0  # labels that say that the guess needs no regression
DENSITY = 0.25  # of log scores around their quantile: the curvature of the loss
TRUST = 0.1  # the longest step of a weight at one moment
UNEVEN_MOST = 0.5  # how much of alpha the factors give up at most because moments differ
START = 1.5  # the factors before there is a histogram: what normal errors need after one label
FIRST, FIRST_LABELS = 1.3, 20.0  # what counts as 20 labels of them: the prior is a geometric mean, less than the mean
OWN_WEIGHT = 8.0  # the running quantile of a series counts for at most 8 labels,
QUANTILE_STEP = 0.15  # and moves by at least this step
SLOPE_LABELS, SLOPE_MOST, SLOPE_RIDGE = 20.0, 1.2, 0.05  # sizes of forecasts count from so many labels on
THETA = 0.1  # the correction is measured in the guess, or in this share of the largest score if that is more
CAP, CAP_EARLY = 1.5, 8.0  # a radius is at most 1.5 + 8 / n times the largest of the n scores of the series
SHARE_TO_SOLVE = 50.0  # the shared part is solved anew when a 50th of the series has new labels
GRAIN, COARSE = 1024.0, 65536.0  # features are rounded to so many grains to the unit, logarithms and products to these
ROUND = 6755399441055744.0  # 1.5 times 2 to the 52nd; floats of this size are whole: adding and subtracting it rounds
HUGE = 1e150  # scores and sizes are at most so many units

# Where things are in the memory of the shared part, its rows and its notes.
STARTED, UNIT, SERIES, LABELS, PENDING, PLAYED, USUAL, MEAN_LOG, MEAN_SIZE, SLOPE, MOMENTS = range(11)
SCALARS = 11
COUNTERS = (SERIES, LABELS, PENDING, PLAYED)
NEW = ("new_sums", "new_misses", "new_moments", "new_gram", "new_counts")  # since the last moment
SUMS = 7  # positive scores, their logs; labels, log scores, log sizes, squares of these, products of both
N, N_PLAYED, S, F, R, Y, RECORD, ROW = range(8)
AT_N, AT_SIZE, X_RECENT, X_SHAPE, X_SIZE, X_PRIOR, NOTE = range(7)

NAN = float("nan")


class Pool:
    """The shared part of a panel of the method ``pool``, for one side of the intervals.

    Args:
        alphas: the share of misses of each level, from the narrowest level to the widest.
        side: which side it is; the rows and notes of the sides lie behind each other.

    >>> Pool([0.2, 0.1]).row, Pool([0.2, 0.1]).note
    (11, 10)
    """

    def __init__(self, alphas, side=0):
        """Begin without labels."""
        alphas = np.array(alphas, dtype=float)
        n = len(alphas)
        self.levels = n
        self.row, self.note = ROW + 2 * n, NOTE + 2 * n  # how many numbers a series and a waiting row have
        self.at, self.note_at = side * self.row, side * self.note  # where those of this side begin
        self.size_at, self.column = self.note_at + AT_SIZE, side * n
        self.alphas = view(alphas)
        normal = ndtri(1.0 - alphas / 2.0) / MEAN  # the quantile over the mean, if errors are normal
        self.normal, self.log_normal = view(normal), view(np.log(normal))
        self.slow, self.fast = view(averages(SLOW)), view(averages(FAST))
        self.x = view(np.zeros(FEATURES))
        self.square = view(np.zeros((FEATURES, FEATURES)))
        self.weights_of_ages, self.totals = view(np.zeros(AGES)), view(np.zeros(AGES))
        sizes = [SCALARS, SUMS, SUMS, n, n, n, n * FEATURES, n * FEATURES, n * AGES]
        sizes += [n * FEATURES * FEATURES] * 2 + [n * AGES * BINS] * 2
        self.memory = np.zeros(sum(sizes))
        cuts = np.cumsum([0, *sizes])
        part = [self.memory[a:b] for a, b in pairwise(cuts)]
        self.scalars, self.sums, self.new_sums, self.shock, self.uneven, self.new_misses = map(view, part[:6])
        self.weights, self.new_moments = (view(p.reshape(n, FEATURES)) for p in part[6:8])
        self.factors = view(part[8].reshape(n, AGES))
        self.gram, self.new_gram = (view(p.reshape(n * FEATURES, FEATURES)) for p in part[9:11])
        self.counts, self.new_counts = (view(p.reshape(n * AGES, BINS)) for p in part[11:13])
        part[8][:] = START

    @property
    def started(self):
        """Whether there has been a label."""
        return self.scalars[STARTED] != 0.0

    def beginning(self, scores, sizes):
        """Choose the unit from the first labels, near their scores (or sizes, if all are 0). The result sets it."""
        unit = power_near(scores)
        usual = NO_SCORE if unit is None else 1.0
        chosen = (1.0, unit or power_near(sizes) or 1.0, usual, math.log(usual))
        return partial(operator.setitem, self.memory, [STARTED, UNIT, USUAL, MEAN_LOG], chosen)

    def sound(self):
        """Whether labels can have left this memory; the loops rely on it."""
        s, w, f = self.scalars, np.abs(np.asarray(self.weights)), np.asarray(self.factors)
        scales = s[STARTED] == 0.0 or HUGE >= min(s[UNIT], s[USUAL]) > 0.0
        logs = max(abs(s[MEAN_LOG]), abs(s[MEAN_SIZE])) <= WIDE and 0.0 <= s[SLOPE] <= SLOPE_MOST
        finite = np.isfinite(self.memory).all() and (w <= HUGE).all()
        return bool(finite and scales and logs and ((f > 1e-9) & (f < 1e9)).all())

    def possible(self, states):
        """Say which numbers of the rows of series labels can have left."""
        rows = states[:, self.at : self.at + self.row]
        good = (rows >= 0.0) & (rows <= HUGE)
        good[:, N] &= np.floor(rows[:, N]) == rows[:, N]
        good[:, N_PLAYED] &= rows[:, N_PLAYED] <= rows[:, N]
        good[:, ROW + 1 :: 2] &= rows[:, ROW + 1 :: 2] <= rows[:, [N_PLAYED]]
        return good

    def learned(self, states):
        """The labels of series whose prediction had an interval, and how many of them each level missed."""
        rows = states[:, self.at : self.at + self.row]
        return rows[:, N_PLAYED], rows[:, ROW + 1 :: 2]

    def copy(self):
        """Make another pool that has learned the same."""
        made = Pool(self.alphas, self.at // self.row)
        made.memory[:] = self.memory
        return made

    def fork(self):
        """Make a copy that has learned nothing new since the last moment, to be absorbed later."""
        made = self.copy()
        for name in NEW:
            np.asarray(getattr(made, name))[:] = 0.0
        np.asarray(made.scalars)[list(COUNTERS)] = 0.0
        return made

    def absorb(self, other):
        """Add what a fork of this pool has learned; in which order forks are added does not matter."""
        for name in NEW:
            np.asarray(getattr(self, name))[:] += np.asarray(getattr(other, name))
        np.asarray(self.scalars)[list(COUNTERS)] += np.asarray(other.scalars)[list(COUNTERS)]

    def _predict(self, states, place, size, radii, row, column, notes, slot):
        b, d = self.at, self.note_at
        notes[slot, d + AT_SIZE] = size
        if self.scalars[STARTED] == 0.0:  # there is no label yet, hence no interval
            notes[slot, d + AT_N] = -1.0
            for c in range(self.levels):
                radii[row, column + c] = NAN
            return 0
        self._describe(states, place, notes, slot)
        n, record, before = states[place, b + N], states[place, b + RECORD], 0.0
        age = age_of(n)
        for c in range(self.levels):
            # 3. The factor of the age, which holds the common one.
            base = math.exp(notes[slot, d + NOTE + 2 * c + 1]) * self.factors[c, age]
            # 4. The correction of the series itself, and the cap that goes with its theorem.
            x = rule_of_misses(self.alphas[c], states[place, b + N_PLAYED], states[place, b + ROW + 2 * c + 1])
            radius = base + max(base, THETA * record) * x
            if record > 0.0:
                radius = min(radius, record * (CAP + CAP_EARLY / n))
            before = max(radius, before)  # levels never cross, and a radius is never negative
            radii[row, column + c] = before * self.scalars[UNIT]
        return 0

    def _describe(self, states, place, notes, slot):
        b, d = self.at, self.note_at
        n, size = states[place, b + N], min(notes[slot, d + AT_SIZE] / self.scalars[UNIT], HUGE)
        lives = cut_life(n)
        slow, fast = self.slow[lives], self.fast[lives]

        # 1. The scale of the series, shrunk to that of series with forecasts of this size.
        usual = self._usual(size)
        m = scale_of(math.exp(usual), states[place, b + S], slow)

        # 2. The features, of which one is different at each level, and the guess.
        mean_size = (states[place, b + Y] + size) / (slow + 1.0)
        root = (states[place, b + R] + ROOT * math.sqrt(m)) / (slow + 2.0)
        recent = math.log(max((m + states[place, b + F]) / (1.0 + fast), SMALLEST * m) / m)
        shape = math.log(max(root * root / m, SMALLEST) / SHAPE)
        large = math.log((size + 0.1 * mean_size + 0.05 * m) / (1.1 * mean_size + 0.05 * m))
        log_m = math.log(m)
        prior = clip(usual - log_m, 1.0) / (1.0 + 0.25 * n)
        notes[slot, d + AT_N], notes[slot, d + X_RECENT], notes[slot, d + X_SHAPE] = n, recent, shape
        notes[slot, d + X_SIZE], notes[slot, d + X_PRIOR] = large, prior
        own = min(n, OWN_WEIGHT)
        for c in range(self.levels):
            normal = self.normal[c]
            quantile = (2.0 * normal * m + own * states[place, b + ROW + 2 * c]) / (2.0 + own)
            quantile = math.log(max(quantile, SMALLEST * m) / (normal * m))
            total = self.weights[c, 0] + self.weights[c, 1] * recent + self.weights[c, 2] * quantile
            total = total + self.weights[c, 3] * shape + self.weights[c, 4] * large
            total = total + self.weights[c, 5] * prior + self.weights[c, 6] / (1.0 + n)
            notes[slot, d + NOTE + 2 * c] = quantile
            notes[slot, d + NOTE + 2 * c + 1] = log_m + clip(self.log_normal[c] + total, FAR)

    def _usual(self, size):
        # The logarithm of the usual score of series with forecasts of this size.
        more = log_size(size, self.scalars[USUAL]) - self.scalars[MEAN_SIZE]
        return self.scalars[MEAN_LOG] + self.scalars[SLOPE] * more

    def _learn(self, states, place, score, radii, row, column, notes, slot):
        b, d = self.at, self.note_at
        unit = self.scalars[UNIT]
        s, size = min(score / unit, HUGE), min(notes[slot, d + AT_SIZE] / unit, HUGE)
        n, least = states[place, b + N], SMALLEST * self.scalars[USUAL]
        slow = self.slow[cut_life(n)]

        # What the panel learns about scores and sizes.
        log_score = math.log(s) if s > 0.0 else NO_LOG
        log_s = log_size(size, self.scalars[USUAL])
        if s > 0.0:
            self.new_sums[0] = self.new_sums[0] + 1.0
            self.new_sums[1] = self.new_sums[1] + whole(COARSE * clip(log_score, WIDE))
        cut = clip(log_score if s >= least else math.log(least), WIDE)
        self.new_sums[2] = self.new_sums[2] + 1.0
        self.new_sums[3] = self.new_sums[3] + whole(COARSE * cut)
        self.new_sums[4] = self.new_sums[4] + whole(COARSE * log_s)
        self.new_sums[5] = self.new_sums[5] + whole(COARSE * log_s * log_s)
        self.new_sums[6] = self.new_sums[6] + whole(COARSE * log_s * cut)
        self.scalars[LABELS], self.scalars[PENDING] = self.scalars[LABELS] + 1.0, self.scalars[PENDING] + 1.0
        if n == 0.0:
            self.scalars[SERIES] = self.scalars[SERIES] + 1.0

        # The regression and the histograms. A row without a prediction is described now, if it can be.
        if notes[slot, d + AT_N] < 0.0 and self.sums[2] > 0.0:
            self._describe(states, place, notes, slot)
        age = notes[slot, d + AT_N]
        if age >= 0.0:
            # In whole grains, so that sums of products are exact.
            self.x[0], self.x[6] = GRAIN, whole(GRAIN / (1.0 + age))
            self.x[1], self.x[3] = grains(notes[slot, d + X_RECENT]), grains(notes[slot, d + X_SHAPE])
            self.x[4], self.x[5] = grains(notes[slot, d + X_SIZE]), grains(notes[slot, d + X_PRIOR])
            for c in range(self.levels):
                self.x[2] = grains(notes[slot, d + NOTE + 2 * c])
                self._learn_guess(c, log_score - notes[slot, d + NOTE + 2 * c + 1], age_of(age))

        # The correction learns what was played, which may have been lifted by a narrower level.
        if radii[row, column] == radii[row, column]:
            self.scalars[PLAYED] = self.scalars[PLAYED] + 1.0
            states[place, b + N_PLAYED] = states[place, b + N_PLAYED] + 1.0
            for c in range(self.levels):
                if radii[row, column + c] <= score:  # a tie is a miss
                    states[place, b + ROW + 2 * c + 1] = states[place, b + ROW + 2 * c + 1] + 1.0
                    self.new_misses[c] = self.new_misses[c] + 1.0

        # The averages of the series. A single giant score does not spoil them.
        part = s
        if n > 0.0 and s > OFTEN * states[place, b + S] / (1.0 + slow):  # else it is no giant, whatever the prior
            part = min(s, OFTEN * scale_of(math.exp(self._usual(size)), states[place, b + S], slow))
        states[place, b + F] = FAST * states[place, b + F] + part
        states[place, b + S] = SLOW * states[place, b + S] + part
        states[place, b + R] = SLOW * states[place, b + R] + math.sqrt(part)
        states[place, b + Y] = SLOW * states[place, b + Y] + size
        states[place, b + RECORD] = max(states[place, b + RECORD], s)
        n = n + 1.0
        states[place, b + N] = n
        mean = states[place, b + S] / self.slow[cut_life(n)]
        for c in range(self.levels):
            q, start = states[place, b + ROW + 2 * c], self.normal[c] * mean
            if n == 1.0:
                q = start
            else:
                q = q + max(QUANTILE_STEP, 1.0 / n) * start * ((1.0 if s >= q else 0.0) - self.alphas[c])
            states[place, b + ROW + 2 * c] = max(q, 0.0)
        return 0

    def _learn_guess(self, c, ratio, age):
        # The curvature and the moments of the quantile regression, and the ratio of the score to the guess, in logs.
        at = FEATURES * c
        for i in range(FEATURES):
            for j in range(i + 1):
                self.new_gram[at + i, j] = self.new_gram[at + i, j] + self.x[i] * self.x[j]
        if ratio >= 0.0:
            for i in range(FEATURES):
                self.new_moments[c, i] = self.new_moments[c, i] + self.x[i]
        at, i = AGES * c + age, bin_of(ratio, BINS)
        self.new_counts[at, i] = self.new_counts[at, i] + 1.0

    def solve(self):
        """Learn from what has come since the last moment, if it is enough: a moment begins with this."""
        scalars, pending = self.scalars, self.scalars[PENDING]
        # In a long panel of few series, a single label says little: it is cheaper to wait for several.
        if pending < max(1.0, scalars[SERIES] / SHARE_TO_SOLVE, min(scalars[LABELS] / 100.0, 16.0)):
            return 0
        share = min(1.0, pending / scalars[SERIES])
        age = math.exp(share * FORGET)
        self._solve_sums(age)
        played = scalars[PLAYED]
        scalars[MOMENTS] = age * scalars[MOMENTS] + (1.0 if played > 0.0 else 0.0)
        for c in range(self.levels):
            alpha = self.alphas[c]
            late = 0.0 if played == 0.0 else self.new_misses[c] / played - alpha
            shock = math.exp(share * CALM) * self.shock[c] + SHOCK * late * played / (played + SHOCK_LABELS)
            self.shock[c] = clip(shock, SHOCK_MOST)
            self.uneven[c] = age * self.uneven[c] + late * late
            self.new_misses[c] = 0.0
            self._solve_weights(c, age)
            self._solve_factors(c, age)
        scalars[PENDING], scalars[PLAYED] = 0.0, 0.0
        return 0

    def _solve_sums(self, age):
        sums, scalars = self.sums, self.scalars
        for i in range(SUMS):
            new = self.new_sums[i] if i == 0 or i == 2 else self.new_sums[i] / COARSE
            sums[i], self.new_sums[i] = age * sums[i] + new, 0.0
        scalars[USUAL] = NO_SCORE if sums[0] == 0.0 else OWN_SCALE * math.exp(sums[1] / sums[0])
        scalars[MEAN_LOG], scalars[MEAN_SIZE] = sums[3] / sums[2], sums[4] / sums[2]
        variance = max(sums[5] / sums[2] - scalars[MEAN_SIZE] * scalars[MEAN_SIZE], 0.0)
        together = sums[6] / sums[2] - scalars[MEAN_SIZE] * scalars[MEAN_LOG]
        slope = max(min(together / (variance + SLOPE_RIDGE), SLOPE_MOST), 0.0)
        scalars[SLOPE] = slope if sums[2] > SLOPE_LABELS else 0.0

    def _solve_weights(self, c, age):
        # One Newton step of the quantile regression: (G + ridge) step = moments / density, by Cholesky.
        g, x = self.square, self.x
        at = FEATURES * c
        for i in range(FEATURES):
            for j in range(i + 1):
                new = self.new_gram[at + i, j] / (GRAIN * GRAIN)
                g[i, j] = age * self.gram[at + i, j] + new
                self.gram[at + i, j], self.new_gram[at + i, j] = g[i, j], 0.0
                if j == 0:  # the features above the guess, less their share of all
                    x[i] = (self.new_moments[c, i] / GRAIN - self.alphas[c] * new) / DENSITY
            g[i, i] = g[i, i] + RIDGE
            self.new_moments[c, i] = 0.0
        solve_in_place(g, x)
        longest = TRUST
        for i in range(FEATURES):
            longest = max(longest, abs(x[i]))
        for i in range(FEATURES):
            self.weights[c, i] = self.weights[c, i] + x[i] * TRUST / longest

    def _solve_factors(self, c, age):
        # If whole moments are missed together, few moments say as little as few labels: a mean square of the excess
        # of misses of alpha (1 - alpha) / N means that they are worth N labels each.
        first, alpha, moments, extra = AGES * c, self.alphas[c], self.scalars[MOMENTS], 0.0
        if moments > 0.0:
            extra = min(UNEVEN_MOST * alpha, self.uneven[c] / (moments * moments * alpha))
        for i in range(AGES):
            self.totals[i] = add_aged(self.counts, self.new_counts, first + i, age)
        for i in range(AGES):
            labels = borrow(self.totals, i, self.weights_of_ages)
            if labels > 0.0:
                wanted = max((1.0 - alpha) * (labels + 1.0), (1.0 - alpha + extra) * labels)
                q = log_quantile(self.counts, first, self.weights_of_ages, min(wanted, labels))
                q = (labels * q + FIRST_LABELS * math.log(FIRST)) / (labels + FIRST_LABELS)
                self.factors[c, i] = math.exp(q + self.shock[c])


def clip(x, most):
    """The number nearest to x within +-most."""
    return max(min(x, most), -most)


def whole(x):
    """The nearest whole number, as a float; of two, the even one. What is rounded here is far below 2**51."""
    return (x + ROUND) - ROUND


def grains(x):
    """A feature as a whole number of grains."""
    return whole(GRAIN * clip(x, STEEP))


def log_size(size, usual):
    """The logarithm of the size of a forecast; tiny ones count as a share of the usual score."""
    return clip(math.log(size + TINY_SIZE * usual), WIDE)
