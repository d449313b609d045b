"""The methods of 2025 and 2026 against the rules of their authors, typed here as plain loops over arrays."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from wane import theory
from wane.trackers import load, make

RATES = (0.05, 0.5)


def scores(seed=0, rounds=700):
    """Positive, with a jump; some values occur more than once."""
    rng = np.random.default_rng(seed)
    found = np.abs(rng.normal(size=rounds)) * np.where(np.arange(rounds) < 400, 1.0, 4.0)
    return np.round(found, 2)


def spread(s, t, window):
    """The range of the last scores before round t."""
    return s[max(t - window, 0) : t].max() - s[max(t - window, 0) : t].min() if t else 1.0


def sigmoid_slope(d):
    return math.exp(-d) / (1.0 + math.exp(-d)) ** 2


def controlled(s, alpha, rate, window, term, skip_first=False):
    """P control on q; the radius is q plus a term of each variant that does not stay."""
    q = np.zeros(len(s) + 1)
    r = np.zeros(len(s) + 1)
    for t in range(len(s)):
        if t == 0 and skip_first:
            continue
        eta = rate * spread(s, t, window)
        q[t + 1] = q[t] - eta * (alpha if r[t] >= s[t] else alpha - 1.0)
        r[t + 1] = q[t + 1] + eta * term(t, r, q[t + 1])
    return r[:-1]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_eci_cutoff_is_the_authors_rule(alpha, rate):
    s = scores(1)

    def term(t, r, q):
        d = s[t] - r[t]
        return d * sigmoid_slope(d) if abs(d) >= spread(s, t, 100) else 0.0

    got = make("eci-cutoff", alpha, rate=rate, published=True, domain="real").run(s)
    np.testing.assert_allclose(got, controlled(s, alpha, rate, 100, term, skip_first=True), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_eci_integral_is_the_authors_rule(alpha, rate):
    s = scores(2)

    def term(t, r, q):
        if t == 0:
            return 0.0
        weight = 0.95 ** (t - np.arange(1, t + 1))
        errors = np.array([d * sigmoid_slope(d) for d in s[:t] - r[:t]])
        return float(weight @ errors / weight.sum())

    got = make("eci-integral", alpha, rate=rate, published=True, domain="real").run(s)
    np.testing.assert_allclose(got, controlled(s, alpha, rate, 100, term), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("window", [20, 100])
def test_cop_is_the_authors_rule(rate, window):
    s = scores(3)

    def term(t, r, q):
        return 0.0 if t < window else -0.5 * (np.mean(s[t - window : t] <= q) - 0.9)

    got = make("cop", 0.1, rate=rate, window=window, published=True, domain="real").run(s)
    np.testing.assert_allclose(got, controlled(s, 0.1, rate, window, term), rtol=1e-12, atol=1e-12)


def test_cop_without_its_step_is_p_control():
    s = scores(4)
    plain = make("p-control", 0.1, rate=0.1, window=100).run(s)
    np.testing.assert_allclose(make("cop", 0.1, strength=0.0).run(s), plain, rtol=1e-12)


@pytest.mark.parametrize("method", ["cop", "eci-cutoff", "eci-integral"])
def test_the_miss_rate_settles_at_alpha(method):
    s = np.abs(np.random.default_rng(5).normal(size=8000))
    assert np.mean(make(method, 0.1).run(s) <= s) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("method", "wrong"), [("cop", {"strength": -1.0}), ("eci-integral", {"decay": 1.5})])
def test_settings_of_recent_methods_are_checked(method, wrong):
    with pytest.raises(ValueError, match="the authors take") as caught:
        make(method, 0.1, **wrong)
    assert caught.value.argument == next(iter(wrong))


class Discounted:
    """The authors' discounted belief on [0, 1]: a histogram that starts as the uniform law, and a prior that stays."""

    def __init__(self, cells, discount):
        self.discount, self.cells = discount, cells
        self.histogram = np.full(cells, 1.0 / cells)
        self.prior = math.sqrt(1.0 - discount) / (discount + math.sqrt(1.0 - discount))

    def learn(self, x):
        self.histogram *= self.discount
        self.histogram[min(int(x * self.cells), self.cells - 1)] += 1.0 - self.discount

    def share(self, x):
        whole = math.floor(x * self.cells + 0.5)  # a cell counts from its middle on
        return self.prior * x + (1.0 - self.prior) * (self.histogram[:whole].sum() if x < 1.0 else 1.0)

    def quantile(self, level):
        if self.share(1.0) <= level:
            return 1.0
        return 0.0 if self.share(0.0) >= level else optimize.bisect(lambda x: self.share(x) - level, 0.0, 1.0)


