"""Online conformal prediction around river models: intervals and label sets that never rest on their own label."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base
from river.conf.interval import Interval

from wane.conformal import Metrics, OnlineConformal
from wane.errors import InputError
from wane.scores import CQR, IntervalScore, Normalised, as_score
from wane.scores.base import present
from wane.scores.labels import LabelScore

__all__ = ["ConformalClassifier", "ConformalRegressor"]


class ConformalRegressor(base.Wrapper, base.Regressor):
    """A regressor with intervals that keep their coverage while the world drifts.

    ``predict_one(x, with_interval=True)`` gives river's ``conf.interval.Interval`` and changes nothing. ``learn_one``
    makes the prediction of x again, shows its label to the tracker, then to the regressor. So a label may come any time
    after its prediction, and counts at the radius that is current when it comes. A label that is refused teaches
    nothing.

    Args:
        regressor: a river regressor, or a pipeline that ends with one.
        method: the name of a method (``wane.trackers.names()``), or a tracker, which is copied.
        alpha: the share of labels that may be missed.
        score: "absolute", "signed", "one-sided", or such a score from ``wane.scores``.
        settings: further arguments of ``wane.OnlineConformal`` as a dict: limits of the labels, hyperparameters of the
            method, what to do about an infinite radius (here allowed unless you say otherwise).

    >>> from river import linear_model, preprocessing
    >>> model = ConformalRegressor(preprocessing.StandardScaler() | linear_model.LinearRegression())
    >>> for t in range(2000):
    ...     model.learn_one({"x": t % 7}, 3.0 * (t % 7) + (-1) ** t)
    >>> interval = model.predict_one({"x": 4}, with_interval=True)
    >>> round(interval.lower, 1), round(interval.upper, 1), round(model.metrics().coverage, 2)
    (11.0, 13.0, 0.9)
    """

    def __init__(
        self,
        regressor: Any,
        method: Any = "auto",
        alpha: float | None = 0.1,
        score: Any = "absolute",
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Nothing is learned yet."""
        self.regressor = regressor
        self.method = method
        self.alpha = alpha
        self.score = score
        self.settings = settings
        kind = as_score(score)
        if not isinstance(kind, IntervalScore) or isinstance(kind, (CQR, Normalised)):
            cure = "for others give what your model says to wane.OnlineConformal"
            raise InputError(f"must make intervals of a forecast, got {kind!r}", about="score", cure=cure)
        self._conformal = one_level(method, kind, alpha, settings)

    @property
    def _wrapped_model(self) -> Any:
        return self.regressor

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"regressor"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing

        yield {"regressor": preprocessing.StandardScaler() | linear_model.LinearRegression()}

    def learn_one(self, x: dict[Any, Any], y: Any, **kwargs: Any) -> None:
        """Show the label to the tracker, at the interval of now, then to the regressor."""
        learn(self._conformal, self.regressor.predict_one(x), y)
        self.regressor.learn_one(x, y, **kwargs)

    def predict_one(self, x: dict[Any, Any], with_interval: bool = False, **kwargs: Any) -> Any:
        """What the regressor predicts, or the interval around it; nothing changes."""
        output = self.regressor.predict_one(x, **kwargs)
        if not with_interval:
            return output
        p = self._conformal.preview(output)
        return Interval(lower=p.lower, upper=p.upper)

    def metrics(self) -> Metrics:
        """Coverage and width of the intervals whose labels have come."""
        return self._conformal.metrics()  # type: ignore[return-value]


