"""The temperature of a classifier, by which its logits are divided (Guo, Pleiss, Sun and Weinberger, 2017)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

HOTTEST = 100.0  # temperatures are sought in [1/HOTTEST, HOTTEST]


def temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature with the least log-loss on these labels, which the classifier should not have been trained on.

    >>> sure = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]])
    >>> round(temperature(sure, np.array([0, 0, 1, 0])), 2)  # right in three of four: 4 / log(3)
    3.64
    """
    reach = np.log(HOTTEST)
    found = minimize_scalar(
        lambda log_t: log_loss(log_softmax(logits / np.exp(log_t), axis=1), labels),
        bounds=(-reach, reach),
        method="bounded",
    )
    return float(np.exp(found.x))


def log_loss(log_probabilities: np.ndarray, labels: np.ndarray) -> float:
    """The mean of minus the logarithm of what was given to the label."""
    return -float(np.mean(log_probabilities[np.arange(len(labels)), labels]))
