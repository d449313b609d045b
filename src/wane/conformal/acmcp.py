"""AcMCP, for several steps ahead (Wang, Hyndman 2024, arXiv 2410.13115): the forecast of errors that links the steps.

The errors of good forecasts of h steps ahead are a moving average of order h - 1, and depend on the errors of the same
forecast for the steps before. Both are fitted again for each forecast, and their mean moves the interval.
``wane.trackers.acmcp`` has the rest of the rule. Verified by reading the authors' R package conformalForecast, and
against a slow transcription of its loops in the tests; the package itself was not run. Differences from the package:

1. The regression is asked about the earlier steps of this forecast, as the paper reads. The package asks about those of
   the forecast made h - 1 times before (``published=True``).
2. The moving average is fitted by exact maximum likelihood from 0; R begins at conditional least squares.
3. An error that never comes is left out; R's moving average knows the gap.
4. Intervals exist from the first forecast, and their ends never cross.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import flag, whole
from wane.conformal.settings import levels_given
from wane.errors import InputError
from wane.trackers.acmcp import StepControl

LEAST = 10  # errors, as in the package
WORST = 1e10  # the likelihood where a covariance is not positive definite
OWN = ("rate", "gain", "saturation")  # settings of the trackers
NEEDS = "acmcp needs forecasts of all steps at every time"


class ErrorForecasts:
    """The errors of all forecasts so far, with a row for each forecast, and the forecasts of their errors.

    Args:
        steps: H, how many steps ahead.
        burn_in: how many errors of a step there must be before its next is forecast; the package's ``ncal``.
        rolling: whether only the last ``burn_in`` errors count.
        published: whether the regression is asked what the package asks it.
    """

    def __init__(self, steps: int, burn_in: int = 100, rolling: bool = True, published: bool = False) -> None:
        """Begin without forecasts."""
        self.steps = steps
        self.burn_in = whole("burn_in", burn_in, max(LEAST, steps + 2))
        self.rolling, self.published = flag("rolling", rolling), flag("published", published)
        self.first = 0  # the number of the forecast in the first row
        self.errors = np.zeros((0, steps))  # NaN where one is not known
        self.made = np.zeros((0, steps))  # what was forecast; NaN where there was nothing to rest on

    def forecast(self, origin: int) -> np.ndarray:
        """Return a forecast of the errors of the forecast with this number; NaN where there are too few errors."""
        found = np.full(self.steps, math.nan)
        for h in range(1, self.steps + 1):
            rows = self._window(h)
            if len(rows) < self.burn_in:
                continue
            errors = self.errors[rows, h - 1]
            if h == 1:
                found[0] = errors.mean()
                continue
            asked = self._asked(origin - h + 1) if self.published else found
            expected = regressed(self.errors[rows, : h - 1], errors, asked[: h - 1])
            found[h - 1] = 0.5 * (moving_average_mean(errors, h - 1) + expected)
        return found

    def open(self, origin: int, made: np.ndarray) -> None:
        """Keep a row for the forecast with this number. Rows that no window can reach any more are dropped."""
        rows = origin + 1 - self.first
        for name in ("errors", "made"):
            table = np.full((rows, self.steps), math.nan)
            table[: rows - 1] = getattr(self, name)[: rows - 1]
            setattr(self, name, table)
        self.made[-1] = made
        windows = [self._window(h) for h in range(1, self.steps + 1)]
        if self.rolling and all(len(window) == self.burn_in for window in windows):
            old = min(int(min(window[0] for window in windows)), rows - self.steps)
            if old > 0:
                self.errors, self.made, self.first = self.errors[old:], self.made[old:], self.first + old

    def learn(self, origin: int, step: int, error: float) -> None:
        """Learn the error of one step of a forecast; NaN takes it back."""
        if origin >= self.first:
            self.errors[origin - self.first, step - 1] = error

    def play(self, number: int, errors: np.ndarray, delay: int, earlier: Any) -> np.ndarray:
        """Forecast the errors of many forecasts, and learn each error when it is known; returns a row for each step.

        Args:
            number: of the first forecast.
            errors: of all of them, a row each.
            delay: how many times later a label is known.
            earlier: errors of forecasts before the first, by step and time: the number of the forecast, and the error.
        """
        made = np.full_like(errors, math.nan)
        for i in range(len(errors) + 1):
            tau = i - delay  # the time whose label is known now
            for h in range(1, self.steps + 1):
                if tau >= h:
                    self.learn(number + tau - h, h, float(errors[tau - h, h - 1]))
                elif (h, tau) in earlier:
                    self.learn(earlier[h, tau][0], h, earlier[h, tau][1])
            if i < len(errors):
                made[i] = self.forecast(number + i)
                self.open(number + i, made[i])
        return np.nan_to_num(made).T

    def past(self, errors: np.ndarray) -> None:
        """Learn from forecasts of the past, a row each, before the first one of one's own."""
        if self.first + len(self.errors) > 0:
            raise InputError("forecasts were made already", cure="call warm_start before the first")
        self.errors = np.concatenate([self.errors, errors])
        self.made = np.full_like(self.errors, math.nan)
        self.first = -len(self.errors)

    def _window(self, h: int) -> np.ndarray:
        """Return the rows whose error of step h counts."""
        known = np.flatnonzero(~np.isnan(self.errors[:, h - 1]))
        return known[-self.burn_in :] if self.rolling else known

    def _asked(self, origin: int) -> np.ndarray:
        """Return what was forecast of the errors of an earlier forecast."""
        row = origin - self.first
        return self.made[row] if 0 <= row < len(self.made) else np.full(self.steps, math.nan)

    def __copy__(self) -> ErrorForecasts:
        """Return a copy that shares nothing that changes."""
        made = ErrorForecasts(self.steps, self.burn_in, self.rolling, self.published)
        made.first, made.errors, made.made = self.first, self.errors.copy(), self.made.copy()
        return made

    def settings(self) -> dict[str, Any]:
        """Return the arguments that made it, as plain data."""
        return {"burn_in": self.burn_in, "rolling": self.rolling, "published": self.published}

    def memory(self) -> dict[str, Any]:
        """Return what it has learned, as plain data."""
        return {"first": self.first, "errors": plain(self.errors), "made": plain(self.made)}

    @classmethod
    def from_plain(cls, steps: int, settings: Any, memory: Any) -> ErrorForecasts:
        """Make it from plain data; an error if that is damaged."""
        made = cls(steps, **settings)
        made.first = whole("first", memory["first"], -(2**53))
        made.errors, made.made = (np.array(memory[k], dtype=float).reshape(-1, steps) for k in ("errors", "made"))
        if len(made.errors) != len(made.made) or np.isinf(made.errors).any() or np.isinf(made.made).any():
            raise InputError("the errors of forecasts must be finite, in tables of one length", argument="state")
        return made


