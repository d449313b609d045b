"""The schedules of gradient descent by their formulas, and that it stays in its domain."""

import math

import numpy as np
import pytest
from reduction_cases import DIMS, DOMAINS, in_every_domain, stream

from wane import domains, learners


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_the_constant_rate_of_gradient_descent(discount):
    """D sqrt(1 - lambda^2) / G, Theorem "ogd", second part."""
    for D, G in ((2.0, 1.0), (0.5, 3.0)):
        learner = learners.GradientDescent(diameter=D, lipschitz=G, discount=discount, start=0.25)
        eta = D * math.sqrt(1.0 - discount**2) / G
        assert learner.rate == pytest.approx(eta, rel=1e-14)
        g, lam = stream(8, 50)
        want = 0.25 - eta * np.concatenate([[0.0], np.cumsum(g)[:-1]])
        np.testing.assert_allclose(learner.run(g, lam), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [None, 2])
def test_the_horizon_schedule_of_gradient_descent(dim):
    """D / (G sqrt(H_t)) with H_t = lambda_{t-1}^2 H_{t-1} + 1, first part; a discount of 0 starts H anew."""
    D, G = 3.0, 2.0
    g, lam = stream(9, 100, dim)
    lam[[20, 60]] = 0.0
    x = 0.0 * g[0]
    learner = learners.GradientDescent(dim=dim, schedule="horizon", diameter=D, lipschitz=G)
    played = learner.run(g, lam)
    for t in range(len(g)):
        np.testing.assert_allclose(played[t], x, rtol=1e-12, atol=1e-12)
        ages = np.cumprod(np.concatenate([[1.0], lam[t:0:-1]]))  # lambda_t, lambda_t lambda_{t-1}, ...
        x = x - D / (G * math.sqrt(math.fsum(ages**2))) * g[t]
    assert learner.rate is None


@in_every_domain
@pytest.mark.parametrize("schedule", ["constant", "horizon"])
def test_gradient_descent_stays_in_the_domain(name, schedule):
    for dim in DIMS:
        g, lam = stream(10, 80, dim)
        domain = domains.as_domain(DOMAINS[name](dim))
        learner = learners.GradientDescent(dim=dim, discount=0.9, schedule=schedule, diameter=2.0, domain=domain)
        x = learner.run(g, lam)
        assert all(p in domain for p in x)
        assert (x[0] == domain.project(np.zeros(dim))).all()


def test_gradient_descent_refuses_an_extreme_rate_of_its_own():
    with pytest.raises(ValueError, match="the rate from diameter and lipschitz"):
        learners.GradientDescent(diameter=1e-100, lipschitz=1e100, discount=0.5)
