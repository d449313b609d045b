"""AcMCP: the authors' rule, written down slowly from their R package, and what ``Horizons`` makes of it."""

import copy
import json
import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import wane
from wane import Horizons
from wane.conformal.acmcp import moving_average_mean
from wane.errors import InputError

ALPHA, RATE, GAIN, SATURATION = 0.1, 0.1, 2.0, 0.545


def autoregression(rounds, steps, seed=0, missing=0.0):
    """The process of the paper, and forecasts of it that know its law but are a little off."""
    rng = np.random.default_rng(seed)
    y = np.zeros(rounds + steps + 1)
    for t in range(2, len(y)):
        y[t] = 0.8 * y[t - 1] - 0.5 * y[t - 2] + rng.normal()
    outputs = np.zeros((rounds, steps))
    for t in range(rounds):
        one, two = y[t], y[t - 1] if t else 0.0
        for h in range(steps):
            one, two = 0.7 * one - 0.4 * two + 0.2, one
            outputs[t, h] = one
    y[rng.random(len(y)) < missing] = math.nan
    return outputs, y


def dense_mean(x, order):
    """The mean of a moving average by maximum likelihood: the whole covariance matrix, and four other searches."""

    def fitted(theta):
        psi = np.concatenate([[1.0], theta])
        lags = [psi[: len(psi) - k] @ psi[k:] for k in range(len(psi))] + [0.0] * len(x)
        inverse = np.linalg.inv(covariance := np.array(lags)[np.abs(np.subtract.outer(range(len(x)), range(len(x))))])
        mean = (inverse @ x).sum() / inverse.sum()
        variance = (x - mean) @ inverse @ (x - mean) / len(x)
        return mean, math.log(variance) + np.linalg.slogdet(covariance)[1] / len(x)

    starts = (0.0, 0.3, -0.3, 0.6)
    found = [minimize(lambda p: fitted(p)[1], np.full(order, s), method="Nelder-Mead") for s in starts]
    return fitted(min(found, key=lambda one: one.fun).x)[0]


def transcribed(e, horizon, ncal, rolling, published, mean_of):
    """The loops of acmcp.R: row t of ``e``, from 1 on, is about time t, and column h about h steps ahead.

    Returns what is subtracted from and added to the forecast made at time t for time t + h: qs_lower, qs_upper.
    """
    n = len(e) + horizon
    cast, lower, upper = (np.full((n + 1, horizon + 1), math.nan) for _ in range(3))
    for h in range(1, horizon + 1):
        err, qts, qs = {}, np.zeros((2, n + 1)), np.zeros((2, n + 1))
        for t in range(h, len(e)):
            start = max(t - ncal + 1, h) if rolling else h
            subset = e[start : t + 1, h]
            integral = []
            for side, sign in enumerate((-1.0, 1.0)):
                score = sign * e[t, h]
                err[side, t] = float(score > qs[side, t] if published else score >= qs[side, t])
                eta = RATE if len(subset) <= 1 else RATE * (subset.max() - subset.min())
                qts[side, t + h] = qts[side, t + h - 1] + eta * (err[side, t] - ALPHA / 2)
                count = t - h + 1
                x = sum(err[side, i] for i in range(h, t + 1)) - count * ALPHA / 2
                integral.append(0.0 if count == 1 else GAIN * math.tan(x * math.log(count) / (SATURATION * count)))
            found = math.nan
            if t >= ncal + h - 1:
                if h == 1:
                    found = subset.mean()
                else:
                    first = t - ncal + 1 - h if rolling else 0
                    columns = [e[first + j : t - h + j + 1, j] for j in range(1, h + 1)]
                    design = np.column_stack([np.ones(len(columns[0])), *columns[:-1]])
                    weights = np.linalg.solve(design.T @ design, design.T @ columns[-1])
                    asked = [cast[t - h + 1 + j if published else t + j, j] for j in range(1, h)]
                    found = (mean_of(subset, h - 1) + weights @ [1.0, *asked]) / 2
            cast[t + h, h] = found
            for side, sign in enumerate((-1.0, 1.0)):
                qs[side, t + h] = qts[side, t + h] + integral[side] + (0.0 if math.isnan(found) else sign * found)
        lower[:, h], upper[:, h] = qs
    return lower, upper


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("rolling", [False, True])
def test_it_is_the_rule_of_the_package(rolling, published):
    steps, rounds, ncal = 3, 60, 30
    outputs, y = autoregression(rounds, steps)
    e = np.full((rounds + 1, steps + 1), math.nan)
    for t in range(1, rounds + 1):
        for h in range(1, min(t, steps) + 1):
            e[t, h] = y[t] - outputs[t - h, h - 1]
    lower, upper = transcribed(e[:rounds], steps, ncal, rolling, published, dense_mean)
    settings = {"rate": RATE, "gain": GAIN, "saturation": SATURATION, "burn_in": ncal, "rolling": rolling}
    tables = Horizons(steps, "acmcp", alpha=ALPHA, published=published, **settings).run(outputs, y[:rounds])
    for h in range(1, steps + 1):
        radii = tables[h - 1].radius
        assert radii.shape == (rounds, 2)
        for t in range(rounds):
            played = lower[t + h, h], upper[t + h, h]
            np.testing.assert_allclose(radii[t], played, rtol=0.0, atol=5e-4, err_msg=f"step {h}, time {t}")


