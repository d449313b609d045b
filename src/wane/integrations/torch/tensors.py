"""Sums over tensors, read by the host all at once, and parameters put where they belong."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wane.integrations.torch.processes import part

LARGEST = 1e30  # factors up to here are safe in every type: the half types are computed in float32
LONG = 10_000  # from so many numbers on a pass over them costs more than a call
SAFE = {torch.float32: (1e-30, 1e30), torch.float64: (1e-270, 1e270)}  # sums of squares that lost nothing


def inner(x: Tensor, y: Tensor) -> Tensor:
    """The inner product of two tensors of one shape, in the type of the first; it stays on the device."""
    if y.dtype != x.dtype:
        y = y.to(x.dtype)
    if x.ndim != 1:
        if not (x.is_contiguous() and y.is_contiguous()):
            return (x * y).sum()
        x, y = x.view(-1), y.view(-1)
    return torch.dot(x, y)


def squares(tensors: list[Tensor]) -> list[Tensor]:
    """The sum of squares of each tensor, of the half types in float32; it stays on the device."""
    return [inner(t, t) for t in (t if t.dtype in SAFE else t.float() for t in tensors)]


def norms(tensors: list[Tensor], found: list[float]) -> list[float]:
    """The norms from the sums of squares; where these left the range, which is rare, it reads the tensors again."""
    sizes = [math.sqrt(q) if q >= 0.0 else q for q in found]
    odd = [i for i, (t, q) in enumerate(zip(tensors, found, strict=True)) if outside(t, q) and t.numel()]
    largest = dict(zip(odd, read([tensors[i].abs().max() for i in odd]), strict=True))
    odd = [i for i in odd if 0.0 < largest[i] < math.inf]
    again = [tensors[i].double() / largest[i] for i in odd]
    for i, q in zip(odd, read(squares(again)), strict=True):
        sizes[i] = math.sqrt(q) * largest[i]
    return sizes


def outside(tensor: Tensor, q: float) -> bool:
    """Whether a sum of squares, computed in the type of a tensor, may have lost something."""
    low, high = SAFE.get(tensor.dtype, SAFE[torch.float32])
    return not low < q < high


def read(values: list[Tensor]) -> list[float]:
    """Scalars as floats, with one read for each device that they are on."""
    places: dict[torch.device, list[int]] = {}
    for i, value in enumerate(values):
        places.setdefault(value.device, []).append(i)
    found = [math.nan] * len(values)
    for indices in places.values():
        for i, value in zip(indices, torch.stack([values[i] for i in indices]).tolist(), strict=True):
            found[i] = value
    return found


def placed(reference: Tensor, direction: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
    """reference + scale * direction in one pass, rounded once, to the type of ``out``."""
    return torch.add(reference, direction, alpha=min(scale, LARGEST), out=out)


def place(params: list[Tensor], states: list[dict[str, Tensor]], scale: float) -> None:
    """Put each parameter where its state says; small ones, and those on other devices, together in two passes."""
    few: list[Tensor] = []
    references, directions = [], []
    for p, state in zip(params, states, strict=True):
        mine, reference, direction = part(p), part(state["reference"]), part(state["direction"])
        if mine.numel() >= LONG and mine.is_cpu:
            placed(reference, direction, scale, out=mine)
        else:
            few.append(mine)
            references.append(reference)
            directions.append(direction)
    if few:
        torch._foreach_copy_(few, references)
        torch._foreach_add_(few, directions, alpha=min(scale, LARGEST))
