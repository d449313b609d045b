"""The theorem about each series of a pooled panel, under attack by an adversary who sees radius and state."""

import math
from collections import deque

import numpy as np
import pytest
from pool_reference import corrected, correction

from wane import Panel, theory
from wane.errors import InputError
from wane.panel import bounds

LARGEST = 100.0  # no score is larger
BASES = {
    "tiny": lambda t, rng: 1e-9,
    "huge": lambda t, rng: 1e9,
    "third": lambda t, rng: LARGEST / 4.0,
    "wild": lambda t, rng: math.exp(rng.normal(0.0, 8.0)),
    "slow wave": lambda t, rng: math.exp(8.0 * math.sin(t / 150.0)),
}


def miss(t, radii, sums, rng):
    """A score that the radius misses, if there is one."""
    return min(LARGEST, max(radii[0], 1e-3) * (1.0 + 1e-9))


def miss_the_widest(t, radii, sums, rng):
    return min(LARGEST, max(radii[-1], 1e-3) * 1.6)


def cover(t, radii, sums, rng):
    return 0.0


def blocks(t, radii, sums, rng):
    return (miss if t // 97 % 2 else cover)(t, radii, sums, rng)


def outwards(t, radii, sums, rng):
    """Push the sum of miss - alpha further to where it is."""
    return (miss if sums[-1] >= 0.0 else cover)(t, radii, sums, rng)


def grow(t, radii, sums, rng):
    """One record after the other, and silence between them."""
    return 0.0 if rng.random() < 0.7 else min(LARGEST, 1e-3 * 1.51 ** (t / 20.0))


def noise(t, radii, sums, rng):
    return abs(rng.standard_cauchy()) % LARGEST


ADVERSARIES = [miss, miss_the_widest, cover, blocks, outwards, grow, noise]


def play(alphas, delay, base, adversary, rounds, seed, rule=correction):
    """Play one series; yield after each label how far each level is off, with its bounds."""
    rng = np.random.default_rng(seed)
    labels, record, first, misses = 0, 0.0, 0.0, [0] * len(alphas)
    waiting = deque()
    for t in range(rounds):
        radii, before = [], 0.0
        for alpha, m in zip(alphas, misses, strict=True):
            before = max(before, corrected(base(t, rng), record, labels, rule(alpha, labels, m)))
            radii.append(before)
        sums = [m - alpha * labels for m, alpha in zip(misses, alphas, strict=True)]
        waiting.append((adversary(t, radii, sums, rng), radii))
        if len(waiting) > delay:
            score, radii = waiting.popleft()
            labels, record, first = labels + 1, max(record, score), first or score
            misses = [m + (r <= score) for m, r in zip(misses, radii, strict=True)]
            if t % 60 == 0 or t == rounds - 1:
                bounds = None
                for alpha, m in zip(alphas, misses, strict=True):
                    growth = record / first if first else 1.0
                    bounds = theory.pool_bound(labels, m, alpha, delay, growth, bounds)
                    yield m - alpha * labels, bounds


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("alphas", "delay"), [([0.1], 0), ([0.1], 5), ([0.6], 1), ([0.3, 0.05], 0), ([0.5, 0.2, 0.01], 3)]
)
def test_no_adversary_leaves_the_bounds(alphas, delay, base, adversary):
    for off, (lower, upper) in play(alphas, delay, BASES[base], adversary, 600, seed=1):
        assert lower <= off <= upper


def test_the_bounds_are_nearly_reached():
    # A theorem that is far from what can happen would pass any attack.
    upper = max(off / b[1] for off, b in play([0.1], 0, BASES["tiny"], miss, 700, seed=1))
    lower = max(off / b[0] for off, b in play([0.1], 0, BASES["huge"], cover, 700, seed=1))
    assert upper > 0.7
    assert lower > 0.7


