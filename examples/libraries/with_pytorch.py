"""Intervals around a network of PyTorch that predicts two quantiles and goes on learning while the data drift.

    pip install torch; python examples/libraries/with_pytorch.py

What to see: the network's own quantiles cover less than 90 %; with ``score="cqr"`` coverage is near 90 %.
"""

from __future__ import annotations

import torch

import wane

LEVELS = torch.tensor([0.05, 0.95])


def main() -> None:
    """Train online by the pinball loss, with conformal intervals around the two quantiles."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    oc = wane.OnlineConformal(score="cqr", alpha=0.1)
    alone = 0
    for t in range(2000):
        x = torch.rand(2)
        y = 3.0 * x[0] + (1.0 + x[1]) * (3.0 if t >= 1000 else 1.0) * torch.randn(())
        low, high = network(x).sort().values  # quantiles must not cross
        p = oc.predict((low.item(), high.item()))
        oc.update(p.id, y.item())
        alone += low.item() <= y.item() <= high.item()
        error = y - torch.stack([low, high])
        loss = torch.maximum(LEVELS * error, (LEVELS - 1.0) * error).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"the network alone: {alone / 2000:.2f}, with wane: {oc.metrics().coverage:.2f}")


if __name__ == "__main__":
    main()
