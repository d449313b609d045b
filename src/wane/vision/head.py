"""A linear classifier on features: softmax regression with an L2 penalty, and a temperature."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from wane.streams.temperature import log_loss, temperature

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)  # of the squared weights, beside a mean log-loss
STEPS = 300  # of L-BFGS, at most, for each penalty
SLOPE = 1e-5  # it ends where no derivative is larger,
FALL = float(np.finfo(np.float32).eps)  # or where the loss falls by less than this share of it


@dataclasses.dataclass(frozen=True, eq=False)
class Head:
    """Weights (d, K) and bias (K,) on standardised features, with mean and scale (d,) of the features, and more."""

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    temperature: float
    penalty: float

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Of each class, (n, K), before the temperature."""
        return (features - self.mean) / self.scale @ self.weights + self.bias

    def log_probabilities(self, features: np.ndarray) -> np.ndarray:
        """Of each class, (n, K), at the temperature."""
        return log_softmax(self.logits(features) / self.temperature, axis=1)


def trained(
    features: np.ndarray,
    labels: np.ndarray,
    held: np.ndarray,
    held_labels: np.ndarray,
    classes: int,
    tick: Callable[[], Any] = lambda: None,
) -> Head:
    """The head of these features, (n, d); penalty and temperature have the least log-loss on features held back.

    Penalties are tried from the strongest on, each from the weights of the one before, until one is worse than that.
    ``tick`` is called after each of `PENALTIES`.
    """
    mean, scale = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    scale = np.where(scale > 0.0, scale, 1.0)  # a feature that never changes says nothing
    x = ((features - mean) / scale).astype(np.float32)
    right = np.zeros((len(labels), classes), dtype=np.float32)
    right[np.arange(len(labels)), labels] = 1.0
    weights = np.zeros((x.shape[1] + 1, classes))
    best, least = None, np.inf
    for penalty in PENALTIES:
        weights = _fitted(x, right, penalty, weights)
        head = Head(mean, scale, weights[:-1], weights[-1], 1.0, penalty)
        head = dataclasses.replace(head, temperature=temperature(head.logits(held), held_labels))
        loss = log_loss(head.log_probabilities(held), held_labels)
        tick()
        if best is not None and loss >= least:
            break
        best, least = head, loss
    assert best is not None
    return best


def _fitted(x: np.ndarray, right: np.ndarray, penalty: float, start: np.ndarray) -> np.ndarray:
    """Weights, and the bias as their last row, which is not penalised; a convex problem, solved from ``start``.

    What is of the size of the data is computed in single precision, in half the time; the search is in double.
    """

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(start.shape)
        single = w.astype(np.float32)
        logs = log_softmax(x @ single[:-1] + single[-1], axis=1)
        error = (np.exp(logs) - right) / len(x)
        slope = np.concatenate([x.T @ error + penalty * w[:-1], error.sum(axis=0, keepdims=True)])
        value = -np.sum(logs * right, dtype=np.float64) / len(x) + 0.5 * penalty * np.sum(w[:-1] ** 2)
        return value, slope.ravel()

    options = {"maxiter": STEPS, "gtol": SLOPE, "ftol": FALL}
    return minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(start.shape)
