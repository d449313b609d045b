"""The hedge over a grid of discounts, literally; what it takes losses for, and where it stays."""

import json
import math

import numpy as np
import pytest
from multiscale_games import GRID, Odd, reward_and_betray, slow_drift, turned
from scipy.special import erfi

from wane import domains, learners, theory


class Bet:
    """Algorithm 1 with a hint of its own, scaled as in Algorithm 3, literally."""

    def __init__(self, lam):
        self.lam, self.v, self.s, self.h = lam, 0.0, 0.0, 0.0

    def free(self):
        if self.h == 0.0:
            return 0.0
        e = self.v + 2.0 * self.h * self.s + 16.0 * self.h**2
        z = self.s / (2.0 * math.sqrt(e))
        return math.sqrt(math.pi) / 2.0 * erfi(z) - self.h / math.sqrt(e) * math.exp(z * z)

    def predict(self):
        return max(0.0, self.free())

    def update(self, g, size):
        before, self.h = self.lam * self.h, max(self.lam * self.h, size)
        c = g * before / self.h if self.h > 0.0 else 0.0
        c = 0.0 if c > 0.0 and self.free_before < 0.0 else c
        self.v = self.lam**2 * self.v + c**2
        self.s = self.lam * self.s - c


def literal_hedge(targets, full):
    """Absolute losses; the played points."""
    experts, bets, played = [Odd(1.0, lam) for lam in GRID], [Bet(lam) for lam in GRID], []
    for target in targets:
        points = [expert.predict() for expert in experts]
        stakes = [bet.predict() for bet in bets]
        total = sum(stakes)
        x = sum(y / total * p for y, p in zip(stakes, points, strict=True)) if total > 0 else sum(points) / len(points)
        played.append(x)
        g = float(np.sign(x - target))
        regrets = [abs(x - target) - abs(p - target) if full else g * (x - p) for p in points]
        for expert, bet, p, r in zip(experts, bets, points, regrets, strict=True):
            bet.free_before = bet.free()
            bet.update(-r, max(map(abs, regrets)))
            expert.update(float(np.sign(p - target)) if full else g)
    return np.array(played)


@pytest.mark.parametrize("full", [False, True])
def test_the_hedge_literally(full):
    rng = np.random.default_rng(4)
    targets = np.repeat([1.0, -0.5, 3.0], 60) + 0.3 * rng.normal(size=180)
    learner, got = learners.DiscountHedge(discounts=GRID), []
    for target in targets:
        x = learner.predict()
        got.append(x)
        assert x == pytest.approx(float(learner.weights() @ learner.components()), rel=1e-12, abs=1e-15)
        assert learner.weights().sum() == pytest.approx(1.0) and (learner.weights() >= 0.0).all()
        if full:
            learner.update_with(theory.Absolute(target))
        else:
            learner.update(float(np.sign(x - target)))
    assert np.ptp(got) > 1.0 and np.ptp(learner.weights()) > 0.1
    np.testing.assert_allclose(got, literal_hedge(targets, full), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dim", [None, 2])
def test_linear_losses_are_what_update_takes_them_for(dim):
    g = turned(slow_drift(200) + 0.5 * reward_and_betray(200), dim)
    a, b = learners.DiscountHedge(dim, discounts=GRID), learners.DiscountHedge(dim, discounts=GRID)
    for gradient in g:
        a.update(gradient)
        b.update_with(theory.Linear(gradient if dim else float(gradient)))
        np.testing.assert_allclose(a.predict(), b.predict(), rtol=1e-6, atol=1e-9)


def test_a_bad_loss_leaves_the_hedge_alone():
    class Broken:
        def value(self, x):
            return math.nan

        def gradient(self, x):
            return 1.0

    learner = learners.DiscountHedge()
    learner.run([-1.0, 0.5, -1.0])
    before = json.dumps(learner.state_dict())
    with pytest.raises(ValueError, match="finite"):
        learner.update_with(Broken())
    with pytest.raises(ValueError, match="discount"):
        learner.update_with(theory.Absolute(1.0), discount=-1.0)
    with pytest.raises(TypeError, match=r"value\(x\)"):
        learner.update_with(1.0)
    assert json.dumps(learner.state_dict()) == before


def test_the_hedge_stays_in_its_domain():
    for domain in (domains.Ball(0.5), domains.Simplex(), domains.Nonnegative()):
        learner = learners.DiscountHedge(2, 5.0, GRID, domain=domain)
        for g in turned(reward_and_betray(300) - 0.2, 2):
            assert learner.predict() in domain
            learner.update(g)
