"""Forecasts one step ahead, made from the past only: an autoregression on a rolling window, a scale of its errors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from wane.checks import positive, real_array, whole
from wane.errors import InputError

LARGEST = 1e100  # of a value: sums of squares over a window then fit a float
AT_ONCE = 1 << 21  # numbers in the windows that are solved together: 16 MB
MOST_DIFFERENCES = 2


def rolling_ar(
    y: Any,
    lags: int = 3,
    window: int = 250,
    *,
    seasonal: Iterable[int] = (),
    differences: int = 0,
    start: int | None = None,
    refit: int = 1,
    ridge: float = 1e-6,
) -> np.ndarray:
    """Forecasts of an autoregression that is fitted again and again to the last rounds.

    The forecast of round t is linear in the values that many rounds earlier, with an intercept; its coefficients are
    those of least squares over the last ``window`` rounds before t. It depends on ``y[:t]`` only. Values are centred on
    each window before anything is squared, so a high level does not drown small changes.

    A missing value (NaN) is nothing to learn from; as an input it is replaced by the last value before it.

    Args:
        y: (T,), the values.
        lags: the last values 1, 2, ..., lags rounds ago are inputs.
        window: how many rounds are fitted.
        seasonal: further lags, such as 24 for the same hour of the day before.
        differences: 1 forecasts the change of the value instead of the value, 2 the change of the change.
        start: forecast from so many rounds on, fitting all of them until there is a window; None: the window.
        refit: solve for new coefficients every so many rounds.
        ridge: > 0, the penalty on squared coefficients, as a share of the mean squared deviation of the inputs.

    Returns:
        (T,), the forecast of each round; NaN as long as there is none.

    >>> import numpy as np
    >>> wave = 1e5 + np.sin(0.3 * np.arange(100))  # two lags tell the next value
    >>> y_hat = rolling_ar(wave, lags=2, window=50, ridge=1e-9)
    >>> int(np.isnan(y_hat).sum()), bool(np.allclose(y_hat[52:], wave[52:], rtol=0, atol=1e-6))
    (52, True)
    """
    y = values("y", y)
    behind = sorted({*range(1, whole("lags", lags, 1) + 1), *(whole("seasonal", s, 1) for s in seasonal)})
    window, refit = whole("window", window, len(behind) + 1), whole("refit", refit, 1)
    start = window if start is None else whole("start", start, 2, window + 1)
    order, ridge = whole("differences", differences, 0, MOST_DIFFERENCES + 1), positive("ridge", ridge)
    z, base = _differenced(carried(y), order)
    inputs = np.stack([_delayed(z, k) for k in behind], axis=1)
    ready = np.isfinite(inputs).all(axis=1)
    table = np.concatenate([inputs, z[:, None]], axis=1)[learned := ready & np.isfinite(z) & ~np.isnan(y)]
    seen = np.concatenate([[0], np.cumsum(learned)[:-1]])  # rows of the table before each round
    rounds = np.flatnonzero(ready & (seen >= start))
    y_hat = np.full(len(y), np.nan)
    if rounds.size:
        fitted = rounds[::refit]
        slopes, intercepts = _fits(table, seen[fitted], window, ridge)
        fit = np.arange(rounds.size) // refit
        y_hat[rounds] = base[rounds] + intercepts[fit] + (inputs[rounds] * slopes[fit]).sum(axis=1)
    return y_hat


def ewma_scale(errors: Any, half_life: float, initial: float = 1.0) -> np.ndarray:
    """How far off to expect each forecast: the root of an exponentially weighted mean of the squared errors before it.

    Args:
        errors: (T,); NaN where there is no error, which changes nothing.
        half_life: so many errors ago, an error weighs half as much as the last one.
        initial: the scale before there is an error other than 0.

    Returns:
        (T,), > 0; errors of 0 for so long that the mean is 0 in floats leave the last scale before that.

    >>> ewma_scale([3.0, 4.0, float("nan"), 0.0], half_life=1.0).round(3)
    array([1.   , 3.   , 3.697, 3.697])
    """
    errors = values("errors", errors)
    initial, decay = positive("initial", initial), 0.5 ** (1.0 / positive("half_life", half_life))
    there = ~np.isnan(errors)
    square = (errors[there] ** 2).tolist()
    sums, weights = (
        np.array(list(itertools.accumulate(terms, lambda total, term: decay * total + term)))
        for terms in (square, [1.0] * len(square))
    )
    scale = np.sqrt(sums / weights)
    scale = carried(np.where(scale > 0.0, scale, np.nan))
    before = np.concatenate([[initial], np.where(np.isnan(scale), initial, scale)])
    return before[np.concatenate([[0], np.cumsum(there)])[:-1]]


def values(name: str, given: Any) -> np.ndarray:
    """Numbers, one a round, NaN where one is missing."""
    array = real_array(name, given)
    if array.ndim != 1:
        raise InputError(f"must have shape (rounds,), got {array.shape}", about=name)
    if (bad := ~np.isnan(array) & ~(np.abs(array) <= LARGEST)).any():
        t = int(np.argmax(bad))
        cure = "rescale, or NaN if it is missing"
        raise InputError(f"must lie within +-{LARGEST:g}, got {array[t]}", about=name, row=t, cure=cure)
    return array


def carried(y: np.ndarray) -> np.ndarray:
    """The values, each missing one replaced by the last before it; NaN before the first.

    >>> carried(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([nan,  1.,  1.,  3.])
    """
    last = np.maximum.accumulate(np.where(np.isnan(y), -1, np.arange(len(y))))
    return np.where(last < 0, np.nan, y[last]) if len(y) else y


def _delayed(y: np.ndarray, rounds: int) -> np.ndarray:
    return np.concatenate([np.full(min(rounds, len(y)), np.nan), y[: max(len(y) - rounds, 0)]])


def _differenced(y: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The differences of that order, and what to add to a forecast of one to have a forecast of the value."""
    base = np.zeros(len(y))
    for _ in range(order):
        before = _delayed(y, 1)
        y, base = y - before, base + before
    return y, base


def _fits(table: np.ndarray, ends: np.ndarray, window: int, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and intercepts of least squares over the rows before each end; the last column is the target."""
    full = ends[ends >= window]
    parts = [_solved(table[None, :end], ridge) for end in ends[ends < window]]
    if full.size:
        windows = np.lib.stride_tricks.sliding_window_view(table, window, axis=0).transpose(0, 2, 1)
        together = max(1, AT_ONCE // (window * table.shape[1]))
        for i in range(0, full.size, together):
            parts.append(_solved(windows[full[i : i + together] - window], ridge))
    return np.concatenate([s for s, _ in parts]), np.concatenate([b for _, b in parts])


def _solved(rows: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (n, p) and intercepts (n,) of n least squares problems with (n, window, p + 1) inputs and targets."""
    rows = np.ascontiguousarray(rows)
    mean = rows.mean(axis=1, keepdims=True)
    off = rows - mean
    x, z = off[..., :-1], off[..., -1:]
    gram = x.transpose(0, 2, 1) @ x
    diagonal = np.einsum("npp->np", gram)  # a view: writing to it adds the penalty
    penalty = ridge * diagonal.mean(axis=1)
    diagonal += np.where(penalty > 0.0, penalty, 1.0)[:, None]  # inputs that never change have slopes of 0
    slopes = np.linalg.solve(gram, x.transpose(0, 2, 1) @ z)[..., 0]
    return slopes, mean[:, 0, -1] - (mean[:, 0, :-1] * slopes).sum(axis=1)
