"""Rates that are too large: what Adam, RMSprop and SGD reach alone and inside ``Tuned``, on small problems.

    python benchmarks/large_rates.py

The problems are those on which optax tests the convergence of its optimisers. The loss is 1 at the start. "fixed" is
``horizon=math.inf``, which begins every rise of the scale at the same epsilon.
"""

import math

import torch

from wane.integrations.torch import Tuned

ROUNDS, LAST = 2000, 20  # the mean over the last rounds counts
BASES = {"Adam": torch.optim.Adam, "RMSprop": torch.optim.RMSprop, "SGD": torch.optim.SGD}
RATES = (1e-3, 1e-2, 1e-1, 1.0)
WRAPPED = {
    "alone": lambda base: base,
    "fixed": lambda base: Tuned(base, horizon=math.inf),
    "Tuned": Tuned,
    "trac": lambda base: Tuned(base, rule="trac"),
}


def rosenbrock(x):
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


def parabola(x):
    return (x - torch.tensor([3.0, -2.0, 1.0, 4.0], dtype=x.dtype)).square().sum() / 30.0


PROBLEMS = {"Rosenbrock": (rosenbrock, 2), "parabola": (parabola, 4)}


def reached(problem, make):
    """The mean loss of the last rounds; infinite where the parameters leave the floats."""
    function, size = PROBLEMS[problem]
    theta = torch.nn.Parameter(torch.zeros(size, dtype=torch.float64))
    optimizer, losses = make([theta]), []
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        loss = function(theta)
        if not math.isfinite(loss.item()) or loss.item() > 1e100:
            return math.inf
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-LAST:]) / LAST


def main():
    print("| problem | base | rate |", " | ".join(WRAPPED), "|")
    print("| --- " * (3 + len(WRAPPED)) + "|")
    for problem in PROBLEMS:
        for name, base in BASES.items():
            for rate in RATES:
                found = [
                    reached(problem, lambda params, base=base, wrap=wrap, rate=rate: wrap(base(params, lr=rate)))
                    for wrap in WRAPPED.values()
                ]
                print(f"| {problem} | {name} | {rate:g} |", " | ".join(f"{x:.2g}" for x in found), "|", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