@pytest.mark.parametrize("discount", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("alpha", [0.1, 0.4])
def test_bayes_published_is_the_authors_belief_to_a_cell(discount, alpha):
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.beta(2, 8, 300), rng.beta(8, 2, 300)])
    belief, wanted = Discounted(50, discount), []
    for value in x:
        wanted.append(belief.quantile(1.0 - alpha))
        belief.learn(value)
    settings = {"max_score": 1.0, "discount": discount, "cells": 50}
    got = make("bayes", alpha, published=True, **settings).run(x)
    assert np.abs(got - wanted).max() <= 1.0 / 50 + 1e-9
    assert np.abs(make("bayes", alpha, **settings).run(x) - wanted).max() > 3.0 / 50  # our own start differs


def test_bayes_without_a_discount_is_the_same_published_or_not():
    s = np.random.default_rng(7).random(300)
    a, b = (make("bayes", 0.1, max_score=1.0, published=p).run(s) for p in (True, False))
    assert a.tobytes() == b.tobytes()


# the portfolio


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    alpha=st.sampled_from([0.01, 0.1, 0.5]),
    prior=st.sampled_from([1.0, 10.0, 100.0]),
    epsilon=st.sampled_from([0.1, 10.0]),
)
def test_the_wealth_is_that_of_the_mixture_and_of_the_bets(seed, alpha, prior, epsilon):
    """The recursion is Cover's closed form, and epsilon W = epsilon - sum of gradients times bets."""
    rng = np.random.default_rng(seed)
    tracker = make("portfolio", alpha, epsilon=epsilon, prior=prior, domain="real")
    wealth = epsilon
    for _ in range(60):
        bet = tracker.predict()
        assert bet == pytest.approx(
            theory.portfolio_bet(tracker.misses, tracker.labels - tracker.misses, alpha, epsilon, prior),
            rel=1e-6,
            abs=1e-9,
        )
        score = bet + rng.choice([-1.0, 1.0])
        wealth -= (alpha if bet > score else alpha - 1.0) * bet
        tracker.update(score)
        assert epsilon * math.exp(tracker.log_wealth) == pytest.approx(wealth, rel=1e-6)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    alpha=st.sampled_from([0.01, 0.1, 0.5]),
    prior=st.sampled_from([1.0, 10.0, 100.0]),
    delay=st.sampled_from([0, 1, 7]),
    way=st.sampled_from(["up", "down", "random", "edge", "in turns"]),
)
def test_the_portfolio_keeps_both_bounds(seed, alpha, prior, delay, way):
    """Labels up to ``delay`` late, by an adversary who sees the radii."""
    rng = np.random.default_rng(seed)
    top, waiting = 5.0, []
    tracker = make("portfolio", alpha, prior=prior)
    for t in range(250):
        waiting.append(tracker.predict())
        if len(waiting) > delay:
            r = waiting.pop(int(rng.integers(len(waiting))))
            s = {
                "up": top,
                "down": 0.0,
                "random": min(abs(rng.normal()), top),
                "edge": min(r, top),
                "in turns": top if math.sqrt(t) % 2 < 1 else 0.0,
            }[way]
            tracker.update(s, radius=r)
            low, high = theory.portfolio_bounds(alpha, int(tracker.labels), top, prior=prior, delay=delay)
            assert low - 1e-9 <= tracker.coverage_sum() <= high + 1e-9


def test_where_the_portfolio_has_no_bound():
    late, real, changed = make("portfolio", 0.1), make("portfolio", 0.1, domain="real"), make("portfolio", 0.1)
    late.update(1.0, radius=0.5)
    changed.update(1.0)
    changed.alpha = 0.2
    for tracker, reason in ((late, "in time"), (real, "domain='real'"), (changed, "one alpha")):
        with pytest.raises(ValueError, match=reason):
            tracker.coverage_bound()
    assert theory.portfolio_bounds(0.1, 10, reach=1e150) == (-math.inf, math.inf)


def test_a_portfolio_with_more_misses_than_labels_is_refused():
    tracker = make("portfolio", 0.1)
    tracker.run([1.0] * 20)
    state = tracker.state_dict()
    state["memory"]["misses"] = 21.0
    with pytest.raises(ValueError, match="misses in the memory of Portfolio"):
        load(state)


def test_the_portfolio_needs_fewer_misses_than_magl_to_come_back():
    """After a jump it is there sooner: the wealth grows with every miss, whatever came before at the right rate."""
    rng = np.random.default_rng(8)
    s = np.abs(rng.normal(size=3000)) * np.where(np.arange(3000) < 1500, 1.0, 10.0)
    missed = {m: np.mean(make(m, 0.1).run(s)[1500:1600] <= s[1500:1600]) for m in ("portfolio", "magl")}
    assert missed["portfolio"] < missed["magl"]
