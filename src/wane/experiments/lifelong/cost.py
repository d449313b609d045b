"""What a step costs, in time and memory, against Adam with foreach."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

SHAPES = ((1_000_000, 10), (10_000_000, 10), (1_000_000, 200))  # parameters, tensors
TURNS = 7  # of which the best counts
STEPS = {1_000_000: 10, 10_000_000: 2}


def makers() -> dict[str, Callable[[Any], Any]]:
    """Who is measured; Adam is the unit."""
    import torch

    from wane.integrations.torch import Adaptive, Tuned

    return {
        "Adam": lambda params: torch.optim.Adam(params, foreach=True),
        "Tuned(Adam)": lambda params: Tuned(torch.optim.Adam(params, foreach=True)),
        "Adaptive": lambda params: Adaptive(params),
    }


def run(
    shapes: Sequence[tuple[int, int]] = SHAPES, turns: int = TURNS, tick: Callable[[], Any] = lambda: None
) -> list[dict[str, Any]]:
    """A line for each shape and optimiser; they take turns, so that all share a bad moment."""
    return [line for shape in shapes for line in measured(*shape, turns, tick)]


def measured(parameters: int, tensors: int, turns: int, tick: Callable[[], Any]) -> list[dict[str, Any]]:
    """The best of several turns."""
    playing = {name: player(make, parameters, tensors) for name, make in makers().items()}
    steps = STEPS.get(parameters, 1)
    best = dict.fromkeys(playing, float("inf"))
    for turn in range(-1, turns):  # the first warms up and does not count
        for name, optimizer in playing.items():
            start = time.perf_counter()
            for _ in range(steps):
                optimizer.step()
            if turn >= 0:
                best[name] = min(best[name], (time.perf_counter() - start) / steps)
            tick()
    return [
        {
            "method": name,
            "parameters": parameters,
            "tensors": tensors,
            "milliseconds": 1e3 * best[name],
            "ratio": best[name] / best["Adam"],
            "copies": round(held(optimizer) / parameters, 2),
        }
        for name, optimizer in playing.items()
    ]


def player(make: Callable[[Any], Any], parameters: int, tensors: int) -> Any:
    """An optimiser of parameters with gradients."""
    import torch

    generator = torch.Generator().manual_seed(0)
    params = [torch.nn.Parameter(torch.zeros(parameters // tensors)) for _ in range(tensors)]
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator)
    return make(params)


def held(optimizer: Any) -> int:
    """The numbers in the tensors that an optimiser keeps, those of its base included."""
    total = sum(
        value.numel() for state in optimizer.state.values() for value in state.values() if hasattr(value, "numel")
    )
    base = getattr(optimizer, "base", None)
    return total + (held(base) if base is not None and base.state is not optimizer.state else 0)
