"""A rate that is far too large: the scale falls to 0, and begins again lower until the base's progress is kept."""

import math

import pytest

pytest.importorskip("torch")
import torch

from wane.integrations.torch import Tuned


def valley(theta):
    """Rosenbrock's function, 1 at the start and 0 at the end."""
    return (1.0 - theta[0]) ** 2 + 100.0 * (theta[1] - theta[0] ** 2) ** 2


def lowest(make, rounds=1500):
    """The mean of the loss over the last rounds, and the optimiser."""
    theta = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    optimizer, losses = make([theta]), []
    for _ in range(rounds):
        optimizer.zero_grad()
        loss = valley(theta)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-100:]) / 100, optimizer


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_it_does_not_end_at_the_start(rate):
    def adam(params):
        return torch.optim.Adam(params, lr=rate)

    kept, optimizer = lowest(lambda params: Tuned(adam(params)))
    stuck, _ = lowest(lambda params: Tuned(adam(params), horizon=math.inf))
    assert kept < 0.75 < stuck and optimizer.scale < 1.0


def test_a_scale_that_never_falls_to_zero_is_not_touched():
    found = []
    for horizon in (None, math.inf):
        theta = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
        optimizer = Tuned(torch.optim.SGD([theta], lr=1e-3), horizon=horizon)
        for _ in range(100):
            theta.grad = -torch.ones_like(theta)
            optimizer.step()
        found.append(theta.detach())
    assert torch.equal(*found) and optimizer.scale > 1.0
