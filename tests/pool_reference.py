"""The method ``pool`` of panels, literally: one row at a time, in plain Python, without anything of wane.

The series share a regression and histograms; each has a correction of its own. ``docs/pool.md`` explains the parts.
The letters are those of the method: of a series n labels, S, W, R, Y slow sums of scores, of 1, of roots of scores and
of sizes of forecasts, F, WF fast sums of scores and of 1, REC the largest score, and for each level Q, a running
quantile, and the misses. The panel has a matrix G, weights w, histograms and factors q by age, and a common factor z.
"""

import math

import numpy as np
from scipy.special import dawsn, ndtri

FAST, SLOW = 2.0 ** (-1 / 4), 2.0 ** (-1 / 40)  # half-lives of 4 and 40 labels
BOUNDS = (1, 2, 3, 4, 6, 9, 14, 22, 51)  # ages: 0, 1, 2, 3, 4-5, 6-8, 9-13, 14-21, 22-50, 51 and more labels
BINS, LOW, BIN = 240, -4.0, 1 / 30  # the histograms of log(score / guess)


def clip(x, most):
    return max(-most, min(x, most))


def whole(x, quantum):
    """x, rounded to a whole number of quanta; sums of such numbers are exact in any order."""
    return round(x * quantum)


def correction(alpha, n, misses):
    """The odd erfi rule on the misses of a series, with the hint max(alpha, 1 - alpha) from the start."""
    h = max(alpha, 1 - alpha)
    s, v = misses - alpha * n, misses * (1 - alpha) ** 2 + (n - misses) * alpha**2
    root = math.sqrt(v + 2 * h * abs(s) + 16 * h**2)
    u = abs(s) / (2 * root)
    x = math.exp(min(u * u, 400.0)) * (float(dawsn(u)) - h / root)
    return math.copysign(max(x, 0.0), s)


def corrected(base, record, n, x):
    """The radius: the base, corrected in units of at least a tenth of the record, and capped by the record."""
    r = max(base + max(base, 0.1 * record) * x, 0.0)
    return min(r, record * (1.5 + 8 / n)) if record > 0 else r


class Series:
    def __init__(self, levels):
        self.n = self.played = 0
        self.F = self.WF = self.S = self.W = self.R = self.Y = self.REC = 0.0
        self.Q, self.misses = [0.0] * levels, [0] * levels


