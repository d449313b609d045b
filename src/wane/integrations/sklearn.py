"""Online conformal prediction around scikit-learn estimators: ``fit`` on the past, ``partial_fit`` as labels come.

An interval or a set never rests on its own label. The past is split in the order of its rows: the first part fits the
estimator, the rest warms up the tracker. In ``partial_fit`` each row is first predicted, then learned.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_array, column_or_1d, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from wane.checks import described, scalar
from wane.conformal import Metrics, OnlineConformal
from wane.errors import InputError
from wane.scores import CQR, IntervalScore, Normalised, Score, as_score
from wane.scores.labels import LabelScore

__all__ = ["ConformalClassifier", "ConformalRegressor"]


class Conformal(MetaEstimatorMixin, BaseEstimator):
    """What the two estimators share; a subclass says what the score needs of the estimator, and which scores fit."""

    def fit(self, X: Any, y: Any, **params: Any) -> Any:
        """Fit a clone of the estimator on the first rows, and warm up the tracker on the last ones, in order.

        With ``prefit=True`` the estimator is taken as it is, and all rows warm up the tracker.

        Args:
            X: features.
            y: labels.
            params: what else the ``fit`` of the estimator takes, such as ``sample_weight``. What has a value for each
                row is split with the rows. The tracker counts every row once, whatever its weight.
        """
        X, y = indexable(X, self._checked(y))
        given = self._routed("fit", len(y), params)
        conformal = self._conformal()
        if self.prefit:
            estimator, first = self._prefitted(), 0
        else:
            first = len(y) - math.ceil(self._calibration() * len(y))
            if first < 1:
                problem = f"calibration={self.calibration!r} of n_samples={len(y)} leaves no row to fit the estimator"
                raise InputError(problem, argument="calibration", cure="give more rows, or a smaller share")
            estimator = clone(self.estimator)
            estimator.fit(rows(X, 0, first), y[:first], **part(given, 0, first, len(y)))
        if first < len(y):
            conformal.warm_start(self._outputs(estimator, rows(X, first, len(y))), self._labels(estimator, y[first:]))
        return self._keep(estimator, conformal)

    def _partial_fit(self, X: Any, y: Any, params: dict[str, Any], **at_first: Any) -> Any:
        X, y = indexable(X, self._checked(y))
        learns, new = self._learns(), not hasattr(self, "conformal_")
        if new and not self.prefit and not learns:
            return self.fit(X, y, **params)
        given = self._routed("partial_fit", len(y), params)
        conformal = self._conformal() if new else self.conformal_
        first = 0
        if not new:
            estimator = copy.deepcopy(self.estimator_) if learns else self.estimator_  # kept if all goes well
        elif self.prefit:
            estimator = self._prefitted()
        else:
            estimator, first = clone(self.estimator), 1  # an estimator that has learned nothing predicts nothing
            estimator.partial_fit(rows(X, 0, 1), y[:1], **at_first, **part(given, 0, 1, len(y)))
        if learns:
            said = []
            for t in range(first, len(y)):
                row = rows(X, t, t + 1)
                said.append(self._outputs(estimator, row))
                estimator.partial_fit(row, y[t : t + 1], **part(given, t, t + 1, len(y)))
            outputs = np.concatenate(said) if said else None
        else:
            outputs = self._outputs(estimator, X)
        if outputs is not None:
            conformal.run(outputs, self._labels(estimator, y[first:]))
        return self._keep(estimator, conformal)

    def predict(self, X: Any) -> np.ndarray:
        """What the estimator predicts."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def metrics(self) -> Metrics | dict[float, Metrics]:
        """How the rounds of ``partial_fit`` have gone so far; with several levels, by alpha."""
        check_is_fitted(self)
        return self.conformal_.metrics()

    @property
    def coverage_(self) -> Any:
        """The share of labels that ``partial_fit`` found covered, NaN before the first; an array for several levels."""
        said = self.metrics()
        return said.coverage if isinstance(said, Metrics) else np.array([m.coverage for m in said.values()])

    def get_metadata_routing(self) -> Any:
        """Say what is passed on to the estimator, for scikit-learn's metadata routing."""
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=mapping)

    def _routed(self, method: str, n: int, params: dict[str, Any]) -> dict[str, Any]:
        """What the estimator is to be given beside X and y; with metadata routing, only what it asks for."""
        if params.get("sample_weight") is not None:
            weights = check_array(params["sample_weight"], ensure_2d=False, input_name="sample_weight")
            if weights.shape != (n,):
                problem = f"must have one weight for each of {n} rows, got shape {weights.shape}"
                raise InputError(problem, about="sample_weight")
            params = {**params, "sample_weight": weights}
        if params and get_config().get("enable_metadata_routing", False):
            return dict(process_routing(self, method, **params).estimator[method])
        return params

    def __sklearn_tags__(self) -> Any:
        """Sparse and missing features are welcome where the estimator takes them."""
        from sklearn.utils import get_tags  # scikit-learn 1.6; older ones do not ask for tags

        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _conformal(self) -> OnlineConformal:
        """A new one; nobody sees its ids, so it need not remember them."""
        settings = {"history": 0, "on_unbounded": "allow", **(self.settings or {})}
        return OnlineConformal(copy.deepcopy(self.method), self._score(), self.alpha, **settings)

    def _calibration(self) -> float:
        share = scalar("calibration", self.calibration)
        if not 0.0 <= share < 1.0:
            problem = f"calibration, a share of the rows, must lie in [0, 1), got {self.calibration!r}"
            raise InputError(problem, argument="calibration")
        return share

    def _prefitted(self) -> Any:
        """The estimator as it is; a copy if it will learn, so that the user's own stays the same."""
        check_is_fitted(self.estimator)
        return copy.deepcopy(self.estimator) if self._learns() else self.estimator

    def _learns(self) -> bool:
        """Whether the estimator goes on learning after it is fitted."""
        return bool(self.update_estimator) and hasattr(self.estimator, "partial_fit")

    def _checked(self, y: Any) -> np.ndarray:
        if y is None:
            problem = f"{type(self).__name__} requires y to be passed, but the target y is None"
            raise InputError(problem, argument="y")
        return column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)

    def _keep(self, estimator: Any, conformal: OnlineConformal) -> Any:
        self.estimator_, self.conformal_ = estimator, conformal
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
            elif name in vars(self):  # of what was fitted before
                delattr(self, name)
        return self

    def _previews(self, X: Any) -> list[Any]:
        check_is_fitted(self)
        return [self.conformal_.preview(output) for output in self._outputs(self.estimator_, X)]

    def _score(self) -> Score:
        raise NotImplementedError

    def _outputs(self, estimator: Any, X: Any) -> np.ndarray:
        """What the score needs, a row for each row of X."""
        raise NotImplementedError

    def _labels(self, estimator: Any, y: np.ndarray) -> np.ndarray:
        """The labels as the score takes them."""
        raise NotImplementedError


