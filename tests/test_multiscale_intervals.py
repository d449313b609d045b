"""Coin betting over intervals, literally, and its bound on every interval and for every discount."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multiscale_games import constant, on_streams
from scipy.special import gammaln

from wane import domains, learners, theory


class Descent:
    """Gradient descent on [-1, 1] with the rate 2 / sqrt(t), literally."""

    def __init__(self):
        self.x, self.t = 0.0, 0

    def update(self, g):
        self.t += 1
        self.x = min(max(self.x - 2.0 / math.sqrt(self.t) * g, -1.0), 1.0)


def literal_cbce(gradients):
    """Every interval of the covering by name (first, last), rounds from 1; a dictionary of those that are awake."""
    copies, coins, wealth, played = {}, {}, {}, []
    for t, g in enumerate(gradients, start=1):
        awake = [(t // 2**j * 2**j, t // 2**j * 2**j + 2**j - 1) for j in range(t.bit_length())]
        for interval in awake:
            if interval[0] == t:
                copies[interval], coins[interval], wealth[interval] = Descent(), [], 1.0
        bets = {i: sum(coins[i]) / (t - i[0] + 1) * wealth[i] for i in awake}
        prior = {i: 1.0 / (i[0] ** 2 * (1 + math.floor(math.log2(i[0])))) for i in awake}
        stakes = {i: prior[i] * max(0.0, bets[i]) for i in awake}
        stakes = stakes if sum(stakes.values()) > 0.0 else prior
        x = sum(stakes[i] * copies[i].x for i in awake) / sum(stakes.values())
        played.append(x)
        for i in awake:
            r = g * (x - copies[i].x) / 2.0
            c = r if bets[i] > 0.0 else max(r, 0.0)
            coins[i].append(c)
            wealth[i] += c * bets[i]
            copies[i].update(g)
    return np.array(played)


def descent():
    return learners.GradientDescent(domain=domains.Ball(1.0), schedule="horizon")


@pytest.mark.parametrize(
    "memory", [{"wealth": [-1.0] * 4}, {"sums": [1e6] * 4}, {"rounds": -1}, {"rounds": 0.5}, {"copy_0": {}}], ids=str
)
def test_a_corrupted_memory_is_refused(memory):
    learner = learners.StronglyAdaptive(descent(), levels=4)
    learner.run([-1.0, 0.5, -1.0])
    state = learner.state_dict()
    assert learners.load(state).predict() == learner.predict()
    with pytest.raises(ValueError):
        learners.load({**state, "memory": {**state["memory"], **memory}})


@on_streams
def test_coin_betting_literally(stream):
    g = stream(300)
    np.testing.assert_allclose(
        learners.StronglyAdaptive(descent()).run(g), literal_cbce(g.tolist()), rtol=1e-9, atol=1e-12
    )


def test_the_copies_know_nothing_of_the_past_of_the_base():
    base = descent()
    base.run(-np.ones(50))
    want = learners.StronglyAdaptive(descent()).run(constant(40))
    assert learners.StronglyAdaptive(base).run(constant(40)).tobytes() == want.tobytes()


def test_coin_betting_says_when_its_assumptions_fail():
    learner = learners.StronglyAdaptive(learners.LinearFTRL(), diameter=1.0)
    before = json.dumps(learner.state_dict())
    with pytest.raises(ValueError, match=r"exceeds lipschitz=1\.0"):
        learner.update(1.5)
    assert json.dumps(learner.state_dict()) == before
    with pytest.raises(ValueError, match=r"further apart than diameter=1\.0"):
        learner.run([-1.0] * 20)
    assert json.dumps(learner.state_dict()) == before


@given(start=st.integers(0, 3000), length=st.integers(1, 3000), levels=st.sampled_from([1, 4, 24]))
def test_the_covering(start, length, levels):
    pieces = theory.covering(start, start + length, levels)
    assert pieces[0][0] == start and pieces[-1][1] == start + length
    assert all(a[1] == b[0] for a, b in itertools.pairwise(pieces))
    longest = 2 ** (levels - 1)
    for first, end in pieces:
        whole = min((first + 1) & -(first + 1), longest)  # the longest interval of the covering that starts here
        assert 1 <= end - first <= whole
    sizes = [end - first for first, end in pieces[:-1]]
    if length < longest:
        assert all(b >= 2 * a for a, b in itertools.pairwise(sizes))
        assert len(pieces) <= 2 + math.log2(length)


def test_krichevsky_and_trofimov_from_below():
    """Step 4 of the proof of ``strongly_adaptive_bound``."""
    for n in (1, 2, 3, 10, 100, 1000, 100_000):
        x = np.linspace(-n, n, 201)
        log_f = n * math.log(2.0) + gammaln((n + 1 + x) / 2) + gammaln((n + 1 - x) / 2) - math.log(math.pi)
        log_f -= gammaln(n + 1)
        slack = log_f - (x**2 / (2 * n) - 0.5 * math.log(n + 1) - 0.5 * math.log(math.pi / 2) - 0.125)
        assert slack.min() >= -1e-6 and slack.min() < 0.2


@pytest.mark.parametrize("against", [None, 1, 3, -1])
@on_streams
def test_the_regret_to_every_copy_keeps_the_bound_of_betting(stream, against):
    """The bound with a base that is for free; and step 2 of its proof: the priors bound the wealth.

    With ``against``, gradients turn against the mixture and favour the copy of that level.
    """
    rounds = 256
    g, learner = stream(rounds), learners.StronglyAdaptive(descent())
    regret, worst = np.zeros(24), 0.0
    for t in range(rounds):
        copies, x = learner.components(), learner.predict()
        if against is not None and against < len(copies) and x != copies[against]:
            g[t] = math.copysign(1.0, x - copies[against])
        starts = [(t + 1) % 2**j == 0 for j in range(len(copies))]
        regret[: len(copies)] = np.where(starts, 0.0, regret[: len(copies)]) + g[t] * (x - copies)
        for j in range(len(copies)):
            born = (t + 1) // 2**j * 2**j - 1
            bound = theory.strongly_adaptive_bound(born, t + 1, 2.0, 1.0, lambda n: 0.0)
            assert len(theory.covering(born, t + 1)) == 1 and regret[j] <= bound
            worst = max(worst, regret[j] / bound)
        learner.update(g[t])
        first = [(t + 2) // 2**j * 2**j for j in range((t + 2).bit_length())]
        assert sum(learner.wealth[j] / (b**2 * b.bit_length()) for j, b in enumerate(first)) <= math.pi**2 / 6
    assert worst > (0.03 if against is None else 0.1)


@pytest.mark.parametrize("levels", [24, 5])
@on_streams
def test_coin_betting_keeps_its_bound_on_every_interval(stream, levels):
    rounds = 160
    g = stream(rounds)
    x = learners.StronglyAdaptive(descent(), levels=levels).run(g)
    worst = 0.0
    for start in range(0, rounds, 7):
        for stop in range(start + 1, rounds + 1, 5):
            bound = theory.strongly_adaptive_bound(
                start, stop, 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n), levels=levels
            )
            regret = float((g * x)[start:stop].sum() + abs(g[start:stop].sum()))  # against the better end of [-1, 1]
            assert regret <= bound
            worst = max(worst, regret / bound)
    assert worst > 0.03


@given(g=st.lists(st.sampled_from([-1.0, 1.0, 0.0, 0.3]), min_size=1, max_size=40), start=st.integers(0, 39))
def test_coin_betting_keeps_its_bound_on_any_gradients(g, start):
    start %= len(g)
    x = learners.StronglyAdaptive(descent(), levels=6).run(g)[start:]
    bound = theory.strongly_adaptive_bound(start, len(g), 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n), levels=6)
    assert float(np.dot(g[start:], x)) + abs(sum(g[start:])) <= bound


@on_streams
def test_coin_betting_keeps_the_discounted_bound_for_every_discount(stream):
    rounds = 200
    g = stream(rounds)
    x = learners.StronglyAdaptive(descent()).run(g)
    bounds = [
        theory.strongly_adaptive_bound(t, rounds, 2.0, 1.0, lambda n: theory.ogd_bound(2.0, 1.0, n))
        for t in range(rounds)
    ]
    for lam in (0.5, 0.9, 0.99, 1.0):
        for u in (-1.0, 0.0, 0.4, 1.0):
            regret = theory.discounted_regret(g * x, g * u, lam)
            assert regret <= theory.interval_regrets_to_discounted(bounds, lam)
