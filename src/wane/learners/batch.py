"""Batches: the round-by-round loop over arrays, without the GIL when compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import cython
except ImportError:
    from wane import _cython as cython

from wane.checks import discount_factors, rows
from wane.errors import InputError
from wane.learners.base import Learner
from wane.state import data as plain_data


def run(learner: Learner, gradients: Any, discounts: Any) -> np.ndarray:
    """The prediction before each gradient; an error names its round and leaves the learner as it was."""
    gradients = rows("gradients", gradients, learner.dim)
    rounds = len(gradients)
    discounts = discount_factors(learner.discount if discounts is None else discounts, rounds)
    predictions = np.empty_like(gradients)
    before = plain_data.snapshot(learner)
    played = np.zeros(1)
    play_all = play_on_the_line if learner.dim is None else play_in_space
    try:
        play_all(learner, gradients.reshape(-1).data, discounts.data, predictions.reshape(-1).data, played.data)
        if rounds and not (predictions.max() < np.inf and predictions.min() > -np.inf):  # a learner of the user's
            played[0] = np.argmin(np.isfinite(predictions).reshape(rounds, -1).all(axis=1))
            raise InputError(
                f"{learner!r} played {predictions[int(played[0])]}", cure="its _predict must return finite numbers"
            )
    except BaseException as error:
        plain_data.give_up(learner, before, error, int(played[0]))
        raise
    return predictions


def play_on_the_line(learner, gradients, discounts, predictions, played):
    """All rounds of a learner that plays floats."""
    with cython.nogil:
        for t in range(gradients.shape[0]):
            played[0] = t
            predictions[t] = learner._predict()
            learner._update(gradients[t], discounts[t])


def play_in_space(learner, gradients, discounts, predictions, played):
    """All rounds of a learner that plays vectors."""
    n = learner.n
    with cython.nogil:
        for t in range(discounts.shape[0]):
            played[0] = t
            learner._point(predictions[t * n : (t + 1) * n])
            learner._learn(gradients[t * n : (t + 1) * n], discounts[t])