class ConformalClassifier(base.Wrapper, base.Classifier):
    """A classifier with sets of labels that keep their coverage while the world drifts.

    The classes are those that have come so far and those that the classifier names. One that comes for the first time
    counts as of probability 0; while only one is known there is nothing to learn for the tracker.

    Args:
        classifier: a river classifier with ``predict_proba_one``, or a pipeline that ends with one.
        method: the name of a method (``wane.trackers.names()``), or a tracker, which is copied.
        alpha: the share of labels that may be missed.
        score: "aps", "raps", "lac", or such a score from ``wane.scores`` without ``classes``.
        settings: further arguments of ``wane.OnlineConformal`` as a dict, among them hyperparameters of the method.

    >>> from river import naive_bayes
    >>> model = ConformalClassifier(naive_bayes.GaussianNB(), score="lac")
    >>> for t in range(300):
    ...     model.learn_one({"x": t % 7}, "high" if t % 7 > 3 else "low")
    >>> model.predict_set_one({"x": 6})
    {'high'}
    """

    def __init__(
        self,
        classifier: Any,
        method: Any = "auto",
        alpha: float | None = 0.1,
        score: Any = "aps",
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Nothing is learned yet."""
        self.classifier = classifier
        self.method = method
        self.alpha = alpha
        self.score = score
        self.settings = settings
        kind = as_score(score)
        if not isinstance(kind, LabelScore) or kind.classes is not None:
            cure = "use 'aps', 'raps' or 'lac', or make one without classes"
            raise InputError(f"must make sets of labels, and name no classes, got {kind!r}", about="score", cure=cure)
        self._conformal = one_level(method, kind, alpha, settings)
        self._labels: list[Any] = []  # in the order in which they came

    @property
    def _wrapped_model(self) -> Any:
        return self.classifier

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"classifier"}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import naive_bayes

        yield {"classifier": naive_bayes.GaussianNB()}

    def learn_one(self, x: dict[Any, Any], y: Any, **kwargs: Any) -> None:
        """Show the label to the tracker, at the set of now, then to the classifier."""
        labels, p = self._probabilities(x)
        if present("y", y) not in labels:
            labels, p = [*labels, y], np.append(p, 0.0)
        if len(labels) > 1:
            learn(self._conformal, p, labels.index(y))
        self._labels = labels
        self.classifier.learn_one(x, y, **kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """What the classifier predicts."""
        return self.classifier.predict_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probabilities that the classifier gives."""
        return self.classifier.predict_proba_one(x, **kwargs)

    def predict_set_one(self, x: dict[Any, Any]) -> set[Any]:
        """The labels in the set of x; nothing changes."""
        labels, p = self._probabilities(x)
        return {labels[k] for k in self._conformal.preview(p).labels} if len(labels) > 1 else set(labels)

    def metrics(self) -> Metrics:
        """Coverage and size of the sets whose labels have come."""
        return self._conformal.metrics()  # type: ignore[return-value]

    def _probabilities(self, x: dict[Any, Any]) -> tuple[list[Any], np.ndarray]:
        """The classes and their probabilities, all equal where the classifier gives none."""
        given = self.classifier.predict_proba_one(x)
        labels = list(dict.fromkeys([*self._labels, *given]))
        p = np.array([given.get(label, 0.0) for label in labels], dtype=float)
        total = p.sum()
        return labels, p / total if total > 0.0 else np.full(len(labels), 1.0 / max(1, len(labels)))


def one_level(method: Any, score: Any, alpha: Any, settings: dict[str, Any] | None) -> OnlineConformal:
    """An `OnlineConformal` of one level; nobody sees its ids, so it need not remember them."""
    settings = {"history": 0, "on_unbounded": "allow", **(settings or {})}
    conformal = OnlineConformal(copy.deepcopy(method), score, alpha, **settings)
    if isinstance(conformal.alpha, tuple):
        raise InputError(f"must be one level, got {alpha!r}", about="alpha", cure="make one model for each")
    return conformal


def learn(conformal: OnlineConformal, output: Any, y: Any) -> None:
    """One round with its label; a label that is refused changes nothing."""
    conformal.settings.score.label(y)
    conformal.settings.labels([y], 1)  # within the limits
    p = conformal.predict(output)
    try:
        conformal.update(p.id, y)
    except (TypeError, ValueError):
        conformal.expire(p.id)
        raise
