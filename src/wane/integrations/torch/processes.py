"""Parameters that are spread over several processes: their parts, and numbers that all processes put together.

FSDP2 and tensor parallelism make parameters that know where their parts are (``DTensor``). FSDP1 and
``ZeroRedundancyOptimizer`` give each process ordinary tensors, which are parts of something that they do not show;
there the user has to say which processes share the parameters.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from wane.errors import InputError

FLAT = "_fsdp_flattened"  # FSDP1 marks its parameters so
ZERO = "torch.distributed.optim.zero_redundancy_optimizer"


def spread(x: Tensor) -> bool:
    """Whether a tensor knows that other processes hold parts of it."""
    return type(x) not in (Tensor, Parameter) and hasattr(x, "placements")


def part(x: Tensor) -> Any:
    """What this process holds of a tensor; it shares the memory."""
    return x.to_local() if spread(x) else x


def gradient(p: Tensor) -> Any:
    """What this process holds of a parameter's gradient, cut as the parameter is."""
    grad: Any = p.grad
    if spread(p) and grad.placements != p.placements:
        grad = grad.redistribute(placements=p.placements)
    return part(grad)


def parts_of(values: list[float], owners: list[Tensor]) -> list[list[float]]:
    """For each value, which belongs to a parameter, those of all processes that hold another part of the parameter.

    Every process finds the same numbers in the same order, so that all of them learn the same to the last bit.
    """
    found = [[value] for value in values]
    places: dict[Any, list[int]] = {}
    for i, p in enumerate(owners):
        if spread(p):
            places.setdefault((p.device_mesh, tuple(not q.is_replicate() for q in p.placements)), []).append(i)
    for (mesh, cut), indices in places.items():
        from torch.distributed.tensor import DTensor, Replicate, Shard

        mine = torch.tensor([[values[i] for i in indices]], dtype=torch.float64, device=mesh.device_type)
        rows = DTensor.from_local(mine, mesh, [Shard(0) if c else Replicate() for c in cut], run_check=False)
        for i, column in zip(indices, rows.full_tensor().T.tolist(), strict=True):
            found[i] = column
    return found


def gathered(values: list[float], group: Any, device: torch.device) -> list[list[float]]:
    """For each value, those of all processes of a group, in the order of the processes."""
    mine = torch.tensor(values, dtype=torch.float64, device=device)
    rows = [torch.empty_like(mine) for _ in range(torch.distributed.get_world_size(group))]
    torch.distributed.all_gather(rows, mine, group=group)
    return torch.stack(rows, dim=1).tolist()


def refuse_hidden_parts(params: list[Tensor], processes: Any) -> None:
    """Refuse parameters of which this process holds a part without knowing: sums over them would be of the part."""
    if processes is not None:
        return
    flat = any(getattr(p, FLAT, False) for p in params)
    if flat or partitioned():
        wrapper = "FullyShardedDataParallel" if flat else "ZeroRedundancyOptimizer"
        raise InputError(
            f"are parts that {wrapper} gave to this process, and a scale is learned from the sums over all parts",
            about="parameters",
            cure="give processes=torch.distributed.group.WORLD, or the process group that shares the parameters"
            + ("; or use fully_shard instead" if flat else "; or wrap ZeroRedundancyOptimizer in Tuned"),
        )


def partitioned() -> bool:
    """Whether ``ZeroRedundancyOptimizer`` is making this optimiser; nothing else tells that it splits parameters."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == ZERO:
            return True
        frame = frame.f_back
    return False
