"""Forecasters, bundled series and made scores: no forecast looks ahead, and each stream shows what it says."""

import importlib.util
import itertools
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.streams import ForecastStream, bundled, ewma_scale, make, names, rolling_ar, synthetic, synthetic_names
from wane.streams.series import SERIES, growth

DOCS = Path(__file__).parent.parent / "docs"
NAMES = sorted(names())
maybe_missing = st.floats(-1e6, 1e6) | st.just(math.nan)
columns = st.lists(maybe_missing, min_size=1, max_size=60)
SETTINGS = {
    "lags": st.integers(1, 3),
    "window": st.integers(6, 20),
    "seasonal": st.sampled_from([(), (4,), (5, 7)]),
    "differences": st.integers(0, 2),
    "refit": st.integers(1, 4),
}


# forecasters


def filled(y):
    """Each missing value replaced by the one before, one by one."""
    result, last = [], math.nan
    for value in y:
        last = last if math.isnan(value) else value
        result.append(last)
    return result


def differenced(y, order):
    return y if order == 0 else differenced([math.nan] + [b - a for a, b in itertools.pairwise(y)], order - 1)


def literal_ar(y, lags, window, seasonal, differences, start, refit, ridge):
    """Row by row, with numpy's least squares on the inputs stacked over the penalty."""
    behind = sorted({*range(1, lags + 1), *seasonal})
    levels = [differenced(filled(y), d) for d in range(differences + 1)]
    z, rows, result, fit, age = levels[-1], [], [], None, 0
    for t in range(len(y)):
        x = [z[t - k] if t >= k else math.nan for k in behind]
        forecast = math.nan
        if not any(map(math.isnan, x)):
            if len(rows) >= start:
                if fit is None or age == refit:
                    fit, age = literal_fit(np.array(rows[-window:]), ridge), 0
                forecast = fit[0] + fit[1] @ x + sum(level[t - 1] for level in levels[:-1])
                age += 1
            if not math.isnan(y[t]) and not math.isnan(z[t]):
                rows.append([*x, z[t]])
        result.append(forecast)
    return np.array(result)


def literal_fit(rows, ridge):
    mean = rows.mean(axis=0)
    x, z = rows[:, :-1] - mean[:-1], rows[:, -1] - mean[-1]
    penalty = ridge * np.mean((x**2).sum(axis=0)) or 1.0
    stacked = np.concatenate([x, math.sqrt(penalty) * np.eye(x.shape[1])])
    slopes = np.linalg.lstsq(stacked, np.concatenate([z, np.zeros(x.shape[1])]), rcond=None)[0]
    return mean[-1] - mean[:-1] @ slopes, slopes


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("differences", [0, 1, 2])
@pytest.mark.parametrize(("lags", "seasonal"), [(1, ()), (3, ()), (2, (7, 12))])
@pytest.mark.parametrize(("start", "refit"), [(30, 1), (10, 1), (10, 4)])
def test_rolling_ar_is_least_squares_on_the_window(lags, seasonal, differences, missing, start, refit):
    rng = np.random.default_rng(5)
    y = 50.0 + np.cumsum(rng.normal(size=150))
    y[rng.random(150) < missing] = math.nan
    want = literal_ar(y.tolist(), lags, 30, seasonal, differences, start, refit, 1e-3)
    given = {"seasonal": seasonal, "differences": differences, "start": start, "refit": refit}
    np.testing.assert_allclose(rolling_ar(y, lags, 30, ridge=1e-3, **given), want, rtol=1e-9)
    assert np.isfinite(want).sum() > 50


@settings(max_examples=60)
@given(columns, columns, st.fixed_dictionaries(SETTINGS))
def test_rolling_ar_does_not_look_ahead(past, future, chosen):
    t = len(past)
    one = rolling_ar(past + future, **chosen)
    other = rolling_ar(past + [17.0] * len(future), **chosen)
    assert one[: t + 1].tobytes() == other[: t + 1].tobytes()
    np.testing.assert_allclose(rolling_ar(past, **chosen), one[:t], rtol=1e-6, atol=1e-3)


