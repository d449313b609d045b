"""What the two optimisers share: references, scopes, bad rounds, saving."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from wane.checks import described, one_of
from wane.errors import InputError, InputTypeError, NonfiniteError, Setting, StepError
from wane.integrations.torch.special import HALVES
from wane.integrations.torch.tensors import place

KEPT = (torch.float32, torch.float64)
SCOPES = ("global", "group")
CHOICES = ("raise", "skip")


class Scope(NamedTuple):
    """The groups that share a scale, their parameters that have a gradient, and the sign of each gradient."""

    number: int
    groups: list[dict[str, Any]]
    moving: list[Tensor]
    signs: list[float]

    @property
    def params(self) -> list[Tensor]:
        """All its parameters."""
        return [p for group in self.groups for p in group["params"]]

    def setting(self, name: str, check: Callable[[Any, str], float]) -> float:
        """An entry of its groups, which must agree on it."""
        found = [check(group[name], name) for group in self.groups]
        if any(value != found[0] for value in found):
            raise InputError(f'with scope "global" {name} must be the same in all groups, got {found}', argument=name)
        return found[0]


class Referenced(torch.optim.Optimizer):
    """An optimiser that keeps its parameters at reference + scale * direction; a subclass learns the two factors.

    ``state[p]`` holds both tensors of a parameter p. They are made when the parameter comes (here, or with
    ``add_param_group``): the reference is the parameter's value at that time, the direction is 0, in float32 for
    parameters of the half types.
    """

    _warned = False

    def __init__(self, params: Any, defaults: dict[str, Any], scope: str, nonfinite: str, reference: Any) -> None:
        """Take over the parameters; with a ``reference``, put them there."""
        self.scope = one_of("scope", scope, SCOPES)
        self.nonfinite = one_of("nonfinite", nonfinite, CHOICES)
        self.skipped = 0
        self._versions: dict[Tensor, int] = {}
        super().__init__(params, defaults)
        if reference is not None:
            self._start_from(list(reference))

    @property
    def reference(self) -> list[Tensor]:
        """The reference of every parameter, in the order of the groups."""
        return [self.state[p]["reference"] for p in self._params()]

    @torch.compiler.disable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Play one round with the gradients that the parameters hold.

        ``closure`` clears the gradients, computes the loss and calls ``backward``; it is called once, its result is
        returned. A scope in which no parameter has a gradient plays no round. Where gradients are not finite the round
        is refused or skipped (``nonfinite``), and nothing changes.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        scopes = [scope for scope in self._scopes() if scope.moving]
        with torch.no_grad():
            if scopes:
                written = [p for scope in scopes for p in scope.params if p.requires_grad]
                self._warn_of_strangers(written)
                try:
                    self._round(scopes)
                finally:
                    self._note(written)
        return loss

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; their values of now are their references."""
        super().add_param_group(param_group)
        self._admit_last()

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain data, which ``torch.load(..., weights_only=True)`` reads."""

        def complete(_: Any, found: dict[str, Any]) -> dict[str, Any]:
            return {**found, **self._parts()}

        handle = self.register_state_dict_post_hook(complete, prepend=True)  # the hooks of others see all of it
        try:
            return super().state_dict()
        finally:
            handle.remove()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a ``state_dict`` of the same class, bit for bit; the settings become those of the state."""
        taken: list[dict[str, Any]] = []

        def take(_: Any, found: dict[str, Any]) -> None:
            self._check(found)
            taken.append(found)

        handles = [  # between the hooks of others: those before may give another state, those after see what came of it
            self.register_load_state_dict_pre_hook(take),
            self.register_load_state_dict_post_hook(lambda _: self._recall(taken[0]), prepend=True),
        ]
        try:
            super().load_state_dict(state_dict)
        finally:
            for handle in handles:
                handle.remove()

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold; torch leaves out all but the first three."""
        return {**super().__getstate__(), **{k: getattr(self, k) for k in ("scope", "nonfinite", "skipped")}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy knows its parameters as they are."""
        super().__setstate__(state)
        self._versions = {}
        self._note(self._params())

    def _note(self, params: Iterable[Tensor]) -> None:
        """Remember how often parameters had been written to."""
        self._versions.update((p, p._version) for p in params)

    def _warn_of_strangers(self, params: list[Tensor]) -> None:
        """Once: somebody else has written to parameters that will now be overwritten."""
        if not self._warned and any(self._versions[p] != p._version for p in params):
            self._warned = True
            warn(
                "parameters were changed since the last step, or since the optimiser was made: this step overwrites "
                "them. Load weights before the optimiser is made, load its state as well, or give them as reference="
            )

    def _round(self, scopes: list[Scope]) -> None:
        raise NotImplementedError

    def _admit_last(self) -> None:
        """Admit the group that was added, or take it away again."""
        try:
            self._admit(self.param_groups[-1])
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    def _admit(self, group: dict[str, Any]) -> None:
        """Give each parameter of a new group its reference and its direction."""
        for p in group["params"]:
            if p.dtype not in (*HALVES, *KEPT):
                problem = f"must be float64, float32, bfloat16 or float16, got {p.dtype}"
                raise InputTypeError(problem, about="parameters")
        for p in group["params"]:
            direction = torch.zeros_like(p.detach(), dtype=wide_type(p))
            self.state[p] = {"reference": p.detach().clone(), "direction": direction}
        self._note(group["params"])

    def _parts(self) -> dict[str, Any]:
        """What ``state_dict`` adds to torch's."""
        return {"wane": self._memory()}

    def _memory(self) -> dict[str, Any]:
        """Settings and counts, and what a subclass has learned."""
        return {"class": type(self).__name__, "scope": self.scope, "nonfinite": self.nonfinite, "skipped": self.skipped}

    def _check(self, state_dict: dict[str, Any]) -> None:
        """Refuse a state that is not of this class and these parameters."""
        memory = state_dict.get("wane")
        if not isinstance(memory, dict) or memory.get("class") != type(self).__name__:
            problem = f"must be what state_dict() of {type(self).__name__} gave: it has no such part"
            raise InputError(problem, about="state_dict")
        found = [tuple(state["reference"].shape) for state in in_order(state_dict)]
        wanted = [tuple(p.shape) for p in self._params()]
        if found != wanted:
            raise InputError(f"is of parameters of the shapes {found}, got parameters of {wanted}", about="state_dict")

    def _recall(self, state_dict: dict[str, Any]) -> None:
        """Take it back; torch, which has loaded the rest, has rounded the directions."""
        for p, state in zip(self._params(), in_order(state_dict), strict=True):
            self.state[p] = {
                "reference": state["reference"].to(p.device, p.dtype, copy=True),
                "direction": state["direction"].to(p.device, wide_type(p), copy=True),
            }
        memory = state_dict["wane"]
        self.scope, self.nonfinite, self.skipped = memory["scope"], memory["nonfinite"], memory["skipped"]

    def _params(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    @torch.no_grad()
    def _start_from(self, reference: list[Any]) -> None:
        params = self._params()
        if [tuple(p.shape) for p in params] != [tuple(getattr(r, "shape", (None,))) for r in reference]:
            raise InputError(
                f"must hold a tensor for each of the {len(params)} parameters, of the same shape and in the "
                f"same order, got {described([tuple(getattr(r, 'shape', (None,))) for r in reference])}",
                about="reference",
            )
        for p, r in zip(params, reference, strict=True):
            p.copy_(r)
            self.state[p]["reference"].copy_(r)
        self._note(params)

    def _scopes(self) -> list[Scope]:
        """All scopes, in order."""
        parts = [self.param_groups] if self.scope == "global" else [[group] for group in self.param_groups]
        return [scope_of(i, groups) for i, groups in enumerate(parts)]

    def _place(self, scope: Scope, scale: float) -> None:
        """Put the parameters of a scope where they belong; frozen ones stay."""
        params = [p for p in scope.params if p.requires_grad]
        place(params, [self.state[p] for p in params], scale)

    def _refused(self, moving: list[Tensor], values: list[float]) -> bool:
        """Whether this round is skipped since a value, of those that each moving parameter has, is not finite."""
        if all(map(math.isfinite, values)):
            return False
        wrong = next(p for p, value in zip(moving, values, strict=True) if not math.isfinite(value))
        if (lost := next(filter(self._lost, self._params()), None)) is not None:
            raise NonfiniteError(
                f"a parameter of shape {tuple(lost.shape)} is no longer finite, since a step of the base or the scale "
                "was too large: no round can mend that",
                argument="params",
                cure="load a saved state, and lower the base's rate or epsilon",
            )
        what = f"the gradient of a parameter of shape {tuple(wrong.shape)} is not finite, or too large for its type"
        if self.nonfinite == "raise":
            cure = ("mend the loss, clip gradients, or choose ", Setting("nonfinite", "skip"))
            raise NonfiniteError(f"{what}: nothing was changed", argument="params", cure=cure)
        if self.skipped == 0:
            warn(f"{what}: this round was skipped, as all such rounds will be; .skipped counts them")
        self.skipped += 1
        return True

    def _lost(self, p: Tensor) -> bool:
        """Whether a parameter that moves has left the range of its type, for good."""
        return p.requires_grad and bool((self.state[p]["reference"].isfinite() & ~p.isfinite()).any())


def scope_of(number: int, groups: list[dict[str, Any]]) -> Scope:
    """A scope with the gradients of now; one that is not dense is refused."""
    scope = Scope(number, groups, [], [])
    for group in groups:
        for p in group["params"]:
            if p.grad is not None:
                if p.grad.layout != torch.strided:
                    problem = f"must be dense, got {p.grad.layout} for a parameter of shape {tuple(p.shape)}"
                    raise StepError(problem, about="gradients", cure="use sparse=False in its layer")
                scope.moving.append(p)
                scope.signs.append(-1.0 if group.get("maximize") else 1.0)
    return scope


def in_order(state_dict: dict[str, Any]) -> list[dict[str, Tensor]]:
    """The states in the order of the parameters, whatever order they were saved in."""
    return [state_dict["state"][i] for group in state_dict["param_groups"] for i in group["params"]]


def wide_type(p: Tensor) -> torch.dtype:
    """The type of a parameter's direction."""
    return torch.float32 if p.dtype in HALVES else p.dtype


def warn(text: str) -> None:
    """Warn at the line that called ``step``, whatever torch has wrapped around it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("torch.", "wane.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, RuntimeWarning, stacklevel=level)
