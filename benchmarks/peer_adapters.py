"""Other packages for online conformal prediction behind one interface, each used as its documentation shows.

A ``Stepwise`` method is shown ``warm_up`` rounds, then asked for an ``interval`` around each forecast and told the
``label`` after it, so that it cannot look ahead. A method that takes forecasts and labels in one call has ``run``
instead. Packages are imported when a method is made.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import io
from collections.abc import Callable
from typing import Any

import numpy as np

import wane

Pair = tuple[float, float]
WINDOW = 300  # of river's window, where its documentation advises one and names none: the rounds of the warm-up


class Stepwise:
    """A method that is asked one round at a time."""

    def warm_up(self, y_hat: np.ndarray, y: np.ndarray) -> None:
        """Play rounds that are not scored; by default like all others."""
        for forecast, label in zip(y_hat.tolist(), y.tolist(), strict=True):
            self.interval(forecast)
            self.label(label)

    def interval(self, y_hat: float) -> Pair:
        raise NotImplementedError

    def label(self, y: float) -> None:
        raise NotImplementedError

    def run(self, y_hat: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The intervals of these rounds, (T, 2)."""
        intervals = []
        for forecast, label in zip(y_hat.tolist(), y.tolist(), strict=True):
            intervals.append(self.interval(forecast))
            self.label(label)
        return np.array(intervals, float)


class Wane(Stepwise):
    """``wane.OnlineConformal`` by the name of a method, with its defaults."""

    def __init__(self, alpha: float, method: str, **settings: Any) -> None:
        self.conformal = wane.OnlineConformal(method, alpha=alpha, on_unbounded="allow", **settings)

    def interval(self, y_hat: float) -> Pair:
        self.last = self.conformal.predict(y_hat)
        return self.last.lower, self.last.upper

    def label(self, y: float) -> None:
        self.conformal.update(self.last.id, y)


