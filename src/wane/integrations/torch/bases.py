"""The optimisers that ``Tuned`` wraps: which ones can be, and how they step on other tensors for a while."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, optim

from wane.errors import InputError, InputTypeError
from wane.integrations.torch.referenced import Referenced

BLIND = {  # but for weight decay, their steps do not depend on where the parameters are
    *(optim.SGD, optim.Adam, optim.AdamW, optim.Adamax, optim.NAdam, optim.RAdam),
    *(optim.RMSprop, optim.Rprop, optim.Adagrad, optim.Adadelta),
}


def usable(base: Any) -> Any:
    """An optimiser that can be wrapped."""
    if not isinstance(base, optim.Optimizer):
        problem = f"must be an optimiser, such as torch.optim.Adam(params), got {type(base).__name__}"
        raise InputTypeError(problem, about="base")
    if isinstance(base, Referenced):
        problem = f"must be an optimiser of its own scale, got {type(base).__name__}, which learns it"
        raise InputTypeError(problem, about="base")
    if isinstance(base, optim.SparseAdam):
        problem = "must take dense gradients; SparseAdam takes no others than sparse ones"
        raise InputTypeError(problem, about="base", cure="use Adam, and sparse=False in the layer")
    _, *arguments = inspect.signature(type(base).step).parameters.values()
    if any(a.default is a.empty and a.kind not in (a.VAR_POSITIONAL, a.VAR_KEYWORD) for a in arguments):
        problem = f"must take steps without a closure; {type(base).__name__} evaluates the loss repeatedly"
        raise InputTypeError(problem, about="base")
    if base.defaults.get("differentiable"):
        problem = "must not be differentiable: a scale that is learned cannot be differentiated through"
        raise InputError(problem, about="base")
    return base


def blind(base: Any) -> bool:
    """Whether its step, but for a weight decay that is known, surely does not depend on where the parameters are."""
    hooked = base._optimizer_step_pre_hooks or base._optimizer_step_post_hooks
    decayed = [group for group in base.param_groups if group.get("weight_decay")]
    known = all(isinstance(group[name], float | int) for group in decayed for name in ("lr", "weight_decay"))
    return type(base) in BLIND and not hooked and known


@contextmanager
def undecayed(base: Any) -> Iterator[None]:
    """Let an optimiser step without weight decay for a while."""
    decays = [(group, group["weight_decay"]) for group in base.param_groups if group.get("weight_decay")]
    for group, _ in decays:
        group["weight_decay"] = 0.0
    try:
        yield
    finally:
        for group, decay in decays:
            group["weight_decay"] = decay


@contextmanager
def standing_in(
    base: Any, params: list[Tensor], places: list[Tensor], grads: list[Tensor] | None = None
) -> Iterator[None]:
    """Let other tensors be the parameters of an optimiser for a while, with their gradients and its state."""
    given: list[Any] = [p.grad for p in params] if grads is None else grads
    for p, place, grad in zip(params, places, given, strict=True):
        if place is not p and grad is not None:
            place.grad = grad if grad.dtype == place.dtype else grad.to(place.dtype)
    exchange(base, params, places)
    try:
        yield
    finally:
        exchange(base, places, params)
        for p, place in zip(params, places, strict=True):
            if place is not p:
                place.grad = None


def exchange(base: Any, old: list[Tensor], new: list[Tensor]) -> None:
    """Put new parameters in the places of old ones."""
    names = dict(zip(old, new, strict=True))
    for group in base.param_groups:
        group["params"] = [names.get(p, p) for p in group["params"]]
    for p, other in names.items():
        if other is not p and (state := base.state.pop(p, None)) is not None:
            base.state[other] = state


@torch.no_grad()
def imagined(base: Any, params: list[Tensor], like: list[Tensor]) -> dict[Tensor, Any]:
    """The state that an optimiser of torch would have of parameters after a step, and leave everything as it is."""
    if not type(base).__module__.startswith("torch.optim"):
        return {}
    twins = {p: torch.zeros_like(x) for p, x in zip(params, like, strict=True)}
    before = [dict(group) for group in base.param_groups]
    for twin in twins.values():
        twin.grad = torch.zeros_like(twin)
    try:
        for group in base.param_groups:
            group["params"] = [twins[p] for p in group["params"] if p in twins]
        inspect.unwrap(type(base).step)(base)  # neither hooks nor schedulers need to know
        return {p: state for p, twin in twins.items() if (state := base.state.get(twin))}
    finally:
        for group, was in zip(base.param_groups, before, strict=True):
            group.clear()
            group.update(was)
        for twin in twins.values():
            base.state.pop(twin, None)