class Pool:
    """A panel: ``tick`` plays one moment after the other.

    Args:
        alphas: of the levels, from the narrowest to the widest.
        delay: the labels of a moment are known when the moment that is ``delay + 1`` later is predicted.
    """

    def __init__(self, alphas, delay=0):
        self.alphas, self.delay = list(alphas), delay
        self.c = [float(ndtri(1 - a / 2)) / math.sqrt(2 / math.pi) for a in self.alphas]  # quantile over mean
        k = len(self.alphas)
        self.series, self.moments, self.unit = {}, [], None
        self.usual, self.mean_log, self.mean_size, self.slope = 1.0, 0.0, 0.0, 0.0
        self.sums, self.new = np.zeros(7), [0] * 7
        self.G, self.newG = np.zeros((k, 7, 7)), np.zeros((k, 7, 7))
        self.w, self.newM = np.zeros((k, 7)), np.zeros((k, 7))
        self.hist, self.new_hist = np.zeros((k, 10, BINS)), np.zeros((k, 10, BINS))
        self.q = np.full((k, 10), 1.5)
        self.z, self.new_misses = [0.0] * k, [0] * k
        self.uneven, self.count = [0.0] * k, 0.0
        self.labels = self.pending = self.new_played = 0

    def tick(self, ids, sizes, scores):
        """The radii of the rows of one moment, a list of levels each; NaN while there is no label.

        Args:
            ids: of the series.
            sizes: the absolute values of the forecasts.
            scores: of the labels, which are learned when they are known; NaN where there is never a label.
        """
        if len(self.moments) > self.delay:
            self.learn(self.moments[-1 - self.delay])
        rows = [self.predict(i, size) for i, size in zip(ids, sizes, strict=True)]
        self.moments.append([(i, size, s, row) for i, size, s, row in zip(ids, sizes, scores, rows, strict=True)])
        return [row["radii"] for row in rows]

    def prior(self, size):
        """The logarithm of what series with forecasts of this size usually have."""
        return self.mean_log + self.slope * (self.log_size(size) - self.mean_size)

    def log_size(self, size):
        return clip(math.log(size + 1e-3 * self.usual), 64)

    def scale(self, a, size):
        """The scale of a series, shrunk to the prior, which counts less if the series is far above it."""
        prior = math.exp(self.prior(size))
        kappa = min(1.0, 3 * prior * a.W / a.S) if a.S > 0 else 1.0
        return (kappa * prior + a.S) / (kappa + a.W)

    def predict(self, i, size):
        k = len(self.alphas)
        if self.unit is None:
            return {"radii": [math.nan] * k, "cold": True}
        a = self.series.setdefault(i, Series(k))
        size, n = size / self.unit, a.n
        m, prior = self.scale(a, size), self.prior(size)
        ybar, own, age = (a.Y + size) / (a.W + 1), min(n, 8), sum(n >= b for b in BOUNDS)
        row = {"cold": False, "x": [], "guess": [], "age": age, "radii": []}
        lower = 0.0
        for j, (alpha, c) in enumerate(zip(self.alphas, self.c, strict=True)):
            features = [
                1.0,
                math.log(max((m + a.F) / (1 + a.WF), 0.02 * m) / m),
                math.log(max((2 * c * m + own * a.Q[j]) / (2 + own), 0.02 * m) / (c * m)),
                math.log(max(((a.R + 1.74 * math.sqrt(m)) / (a.W + 2)) ** 2 / m, 0.02) / 0.78),
                math.log((size + 0.1 * ybar + 0.05 * m) / (1.1 * ybar + 0.05 * m)),
                clip(prior - math.log(m), 1) / (1 + n / 4),
                1 / (1 + n),
            ]
            guess = m * math.exp(clip(math.log(c) + float(np.dot(self.w[j], features)), 4))
            base = guess * self.q[j, age] * math.exp(self.z[j])
            x = correction(alpha, a.played, a.misses[j])
            lower = max(corrected(base, a.REC, n, x), lower)  # levels do not cross
            row["x"].append(features)
            row["guess"].append(guess)
            row["radii"].append(lower * self.unit)
        return row

    def learn(self, rows):
        rows = [row for row in rows if not math.isnan(row[2])]
        if rows and self.unit is None:
            self.begin([s for _, _, s, _ in rows], [size for _, size, _, _ in rows])
        for i, size, s, row in rows:
            self.learn_row(i, size / self.unit, s / self.unit, row)
        if self.pending >= max(1, self.known() / 50, min(self.labels / 100, 16)):
            self.solve()

    def known(self):
        """How many series have a label."""
        return sum(a.n > 0 for a in self.series.values())

    def begin(self, scores, sizes):
        """The unit is the power of two near the first scores, or near the sizes if all scores are 0."""
        positive = [s for s in scores if s > 0] or [s for s in sizes if s > 0]
        self.unit = 2.0 ** (sum(math.frexp(s)[1] for s in positive) // len(positive)) if positive else 1.0
        self.usual = 1.0 if max(scores) > 0 else 1e-3
        self.mean_log = math.log(self.usual)

    def learn_row(self, i, size, s, row):
        a = self.series.setdefault(i, Series(len(self.alphas)))
        # The panel: scores and sizes.
        log_s, log_size = clip(math.log(max(s, 0.02 * self.usual)), 64), self.log_size(size)
        terms = [1, clip(math.log(s), 64)] if s > 0 else [0, 0]
        terms += [1, log_s, log_size, log_size * log_size, log_size * log_s]
        self.new = [a + whole(t, 2**16) for a, t in zip(self.new, terms, strict=True)]
        self.labels, self.pending = self.labels + 1, self.pending + 1

        # The regression and the histograms. A row without interval gets its features now, before it is learned.
        scale = self.scale(a, size)
        cold = row["cold"]
        if cold and self.sums[2] > 0:
            row = self.predict(i, size * self.unit)
        for j in range(len(self.alphas)):
            if not row["cold"]:
                x, guess = [whole(clip(v, 16), 1024) for v in row["x"][j]], row["guess"][j]
                self.newG[j] += np.outer(x, x)
                self.newM[j] += x if s >= guess else 0
                bin = int(min(max((math.log(s / guess) - LOW) / BIN, 0), BINS - 1)) if s > 0 else 0
                self.new_hist[j, row["age"], bin] += 1
            if not cold and row["radii"][j] <= s * self.unit:
                a.misses[j] += 1
                self.new_misses[j] += 1
        if not cold:
            a.played += 1
            self.new_played += 1

        # The series itself.
        part = min(s, 30 * scale) if a.n > 0 else s
        a.F, a.WF = FAST * a.F + part, FAST * a.WF + 1
        a.S, a.W, a.R, a.Y = SLOW * a.S + part, SLOW * a.W + 1, SLOW * a.R + math.sqrt(part), SLOW * a.Y + size
        a.n, a.REC = a.n + 1, max(a.REC, s)
        for j, (alpha, c) in enumerate(zip(self.alphas, self.c, strict=True)):
            usual = c * a.S / a.W
            if a.n == 1:
                a.Q[j] = usual
            else:
                a.Q[j] = max(a.Q[j] + max(0.15, 1 / a.n) * usual * ((s >= a.Q[j]) - alpha), 0.0)

    def solve(self):
        share = min(1.0, self.pending / self.known())
        forget = 0.995**share

        # The usual score, and how scores grow with the size of the forecast.
        self.sums, self.new = forget * self.sums + np.array(self.new) / 2.0**16, [0] * 7
        positive, logs, count, mean, size, square, product = self.sums
        self.usual = 1.5 * math.exp(logs / positive) if positive > 0 else 1e-3
        self.mean_log, self.mean_size = mean / count, size / count
        slope = (product / count - self.mean_size * self.mean_log) / (max(square / count - self.mean_size**2, 0) + 0.05)
        self.slope = min(max(slope, 0.0), 1.2) if count > 20 else 0.0

        self.count = forget * self.count + (self.new_played > 0)
        for j, alpha in enumerate(self.alphas):
            # The common factor.
            late = (self.new_misses[j] / self.new_played - alpha) if self.new_played else 0.0
            trust = self.new_played / (self.new_played + 50)
            self.z[j] = clip(0.5**share * self.z[j] + late * trust, 1.5)
            self.uneven[j] = forget * self.uneven[j] + late**2
            # One Newton step of the quantile regression, at most 0.1 long.
            new = self.newG[j] / 1024.0**2
            self.G[j] = forget * self.G[j] + new
            above = self.newM[j] / 1024.0 - alpha * new[0]  # the features of scores above the guess, less their share
            step = np.linalg.solve(self.G[j] + 20 * np.eye(7), above) / 0.25
            self.w[j] += step * 0.1 / max(0.1, np.abs(step).max())
            # The factors.
            self.hist[j] = forget * self.hist[j] + self.new_hist[j]
            for age in range(10):
                self.factor(j, age)
        self.newG[:], self.newM[:], self.new_hist[:], self.new_misses = 0, 0, 0, [0] * len(self.alphas)
        self.pending = self.new_played = 0

    def factor(self, j, age):
        """The quantile of the histogram of an age, filled up to 200 labels from the nearest ages."""
        hist = self.hist[j, age].copy()
        for distance in range(1, 10):
            near = self.hist[j, [k for k in (age - distance, age + distance) if 0 <= k < 10]].sum(axis=0)
            if hist.sum() < 200 and near.sum() > 0:
                hist = hist + near * min(1.0, (200 - hist.sum()) / near.sum())
        labels = hist.sum()
        if labels > 0:
            alpha, extra = self.alphas[j], 0.0
            if self.count > 0:  # moments that are missed together are worth fewer labels
                extra = min(alpha / 2, self.uneven[j] / (self.count**2 * alpha))
            wanted = min(max((1 - alpha) * (labels + 1), (1 - alpha + extra) * labels), labels)
            below = np.cumsum(hist)
            k = min(int(np.searchsorted(below, wanted)), int(np.flatnonzero(hist)[-1]))
            log_q = LOW + BIN * (k + min((wanted - (below[k] - hist[k])) / hist[k], 1.0))
            self.q[j, age] = math.exp((labels * log_q + 20 * math.log(1.3)) / (labels + 20))
