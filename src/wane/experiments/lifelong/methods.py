"""The optimisers that are compared, each with one number to choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from wane.errors import MissingExtraError, installing

STEPS = 2  # numbers in a factor of ten
SPAN = 4 * STEPS  # a grid covers a factor of 10,000: enough for a best number and ten times off to both sides


@dataclasses.dataclass(frozen=True)
class Method:
    """A row of the tables.

    Args:
        make: parameters and the number -> optimiser.
        lowest: the smallest number that is tried, as a power of ten.
        number: what is chosen: "rate", or "epsilon" where there is no rate.
        default: what a user gets who chooses nothing; None where torch wants it to be chosen.
        pull: the strength of a pull to the initial weights, added to the gradient.
        fresh: begin anew with each task, which wants to be told of it.
    """

    make: Callable[[Any, float], Any]
    lowest: int
    number: str = "rate"
    default: float | None = None
    pull: float = 0.0
    fresh: bool = False


def needed() -> None:
    """Say what is missing before work begins."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("the optimisers need PyTorch", cure=installing("torch")) from None


def plain(name: str, **settings: Any) -> Callable[[Any, float], Any]:
    """An optimiser of torch, by the name of its class."""

    def make(params: Any, rate: float) -> Any:
        import torch

        return getattr(torch.optim, name)(params, lr=rate, **settings)

    return make


def tuned(name: str, **settings: Any) -> Callable[[Any, float], Any]:
    """That optimiser with its scale learned."""
    base = plain(name)

    def make(params: Any, rate: float) -> Any:
        from wane.integrations.torch import Tuned

        return Tuned(base(params, rate), **settings)

    return make


def adaptive(params: Any, epsilon: float) -> Any:
    """Algorithm 3."""
    from wane.integrations.torch import Adaptive

    return Adaptive(params, epsilon=epsilon)


OURS = {
    "Tuned(SGD)": Method(tuned("SGD"), -4, default=1e-3),
    "Tuned(Adam)": Method(tuned("Adam"), -4, default=1e-3),
    "Tuned(Adam), trac": Method(tuned("Adam", rule="trac"), -4, default=1e-3),
    "Adaptive": Method(adaptive, -1, number="epsilon", default=10.0),
}
CONVEX = {
    "SGD": Method(plain("SGD"), -3, default=1e-3),
    "Adam": Method(plain("Adam"), -4, default=1e-3),
    "RMSprop": Method(plain("RMSprop"), -4, default=1e-2),
    "Adagrad": Method(plain("Adagrad"), -3, default=1e-2),
    **OURS,
}
NETS = {  # the strengths of the decay and of the pull were chosen among three each, on other seeds
    "SGD": Method(plain("SGD"), -3, default=1e-3),
    "Adam": Method(plain("Adam"), -4, default=1e-3),
    "AdamW, decay 0.1": Method(plain("AdamW", weight_decay=0.1), -4, default=1e-3),
    "Adam, L2 to init": Method(plain("Adam"), -4, default=1e-3, pull=0.01),
    "Adam, told and reset": Method(plain("Adam"), -4, default=1e-3, fresh=True),
    **OURS,
    "Tuned(SGD)": Method(tuned("SGD"), -3, default=1e-3),  # networks bear larger rates
}
TOLD = tuple(name for name, method in NETS.items() if method.fresh)  # nobody's rival: it knows more


def grid(method: Method, sparse: bool = False) -> tuple[float, ...]:
    """The numbers that are tried; only whole powers of ten if sparse.

    >>> grid(CONVEX["Adam"], sparse=True)
    (0.0001, 0.001, 0.01, 0.1, 1.0)
    """
    powers = [method.lowest + k / STEPS for k in range(SPAN + 1)]
    return tuple(float(f"{10.0**power:.3g}") for power in (powers[::STEPS] if sparse else powers))