def begin(steps: int, alpha: Any, settings: dict[str, Any]) -> tuple[ErrorForecasts, list[list[StepControl]], Any, Any]:
    """Return the forecasts of errors, the trackers of each step, the levels, and the settings that are left."""
    alpha, left = levels_given(alpha, dict(settings))
    burn_in, rolling = left.pop("burn_in", 100), left.pop("rolling", True)
    published = left.pop("published", False)
    forecasts = ErrorForecasts(steps, burn_in, rolling, published)
    own = {name: left.pop(name) for name in OWN if name in left}
    own |= {"window": forecasts.burn_in if rolling else 0, "tie": "covered" if published else "miss"}
    levels = alpha if isinstance(alpha, tuple) else (alpha,)
    trackers = [
        [StepControl(a / 2.0, side, **own) for side in ("lower", "upper") for a in levels] for _ in range(steps)
    ]
    return forecasts, trackers, alpha, left


def known_at(y: list[Any], time: int) -> Any:
    """Return the label of a time, or None if ``y`` does not reach it."""
    return y[time] if 0 <= time < len(y) else None


def errors_at(steps: Any, target: Any, y: Any) -> list[tuple[int, int, float]]:
    """Return the errors of all predictions about a time: the number of the forecast, the step, and the error."""
    found = [(h, oc._waiting.pending.get(target), oc) for h, oc in enumerate(steps, 1)]
    return [(made.number, h, float(oc.score.label(y) - made.output)) for h, made, oc in found if made is not None]


