"""The optimisers of the families "images" and "control", which others use for learning without end.

Each has one number, of which whole powers of ten are tried. Other settings are the defaults, or those of the papers.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

from wane.experiments.lifelong.methods import adaptive, plain, tuned

RATES = (1e-4, 1e-3, 1e-2, 1e-1)
PULL = 1e-2  # of L2 to init, as in the tasks
KEEP, NOISE = 1.0 - 1e-4, 1e-3  # of shrink and perturb, in every step


class Rival(NamedTuple):
    """A row of the tables: how it is made of parameters and its number, the numbers tried, the default, its package."""

    make: Callable[[Any, float], Any]
    numbers: tuple[float, ...] = RATES
    default: float = 1e-3
    package: str | None = None
    restarts: bool = False  # it is told of each change, and begins anew


class Wrapped:
    """A base with something done before or after each of its steps."""

    def __init__(self, base: Any, before: Callable[[Any], Any] | None, after: Callable[[Any], Any] | None) -> None:
        """Remember the parameters as they are now."""
        import torch

        self.base, self.before, self.after = base, before, after
        self.params = [p for group in base.param_groups for p in group["params"]]
        self.initial = [p.detach().clone() for p in self.params]
        self.generator = torch.Generator().manual_seed(0)

    def step(self) -> None:
        """Let the base step."""
        import torch

        with torch.no_grad():
            if self.before is not None:
                self.before(self)
            self.base.step()
            if self.after is not None:
                self.after(self)


def to_initial(wrapped: Wrapped) -> None:
    """Regenerative regularisation (Kumar, Marklund, Van Roy 2023): a pull to the initial weights."""
    for p, start in zip(wrapped.params, wrapped.initial, strict=True):
        p.grad.add_(p - start, alpha=PULL)


def shrink_and_perturb(wrapped: Wrapped) -> None:
    """A little of Ash and Adams (2020) in every step: the weights shrink, and noise as large as the first comes in."""
    import torch

    for p, start in zip(wrapped.params, wrapped.initial, strict=True):
        noise = torch.randn(p.shape, generator=wrapped.generator) * start.std(unbiased=False)
        p.mul_(KEEP).add_(noise, alpha=NOISE)


def pulled(params: Any, rate: float) -> Any:
    """Adam with a pull to the initial weights."""
    return Wrapped(plain("Adam")(params, rate), to_initial, None)


def perturbed(params: Any, rate: float) -> Any:
    """Adam with weights that shrink and are perturbed."""
    return Wrapped(plain("Adam")(params, rate), None, shrink_and_perturb)


def mechanic(params: Any, rate: float) -> Any:
    """Mechanic (Cutkosky, Defazio, Mehta 2023) around Adam."""
    import torch
    from mechanic_pytorch import mechanize

    return mechanize(torch.optim.Adam)(params, lr=rate)


def prodigy(params: Any, rate: float) -> Any:
    """Prodigy (Mishchenko, Defazio 2023)."""
    from prodigyopt import Prodigy

    return Prodigy(params, lr=rate)


def schedule_free(params: Any, rate: float) -> Any:
    """Schedule-free AdamW (Defazio and others 2024)."""
    from schedulefree import AdamWScheduleFree

    made = AdamWScheduleFree(params, lr=rate)
    made.train()
    return made


RIVALS = {
    "Adam": Rival(plain("Adam")),
    "Adam, restarted": Rival(plain("Adam"), restarts=True),
    "Adam, L2 to init": Rival(pulled),
    "Adam, shrink and perturb": Rival(perturbed),
    "Mechanic(Adam)": Rival(mechanic, (1e-2, 1e-1, 1.0, 10.0), 1.0, "mechanic_pytorch"),
    "Prodigy": Rival(prodigy, (1e-2, 1e-1, 1.0, 10.0), 1.0, "prodigyopt"),
    "schedule-free AdamW": Rival(schedule_free, RATES, 2.5e-3, "schedulefree"),
    "Tuned(Adam)": Rival(tuned("Adam")),
    "Tuned(Adam), trac": Rival(tuned("Adam", rule="trac")),
    "Adaptive": Rival(adaptive, (0.1, 1.0, 10.0, 100.0), 10.0),
}


def installed() -> dict[str, Rival]:
    """Those whose package is there."""
    return {
        name: rival
        for name, rival in RIVALS.items()
        if rival.package is None or importlib.util.find_spec(rival.package) is not None
    }


def numbers(rival: Rival) -> tuple[float, ...]:
    """The numbers that are tried, the default among them."""
    return tuple(sorted({*rival.numbers, rival.default}))


def at_rest(optimizer: Any) -> Any:
    """The optimiser where it wants to be judged: schedule-free ones are elsewhere while they learn."""
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    return optimizer


def at_work(optimizer: Any) -> Any:
    """And back."""
    if hasattr(optimizer, "train"):
        optimizer.train()
    return optimizer