@settings(max_examples=60)
@given(columns, columns, st.floats(0.1, 100.0))
def test_ewma_scale_does_not_look_ahead_and_is_positive(past, future, half_life):
    t = len(past)
    one, other = ewma_scale(past + future, half_life), ewma_scale(past + [17.0] * len(future), half_life)
    assert one[: t + 1].tobytes() == other[: t + 1].tobytes()
    assert one.shape == (t + len(future),) and (one > 0.0).all() and np.isfinite(one).all()


@pytest.mark.parametrize("half_life", [0.5, 3.0, 200.0])
def test_ewma_scale_is_the_weighted_mean(half_life):
    rng = np.random.default_rng(6)
    errors = rng.normal(size=80)
    errors[rng.random(80) < 0.3] = math.nan
    errors[:4] = math.nan, 0.0, math.nan, 0.0
    for t, scale in enumerate(ewma_scale(errors, half_life, initial=7.0)):
        seen = [e for e in errors[:t] if not math.isnan(e)]
        weights = [0.5 ** (age / half_life) for age in reversed(range(len(seen)))]
        squares = sum(w * e * e for w, e in zip(weights, seen, strict=True))
        want = math.sqrt(squares / sum(weights)) if squares > 0.0 else 7.0
        assert scale == pytest.approx(want, rel=1e-12)


def test_ewma_scale_survives_errors_of_zero():
    scale = ewma_scale(np.concatenate([[2.0], np.zeros(5000)]), half_life=1.0)
    assert scale[1] == 2.0 and (scale > 0.0).all() and (np.diff(scale[1:]) <= 0.0).all()


@pytest.mark.parametrize("level", [0.0, 1e5, -1e8])
def test_rolling_ar_is_exact_where_there_is_no_noise(level):
    y = [0.3, -1.0]
    for _ in range(300):
        y.append(1.6 * y[-1] - 0.98 * y[-2] + 0.01)
    y_hat = rolling_ar(np.array(y) + level, lags=2, window=40, ridge=1e-12)
    assert np.isnan(y_hat[:42]).all()
    np.testing.assert_allclose(y_hat[42:], np.array(y[42:]) + level, rtol=0.0, atol=1e-6 if abs(level) < 1e6 else 1e-3)


def test_small_noise_on_a_high_level_is_not_lost():
    y = np.cumsum(np.random.default_rng(7).normal(size=2000))
    errors = [np.nanmean(np.abs(rolling_ar(y + level, window=250) - y - level)) for level in (0.0, 1e5, 1e9)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-6) and errors[2] == pytest.approx(errors[0], rel=1e-3)
    assert errors[0] < 0.82  # sqrt(2 / pi) = 0.798 is the error of who knows the law


def test_equivariance():
    y = np.cumsum(np.random.default_rng(8).normal(size=400))
    base = rolling_ar(y, window=60, seasonal=(7,))
    np.testing.assert_allclose(rolling_ar(3.0 - 0.01 * y, window=60, seasonal=(7,)), 3.0 - 0.01 * base, rtol=1e-9)
    np.testing.assert_allclose(ewma_scale(-3.0 * y, 9.0, 3.0), 3.0 * ewma_scale(y, 9.0, 1.0), rtol=1e-12)