class ConformalRegressor(RegressorMixin, Conformal):
    """A regressor with intervals that keep their coverage while the world drifts.

    Args:
        estimator: a regressor. ``"normalised"`` needs one whose ``predict`` takes ``return_std=True``.
        method: the name of a method (``wane.trackers.names()``), or a tracker, which is copied.
        alpha: the share of labels that may be missed; or several, then the intervals are nested.
        conformity_score: "absolute", "signed", "normalised", "one-sided", or such a score from ``wane.scores``
            (``score`` is scikit-learn's own).
        calibration: the share of the rows of ``fit``, the last ones, that warm up the tracker instead of fitting the
            estimator; 0 leaves the tracker cold.
        prefit: take the estimator as it is, fitted, and do not fit it again. In searches, which clone, put
            ``sklearn.frozen.FrozenEstimator`` around it.
        update_estimator: let the estimator learn in ``partial_fit`` too, if it has a ``partial_fit``.
        settings: further arguments of ``wane.OnlineConformal`` as a dict: limits of the labels, hyperparameters of the
            method, what to do about an infinite radius (here allowed unless you say otherwise).

    After fitting, ``estimator_`` is the fitted estimator and ``conformal_`` the `wane.OnlineConformal`.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(400.0).reshape(-1, 1)
    >>> y = 2.0 * X[:, 0] + np.tile([-1.0, 0.5, 1.0, -0.5], 100)
    >>> model = ConformalRegressor(LinearRegression()).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    >>> model.predict_interval([[400.0]]).round(1).tolist()
    [[799.0, 801.1]]
    """

    def __init__(
        self,
        estimator: Any,
        method: Any = "auto",
        alpha: Any = 0.1,
        *,
        conformity_score: Any = "absolute",
        calibration: float = 0.3,
        prefit: bool = False,
        update_estimator: bool = True,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Store the arguments; they are checked when it is fitted."""
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.prefit = prefit
        self.update_estimator = update_estimator
        self.settings = settings

    def partial_fit(self, X: Any, y: Any, **params: Any) -> ConformalRegressor:
        """Rows in order, as they come: each is predicted, its label learned by the tracker, then by the estimator.

        It may be the first call. An unfitted estimator that has a ``partial_fit`` learns the first row alone; for one
        that has none, the first call is ``fit``. The parameters are those of ``fit``. After an error everything is as
        before the call.
        """
        return self._partial_fit(X, y, params)

    def predict_interval(self, X: Any) -> np.ndarray:
        """The interval of each row as of now, (rows, 2), or (rows, levels, 2) for several levels; nothing changes."""
        ends = np.array([(p.lower, p.upper) for p in self._previews(X)])
        return ends if ends.ndim == 2 else ends.swapaxes(1, 2)

    def _score(self) -> Score:
        score = as_score(self.conformity_score)
        if not isinstance(score, IntervalScore) or isinstance(score, CQR):
            problem = f"must make intervals of forecasts, or of forecasts and deviations, got {score!r}"
            cure = "for others give what your model says to wane.OnlineConformal"
            raise InputError(problem, about="conformity_score", cure=cure)
        return score

    def _outputs(self, estimator: Any, X: Any) -> np.ndarray:
        if isinstance(as_score(self.conformity_score), Normalised):
            return np.column_stack(estimator.predict(X, return_std=True))
        return column_or_1d(estimator.predict(X))

    def _labels(self, estimator: Any, y: np.ndarray) -> np.ndarray:
        return y


class ConformalClassifier(ClassifierMixin, Conformal):
    """A classifier with sets of labels that keep their coverage while the world drifts.

    Args:
        estimator: a classifier with ``predict_proba``.
        method: the name of a method (``wane.trackers.names()``), or a tracker, which is copied.
        alpha: the share of labels that may be missed; or several, then the sets are nested.
        conformity_score: "aps", "raps", "lac", or such a score from ``wane.scores`` without ``classes``: those of the
            estimator are taken.
        calibration: the share of the rows of ``fit``, the last ones, that warm up the tracker instead of fitting the
            estimator; 0 leaves the tracker cold.
        prefit: take the estimator as it is, fitted, and do not fit it again. In searches, which clone, put
            ``sklearn.frozen.FrozenEstimator`` around it.
        update_estimator: let the estimator learn in ``partial_fit`` too, if it has a ``partial_fit``.
        settings: further arguments of ``wane.OnlineConformal`` as a dict, among them hyperparameters of the method.

    After fitting, ``estimator_`` is the fitted estimator and ``conformal_`` the `wane.OnlineConformal`, whose labels
    are indices of ``classes_``.

    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.tile([[0.0], [1.0], [2.0], [2.0], [3.0], [9.0], [10.0]], (50, 1))
    >>> y = np.tile(["a", "a", "a", "b", "b", "c", "c"], 50)
    >>> model = ConformalClassifier(GaussianNB(), "magl", conformity_score="lac").fit(X, y)
    >>> model.classes_[model.predict_set([[2.0]])[0]].tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        estimator: Any,
        method: Any = "auto",
        alpha: Any = 0.1,
        *,
        conformity_score: Any = "aps",
        calibration: float = 0.3,
        prefit: bool = False,
        update_estimator: bool = True,
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Store the arguments; they are checked when it is fitted."""
        self.estimator = estimator
        self.method = method
        self.alpha = alpha
        self.conformity_score = conformity_score
        self.calibration = calibration
        self.prefit = prefit
        self.update_estimator = update_estimator
        self.settings = settings

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> ConformalClassifier:
        """Rows in order, as they come: each is predicted, its label learned by the tracker, then by the estimator.

        It may be the first call. An unfitted estimator that has a ``partial_fit`` learns the first row alone, and needs
        all ``classes`` then; for one that has none, the first call is ``fit``. The parameters are those of ``fit``.
        After an error everything is as before the call.
        """
        return self._partial_fit(X, y, params, classes=classes)

    def predict_set(self, X: Any) -> np.ndarray:
        """Whether each class is in the set of each row as of now; nothing changes.

        A boolean array (rows, classes), or (rows, levels, classes) for several levels; the columns are ``classes_``. A
        randomised score takes the uniform of the next round for every row.
        """
        previews = self._previews(X)
        inside = np.zeros((len(previews), len(self.conformal_.alphas), len(self.classes_)), dtype=bool)
        for i, p in enumerate(previews):
            for level, made in enumerate(p.sets):
                inside[i, level, list(made)] = True
        return inside if isinstance(self.conformal_.alpha, tuple) else inside[:, 0]

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities that the estimator gives."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _checked(self, y: Any) -> np.ndarray:
        y = super()._checked(y)
        check_classification_targets(y)
        return y

    def _score(self) -> Score:
        score = as_score(self.conformity_score)
        if not isinstance(score, LabelScore) or score.classes is not None:
            problem = f"must make sets of labels, and name no classes, got {score!r}"
            cure = "use 'aps', 'raps' or 'lac', or make one without classes"
            raise InputError(problem, about="conformity_score", cure=cure)
        return score

    def _outputs(self, estimator: Any, X: Any) -> np.ndarray:
        return estimator.predict_proba(X)

    def _labels(self, estimator: Any, y: np.ndarray) -> np.ndarray:
        known = np.isin(y, estimator.classes_)
        if not known.all():
            raise InputError(
                f"has the label {described(y[~known][0])}, the estimator knows {estimator.classes_}",
                about="y",
                cure="shuffle sorted rows before fit, or give partial_fit all classes at its first call",
            )
        return np.searchsorted(estimator.classes_, y)


def rows(X: Any, start: int, stop: int) -> Any:
    """Some rows of an array, a sparse matrix, a data frame or a list."""
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def part(params: dict[str, Any], start: int, stop: int, n: int) -> dict[str, Any]:
    """Parameters for some rows: a value for each of the n rows is cut, any other stays as it is."""
    each = {k for k, v in params.items() if not isinstance(v, (str, bytes)) and hasattr(v, "__len__") and len(v) == n}
    return {k: rows(v, start, stop) if k in each else v for k, v in params.items()}
