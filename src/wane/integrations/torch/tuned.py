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
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, optim

from wane.checks import described, discount_factor, discount_factors, one_of, positive
from wane.errors import InputError, InputTypeError, StepError
from wane.integrations.arrays import Arrays, Rise, at_least_one
from wane.integrations.torch.bases import blind, imagined, standing_in, undecayed, usable
from wane.integrations.torch.processes import gradient, part
from wane.integrations.torch.referenced import MEMORY, Referenced, Scope, in_order
from wane.integrations.torch.special import HALVES
from wane.integrations.torch.tensors import inner, placed, read
from wane.learners import Learner, MagnitudeLearner, TracLearner, load

DISCOUNTS = (0.9, 0.99, 0.999, 0.9999, 1.0)
RULES = {"magnitude": MagnitudeLearner, "trac": TracLearner}
EPSILONS = {"magnitude": 10.0, "trac": 1e-8}
HORIZONS = {"magnitude": 300.0, "trac": math.inf}
HOST = Arrays(np, np.array)
LARGEST_PRODUCT = 1e150  # of direction and gradient: its square is finite
BASE = "base_"  # what the state of the base begins with, among that of the parameters


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
        processes: a process group in which each process holds a part of the parameters, so that sums are taken over
            all of them: for FSDP1. What ``fully_shard`` makes needs no word, nor does a base that is a
            ``ZeroRedundancyOptimizer``.
        horizon: when the scale has fallen to 0, the guess for its next rise is at most three times its mean over about
            this many rounds: so an epsilon that is far too large is mended. ``math.inf`` keeps epsilon as it is. By
            default 300 for "magnitude" and infinity for "trac".

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
        processes: Any = None,
        horizon: float | None = None,
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
        self.horizon = at_least_one("horizon", HORIZONS[rule] if horizon is None else horizon)
        self._rise = HOST.rise(np.zeros(0 if scope == "group" else 1))
        self._learners: list[list[Learner]] = [] if scope == "group" else [self._fresh()]
        self._begun = False
        super().__init__(base.param_groups, base.defaults, scope, nonfinite, reference, processes)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of the base."""
        return self.base.param_groups

    @param_groups.setter
    def param_groups(self, groups: list[dict[str, Any]]) -> None:
        """Torch's constructor sets an empty list here; the groups are the base's."""

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
            f"nonfinite={self.nonfinite!r}, horizon={self.horizon:g}) of {self.base!r}"
        )

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold."""
        state = super().__getstate__()
        del state["param_groups"]
        names = ("base", "rule", "discounts", "epsilon", "horizon", "_learners", "_rise", "_begun")
        return {**state, **{k: getattr(self, k) for k in names}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The groups are the base's."""
        super().__setstate__({k: v for k, v in state.items() if k != "param_groups"})

    def _packed(self, found: dict[str, Any]) -> dict[str, Any]:
        """The state of the base, parameter by parameter, is put beside the references."""
        base = self.base.state_dict()
        states, others = dict(base["state"]), {k: v for k, v in base.items() if k not in ("state", "param_groups")}
        invented = not self._begun and not any(states.values())
        if invented:  # a distributed checkpoint is read into the state of an optimiser that has not begun
            params = [p for p in self._params() if p.requires_grad]
            made = imagined(self.base, params, [self.state[p]["direction"] for p in params])
            states = {i: made[p] for i, p in enumerate(self._params()) if p in made}
        for i, state in found["state"].items():
            found["state"][i] = {**state, **{BASE + name: value for name, value in states.pop(i, {}).items()}}
        found["param_groups"] = base["param_groups"]
        if states or others:
            found["param_groups"][0]["base"] = {**others, "state": states}
        return super()._packed(found)

    def _memory(self) -> dict[str, Any]:
        learners = [[learner.state_dict() for learner in learners] for learners in self._learners]
        settings = {"rule": self.rule, "discounts": list(self.discounts), "epsilon": self.epsilon}
        settings |= {"horizon": self.horizon, "rise": [row.tolist() for row in self._rise]}
        base = {"base": type(self.base).__name__, "begun": self._begun, "holds": self._names()}
        return {**super()._memory(), **settings, **base, "learners": learners}

    def _names(self) -> list[str]:
        """What the base remembers of parameters."""
        return sorted({name for state in self.base.state.values() for name in state if isinstance(name, str)})

    def _check(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> None:
        super()._check(state_dict, memory)
        if memory["base"] != type(self.base).__name__:
            problem = f"is of a Tuned {memory['base']}, got a base of the class {type(self.base).__name__}"
            raise InputError(problem, about="state_dict")
        found = {name for state in in_order(state_dict) if state for name in state}
        if missing := [name for name in memory["holds"] if BASE + name not in found]:
            cure = "with torch.distributed.checkpoint, take one step before the state is made that is read into"
            raise InputError(f"lacks what the base remembers: {missing}", about="state_dict", cure=cure)

    def _recall(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> None:
        super()._recall(state_dict, memory)
        self.rule, self.discounts, self.epsilon = memory["rule"], tuple(memory["discounts"]), memory["epsilon"]
        self._learners = [[load(state) for state in learners] for learners in memory["learners"]]
        self.horizon, self._rise = memory["horizon"], Rise(*map(np.array, memory["rise"]))
        self._begun = memory["begun"]
        halves = [p for p in self._params() if p.dtype in HALVES]
        saved = self._of_base(state_dict, memory)
        with standing_in(self.base, halves, [self.state[p]["direction"] for p in halves]):  # its state is not rounded
            self.base.load_state_dict(copy.deepcopy(saved))  # torch would share the tensors
        self._keep_types(state_dict, saved)

    def _of_base(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> dict[str, Any]:
        """The state of the base, as its own ``state_dict`` gave it."""
        groups = [{k: v for k, v in g.items() if k not in (MEMORY, "base")} for g in state_dict["param_groups"]]
        others: dict[str, Any] = next((g["base"] for g in state_dict["param_groups"] if "base" in g), {})
        states = dict(others.get("state", {}))
        for i, state in state_dict["state"].items():
            own = {name[len(BASE) :]: value for name, value in state.items() if name.startswith(BASE)}
            if own and (memory["begun"] or memory["holds"]):  # otherwise they were invented
                states[i] = own
        return {**others, "state": states, "param_groups": groups}

    def _keep_types(self, state_dict: dict[str, Any], saved: dict[str, Any]) -> None:
        """Undo torch's conversion of the base's state, where the parameters are of the type that they were."""
        numbers = [i for group in saved["param_groups"] for i in group["params"]]
        for p, i, ours in zip(self._params(), numbers, in_order(state_dict), strict=True):
            if ours is None or ours["direction"].dtype != self.state[p]["direction"].dtype:
                continue
            for name, held in self.base.state.get(p, {}).items():
                value = saved["state"].get(i, {}).get(name)
                if isinstance(held, Tensor) and isinstance(value, Tensor) and held.dtype != value.dtype:
                    self.base.state[p][name] = value.to(held.device, copy=True)

    def _scales(self) -> list[float]:
        return (self._rise.factor * self._totals()).tolist()

    def _totals(self) -> np.ndarray:
        """What the learners of each scope play together."""
        return np.array([sum(learner.predict() for learner in learners) for learners in self._learners])

    def _fresh(self) -> list[Learner]:
        """The learners of a scope."""
        epsilon = self.epsilon / (len(self.discounts) if self.rule == "magnitude" else 1)
        return [RULES[self.rule](epsilon, discount) for discount in self.discounts]

    def _admit(self, group: dict[str, Any]) -> None:
        if type(self.base).__name__ == "ZeroRedundancyOptimizer" and any(p.dtype in HALVES for p in group["params"]):
            problem = "must be float32 or float64 where the base is a ZeroRedundancyOptimizer, which moves them itself"
            raise InputTypeError(problem, about="parameters", cure="use fully_shard, which shards the base's state too")
        super()._admit(group)
        group.setdefault("discount", 1.0)
        self._widen(group)
        if self.scope == "group":
            self._learners.append(self._fresh())
            self._rise = Rise(*(np.append(row, 1.0) for row in self._rise))

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
        values = self._whole(read([inner(part(self.state[p]["direction"]), gradient(p)) for p in moving]), moving)
        factors = [scope.setting("discount", discount_factor) for scope in scopes]
        values = [v if abs(v) <= LARGEST_PRODUCT else math.inf for v in values]
        rest = iter(values)
        totals = self._summed([sum(sign * next(rest) for sign in scope.signs) for scope in scopes])
        if self._refused(moving, values, totals):
            return
        self._begun = True
        try:
            self._move(scopes, self._scales())
            for scope, factor, h in zip(scopes, factors, totals, strict=True):
                for learner in self._learners[scope.number]:
                    learner.update(h, factor * learner.discount)
            self._begin_lower(scopes, np.array(factors))
        finally:
            scales = self._scales()
            for scope in scopes:
                self._place(scope, scales[scope.number])

    def _begin_lower(self, scopes: list[Scope], discounts: np.ndarray) -> None:
        """Where the next rise of a scale begins that has fallen to 0."""
        played = [scope.number for scope in scopes]
        before = Rise(*(row[played] for row in self._rise))
        after = HOST.rise_step(before, self._totals()[played] / self.epsilon, self.horizon, discounts)
        for row, value in zip(self._rise, after, strict=True):
            row[played] = value

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
