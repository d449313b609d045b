"""Handwritten digits that are corrupted more and less: a stream of probabilities made within seconds.

The 1,797 images of 8 x 8 pixels are those that scikit-learn bundles: the test set of "Optical Recognition of
Handwritten Digits" (Alpaydin and Kaynak, 1998) in the UCI Machine Learning Repository. They are split in
three: a logistic regression is trained on the first part, its temperature is set on the second (Guo, Pleiss, Sun and
Weinberger, 2017), and the stream draws from the third, which neither has seen.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from wane.checks import whole
from wane.errors import MissingExtraError, installing
from wane.streams.corruption import SEVERITIES, corrupt, kinds
from wane.streams.rounds import corrupted, drawn, rng
from wane.streams.temperature import log_loss, temperature
from wane.streams.types import LabelStream, freeze

TRAIN, CALIBRATION = 900, 300  # images; the other 597 are the test part
WHITE = 16.0  # the largest pixel of the data
# What is learned is rounded to these steps: far more than the solvers' errors, which differ between processors, and too
# little to matter. So the model of a seed is the same on every machine.
WEIGHT_STEP, TEMPERATURE_STEP = 2.0**-12, 2.0**-16
BINS = 10  # of confidence, for the expected calibration error


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """Images, (n, 8, 8) from 0 to 1, their labels, and where they are in scikit-learn's data."""

    images: np.ndarray
    labels: np.ndarray
    indices: np.ndarray

    def __post_init__(self) -> None:
        """Freeze: the parts are shared by everyone who asks for the same seed."""
        freeze(self, **vars(self))


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """A linear classifier with a temperature, and the parts of the data."""

    weights: np.ndarray
    bias: np.ndarray
    temperature: float
    train: Part
    calibration: Part
    test: Part

    def __post_init__(self) -> None:
        """Freeze: the model is shared too."""
        freeze(self, weights=self.weights, bias=self.bias)

    def log_probabilities(self, images: np.ndarray, temperature: float | None = None) -> np.ndarray:
        """Of each class, (n, 10); at the temperature of the model, or at another one."""
        return log_softmax(self.logits(images) / (self.temperature if temperature is None else temperature), axis=1)

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Of each class, before the temperature.

        The pixels are added one after the other. A product of matrices would add them in an order that depends on the
        processor and on the place of an image among the others, and the same image would have several answers.
        """
        total = np.tile(self.bias, (len(images), 1))
        pixels = images.reshape(len(images), self.weights.shape[1])
        for pixel, weight in zip(pixels.T, self.weights.T, strict=True):
            total += pixel[:, None] * weight
        return total


class Calibration(NamedTuple):
    """Log-loss and expected calibration error on the test part, before and after the temperature was set."""

    temperature: float
    log_loss_before: float
    log_loss: float
    error_before: float
    error: float


def digits(schedule: Any = "sudden", rounds: int = 6050, warm_up: int = 1000, seed: int = 0) -> LabelStream:
    """Digits under a schedule of corruption, seen by a classifier that was trained on clean ones.

    The test images come in random order, again and again, each pass in an order of its own. Where the severity is
    above 0, the kind is drawn uniformly from ``kinds()``, and the corruption is fresh each time. Image, kind and noise
    of a round depend on the seed and the round alone: two schedules differ only where their severities do.
    Needs scikit-learn: ``pip install ".[data]"``.

    Args:
        schedule: "sudden", "gradual", "none", a function of the round, or an array: see ``severities``.
        rounds: after the warm-up.
        warm_up: clean rounds before it.
        seed: of the split, the order, the kinds and the noise.
    """
    model = classifier(seed)
    order, severity, kind = drawn(len(model.test.labels), len(kinds()), schedule, rounds, warm_up, seed)
    images = corrupted(model.test.images[order], kind, severity, np.arange(len(order)), seed, corrupt, kinds())
    return LabelStream(
        name=f"digits-{schedule if isinstance(schedule, str) else 'own'}",
        probabilities=np.exp(model.log_probabilities(images)),
        labels=model.test.labels[order],
        severity=severity,
        corruption=kind,
        kinds=kinds(),
        warm_up=warm_up,
    )


def classifier(seed: int = 0) -> Model:
    """The trained classifier of a seed, with its parts of the data; trained once in a process."""
    return _trained(whole("seed", seed, 0, 2**64))


def errors_by_severity(seed: int = 0, draws: int = 3) -> dict[str, np.ndarray]:
    """The share of the test images that the classifier gets wrong: for each kind, at severities 0, ..., 5.

    Args:
        seed: of the classifier.
        draws: how often each image is corrupted.
    """
    test = classifier(seed).test
    draws = whole("draws", draws, 1)
    images, labels = np.tile(test.images, (draws, 1, 1)), np.tile(test.labels, draws)
    return {
        kind: np.array([_error(seed, corrupt(images, kind, s, seed), labels) for s in range(SEVERITIES + 1)])
        for kind in kinds()
    }


def calibration(seed: int = 0) -> Calibration:
    """What the temperature is good for, on clean images that it has not seen.

    The expected calibration error is the mean distance between confidence and accuracy over ten equal bins of
    confidence, each weighted by how many images it holds.
    """
    model = classifier(seed)
    before, after = (model.log_probabilities(model.test.images, t) for t in (1.0, model.temperature))
    y = model.test.labels
    return Calibration(
        model.temperature, log_loss(before, y), log_loss(after, y), _calibration(before, y), _calibration(after, y)
    )


@functools.lru_cache(maxsize=8)
def _trained(seed: int) -> Model:
    train, held, test = _parts(seed)
    weights, bias = _fitted(train)
    cold = Model(weights, bias, 1.0, train, held, test)
    warmth = _rounded(temperature(cold.logits(held.images), held.labels), TEMPERATURE_STEP)
    return dataclasses.replace(cold, temperature=float(warmth))


def _parts(seed: int) -> list[Part]:
    data = _scikit_learn().load_digits()
    order = rng(seed, "split").permutation(len(data.target))
    images, labels = data.images / WHITE, data.target.astype(np.int64)
    return [Part(images[i], labels[i], i) for i in np.split(order, [TRAIN, TRAIN + CALIBRATION])]


def _fitted(train: Part) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias, of a convex problem: unique up to a number that is added to every bias; their mean is 0."""
    tools = _scikit_learn()
    found = tools.LogisticRegression(solver="newton-cg", tol=1e-12, max_iter=10_000)
    with tools.threadpool_limits(1):  # so small a problem is solved faster by one thread than by several
        found.fit(train.images.reshape(len(train.images), -1), train.labels)
    return _rounded(found.coef_, WEIGHT_STEP), _rounded(found.intercept_ - found.intercept_.mean(), WEIGHT_STEP)


def _rounded(x: Any, step: float) -> Any:
    return step * np.rint(x / step)


def _scikit_learn() -> Any:
    """What is used of scikit-learn, and of threadpoolctl, which comes with it."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError("the digits need scikit-learn", cure=installing("data")) from error
    return types.SimpleNamespace(
        load_digits=load_digits, LogisticRegression=LogisticRegression, threadpool_limits=threadpool_limits
    )


def _error(seed: int, images: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean(classifier(seed).log_probabilities(images).argmax(axis=1) != labels))


def _calibration(log_probabilities: np.ndarray, labels: np.ndarray) -> float:
    confidence, right = np.exp(log_probabilities.max(axis=1)), log_probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, confidence - right, BINS)).sum() / len(labels))
