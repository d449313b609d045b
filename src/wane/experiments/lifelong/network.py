"""A network of rectified layers whose weights are one vector, with its gradient worked out by hand.

Small networks spend most of their time in a framework's bookkeeping; here the time goes to the optimisers, which see
one tensor and its gradient.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np


class Network:
    """Layers of given widths, rectified between, softmax and the cross-entropy at the end.

    >>> net = Network((2, 3, 4))
    >>> weights = net.initial(seed=0)
    >>> weights.shape
    (25,)
    >>> gradient = np.empty_like(weights)
    >>> loss, right = net.loss(weights, gradient, np.ones((5, 2), np.float32), np.zeros(5, int))
    """

    def __init__(self, widths: Sequence[int]) -> None:
        """Find the place of each layer's weights and biases in the vector."""
        self.shapes = list(itertools.pairwise(widths))
        self.size = sum((a + 1) * b for a, b in self.shapes)

    def layers(self, vector: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights and biases of each layer, as views of the vector."""
        found, start = [], 0
        for a, b in self.shapes:
            end = start + a * b
            found.append((vector[start:end].reshape(a, b), vector[end : end + b]))
            start = end + b
        return found

    def initial(self, seed: int) -> np.ndarray:
        """Weights uniform with the variance 2 / inputs (He and others, 2015), biases 0; single precision."""
        rng = np.random.default_rng([seed, 20])
        vector = np.zeros(self.size, dtype=np.float32)
        for weights, _ in self.layers(vector):
            end = math.sqrt(6.0 / len(weights))
            weights[...] = rng.uniform(-end, end, size=weights.shape)
        return vector

    def outputs(self, vector: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        """What each layer puts out, the inputs first."""
        found = [x]
        layers = self.layers(vector)
        for i, (weights, bias) in enumerate(layers):
            out = found[-1] @ weights + bias
            found.append(out if i == len(layers) - 1 else np.maximum(out, 0.0))
        return found

    def right(self, vector: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
        """The share of images that get their label."""
        return float(np.mean(self.outputs(vector, x)[-1].argmax(axis=1) == y))

    def loss(self, vector: np.ndarray, gradient: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
        """The mean cross-entropy and the share that is right; the gradient is written into ``gradient``."""
        outs = self.outputs(vector, x)
        out, rows = outs[-1], np.arange(len(y))
        right = float(np.mean(out.argmax(axis=1) == y))
        out = out - out.max(axis=1, keepdims=True)
        error = np.exp(out)
        total = error.sum(axis=1, keepdims=True)
        loss = float(np.mean(np.log(total[:, 0]) - out[rows, y]))
        error /= total
        error[rows, y] -= 1.0
        error /= len(y)
        layers, places = self.layers(vector), self.layers(gradient)
        for i in range(len(layers) - 1, -1, -1):
            np.matmul(outs[i].T, error, out=places[i][0])
            np.sum(error, axis=0, out=places[i][1])
            if i:
                error = (error @ layers[i][0].T) * (outs[i] > 0.0)
        return loss, right