@pytest.mark.parametrize("order", [1, 3])
def test_the_mean_of_a_moving_average(order):
    rng = np.random.default_rng(order)
    x = 5.0 + np.convolve(rng.normal(size=60 + order), [1.0, *0.3 * rng.normal(size=order)], "valid")
    mean = moving_average_mean(x, order)
    assert abs(mean - dense_mean(x, order)) < 1e-3
    assert abs(moving_average_mean(1e6 * x, order) - 1e6 * mean) < 1e-3 * 1e6  # of any unit
    assert moving_average_mean(np.full(20, 3.0), order) == 3.0
    arima = pytest.importorskip("statsmodels.tsa.arima.model").ARIMA
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = arima(x, order=(0, 0, order), trend="c", enforce_invertibility=False).fit()
    assert abs(mean - theirs.params[0]) < 1e-3


def play(hz, outputs, y, delay=0):
    """Forecast by forecast; before each come the labels known by then."""
    made = []
    for row in outputs:
        made.append(hz.predict(row))
        tau = hz.time - delay
        if 0 <= tau < len(y) and not math.isnan(y[tau]) and tau in hz.pending():
            hz.update(tau, y[tau])
    return made


def plain(thing):
    return json.dumps(thing.state_dict())


def acmcp(steps=3, **settings):
    return Horizons(steps, "acmcp", alpha=settings.pop("alpha", 0.2), **{"burn_in": 12, "history": 5} | settings)


@pytest.mark.parametrize("rolling", [True, False])
@pytest.mark.parametrize("delay", [0, 2])
def test_a_replay_is_its_steps(delay, rolling):
    outputs, y = autoregression(40, 3, seed=1, missing=0.1)
    a, b = (acmcp(rolling=rolling, alpha=(0.1, 0.3)) for _ in range(2))
    made = play(a, outputs, y, delay)
    for h, table in enumerate(b.run(outputs, y, delay)):
        np.testing.assert_array_equal(table.lower, [row[h].lower for row in made])
        np.testing.assert_array_equal(table.radius, [row[h].radius for row in made])
    assert plain(a) == plain(b)


def test_replays_in_pieces_and_states():
    outputs, y = autoregression(45, 3, seed=2)
    whole, pieces = acmcp(), acmcp()
    tables = whole.run(outputs, y[:45])
    first = pieces.run(outputs[:17], y[:17])
    pieces = Horizons.from_state_dict(json.loads(plain(copy.copy(pieces))))
    second = pieces.run(outputs[17:], y[17:45])
    for table, one, two in zip(tables, first, second, strict=True):
        np.testing.assert_array_equal(table.radius, np.concatenate([one.radius, two.radius]))
    assert plain(whole) == plain(pieces)
    assert len(pieces.forecasts.errors) <= 12 + 2 * 3  # a window needs no more


def test_keys_of_one_s_own():
    outputs, y = autoregression(30, 2, seed=3)
    counted, named = acmcp(2), acmcp(2)
    tables = counted.run(outputs, y[:30])
    named_tables = named.run(outputs, y[:30], times=[f"t{i}" for i in range(40)])
    for one, other in zip(tables, named_tables, strict=True):
        np.testing.assert_array_equal(one.radius, other.radius)
    named.update("t30", y[30])
    counted.update(30, y[30])
    again = [hz.predict(outputs[0], [f"u{i}" for i in range(2)]) for hz in (named, counted)]
    assert [p.radius for p in again[0]] == [p.radius for p in again[1]]


def test_the_past_teaches_it_too():
    outputs, y = autoregression(60, 3, seed=4)
    hz = acmcp()
    hz.warm_start(outputs[:40], y[:43])
    first = hz.predict(outputs[43])
    assert np.isfinite(hz.forecasts.made[-1]).all() and not first[2].cold
    with pytest.raises(InputError, match="forecasts were made already"):
        hz.warm_start(outputs[:40], y[:43])


def test_a_label_that_is_refused_leaves_nothing():
    outputs, y = autoregression(20, 2, seed=5)
    hz = acmcp(2, burn_in=10)
    play(hz, outputs, y)
    before = plain(hz)
    for bad in (lambda: hz.update(hz.pending()[0], "x"), lambda: hz.predict([1.0, None]), lambda: hz.run([[1.0]], [])):
        with pytest.raises((InputError, TypeError)):
            bad()
        assert plain(hz) == before


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"score": "absolute"}, "score='signed'"),
        ({"stride": 2}, "stride=1"),
        ({"burn_in": 9}, "burn_in"),
        ({"rate": -1.0}, "rate"),
        ({"window": 3, "max_score": 1.0}, "max_score"),
    ],
)
def test_settings_are_checked(settings, said):
    with pytest.raises((InputError, TypeError), match=said):
        acmcp(**settings)


def test_it_covers_every_step_of_the_paper_s_process():
    outputs, y = autoregression(700, 3, seed=6)
    for table in Horizons(3, "acmcp", alpha=0.1, burn_in=50).run(outputs, y[:700]):
        assert abs(np.nanmean(table.covered[100:]) - 0.9) < 0.02


def test_groups_within_steps():
    outputs, y = autoregression(200, 2, seed=7)
    hz = wane.Horizons(2, "acmcp", alpha=0.2, groups=["half"], burn_in=20)
    hz.run(outputs, y[:200], groups={"half": [t % 2 for t in range(200)]})
    assert [[g.name for g in step] for step in hz.group_metrics()] == [["half 0", "half 1"]] * 2
