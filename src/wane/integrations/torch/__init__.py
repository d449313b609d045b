"""Optimisers for PyTorch that need no learning rate and forget gracefully: the paper's learner on your parameters.

``Adaptive`` is Algorithm 3 itself. ``Tuned`` wraps an optimiser of ``torch.optim``: it gives the direction, learners of
the paper give the scale. Both keep the parameters at ``reference + scale * direction``, start at the reference (the
initial weights) and fall back to it.

>>> import torch
>>> theta = torch.nn.Parameter(torch.zeros(2))
>>> optimizer = Tuned(torch.optim.SGD([theta], lr=1e-4))    # a rate that is far too small
>>> for _ in range(300):
...     optimizer.zero_grad()
...     (theta - torch.tensor([3.0, -1.0])).abs().sum().backward()
...     optimizer.step()
>>> theta.detach().round()
tensor([ 3., -1.])
"""

from __future__ import annotations

from wane.errors import MissingExtraError, installing

try:
    import torch
except ImportError as error:
    raise MissingExtraError("wane.integrations.torch needs PyTorch", cure=installing("torch")) from error

from wane.integrations.torch.adaptive import Adaptive
from wane.integrations.torch.special import dawson, erfi
from wane.integrations.torch.tuned import Tuned

__all__ = ["Adaptive", "Tuned", "dawson", "erfi"]

del torch
