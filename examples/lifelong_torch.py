"""A network in PyTorch on one task after another, with a learning rate that is right, too small or too large.

The digits of scikit-learn come with their pixels in a new order for each task, and nobody tells the network when. Adam
plays with five learning rates, alone and inside ``Tuned``, which learns the scale of its steps. One run is stopped in
the middle: model and optimiser go to a file and come back in new objects.

What to see: alone, Adam depends on its rate; inside ``Tuned`` it is good over a range of rates, three decades wide.
The run that was stopped ends at the very same weights as one that was not.

    python examples/lifelong_torch.py [--tasks 8] [--json]

PyTorch and scikit-learn are needed: pip install ".[torch,data]".
"""

from __future__ import annotations

import argparse
import io
import json
import sys

import numpy as np

RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STEPS, BATCH = 120, 32  # of a task
TRAINED = 1200  # images; the others judge


def images():
    """Pixels from 0 to 1 and labels, in random order."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('this example needs scikit-learn: pip install ".[torch,data]"')
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return (x[order] / 16.0).astype(np.float32), y[order]


def tasks(count):
    """Each task: all images with their pixels in another order, and which of them each step takes."""
    x, y = images()
    rng = np.random.default_rng(1)
    for _ in range(count):
        pixels = rng.permutation(x.shape[1])
        yield x[:, pixels], y, rng.integers(TRAINED, size=(STEPS, BATCH))


def model(torch):
    """Two hidden layers."""
    torch.manual_seed(0)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(64, 64), relu(), linear(64, 64), relu(), linear(64, 10))


def saved(torch, net, optimizer, make):
    """Both through a file, into new objects."""
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    net = model(torch)
    optimizer = make(net.parameters())
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return net, optimizer


def play(torch, make, count, stop=None):
    """The share of unseen images that is right at the end of each task, and the weights at the end of all."""
    net = model(torch)
    optimizer = make(net.parameters())
    right = []
    for number, (x, y, batches) in enumerate(tasks(count)):
        if number == stop:
            net, optimizer = saved(torch, net, optimizer, make)
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        for batch in torch.from_numpy(batches):
            loss = torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            right.append((net(x[TRAINED:]).argmax(1) == y[TRAINED:]).float().mean().item())
    return right, torch.cat([p.detach().ravel() for p in net.parameters()])


def main():
    """Play at every rate, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=8, help="at least 2")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    if options.tasks < 2:
        parser.error(f"--tasks must be at least 2, got {options.tasks}: with one there is nothing to adapt to")
    try:
        import torch
    except ImportError:
        sys.exit('this example needs PyTorch: pip install ".[torch,data]"')
    from wane.integrations.torch import Tuned

    torch.set_num_threads(1)
    facts = {"rates": RATES, "Adam": [], "Tuned(Adam)": []}
    print(f"right at the end of a task, mean of {options.tasks}\n\n{'rate':>8s}{'Adam':>8s}{'Tuned(Adam)':>14s}")
    for rate in RATES:
        alone, _ = play(torch, lambda params, lr=rate: torch.optim.Adam(params, lr=lr), options.tasks)
        ours, _ = play(torch, lambda params, lr=rate: Tuned(torch.optim.Adam(params, lr=lr)), options.tasks)
        facts["Adam"].append(float(np.mean(alone)))
        facts["Tuned(Adam)"].append(float(np.mean(ours)))
        print(f"{rate:8g}{facts['Adam'][-1]:8.3f}{facts['Tuned(Adam)'][-1]:14.3f}", flush=True)

    def make(params):
        return Tuned(torch.optim.Adam(params))

    weights = [play(torch, make, 2, stop)[1] for stop in (None, 1)]
    facts["resumed"] = bool(torch.equal(*weights))
    print(f"\nstopped and resumed, the same weights to the last bit: {'yes' if facts['resumed'] else 'no'}")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