def errors_of(steps: Any, outputs: Any, y: list[Any]) -> np.ndarray:
    """Return the errors of forecasts, a row each, made at the times 0, 1, ...; NaN where there is no label."""
    columns = []
    for h, oc in enumerate(steps, 1):
        labels, known = oc.score.labels([known_at(y, i + h) for i in range(len(outputs))], len(outputs))
        columns.append(np.where(known, labels - oc.score.outputs(outputs[:, h - 1]), math.nan))
    return np.array(columns).T


def earlier_errors(steps: Any, y: list[Any], start: int, delay: int, keys: Any) -> dict[tuple[int, int], Any]:
    """Return the errors of forecasts made before the first of a run, by step and time, for ``ErrorForecasts.play``.

    With keys of the user's, only the label of the first time is learned then.
    """
    found = {}
    for h, oc in enumerate(steps, 1):
        labels, known = oc.score.labels(y[:h], len(y[:h]))
        for tau in range(len(labels) if keys is None else min(len(labels), 0 if delay else 1)):
            made = oc._waiting.pending.get(start + tau if keys is None else keys[tau])
            if made is not None and known[tau]:
                found[h, tau] = made.number, float(labels[tau] - made.output)
    return found


def plain(table: np.ndarray) -> list[list[float | None]]:
    """Return a table as lists, with None for NaN."""
    return [[None if math.isnan(x) else x for x in row] for row in table.tolist()]


def regressed(earlier: np.ndarray, errors: np.ndarray, asked: np.ndarray) -> float:
    """Regress errors on those of the earlier steps, with an intercept, and return what that says about others.

    >>> earlier = np.array([[1.0], [2.0], [4.0]])
    >>> round(regressed(earlier, 1.0 + 3.0 * earlier[:, 0], np.array([5.0])), 6)
    16.0
    """
    whole_rows = ~np.isnan(earlier).any(axis=1)
    design = np.column_stack([np.ones(int(whole_rows.sum())), earlier[whole_rows]])
    weights = np.linalg.lstsq(design, errors[whole_rows], rcond=None)[0]
    return float(weights[0] + weights[1:] @ asked)


def moving_average_mean(x: np.ndarray, order: int) -> float:
    """Return the mean of a moving average of this order, by exact maximum likelihood.

    It is the forecast of any step beyond the order. The likelihood is that of a Gaussian whose covariance is a band.
    The search is over partial autocorrelations, so that every candidate is invertible.

    >>> round(moving_average_mean(np.array([1.0, 3.0, 2.0, 2.0, 4.0, 0.0]), 1), 2)
    2.21
    """
    from scipy.linalg import LinAlgError, cholesky_banded  # here, because importing them takes a tenth of a second
    from scipy.linalg.lapack import dtbtrs
    from scipy.optimize import minimize

    centre, unit = float(x.mean()), float(x.std())
    if unit <= 1e-12 * (abs(centre) + 1e-300):
        return centre
    both = np.column_stack([(x - centre) / unit, np.ones(len(x))])

    def fitted(free: np.ndarray) -> tuple[float, float]:
        # The mean, by generalised least squares, and minus the logarithm of the likelihood over the length.
        shocks = np.ones(1)
        for r in np.tanh(free):
            shocks = np.append(shocks, 0.0) + r * np.append(shocks, 0.0)[::-1]
        band = np.empty((order + 1, len(x)))
        for lag in range(order + 1):
            band[lag] = shocks[: order + 1 - lag] @ shocks[lag:]
        try:
            root = cholesky_banded(band, lower=True, check_finite=False)
        except LinAlgError:
            return 0.0, WORST
        z, one = dtbtrs(root, both, uplo=b"L")[0].T
        mean = float(one @ z / (one @ one))
        variance = float(np.mean((z - mean * one) ** 2))
        return mean, 0.5 * math.log(max(variance, 1e-300)) + float(np.log(root[0]).mean())

    best = minimize(lambda free: fitted(free)[1], np.zeros(order), method="L-BFGS-B").x
    return centre + unit * fitted(best)[0]
