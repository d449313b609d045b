"""Algorithm 3 on the parameters of a model: no learning rate, and the initial weights as the inductive bias.

Differences from the paper are those of ``wane.learners.AdaptiveLearner``, which it equals; only the sums over the
parameters are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wane.checks import discount_factor, positive, scalar
from wane.errors import InputError
from wane.integrations.arrays import Arrays, Magnitude, Norm
from wane.integrations.torch.processes import gradient, part, parts_of
from wane.integrations.torch.referenced import Referenced, Scope
from wane.integrations.torch.tensors import LARGEST, inner, norms, read, squares

EPSILON = 10.0
DISCOUNT = 0.9999
HOST = Arrays(np, np.array)


class Adaptive(Referenced):
    r"""The paper's algorithm as an optimiser: parameter-free, scale-free, forgetting the data and never the prior.

    The parameters are kept at :math:`\theta = \theta_0 + y\,w` with a magnitude :math:`y \ge 0` from Algorithm 1 and a
    direction w in the unit ball from discounted AdaGrad (``wane.learners.AdaptiveLearner``). Multiplying all gradients
    by a number changes nothing.

    Args:
        params: parameters, or groups of them.
        epsilon: a guess of the distance from the reference to the answer, not a rate. Too small costs a logarithm, too
            large costs in proportion.
        discount: how fast the past is forgotten: 1 never, 0.99 within a hundred rounds. Both are entries of the
            parameter groups; the discount may be changed at any time, and 0 restarts.
        scope: "global" plays one learner in the space of all parameters, so epsilon and discount must be the same in
            all groups; "group" plays one in the space of each group.
        reference: :math:`\theta_0` as tensors in the order of the parameters, which are put there; by default their
            values of now.
        lr: what a schedule changes, and no rate to tune: 1 is the algorithm. It multiplies the steps by which the
            direction turns, so that with 0 only the magnitude goes on to move. It is an entry of the parameter
            groups, for schedulers and monitors; with scope "global" it must be the same in all of them.
        nonfinite: "raise" a ``FloatingPointError`` where gradients are not finite, or "skip" the round, which is
            counted in ``skipped`` and warned about once; either way nothing changes. Parameters that are no longer
            finite raise in any case: no round could mend them.
        processes: a process group in which each process holds a part of the parameters, so that sums are taken over
            all of them: for ``ZeroRedundancyOptimizer`` and FSDP1. What ``fully_shard`` makes needs no word.

    A parameter without a gradient counts as one with the gradient 0: it moves with the magnitude. One with
    ``requires_grad=False`` is left where it is, until it is thawed.

    Memory: two copies of the parameters, reference and direction. The rest is a few floats (float64) for each scope,
    on the host: a round reads three numbers for each parameter tensor, all at once, and once more where a gradient is
    0 or its square leaves the range of its type.

    >>> theta = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    >>> optimizer = Adaptive([theta])
    >>> for _ in range(300):
    ...     optimizer.zero_grad()
    ...     (theta - torch.tensor([4.0, 1.0])).abs().sum().backward()
    ...     optimizer.step()
    >>> theta.detach().round()
    tensor([4., 1.])

    Reference: Algorithm 3 and Theorem "main" of Zhang, Bombara, Yang (2024).
    """

    def __init__(
        self,
        params: Any,
        epsilon: float = EPSILON,
        discount: float = DISCOUNT,
        scope: str = "global",
        reference: Iterable[Tensor] | None = None,
        *,
        lr: float = 1.0,
        maximize: bool = False,
        nonfinite: str = "raise",
        processes: Any = None,
    ) -> None:
        """Nothing is learned yet: the parameters stay where they are."""
        scopes = 1 if scope == "global" else 0
        self._magnitude = Magnitude(*np.zeros((len(Magnitude._fields), scopes)))
        self._norm = Norm(*np.zeros((len(Norm._fields), scopes)))
        defaults = {"lr": lr, "epsilon": epsilon, "discount": discount, "maximize": maximize}
        super().__init__(params, defaults, scope, nonfinite, reference, processes)

    def __getstate__(self) -> dict[str, Any]:
        """What pickles and copies hold."""
        return {**super().__getstate__(), "_magnitude": self._magnitude, "_norm": self._norm}

    def _scales(self) -> list[float]:
        return np.maximum(self._magnitude.x, 0.0).tolist()

    def _memory(self) -> dict[str, Any]:
        magnitude, norm = ([row.tolist() for row in rows] for rows in (self._magnitude, self._norm))
        return {**super()._memory(), "magnitude": magnitude, "norm": norm}

    def _recall(self, state_dict: dict[str, Any], memory: dict[str, Any]) -> None:
        super()._recall(state_dict, memory)
        self._magnitude = Magnitude(*map(np.array, memory["magnitude"]))
        self._norm = Norm(*map(np.array, memory["norm"]))
        for group in self.param_groups:
            group.setdefault("lr", 1.0)

    def _admit(self, group: dict[str, Any]) -> None:
        positive("epsilon", group["epsilon"])
        discount_factor(group["discount"])
        factor(group["lr"], "lr")
        super()._admit(group)
        if self.scope == "group":
            self._magnitude = Magnitude(*(np.append(row, 0.0) for row in self._magnitude))
            self._norm = Norm(*(np.append(row, 0.0) for row in self._norm))

    def _round(self, scopes: list[Scope]) -> None:
        played = [scope.number for scope in scopes]
        epsilon = np.array([scope.setting("epsilon", positive_entry) for scope in scopes])
        discount = np.array([scope.setting("discount", discount_factor) for scope in scopes])
        factors = np.array([scope.setting("lr", factor) for scope in scopes])
        moving = [p for scope in scopes for p in scope.moving]
        sizes, products, lengths = self._sums(moving, [p for scope in scopes for p in scope.params])
        of_grads, of_both, of_directions = iter(sizes), iter(products), iter(lengths)
        own = [
            *(math.hypot(*(next(of_grads) for _ in scope.moving)) for scope in scopes),
            *(sum(sign * next(of_both) for sign in scope.signs) for scope in scopes),
            *(sum(next(of_directions) for _ in scope.params) for scope in scopes),
        ]
        rows, n = self._of_processes(own), len(scopes)
        size = np.array([math.hypot(*row) for row in rows[:n]])
        dot, squared = (np.array([sum(row) for row in part]) for part in (rows[n : 2 * n], rows[2 * n :]))
        each = [a if math.isfinite(b) else b for a, b in zip(sizes, products, strict=True)]
        if self._refused(moving, each, [*size, *dot]):
            return
        q = factors * self._learn(played, epsilon, discount, size, dot)
        cosine = dot / np.where(size > 0.0, size, 1.0)
        shrink = 1.0 / np.sqrt(np.maximum(squared - 4.0 * q * cosine + 4.0 * q * q, 1.0))  # onto the unit ball
        rate = 2.0 * q / np.where(size > 0.0, size, 1.0)  # AdaGrad's diameter is 2
        for i, scope in enumerate(scopes):
            self._turn(scope, shrink[i], rate[i])
            self._place(scope, self._scales()[scope.number])  # lines 5-7 of the next round

    def _sums(self, moving: list[Tensor], params: list[Tensor]) -> tuple[list[float], list[float], list[float]]:
        """The norms of the gradients, their products with the directions, the squared norms of all directions."""
        grads, n = [gradient(p) for p in moving], len(moving)
        directions = {p: part(self.state[p]["direction"]) for p in params}
        products = [inner(directions[p], grad) for p, grad in zip(moving, grads, strict=True)]
        found = read([*squares(grads), *products, *squares(list(directions.values()))])
        sizes = [math.hypot(*row) for row in parts_of(norms(grads, found[:n]), moving)]
        return sizes, self._whole(found[n : 2 * n], moving), self._whole(found[2 * n :], params)

    def _learn(self, played: list[int], epsilon: Any, discount: Any, size: Any, dot: Any) -> Any:
        """Lines 8-11 but for the direction; returns what AdaGrad divides the clipped gradient's norm to, in [0, 1]."""
        magnitude = Magnitude(*(row[played] for row in self._magnitude))
        r = HOST.grow(magnitude.mantissa, magnitude.exponent, discount, size)[2]  # line 8: g is clipped to r g
        magnitude = HOST.magnitude_step(magnitude, epsilon, dot, size, discount)
        norm, q = HOST.norm_step(Norm(*(row[played] for row in self._norm)), r * size, discount)
        for row, value in zip((*self._magnitude, *self._norm), (*magnitude, *norm), strict=True):
            row[played] = value
        return q

    def _turn(self, scope: Scope, shrink: float, rate: float) -> None:
        """direction <- shrink * (direction - rate * gradient)."""
        rate *= shrink
        if shrink < 1.0:
            torch._foreach_mul_([part(self.state[p]["direction"]) for p in scope.params], shrink)
        for sign in set(scope.signs):
            params = [p for p, s in zip(scope.moving, scope.signs, strict=True) if s == sign]
            directions, grads, left = (
                [part(self.state[p]["direction"]) for p in params],
                list(map(gradient, params)),
                rate,
            )
            while left > LARGEST:  # tiny gradients, for which float32 may have no such rate
                grads, left = torch._foreach_mul(grads, LARGEST), left / LARGEST
            torch._foreach_add_(directions, grads, alpha=-sign * left)


def factor(value: Any, name: str) -> float:
    """An entry of a group that is finite and not negative."""
    x = scalar(name, value)
    if not (x >= 0.0 and math.isfinite(x)):
        raise InputError(f"must be a finite number >= 0, got {value!r}", about=name, cure="1 is the algorithm itself")
    return x


def positive_entry(value: Any, name: str) -> float:
    """A positive entry of a group."""
    return positive(name, value)