class Mapie(Stepwise):
    """``TimeSeriesRegressor(method="aci")`` around a fitted model; gamma is that of MAPIE's tutorial.

    The tutorial updates the residuals first and adapts alpha second, which judges a label by an interval that has seen
    it; ``tutorial=True`` does that, otherwise alpha is adapted by the interval that was played.
    """

    def __init__(self, alpha: float, gamma: float = 0.05, tutorial: bool = False) -> None:
        from mapie.regression import TimeSeriesRegressor
        from sklearn.base import BaseEstimator, RegressorMixin

        class Forecast(RegressorMixin, BaseEstimator):
            """The forecast is the only feature."""

            def fit(self, X: Any, y: Any) -> Any:
                self.n_features_in_ = 1
                return self

            def __sklearn_is_fitted__(self) -> bool:
                return True

            def predict(self, X: Any) -> np.ndarray:
                return np.asarray(X)[:, 0]

        self.level, self.gamma, self.tutorial = 1.0 - alpha, gamma, tutorial
        self.model = TimeSeriesRegressor(Forecast().fit(None, None), method="aci", cv="prefit")

    def warm_up(self, y_hat: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(y_hat[:, None], y)

    def interval(self, y_hat: float) -> Pair:
        self.x = np.array([[y_hat]])
        _, bounds = self.model.predict(self.x, confidence_level=self.level, allow_infinite_bounds=True)
        return bounds[0, 0, 0], bounds[0, 1, 0]

    def label(self, y: float) -> None:
        labels = np.array([y])
        if self.tutorial:
            self.model.update(self.x, labels)
        self.model.adapt_conformal_inference(self.x, labels, gamma=self.gamma)
        if not self.tutorial:
            self.model.update(self.x, labels)


class River(Stepwise):
    """``conf.RegressionJackknife`` around a regressor that repeats the forecast."""

    def __init__(self, alpha: float, window: int | None = None) -> None:
        from river import base, conf

        class Forecast(base.Regressor):
            """The forecast is the only feature."""

            def learn_one(self, x: dict, y: float) -> None:
                pass

            def predict_one(self, x: dict) -> float:
                return x["forecast"]

        self.model = conf.RegressionJackknife(Forecast(), confidence_level=1.0 - alpha, window_size=window)

    def interval(self, y_hat: float) -> Pair:
        self.x = {"forecast": y_hat}
        interval = self.model.predict_one(self.x, with_interval=True)
        return interval.lower, interval.upper

    def label(self, y: float) -> None:
        self.model.learn_one(self.x, y)


class Crepes:
    """``ConformalRegressor`` with online calibration, which takes the labels in the same call as the forecasts.

    With ``system=True`` it is ``ConformalPredictiveSystem``, whose two ends are quantiles of their own.
    """

    def __init__(self, alpha: float, system: bool = False) -> None:
        from crepes import ConformalPredictiveSystem, ConformalRegressor

        self.level, self.model = 1.0 - alpha, ConformalPredictiveSystem() if system else ConformalRegressor()

    def warm_up(self, y_hat: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(y - y_hat)

    def run(self, y_hat: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.model.predict_int_online(y_hat, y, confidence=self.level)


class OnlineCP(Stepwise):
    """``ConformalRidgeRegressor`` of the errors of the forecast on a constant, since it wraps no model of others.

    With ``errors=False`` it regresses the label on the forecast and a constant instead.
    """

    def __init__(self, alpha: float, errors: bool = True) -> None:
        from online_cp import ConformalRidgeRegressor

        self.model, self.errors = ConformalRidgeRegressor(a=1.0, epsilon=alpha, warnings=False), errors

    def object(self, y_hat: Any) -> np.ndarray:
        ones = np.ones_like(y_hat)
        return ones[..., None] if self.errors else np.stack([ones, y_hat], axis=-1)

    def warm_up(self, y_hat: np.ndarray, y: np.ndarray) -> None:
        self.model.learn_initial_training_set(self.object(y_hat), y - y_hat if self.errors else y)

    def interval(self, y_hat: float) -> Pair:
        self.centre = y_hat if self.errors else 0.0
        self.x = self.object(y_hat)
        found, self.computed = self.model.predict(self.x, return_update=True)
        return self.centre + found.lower, self.centre + found.upper

    def label(self, y: float) -> None:
        self.model.learn_one(self.x, y - self.centre, self.computed)


class ConformalOpt(Stepwise):
    """``ConformalPredictor`` of absolute errors; what is not given is tuned by its ``fit`` on the warm-up.

    ``fit`` forgets all rounds it has tuned on, so they are played again.
    """

    def __init__(self, alpha: float, rate: str, tracker: str = "linear", **given: float) -> None:
        from conformalopt import ConformalPredictor

        # hypers is never left out: its default is one dict that all its objects share and write to
        self.model = ConformalPredictor(alpha=alpha, lr_type=rate, quantile_tracker=tracker, hypers=given)

    def warm_up(self, y_hat: np.ndarray, y: np.ndarray) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # a bar, a print
            self.model.fit(list(np.abs(y - y_hat)))
        super().warm_up(y_hat, y)

    def interval(self, y_hat: float) -> Pair:
        self.centre, self.radius = y_hat, self.model.predict()
        return y_hat - self.radius, y_hat + self.radius

    def label(self, y: float) -> None:
        self.model.step(self.radius, abs(y - self.centre))


class AdaptiveConformalInference(Stepwise):
    """``aci.ACI`` as in its README: gamma 0.005, the last 500 scores."""

    def __init__(self, alpha: float, gamma: float = 0.005) -> None:
        from aci import ACI

        self.model = ACI(alpha=alpha, gamma=gamma, lookback=500, method="simple")

    def interval(self, y_hat: float) -> Pair:
        return self.model.issue(y_hat)

    def label(self, y: float) -> None:
        self.model.observe(y)


@dataclasses.dataclass(frozen=True)
class Method:
    """A line of the table: a package, what of it, and how it is made for a level."""

    package: str
    name: str
    make: Callable[[float], Any]

    @property
    def version(self) -> str | None:
        """None where the package is not installed."""
        if self.package == "wane":
            return wane.__version__
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


OURS = ("auto", "faci", "pid", "aci", "magdis", "magl", "magl-d", "split")


def methods() -> list[Method]:
    """All that are compared."""
    ours = [Method("wane", name, lambda alpha, name=name: Wane(alpha, name)) for name in OURS]
    return [
        *ours,
        Method("wane", "aci, gamma 0.05, last 500", lambda alpha: Wane(alpha, "aci", gamma=0.05, window=500)),
        Method("mapie", "ACI", Mapie),
        Method("mapie", "ACI, order of its tutorial", lambda alpha: Mapie(alpha, tutorial=True)),
        Method("river", "jackknife", River),
        Method("river", "jackknife, window", lambda alpha: River(alpha, WINDOW)),
        Method("crepes", "online calibration", Crepes),
        Method("crepes", "online predictive system", lambda alpha: Crepes(alpha, system=True)),
        Method("online-cp", "ridge of the errors", OnlineCP),
        Method("online-cp", "ridge on the forecast", lambda alpha: OnlineCP(alpha, errors=False)),
        Method("conformalopt", "linear, fixed rate", lambda alpha: ConformalOpt(alpha, "fixed")),
        Method("conformalopt", "linear, decaying rate", lambda alpha: ConformalOpt(alpha, "decaying")),
        Method("conformalopt", "linear, proportional rate", lambda alpha: ConformalOpt(alpha, "proportional")),
        Method(
            "conformalopt",
            "scalar, proportional rate 0.1",
            lambda alpha: ConformalOpt(alpha, "proportional", "scalar", lr=0.1),
        ),
        Method("adaptive-conformal-inference", "ACI", AdaptiveConformalInference),
        Method(
            "adaptive-conformal-inference", "ACI, gamma 0.05", lambda alpha: AdaptiveConformalInference(alpha, 0.05)
        ),
    ]
