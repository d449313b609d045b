"""An optimiser's direction, the paper's scale: ``torch.optim`` without a learning rate to tune.

After Muppidi, Zhang, Yang, *Fast TRAC: A Parameter-Free Optimizer for Lifelong Reinforcement Learning* (2024,
arXiv 2405.16642).

Differences from the published algorithm:

1. The default learners are Algorithm 1, with its hint and clipping; ``rule="trac"`` has the published rule.
2. Each learner's scale is clamped at 0, not only their sum; and the direction is kept, not divided out of the
   parameters. So a scale of 0 is left again: the base goes on to move the direction. (The published division is by
   S + 1e-8, which damps the direction while S is that small: its scale rises a little earlier or later.)
3. erfi is exact near 0.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, optim

from wane.checks import described, discount_factor, discount_factors, one_of, positive
from wane.errors import InputError, InputTypeError, StepError
from wane.integrations.torch.referenced import Referenced, Scope, in_order
from wane.integrations.torch.special import HALVES
from wane.integrations.torch.tensors import inner, placed, read
from wane.learners import Learner, MagnitudeLearner, TracLearner, load

DISCOUNTS = (0.9, 0.99, 0.999, 0.9999, 1.0)
RULES = {"magnitude": MagnitudeLearner, "trac": TracLearner}
EPSILONS = {"magnitude": 10.0, "trac": 1e-8}
LARGEST_PRODUCT = 1e150  # of direction and gradient: its square is finite
BLIND = {  # but for weight decay, their steps do not depend on where the parameters are
    *(optim.SGD, optim.Adam, optim.AdamW, optim.Adamax, optim.NAdam, optim.RAdam),
    *(optim.RMSprop, optim.Rprop, optim.Adagrad, optim.Adadelta),
}


class Tuned(Referenced):
    r"""Any optimiser of ``torch.optim`` with its scale learned.

    The parameters are kept at :math:`\theta = \theta_0 + S\,\delta`. In each round the base makes a step u from
    :math:`\theta` as it always does (its rate, momentum, weight decay, schedule), and :math:`\delta` becomes
    :math:`\delta + u`. The scale S is the sum of learners on :math:`[0, \infty)`, one a discount, each of which is
    given the gradient :math:`\langle \delta, g \rangle` of the loss with respect to S. S = 1 would be the base itself.

    Args:
        base: the optimiser, with its parameters. Use ``Tuned`` in its place: ``step``, ``zero_grad``, ``state_dict``.
            Both have the same ``param_groups``, so a learning-rate scheduler may be given either.
        discounts: one learner each; 1 never forgets, 0.9 forgets within ten rounds.
        epsilon: a guess of the scale, not a rate. Too small costs a logarithm, too large costs in proportion: where
            the base's rate may be too large, guess low. By default 10 for "magnitude" and 1e-8 for "trac".
        scope: "global" has one scale for all parameters, "group" one for each parameter group.
        rule: "magnitude" is Algorithm 1, which has ``epsilon`` shared among the discounts; "trac" is the published
            rule, which has ``epsilon`` for each.
        reference: :math:`\theta_0` as tensors in the order of the parameters, which are put there; by default their
            values of now.
        nonfinite: "raise" a ``FloatingPointError`` where gradients are not finite, or "skip" the round, which is
            counted in ``skipped`` and warned about once; either way nothing changes. Parameters that are no longer
            finite raise in any case: no round could mend them.

    A parameter group's entry "discount" (1 at first) multiplies all discounts of the coming rounds; 0 restarts. With
    scope "global" it must be the same in all groups. A parameter without a gradient counts as one with the gradient 0:
    the base leaves its direction, it moves with the scale. One with ``requires_grad=False`` is left where it is, until
    it is thawed.

    Memory: two copies of the parameters beside those of the base, the reference and the direction. A base whose step
    does not depend on where the parameters are, but for weight decay (SGD, Adam, AdamW, ...; without hooks), moves the
    direction itself: it is the fastest, and no step is too small. Any other moves the parameters, so that what it adds
    is rounded as they are, and needs a third copy while it steps. For parameters of the half types the direction, the
    step and the state of the base are float32. The scales are ordinary floats (float64), learned on the host: a round
    reads one number for each parameter tensor, all at once.

    >>> theta = torch.nn.Parameter(torch.tensor([0.0]))
    >>> optimizer = Tuned(torch.optim.Adam([theta], lr=1e-3))
    >>> for _ in range(200):
    ...     optimizer.zero_grad()
    ...     (theta - 5.0).abs().sum().backward()
    ...     optimizer.step()
    >>> bool((theta - 5.0).abs() < 1.0), optimizer.scale > 10.0
    (True, True)
    """

    def __init__(
        self,
        base: optim.Optimizer,
        discounts: Iterable[float] = DISCOUNTS,
        epsilon: float | None = None,
        scope: str = "global",
        rule: str = "magnitude",
        reference: Iterable[Tensor] | None = None,
        *,
        nonfinite: str = "raise",
    ) -> None:
        """Nothing is learned yet: the scale is 0."""
        self.base = usable(base)
        self.rule = one_of("rule", rule, tuple(RULES))
        if not isinstance(discounts, Iterable):
            problem = f"must hold one for each learner, such as (0.9, 1.0), got {described(discounts)}"
            raise InputTypeError(problem, about="discounts")
        given = tuple(discounts)
        self.discounts = tuple(discount_factors(given, len(given)).tolist())
        if not self.discounts:
            raise InputError("must hold at least one discount, got none", about="discounts")
        self.epsilon = positive("epsilon", EPSILONS[rule] if epsilon is None else epsilon)
        self._learners: list[list[Learner]] = [] if scope == "group" else [self._fresh()]
        super().__init__(base.param_groups, base.defaults, scope, nonfinite, reference)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of the base."""
        return self.base.param_groups

    @param_groups.setter
    def param_groups(self, groups: list[dict[str, Any]]) -> None:
        """Torch's constructor sets an empty list here; the groups are the base's."""

    @property
    def scale(self) -> float | tuple[float, ...]:
        """The scale S, or one for each group."""
        scales = self._scales()
        return scales[0] if self.scope == "global" else tuple(scales)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters to the base; their values of now are their references."""
        if any(param_group is group for group in self.base.param_groups):  # so it is while torch's constructor runs
            self._admit(param_group)
            return
        self.base.add_param_group(param_group)
        self._admit_last()

    def __repr__(self) -> str:
        """The settings and the base."""
        return (
            f"Tuned(rule={self.rule!r}, discounts={self.discounts}, epsilon={self.epsilon:g}, scope={self.scope!r}, "
            f"nonfinite={self.nonfinite!r}) of {self.base!r}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold."""
        state = super().__getstate__()
        del state["param_groups"]
        return {**state, **{k: getattr(self, k) for k in ("base", "rule", "discounts", "epsilon", "_learners")}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The groups are the base's."""
        super().__setstate__({k: v for k, v in state.items() if k != "param_groups"})

    def _parts(self) -> dict[str, Any]:
        return {**super()._parts(), "base": self.base.state_dict()}

    def _memory(self) -> dict[str, Any]:
        learners = [[learner.state_dict() for learner in learners] for learners in self._learners]
        settings = {"rule": self.rule, "discounts": list(self.discounts), "epsilon": self.epsilon}
        return {**super()._memory(), **settings, "base": type(self.base).__name__, "learners": learners}

    def _check(self, state_dict: dict[str, Any]) -> None:
        super()._check(state_dict)
        name = state_dict["wane"]["base"]
        if name != type(self.base).__name__:
            problem = f"is of a Tuned {name}, got a base of the class {type(self.base).__name__}"
            raise InputError(problem, about="state_dict")

    def _recall(self, state_dict: dict[str, Any]) -> None:
        super()._recall(state_dict)
        memory = state_dict["wane"]
        self.rule, self.discounts, self.epsilon = memory["rule"], tuple(memory["discounts"]), memory["epsilon"]
        self._learners = [[load(state) for state in learners] for learners in memory["learners"]]
        halves = [p for p in self._params() if p.dtype in HALVES]
        with standing_in(self.base, halves, [self.state[p]["direction"] for p in halves]):  # its state is not rounded
            self.base.load_state_dict(copy.deepcopy(state_dict["base"]))  # torch would share the tensors
        self._keep_types(state_dict)

    def _keep_types(self, state_dict: dict[str, Any]) -> None:
        """Undo torch's conversion of the base's state, where the parameters are of the type that they were."""
        saved = state_dict["base"]
        numbers = [i for group in saved["param_groups"] for i in group["params"]]
        for p, i, ours in zip(self._params(), numbers, in_order(state_dict), strict=True):
            if ours["direction"].dtype != self.state[p]["direction"].dtype:
                continue
            for name, held in self.base.state.get(p, {}).items():
                value = saved["state"].get(i, {}).get(name)
                if isinstance(held, Tensor) and isinstance(value, Tensor) and held.dtype != value.dtype:
                    self.base.state[p][name] = value.to(held.device, copy=True)

    def _scales(self) -> list[float]:
        return [sum(learner.predict() for learner in learners) for learners in self._learners]

    def _fresh(self) -> list[Learner]:
        """The learners of a scope."""
        epsilon = self.epsilon / (len(self.discounts) if self.rule == "magnitude" else 1)
        return [RULES[self.rule](epsilon, discount) for discount in self.discounts]

    def _admit(self, group: dict[str, Any]) -> None:
        super()._admit(group)
        group.setdefault("discount", 1.0)
        self._widen(group)
        if self.scope == "group":
            self._learners.append(self._fresh())

    def _widen(self, group: dict[str, Any]) -> None:
        """What the base has learned, or made, already: in float32 for parameters of the half types."""
        for p in group["params"]:
            for name, value in self.base.state.get(p, {}).items():
                if isinstance(value, Tensor) and value.dtype == p.dtype in HALVES:
                    self.base.state[p][name] = value.float()

    def _scopes(self) -> list[Scope]:
        for group in self.param_groups:
            if "discount" not in group:  # something was done to the base alone
                if any(p not in self.state for p in group["params"]):
                    raise StepError("a parameter group was added to the base", cure="use add_param_group of Tuned")
                group["discount"] = 1.0  # a state was loaded
                self._widen(group)
        return super()._scopes()

    def _round(self, scopes: list[Scope]) -> None:
        moving = [p for scope in scopes for p in scope.moving]
        values = read([inner(self.state[p]["direction"], p.grad) for p in moving])
        factors = [scope.setting("discount", discount_factor) for scope in scopes]
        if self._refused(moving, [v if abs(v) <= LARGEST_PRODUCT else math.inf for v in values]):
            return
        rest = iter(values)
        try:
            self._move(scopes, self._scales())
            for scope, factor in zip(scopes, factors, strict=True):
                h = sum(sign * next(rest) for sign in scope.signs)
                for learner in self._learners[scope.number]:
                    learner.update(h, factor * learner.discount)
        finally:
            scales = self._scales()
            for scope in scopes:
                self._place(scope, scales[scope.number])

    def _move(self, scopes: list[Scope], scales: list[float]) -> None:
        """Let the base make its step, by which the directions grow; the parameters may be left anywhere."""
        params = [p for scope in scopes for p in scope.moving]
        directions = [self.state[p]["direction"] for p in params]
        if blind(self.base):
            grads = [grad for scope in scopes for grad in self._decay(scope, scales[scope.number])]
            with standing_in(self.base, params, directions, grads), undecayed(self.base):
                self.base.step()
            return
        places = [self._wide(p, scales[scope.number]) for scope in scopes for p in scope.moving]
        before = [place.clone() for place in places]
        try:
            with standing_in(self.base, params, places):
                self.base.step()
        finally:
            torch._foreach_sub_(before, places)  # minus the step, exact where it is small: a pause adds nothing
            torch._foreach_sub_(directions, before)

    def _decay(self, scope: Scope, scale: float) -> list[Tensor]:
        """The gradients with the weight decay in them; one that is decoupled from them goes to the directions.

        The base, which would see the directions, is kept from it. Were it given the parameters instead, a step much
        smaller than they are would be rounded away before the scale can stretch it.
        """
        grads = []
        for group in scope.groups:
            params = [p for p in group["params"] if p.grad is not None]
            found = [p.grad for p in params]
            if params and (decay := group.get("weight_decay")):
                places = [self._wide(p, scale) for p in params]
                if group.get("decoupled_weight_decay") or type(self.base) is optim.AdamW:  # no entry before torch 2.7
                    directions = [self.state[p]["direction"] for p in params]
                    torch._foreach_add_(directions, places, alpha=-group["lr"] * decay)
                else:
                    wide = [grad.to(place.dtype) for grad, place in zip(found, places, strict=True)]
                    found = torch._foreach_add(wide, places, alpha=-decay if group.get("maximize") else decay)
            grads += found
        return grads

    def _wide(self, p: Tensor, scale: float) -> Tensor:
        """A parameter; one of a half type, in which small steps would be lost, as it was before it was rounded."""
        if p.dtype in HALVES:
            return placed(self.state[p]["reference"], self.state[p]["direction"], scale)
        return p if p.requires_grad else p.clone()  # a frozen one stays


def usable(base: Any) -> Any:
    """An optimiser that can be wrapped."""
    if not isinstance(base, optim.Optimizer):
        problem = f"must be an optimiser, such as torch.optim.Adam(params), got {type(base).__name__}"
        raise InputTypeError(problem, about="base")
    if isinstance(base, Referenced):
        problem = f"must be an optimiser of its own scale, got {type(base).__name__}, which learns it"
        raise InputTypeError(problem, about="base")
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
