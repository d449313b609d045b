"""Coverage sums with late labels and nested levels: both sides of what docs/delay.md and docs/predictions.md prove.

``d`` is the largest number of predictions that wait for their label when another is made; labels come in any order. The
adversaries choose a score only when its label is revealed: the proofs do not ask when.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import theory
from wane.learners import MagnitudeLearner
from wane.theory import prediction_rule
from wane.trackers import LossTracker, Pinball, make

D = 8.0  # scores are in [0, D]
ROUNDING = 1e-9

ORDERS = {  # which of n that wait is revealed
    "first": lambda n, rng: 0,
    "last": lambda n, rng: n - 1,
    "random": lambda n, rng: int(rng.integers(n)),
    "last, rarely first": lambda n, rng: 0 if rng.random() < 0.03 else n - 1,  # some wait for very long
}
SCORES = {  # a score in [0, D], for a prediction that played these radii, from the widest to the narrowest
    "random": lambda radii, total, rng: min(abs(rng.normal()), D),
    "covered if it can be": lambda radii, total, rng: 0.0 if radii[-1] > 0.0 else D,
    "missed if it can be": lambda radii, total, rng: D,
    "pushes on": lambda radii, total, rng: D if total > 0.0 else 0.0,
    "pushes back": lambda radii, total, rng: 0.0 if total > 0.0 else D,
    "splits the levels": lambda radii, total, rng: radii[-1] if D >= radii[0] > radii[-1] else 0.0,
    "at an edge": lambda radii, total, rng: min(float(rng.choice(radii)), D),
    "in turns": lambda radii, total, rng: D if rng.random() < 0.02 else 0.0,
}


def bounds(trackers, d):
    """Both bounds of each level; the trackers with alpha growing."""
    variances = [t.learner.statistics[0] for t in trackers]
    return theory.nested_coverage_bounds([t.alpha for t in trackers], variances, D, d, trackers[0].learner.epsilon)


def inside(oc, misses, labels, d):
    """Whether misses - alpha * labels is within both bounds at every level."""
    trackers = oc.trackers
    totals = [m - t.alpha * labels for m, t in zip(misses, trackers, strict=True)]
    found = bounds(trackers, d)
    return all(a - ROUNDING <= total <= b + ROUNDING for total, (a, b) in zip(totals, found, strict=True))


def check(oc, misses, labels, d):
    """Both bounds, and the identity (1) of docs/delay.md, by a count of one's own."""
    assert inside(oc, misses, labels, d)
    for m, tracker in zip(misses, oc.trackers, strict=True):
        total = pytest.approx(m - tracker.alpha * labels, abs=ROUNDING * (1 + labels))
        assert tracker.coverage_sum() == total
        assert tracker.learner.statistics[1] + 1.0 - tracker.alpha == total


def play(oc, d, score, order, burst, rounds, rng, check=check):
    """Keep d predictions waiting, reveal one a round, or all of them from time to time; check after every label."""
    waiting, misses, labels = [], np.zeros(len(oc.trackers)), 0
    for _ in range(rounds):
        p = oc.predict(0.0)
        waiting.append((p.id, p.radius))
        while len(waiting) > d or (waiting and burst and labels % (d + 1)):
            id, radii = waiting.pop(ORDERS[order](len(waiting), rng))
            s = SCORES[score](radii, misses[0] - oc.alphas[0] * labels, rng)
            oc.update(id, s)
            labels += 1
            misses += np.array(radii) <= s
            check(oc, misses, labels, d)
    return misses, labels


@settings(max_examples=120)
@given(
    seed=st.integers(0, 10_000),
    d=st.sampled_from([0, 1, 5, 40]),
    alphas=st.sampled_from([(0.01,), (0.1,), (0.5,), (0.4, 0.5), (0.05, 0.1, 0.2), (0.1, 0.3, 0.45, 0.5)]),
    epsilon=st.sampled_from([0.1, 1.0, 30.0]),
    score=st.sampled_from(sorted(SCORES)),
    order=st.sampled_from(sorted(ORDERS)),
    burst=st.booleans(),
)
def test_coverage_sums_stay_within_both_bounds(seed, d, alphas, epsilon, score, order, burst):
    oc = wane.OnlineConformal("magl", alpha=alphas, epsilon=epsilon)
    play(oc, d, score, order, burst, 250, np.random.default_rng(seed))