def test_a_constant_is_forecast_by_itself_and_nothing_by_nothing():
    assert (rolling_ar(np.full(50, 4.0), window=10)[13:] == 4.0).all()
    assert np.isnan(rolling_ar(np.full(50, math.nan), window=10)).all()
    assert rolling_ar([], window=10).shape == ewma_scale([], 3.0).shape == (0,)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lags": 0}, "lags must be a whole number"),
        ({"window": 3}, "window must be a whole number, at least 4"),
        ({"differences": 3}, "differences"),
        ({"seasonal": (0,)}, "seasonal"),
        ({"start": 999}, "start"),
        ({"refit": 0}, "refit"),
        ({"ridge": 0.0}, "ridge"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        rolling_ar(np.arange(100.0), **wrong)


def test_values_that_cannot_be_forecast_are_refused():
    with pytest.raises(ValueError, match=r"y\[1\] must lie within \+-1e\+100, got inf: rescale"):
        rolling_ar([1.0, math.inf])
    with pytest.raises(ValueError, match=r"errors must have shape \(rounds,\), got \(1, 2\)"):
        ewma_scale([[1.0, 2.0]], 3.0)
    with pytest.raises(ValueError, match="half_life"):
        ewma_scale([1.0], 0.0)


# bundled series


def installed(name):
    """The stream, if the package that bundles it is there."""
    package = names()[name].source.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return make(name)


def windows(scores, parts=12):
    """The 0.9-quantile of the scores in each twelfth of the stream."""
    return np.array([np.quantile(part, 0.9) for part in np.array_split(scores, parts)])


@pytest.mark.parametrize("name", NAMES)
def test_bundled_streams_are_what_they_say(name):
    stream = installed(name)
    assert isinstance(stream, ForecastStream) and stream.name == name and stream.about == names()[name]
    assert len(stream) == stream.about.rounds >= 300
    assert stream.scale is not None and (stream.scale > 0.0).all() and stream.warm_up == 0
    assert stream.time.dtype.kind == "M" and (np.diff(stream.time) > np.timedelta64(0, "s")).all()
    assert all(0 < t < len(stream) for t in stream.shifts)
    assert make(name) is stream


@pytest.mark.parametrize("name", NAMES)
def test_bundled_streams_shift(name):
    stream = installed(name)
    quantiles = windows(stream.scores)
    if name == "electricity":  # within the day, every day
        hours = stream.time.astype("datetime64[h]").astype(int) % 24
        quantiles = np.array([np.quantile(stream.scores[hours == hour], 0.9) for hour in range(24)])
    assert quantiles.max() >= 2.0 * quantiles.min() > 0.0


@pytest.mark.parametrize("name", NAMES)
def test_bundled_forecasts_do_not_look_ahead(name):
    installed(name)
    raw, rng = SERIES[name].raw(), np.random.default_rng(9)
    made = SERIES[name].recipe(raw.values)
    for t in (len(raw.values) // 3, 2 * len(raw.values) // 3, len(raw.values) - 1):
        changed = raw.values.copy()
        changed[t:] *= rng.uniform(0.5, 2.0, size=len(changed) - t)
        changed[t:][rng.random(len(changed) - t) < 0.1] = math.nan
        again = SERIES[name].recipe(changed)
        assert again.y[:t].tobytes() == made.y[:t].tobytes()
        assert again.y_hat[: t + 1].tobytes() == made.y_hat[: t + 1].tobytes()
        assert again.scale[: t + 1].tobytes() == made.scale[: t + 1].tobytes()


def test_bundled_forecasts_are_of_use():
    """Better than the mean everywhere, in squares; nowhere far worse than the last value, and better in most."""
    skills = []
    for name in NAMES:
        stream = installed(name)
        assert np.sum((stream.y - stream.y_hat) ** 2) < np.sum((stream.y - stream.y.mean()) ** 2), name
        skills.append(1.0 - stream.scores[1:].sum() / np.abs(np.diff(stream.y)).sum())
    assert min(skills) > -0.05 and np.mean(np.array(skills) > 0.0) > 0.6


def test_the_documentation_lists_every_synthetic_stream():
    text = (DOCS / "streams.md").read_text()
    assert sorted(re.findall(r"^\| `([a-z_]+)` \| [^|]+ \| [^|]+\? \|$", text, flags=re.M)) == synthetic_names()


def test_there_are_enough_streams():
    assert sum(about.rounds >= 650 for about in names().values()) >= 10
    for about in names().values():
        assert all((about.what, about.source, about.licence, about.shift))


def test_names_import_no_package():
    code = (
        "import sys; from wane.streams import names; names(); "
        "print(sorted({'arch', 'river', 'statsmodels', 'vega_datasets', 'pandas', 'sklearn'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def agreed(annotations, votes=3, within=5):
    """Stretches of marks, no longer than that or overlapping, to which at least that many annotators contribute."""
    marks = sorted((t, who) for who, given in annotations.items() for t in given)
    found = []
    for first, _ in marks:
        near = [(t, who) for t, who in marks if first <= t <= first + within]
        if len({who for _, who in near}) >= votes:
            if found and first <= found[-1][1]:
                found[-1][1] = max(found[-1][1], near[-1][0])
            else:
                found.append([first, near[-1][0]])
    return found


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("apple", "Apple", lambda sample: 1 + 3 * sample),
        ("bitcoin", "Bitcoin", lambda sample: sample),
        ("brent", "BrentSpotPrice", lambda sample: 3200 + 10 * sample),
        ("room-co2", "Occupancy", lambda sample: sample),
    ],
)
def test_shifts_are_those_of_the_annotators(name, data, place):
    datasets = pytest.importorskip("river.drift.datasets")
    stretches = agreed(getattr(datasets, data)().annotations)
    assert len(stretches) == len(SERIES[name].shifts)
    for (first, last), row in zip(stretches, SERIES[name].shifts, strict=True):
        assert place(first) <= row <= place(last)


def test_shifts_lie_on_the_days_of_the_events():
    brent, apple = installed("brent"), installed("apple")
    assert str(brent.time[brent.shifts[0]])[:7] == "2008-07" and str(brent.time[brent.shifts[3]])[:7] == "2014-12"
    fall = int(np.argmin(np.diff(apple.y))) + 1
    assert str(apple.time[fall]) == "2000-09-29" and apple.shifts == (fall,)
    assert [str(t)[:4] for t in SERIES["brent"].raw().time[3199:3201]] == ["1999", "2000"]


def test_growth_spans_what_is_missing():
    np.testing.assert_allclose(growth(np.exp([0.0, 0.1, math.nan, 0.4])), [math.nan, 10.0, math.nan, 30.0], rtol=1e-12)


def test_a_stream_that_is_not_there():
    with pytest.raises(ValueError, match=r"no bundled stream is called 'sp600'.*known are sp500-volatility, nasdaq"):
        make("sp600")
    with pytest.raises(ValueError, match="no bundled stream"):
        make(["brent"])


def test_a_package_that_is_not_there(monkeypatch):
    monkeypatch.setattr(bundled.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'bundled with arch, which is not installed: run pip install "\.\[data\]"'):
        SERIES["vix"].raw()


def test_a_file_that_the_package_no_longer_holds():
    installed("vix")
    with pytest.raises(FileNotFoundError, match=r"the installed arch does not hold data/none\.csv"):
        bundled.text("arch/data/none.csv")


# made scores


@pytest.mark.parametrize("name", synthetic_names())
def test_made_scores_follow_the_seed(name):
    one, same, other = (synthetic(name, 700, seed) for seed in (3, 3, 4))
    assert one.scores.tobytes() == same.scores.tobytes() != other.scores.tobytes()
    assert one.name == name and len(one) == 700 and (one.scores >= 0.0).all()


def test_scale_shifts_jump_tenfold():
    stream = synthetic("scale_shifts", 20_000, 1)
    assert stream.shifts == (5000, 10_000, 15_000)
    means = [part.mean() for part in np.split(stream.scores, stream.shifts)]
    np.testing.assert_allclose(means, np.array([1.0, 10.0, 1.0, 0.1]) * math.sqrt(2.0 / math.pi), rtol=0.05)


def test_drift_reaches_the_ratio_steadily():
    scores = synthetic("drift", 40_000, 1, ratio=100.0).scores
    slope = np.polyfit(np.linspace(0.0, 1.0, 40_000), np.log(scores), 1)[0]
    assert slope == pytest.approx(math.log(100.0), abs=0.15)
    assert synthetic("drift", 1000, 1, ratio=1.0).scores.tobytes() == synthetic("iid", 1000, 1).scores.tobytes()


@pytest.mark.parametrize("degrees", [2.0, 4.0])
def test_heavy_tails_have_their_index(degrees):
    """Hill's estimate of the exponent of the tail."""
    largest = np.sort(synthetic("heavy_tails", 200_000, 1, degrees=degrees).scores)[-1000:]
    assert 1.0 / np.mean(np.log(largest / largest[0])) == pytest.approx(degrees, rel=0.15)


def test_seasonal_has_its_period():
    scores = synthetic("seasonal", 60_000, 1, period=200).scores
    phases = scores.reshape(-1, 200).mean(axis=0) / math.sqrt(2.0 / math.pi)
    want = 3.0 ** np.sin(2.0 * np.pi * np.arange(200) / 200)
    np.testing.assert_allclose(phases, want, rtol=0.25)
    assert np.abs(np.fft.rfft(np.log(scores)))[1:].argmax() + 1 == 300


@pytest.mark.parametrize("block", [1, 7, 50])
def test_alternation_has_period_two_blocks(block):
    stream = synthetic("alternation", 1000, 5, block=block, high=3.0)
    scores = stream.scores
    assert set(scores) == {0.0, 3.0}
    assert (scores[2 * block :] == scores[: -2 * block]).all() and (scores[block:] != scores[:-block]).all()
    assert list(stream.shifts) == [t for t in range(1, 1000) if scores[t] != scores[t - 1]]


def pinball(radius, scores, alpha):
    return np.maximum(alpha * (radius - scores), (alpha - 1.0) * (radius - scores))


@pytest.mark.parametrize("alpha", [0.1, 0.5])
def test_lower_bound_scores_are_random_signs(alpha):
    """The pinball subgradients do not depend on the radius, are centred, and make the losses linear."""
    high, rounds = 2.0, 4000
    regrets = []
    for seed in range(40):
        scores = synthetic("lower_bound", rounds, seed, alpha=alpha, high=high).scores
        signs = np.where(scores == 0.0, alpha, alpha - 1.0)
        for radius in (1e-3, 0.7, high):
            np.testing.assert_array_equal(np.where(radius > scores, alpha, alpha - 1.0), signs)
            change = (pinball(radius, scores, alpha) - pinball(0.5, scores, alpha)).sum()
            assert change == pytest.approx((radius - 0.5) * signs.sum(), abs=1e-9)
        ends = [pinball(u, scores, alpha).sum() for u in (0.0, high)]
        assert np.mean(ends) - min(ends) == pytest.approx(high * abs(signs.sum()) / 2.0, abs=1e-9)
        regrets.append(np.mean(ends) - min(ends))
    want = high * math.sqrt(alpha * (1.0 - alpha) * rounds / (2.0 * math.pi))
    assert np.mean(regrets) == pytest.approx(want, rel=0.3)


def test_iid_is_the_size_of_a_normal_number():
    scores = synthetic("iid", 100_000, 1).scores
    np.testing.assert_allclose(np.quantile(scores, [0.5, 0.9]), [0.6745, 1.6449], rtol=0.02)


def test_made_scores_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match=r"no synthetic stream is called 'noise'.*alternation, drift"):
        synthetic("noise")
    with pytest.raises(TypeError, match="iid has no setting 'block': it takes rounds, seed"):
        synthetic("iid", block=3)
    with pytest.raises(ValueError, match="rounds must be a whole number, at least 1"):
        synthetic("iid", 0)
    with pytest.raises(ValueError, match="seed"):
        synthetic("iid", 10, -1)
