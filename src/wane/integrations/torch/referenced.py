"""What the two optimisers share: references, scopes, bad rounds, saving."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from wane.checks import described, one_of
from wane.errors import InputError, InputTypeError, NonfiniteError, Setting, StepError
from wane.integrations.torch.processes import gathered, part, parts_of, refuse_hidden_parts, spread
from wane.integrations.torch.special import HALVES
from wane.integrations.torch.tensors import place

KEPT = (torch.float32, torch.float64)
SCOPES = ("global", "group")
CHOICES = ("raise", "skip")
MEMORY = "wane"  # the entry of a parameter group, in files only


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
    _settings: tuple[str, ...] = ("scope", "nonfinite", "skipped", "processes")  # what torch leaves out of pickles

    def __init__(
        self, params: Any, defaults: dict[str, Any], scope: str, nonfinite: str, reference: Any, processes: Any
    ) -> None:
        """Take over the parameters; with a ``reference``, put them there."""
        self.scope = one_of("scope", scope, SCOPES)
        self.nonfinite = one_of("nonfinite", nonfinite, CHOICES)
        self.processes = processes
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
        scopes = self._scopes()
        counts = self._summed([float(len(scope.moving)) for scope in scopes])  # of all processes, which play together
        scopes = [scope for scope, count in zip(scopes, counts, strict=True) if count]
        with torch.no_grad():
            if scopes:
                written = [p for scope in scopes for p in scope.params if p.requires_grad]
                self._warn_of_strangers(scopes)
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
        """Tensors and plain data, which ``torch.load(..., weights_only=True)`` reads.

        All of it is in "state" and "param_groups", which is what ``torch.distributed.checkpoint`` keeps.
        """
        handle = self.register_state_dict_post_hook(lambda _, found: self._packed(found), prepend=True)
        try:  # the hooks of others see all of it
            return super().state_dict()
        finally:
            handle.remove()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a ``state_dict`` of the same class, bit for bit; the settings become those of the state."""
        taken: list[tuple[dict[str, Any], dict[str, Any]]] = []

        def take(_: Any, found: dict[str, Any]) -> None:
            memory = memory_of(found, type(self).__name__)
            self._check(found, memory)
            taken.append((found, memory))

        def recall(_: Any) -> None:
            self._recall(*taken[0])
            for group in self.param_groups:
                group.pop(MEMORY, None)

        handles = [  # between the hooks of others: those before may give another state, those after see what came of it
            self.register_load_state_dict_pre_hook(take),
            self.register_load_state_dict_post_hook(recall, prepend=True),
        ]
        try:
            super().load_state_dict(state_dict)
        finally:
            for handle in handles:
                handle.remove()

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold; torch leaves out all but the first three."""
        return {**super().__getstate__(), **{k: getattr(self, k) for k in self._settings}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy knows its parameters as they are."""
        super().__setstate__(state)
        self._versions = {}
        self._note(self._params())

    def _note(self, params: Iterable[Tensor]) -> None:
        """Remember how often parameters had been written to."""
        self._versions.update((p, p._version) for p in params)

    def _warn_of_strangers(self, scopes: list[Scope]) -> None:
        """Once: somebody else has written to parameters that will now be overwritten."""
        if not self._warned and any(self._strange(scope) for scope in scopes):
            self._warned = True
            warn(
                "parameters were changed since the last step, or since the optimiser was made: this step overwrites "
                "them. Load weights before the optimiser is made, load its state as well, or give them as reference="
            )

    def _strange(self, scope: Scope) -> bool:
        """Whether parameters were written to and are elsewhere; who loads what belongs there has changed nothing."""
        params = [p for p in scope.params if p.requires_grad and self._versions[p] != p._version]
        if not params:
            return False
        wanted = [torch.empty_like(part(p.detach())) for p in params]
        place(wanted, [self.state[p] for p in params], self._scales()[scope.number])
        return any(not torch.equal(part(p.detach()), w) for p, w in zip(params, wanted, strict=True))

    def _scales(self) -> list[float]:
        """The scale of each scope."""
        raise NotImplementedError

    @property
    def scale(self) -> float | tuple[float, ...]:
        """The scale, or one for each group."""
        scales = self._scales()
        return scales[0] if self.scope == "global" else tuple(scales)

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
        refuse_hidden_parts(group["params"], self.processes)
        for p in group["params"]:
            direction = torch.zeros_like(p.detach(), dtype=wide_type(p))
            self.state[p] = {"reference": p.detach().clone(), "direction": direction}
        self._note(group["params"])

    def _packed(self, found: dict[str, Any]) -> dict[str, Any]:
        """What torch found, with all that was learned: the entry MEMORY of the first group holds it as JSON."""
        found["param_groups"][0][MEMORY] = json.dumps(self._memory())
        return found

    def _memory(self) -> dict[str, Any]:
        """Settings and counts, and what a subclass has learned."""
        frozen = [i for i, p in enumerate(self._params()) if not p.requires_grad and self._has_moved(p)]
        settings = {"scope": self.scope, "nonfinite": self.nonfinite, "skipped": self.skipped}
        return {"class": type(self).__name__, **settings, "frozen": frozen}

    def _has_moved(self, p: Tensor) -> bool:
        """Whether a parameter has a direction."""
        return self._whole([float(part(self.state[p]["direction"]).any())], [p])[0] > 0.0

    def _check(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> None:
        """Refuse a state that is not of these parameters."""
        held, params = in_order(state_dict), self._params()
        found = [tuple(state["reference"].shape) if state else None for state in held]
        wanted = [tuple(p.shape) for p in params]
        if len(found) != len(wanted) or any(a not in (None, b) for a, b in zip(found, wanted, strict=True)):
            raise InputError(f"is of parameters of the shapes {found}, got parameters of {wanted}", about="state_dict")
        for i, (p, state) in enumerate(zip(params, held, strict=True)):
            if state is None and (p.requires_grad or i in memory["frozen"]):
                problem = f"lacks the state of the parameter {i}"
                cure = "set requires_grad before loading as it was before saving; torch leaves out frozen parameters"
                raise InputError(problem, about="state_dict", cure=cure)

    def _recall(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> None:
        """Take it back; torch, which has loaded the rest, has rounded the directions."""
        for p, state in zip(self._params(), in_order(state_dict), strict=True):
            if state is None:  # frozen where it was, and so it still is
                state = {"reference": p.detach(), "direction": torch.zeros_like(p.detach())}
            self.state[p] = {
                "reference": state["reference"].to(p.device, p.dtype, copy=True),
                "direction": state["direction"].to(p.device, wide_type(p), copy=True),
            }
        self.scope, self.nonfinite, self.skipped = memory["scope"], memory["nonfinite"], memory["skipped"]

    def _summed(self, values: list[float]) -> list[float]:
        """Each value added over the processes that share the parameters, where the user has named them."""
        return [sum(row) for row in self._of_processes(values)]

    def _of_processes(self, values: list[float]) -> list[list[float]]:
        """For each value, those of the processes that share the parameters."""
        if self.processes is None:
            return [[value] for value in values]
        device = next((p.device for p in self._params()), torch.device("cpu"))
        return gathered(values, self.processes, device)

    def _whole(self, values: list[float], owners: list[Tensor]) -> list[float]:
        """Sums over parameters, of which this process may have seen a part, over all their parts."""
        return [sum(row) for row in parts_of(values, owners)] if any(map(spread, owners)) else values

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

    def _refused(self, moving: list[Tensor], values: list[float], totals: Iterable[float] = ()) -> bool:
        """Whether this round is skipped since a value is not finite.

        Each moving parameter has a value; the totals are those of all processes, which refuse the same rounds.
        """
        if all(map(math.isfinite, (*values, *totals))):
            return False
        bad = [p for p, value in zip(moving, values, strict=True) if not math.isfinite(value)]
        wrong = f"a parameter of shape {tuple(bad[0].shape)}" if bad else "a parameter of another process"
        if (lost := next(filter(self._lost, self._params()), None)) is not None:
            raise NonfiniteError(
                f"a parameter of shape {tuple(lost.shape)} is no longer finite, since a step of the base or the scale "
                "was too large: no round can mend that",
                argument="params",
                cure="load a saved state, and lower the base's rate or epsilon",
            )
        what = f"the gradient of {wrong} is not finite, or too large for its type"
        if self.nonfinite == "raise":
            cure = ("mend the loss, clip gradients, or choose ", Setting("nonfinite", "skip"))
            raise NonfiniteError(f"{what}: nothing was changed", argument="params", cure=cure)
        if self.skipped == 0:
            warn(f"{what}: this round was skipped, as all such rounds will be; .skipped counts them")
        self.skipped += 1
        return True

    def _lost(self, p: Tensor) -> bool:
        """Whether a parameter that moves has left the range of its type, for good."""
        if not p.requires_grad:
            return False
        mine = bool((part(self.state[p]["reference"]).isfinite() & ~part(p.detach()).isfinite()).any())
        return self._whole([float(mine)], [p])[0] > 0.0


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


def memory_of(state_dict: dict[str, Any], name: str) -> dict[str, Any]:
    """What ``_memory`` of that class gave."""
    for group in state_dict.get("param_groups", ()):
        if isinstance(text := group.get(MEMORY), str) and (memory := json.loads(text))["class"] == name:
            return memory
    problem = f"must be what state_dict() of {name} gave: it has no such part"
    cure = "with torch.distributed.checkpoint, leave flatten_optimizer_state_dict off"
    raise InputError(problem, about="state_dict", cure=cure)


def in_order(state_dict: dict[str, Any]) -> list[Any]:
    """The states in the order of the parameters, whatever order they were saved in; None where there is none."""
    return [state_dict["state"].get(i) for group in state_dict["param_groups"] for i in group["params"]]


def wide_type(p: Tensor) -> torch.dtype:
    """The type of a parameter's direction."""
    return torch.float32 if p.dtype in HALVES else p.dtype


def warn(text: str) -> None:
    """Warn at the line that called ``step``, whatever torch has wrapped around it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("torch.", "wane.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, RuntimeWarning, stacklevel=level)
