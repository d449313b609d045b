"""Coverage of groups that overlap: the theorems on games of adversaries, the Fibonacci adversary among them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import theory
from wane.learners import OddMagnitudeLearner
from wane.trackers import make

TOP, ROUNDING = 4.0, 1e-9


def learners_of(count, alpha, epsilon):
    """Odd learners whose hint is max(alpha, 1 - alpha) from the start: the first gradient is clipped to 0."""
    found = [OddMagnitudeLearner(epsilon) for _ in range(count)]
    for learner in found:
        learner.update(max(alpha, 1.0 - alpha))
    return found


def overlapping(kind, count, t, rng):
    """The features of a round: 0 and 1, or any number in [-1, 1]; the first group is everything."""
    inside = {
        "random": lambda: (rng.random(count) < 0.4).astype(float),
        "nested": lambda: (np.arange(count) <= t % count).astype(float),
        "fractional": lambda: rng.uniform(-1.0, 1.0, count),
        "late": lambda: ((rng.random(count) < 0.5) & (t > 40 * np.arange(count))).astype(float),
    }[kind]()
    inside[0] = 1.0
    return inside


SCORES = {
    "random": lambda r, s, rng: min(abs(rng.normal()), TOP),
    "pushes on": lambda r, s, rng: TOP if s > 0.0 else 0.0,
    "pushes back": lambda r, s, rng: 0.0 if s > 0.0 else TOP,
    "on the radius": lambda r, s, rng: min(r, TOP),
    "all or nothing": lambda r, s, rng: TOP if rng.random() < 0.1 else 0.0,
}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 8),
    alpha=st.sampled_from([0.01, 0.1, 0.5, 0.9]),
    epsilon=st.sampled_from([0.05, 1.0, 10.0]),
    groups=st.sampled_from(["random", "nested", "fractional", "late"]),
    score=st.sampled_from(sorted(SCORES)),
)
def test_the_theorem_of_groups(seed, count, alpha, epsilon, groups, score):
    rng = np.random.default_rng(seed)
    players = learners_of(count, alpha, epsilon)
    sums, won = np.zeros(count), 0.0
    cap = 1.0
    reach = theory.group_reach(alpha, TOP, base=2.0, scale=0.5, cap=cap)
    for t in range(150):
        phi = overlapping(groups, count, t, rng)
        x = float(phi @ [p.predict() for p in players])
        base, unit, y = rng.uniform(0.0, 2.0), rng.uniform(0.5, 3.0), rng.uniform(-cap, cap)
        r = max(0.0, base + unit * (x + y))
        s = SCORES[score](r, float(sums[rng.integers(count)]), rng)
        g = alpha - float(r <= s)
        won -= g * x
        sums -= phi * g
        for f, player in zip(phi, players, strict=True):
            player.update(f * g)
        if t in (9, 59, 149):
            v = [p.statistics[0] for p in players]
            assert np.allclose([p.statistics[1] for p in players], sums, atol=1e-9)
            for closed in (False, True):
                assert (np.abs(sums) <= theory.group_bounds(alpha, v, t + 1, reach, epsilon, closed) + ROUNDING).all()
                really = theory.group_certificate(alpha, v, max(0.0, won), epsilon, closed)
                assert (np.abs(sums) <= really + ROUNDING).all()


@settings(max_examples=30, deadline=None)
@given(
    v=st.floats(0.0, 1e6),
    epsilon=st.sampled_from([1e-3, 1.0, 30.0]),
    reach=st.floats(0.0, 1e6),
    alpha=st.floats(0.01, 0.99),
)
def test_the_closed_form_is_larger_and_the_exact_one_is_where_the_potential_is(v, epsilon, reach, alpha):
    h = max(alpha, 1.0 - alpha)
    (exact,), (wider,) = (theory.group_bounds(alpha, [v], 100, reach, epsilon, closed) for closed in (False, True))
    assert exact <= wider * (1.0 + 1e-9)
    if exact > 2.5 * h:
        assert float(theory.potential(v, exact * 1.0001, h, epsilon)) > 100.0 * reach * (1.0 - 1e-9)
    depth = -epsilon * math.sqrt(v + 21.0 * h * h)  # step 3 of the proof
    assert float(theory.potential(v, np.linspace(0.0, 10.0 * h, 200), h, epsilon).min()) >= depth * (1.0 + 1e-12) or (
        theory.potential(v, 2.5 * h, h, epsilon) >= depth
    )


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
@pytest.mark.parametrize("alpha", [0.3, 0.5])
def test_the_fibonacci_adversary_drives_the_last_group_beyond_what_one_group_can_reach(groups, alpha):
    """Theorem 2: overlapping groups leave the interval in which a single one stays, and `group_bounds` still holds."""
    epsilon, world = 0.05, theory.FibonacciAdversary(groups)
    players, sums, rounds = learners_of(groups, alpha, epsilon), np.zeros(groups), 0
    while (played := world([p.predict() for p in players])) is not None:
        inside, base, score = played
        radius = max(0.0, base + sum(players[k].predict() for k in inside))
        g = alpha - float(radius <= score)
        for k in inside:
            players[k].update(g)
            sums[k] -= g
        rounds += 1
        assert rounds < 10_000
    assert world.thresholds == [1.0, 2.0, 3.0, 5.0][:groups]
    for player, wanted in zip(players, world.thresholds, strict=True):
        assert abs(player.predict()) > wanted
    v = [p.statistics[0] for p in players]
    reach = theory.group_reach(alpha, max_score=1.0, base=1.0)
    assert (np.abs(sums) <= theory.group_bounds(alpha, v, rounds, reach, epsilon)).all()
    alone = [theory.calibration_bound(x, max(alpha, 1.0 - alpha), 1.0, 1.0, epsilon) for x in v]
    assert (abs(sums[-1]) > alone[-1]) == (groups > 1)  # the theorem of one group does not hold for overlapping ones


def test_groups_that_are_disjoint_keep_the_theorem_of_one():
    rng = np.random.default_rng(0)
    players, sums = learners_of(3, 0.1, 1.0), np.zeros(3)
    for t in range(2000):
        j = int(rng.integers(3))
        r = max(0.0, players[j].predict())
        s = TOP if (t // 200) % 2 else 0.0
        g = 0.1 - float(r <= s)
        players[j].update(g)
        sums[j] -= g
        v, _, h = players[j].statistics
        assert abs(sums[j]) <= theory.calibration_bound(v, h, TOP, 1.0, 1.0)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(1, 5),
    alpha=st.sampled_from([0.05, 0.2, 0.5]),
    score=st.sampled_from(sorted(SCORES)),
)
def test_the_theorem_of_groups_of_portfolios(seed, count, alpha, score):
    rng = np.random.default_rng(seed)
    players = [make("portfolio", alpha, domain="real") for _ in range(count)]
    sums, sizes = np.zeros(count), np.zeros(count)
    reach = theory.group_reach(alpha, TOP)
    for t in range(200):
        inside = np.flatnonzero(overlapping("random", count, t, rng))
        r = max(0.0, sum(players[k].predict() for k in inside))
        s = SCORES[score](r, float(sums[rng.integers(count)]), rng)
        for k in inside:
            players[k].update(s, radius=r)
            sizes[k] += 1
            sums[k] += float(r <= s) - alpha
        if t % 20 == 19:
            low, high = theory.portfolio_group_bounds(alpha, sizes, t + 1, reach).T
            assert (low - ROUNDING <= sums).all() and (sums <= high + ROUNDING).all()


def test_the_certificate_holds_with_late_labels():
    """From what was really won, at the time of learning, whatever the delay."""
    rng = np.random.default_rng(1)
    count, alpha, delay = 6, 0.1, 30
    players, sums, won, waiting = learners_of(count, alpha, 1.0), np.zeros(count), 0.0, []
    for t in range(1500):
        phi = overlapping("random", count, t, rng)
        waiting.append((phi, max(0.0, float(phi @ [p.predict() for p in players]))))
        if len(waiting) > delay:
            phi, r = waiting.pop(0)
            g = alpha - float(r <= abs(rng.normal()))
            won -= g * float(phi @ [p.predict() for p in players])
            sums -= phi * g
            for f, player in zip(phi, players, strict=True):
                player.update(f * g)
            if t % 300 == 0:
                v = [p.statistics[0] for p in players]
                assert (np.abs(sums) <= theory.group_certificate(alpha, v, max(0.0, won))).all()


def test_what_is_refused():
    with pytest.raises(ValueError, match="sums squares"):
        theory.group_bounds(0.1, [1.0, -1.0], 10, 1.0)
    assert theory.group_bounds(0.1, [], 10, 1.0).shape == (0,)
    assert theory.portfolio_group_bounds(0.1, [], 10, 1.0).shape == (0, 2)