def test_a_correction_that_is_cut_does_not_have_the_theorem():
    # With x in [-0.9, 2], a base below a third of the scores is missed for ever: the attack finds it.
    def cut(alpha, n, misses):
        return min(max(correction(alpha, n, misses), -0.9), 2.0)

    def always(t, radii, sums, rng):
        return LARGEST

    def quarter(t, rng):
        return LARGEST / 4.0

    assert any(off > upper for off, (_, upper) in play([0.1], 0, quarter, always, 700, seed=1, rule=cut))
    assert all(off <= upper for off, (_, upper) in play([0.1], 0, quarter, always, 700, seed=1))


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.9])
def test_the_share_of_misses_tends_to_alpha(alpha):
    # Both sides grow like the root of the labels, so that the bounds over the labels tend to 0.
    sides = np.array([theory.pool_bound(n, alpha * n, alpha) for n in (1e4, 1e6, 1e8)])
    assert (np.diff(np.log10(np.abs(sides)), axis=0) < 1.2).all()
    assert (np.abs(sides[-1]) / 1e8 < 1e-3).all()


def test_what_widens_the_bounds():
    plain = theory.pool_bound(1000, 100, 0.1)
    late = theory.pool_bound(1000, 100, 0.1, delay=4)
    grown = theory.pool_bound(1000, 100, 0.1, growth=1.5**3)
    assert late[0] == pytest.approx(plain[0] - 4 * 0.1)
    assert late[1] == pytest.approx(plain[1] + 8 * 0.9)  # four more wait, and four more may miss the first record
    assert grown == (plain[0], pytest.approx(plain[1] + 3 * 0.9))  # three records of one and a half


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"misses": 11}, "misses"),
        ({"labels": -1}, "labels"),
        ({"delay": -1}, "delay"),
        ({"growth": 0.5}, "growth"),
    ],
)
def test_refused(given, argument):
    with pytest.raises(InputError) as error:
        theory.pool_bound(**{"labels": 10, "misses": 1, "alpha": 0.1, **given})
    assert error.value.argument == argument


@pytest.mark.parametrize(("alpha", "score"), [(0.1, "absolute"), ((0.05, 0.3), "absolute"), (0.2, "signed")])
def test_the_bounds_of_a_panel_hold_for_each_series_under_attack(alpha, score):
    """Each adversary has a series of the panel, and sees its radii; they share what the attacks have taught."""
    rng, panel, ids = np.random.default_rng(0), Panel(alpha=alpha, score=score), [f.__name__ for f in ADVERSARIES]
    largest = 1e-3
    for t in range(300):
        radii = panel.predict(ids, np.zeros(len(ids))).radius
        radii = np.nan_to_num(np.sort(radii.reshape(len(ids), -1), axis=1))
        sums = [0.0] * len(ids)
        if t % 20 == 19:
            found = bounds(panel, growth=LARGEST / 1e-3)
            errors = [k for k in found if k.startswith("coverage_error")]
            assert len(errors) == (1 if alpha == 0.1 else 2)
            for name in errors:
                low, high = (found[name.replace("coverage_error", side)] for side in ("lower_bound", "upper_bound"))
                assert (low <= found[name]).all() and (found[name] <= high).all()
            sums = found[errors[0]]
        scores = [f(t, r.tolist(), [s], rng) for f, r, s in zip(ADVERSARIES, radii, sums, strict=True)]
        largest = max(largest, *scores)
        panel.update(ids, np.where(rng.random(len(ids)) < 0.5, scores, np.negative(scores)))
    assert largest <= LARGEST
    assert found["id"] == ids


def test_only_pool_has_bounds_of_series():
    with pytest.raises(InputError, match="OnlineConformal has the bounds of other methods"):
        bounds(Panel("magl", 0.1))


def test_the_summary_shows_the_bounds_of_each_series():
    panel = Panel(alpha=[0.1, 0.2])
    scores = np.random.default_rng(3).normal(size=600)
    panel.run(np.repeat(["a", "b", "c"], 200), np.zeros(600), scores)
    plain, shown, proved = panel.summary(), panel.summary(bounds=True), bounds(panel)
    assert set(shown) == set(plain) | set(proved) and set(plain) < set(shown)
    for name, column in (proved | plain).items():
        np.testing.assert_array_equal(shown[name], column)
    for end in ("_0.1", "_0.2"):
        error = shown[f"coverage_error{end}"]
        assert (shown[f"lower_bound{end}"] <= error).all() and (error <= shown[f"upper_bound{end}"]).all()
