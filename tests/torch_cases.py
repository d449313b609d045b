"""Small parameters, the optimisers of the tests of wane.integrations.torch, and steps that can be played again."""

import io

import pytest
import torch
from torch.nn import Parameter

from wane.integrations.torch import Adaptive, Tuned

SHAPES = [(4, 3), (4,), (2, 4), ()]


def adam(params):
    return torch.optim.Adam(params, lr=0.01)


def adamw(params):
    return torch.optim.AdamW(params, lr=0.01, weight_decay=0.1)


OPTIMISERS = {
    "adaptive": Adaptive,
    "adaptive by group": lambda params: Adaptive(params, scope="group"),
    "adam": lambda params: Tuned(adam(params)),
    "adamw by group": lambda params: Tuned(adamw(params), scope="group"),
    "trac": lambda params: Tuned(torch.optim.SGD(params, lr=0.1, momentum=0.9), rule="trac", epsilon=1e-3),
}
every = pytest.mark.parametrize("make", OPTIMISERS.values(), ids=OPTIMISERS)


def parameters(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(0)
    return [Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)) for shape in shapes]


def halves(params):
    return [{"params": params[:2]}, {"params": params[2:]}]


def play(optimizer, params, rounds):
    """Steps with gradients that depend on the round and on nothing else."""
    for t in rounds:
        generator = torch.Generator().manual_seed(t)
        for p in params:
            p.grad = (torch.randn(p.shape, generator=generator, dtype=torch.float64) + 0.5).to(p.dtype)
        optimizer.step()


def same(one, other):
    return all(torch.equal(p, q) for p, q in zip(one, other, strict=True))


def values(params):
    return [p.detach().clone() for p in params]


def plain(tree):
    """A state_dict as nested data that can be compared."""
    if isinstance(tree, torch.Tensor):
        return str(tree.dtype), tree.tolist()
    if isinstance(tree, dict):
        return {k: plain(v) for k, v in tree.items()}
    return [plain(v) for v in tree] if isinstance(tree, (list, tuple)) else tree


def saved(optimizer):
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)