@settings(max_examples=200)
@given(a=st.floats(0.0, 1e5), b=st.floats(0.0, 1e10))
def test_a_positive_radius_needs_a_sum_above_two_hints_and_bounds_it(a, b):
    """What the proofs need of the prediction rule, with s = a h, v = b h^2; the second is Lemma "connecting_basic"."""
    x = float(prediction_rule(b, a, 1.0))
    if x > 0.0:
        assert a > 2.0
    if x < 1e149:  # where learners saturate
        one = 1.0 + math.sqrt(math.log1p(2.0 * max(x, 0.0)))
        assert a <= 2.0 * math.sqrt(b) * one + 13.0 * one**2


def late(tracker, d, check):
    """The adversary of docs/delay.md: 0 for each radius that is positive."""
    oc = wane.OnlineConformal([tracker], alpha=(tracker.alpha,))
    return oc, *play(oc, d, "covered if it can be", "first", False, 10_000, np.random.default_rng(0), check)


def lifted(trackers, check):
    """The adversary of docs/predictions.md: level 0.4 is made to learn at the radius of level 0.5."""
    oc = wane.OnlineConformal(trackers, alpha=(0.4, 0.5))
    return oc, *play(oc, 0, "splits the levels", "first", False, 6000, np.random.default_rng(0), check)


@pytest.mark.parametrize("d", [30, 100])
def test_late_labels_keep_the_miss_rate_against_an_adversary(d):
    sums = []

    def watch(oc, misses, labels, d):
        check(oc, misses, labels, d)
        sums.append(misses[0] - 0.1 * labels)

    oc, misses, labels = late(make("magl", 0.1), d, watch)
    assert abs(misses[0] / labels - 0.1) < 0.005
    assert min(sums) < bounds(oc.trackers, d)[0][0] + 0.2  # the lower bound is nearly met


def test_nested_levels_keep_their_miss_rates_against_an_adversary():
    _, misses, labels = lifted([make("magl", 0.4), make("magl", 0.5)], check)
    assert np.abs(misses / labels - (0.4, 0.5)).max() < 0.005


def test_a_learner_that_drops_labels_does_not_keep_them():
    """With line 7 of Algorithm 1 the same adversaries win: the sums leave the bounds, and the rates are wrong."""

    def dropping(alpha):
        return LossTracker(MagnitudeLearner(), Pinball(alpha))

    oc, misses, labels = late(dropping(0.1), 100, unchecked)
    assert misses[0] / labels < 0.095 and not inside(oc, misses, labels, 100)
    oc, misses, labels = lifted([dropping(0.4), dropping(0.5)], unchecked)
    assert misses[0] / labels < 0.35 and not inside(oc, misses, labels, 0)


def unchecked(*_):
    """Play on."""


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.01, 0.1, 0.5]), score=st.sampled_from(sorted(SCORES)))
def test_lifted_radii_never_add_misses_to_the_bound(seed, alpha, score):
    """A floor under the radius, or any radius above the tracker's own: the upper bound stays."""
    rng = np.random.default_rng(seed)
    tracker, total = make("magl", alpha), 0.0
    for _ in range(200):
        radius = tracker.predict() + max(0.0, rng.normal())
        s = SCORES[score]((radius,), total, rng)
        tracker.update(s, radius=radius)
        total += (radius <= s) - alpha
        clipped = total - tracker.coverage_sum(clipped=True)
        assert -alpha - ROUNDING <= clipped <= 1.0 - alpha + ROUNDING
        assert total <= bounds([tracker], 0)[0][1] + ROUNDING
