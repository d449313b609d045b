"""The tracker ``auto`` and its parts: scales, mixture, blend, and the coverage theorem for any bounded predictor."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import learners, theory, trackers
from wane.trackers import Blend, Calibrated, Given
from wane.trackers.histogram import Histogram
from wane.trackers.mixture import Mixture
from wane.trackers.scale_models import LogScale, RecentScale, SteadyScale
from wane.trackers.scaled_expert import STEPS, Scaled

ALPHA = 0.1


def normal(rounds, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=rounds))


# scales


def literal_recent(scores, half_life):
    """Weighted means, from the definition; the next scale after each score. A score counts as at most 30 scales."""
    found, kept = [], []
    for t in range(1, len(scores) + 1):
        kept.append(min(abs(scores[t - 1]), 30.0 * found[-1]) if found and found[-1] > 0.0 else abs(scores[t - 1]))
        age = np.arange(t)[::-1]
        means = [float(np.average(kept, weights=0.5 ** (age / h))) for h in (half_life, 80.0)]
        found.append(max(means[0], 0.2 * means[1]))
    return found


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=40), st.sampled_from([1.0, 3.0, 10.0]))
@settings(max_examples=30)
def test_recent_scale_literally(scores, half_life):
    model, found = RecentScale(half_life), []
    for score in scores:
        model.learn(score)
        found.append(model.scale)
    assert np.allclose(found, literal_recent(np.array(scores), half_life), rtol=1e-9, atol=1e-300)


def literal_log_scale(scores, periods):
    """The regression with numpy, from scratch in each round."""
    lives = (1.0, 3.0, 10.0, 40.0, 160.0, 640.0)
    rows, targets, seasons, w, kept = [], [], [{} for _ in periods], None, []
    x, middle, found = None, None, []
    for t, score in enumerate(scores):
        if x is not None:
            ratio = min(score / middle, 30.0)
            kept.append(min(score, 30.0 * middle))
            rows.append(x)
            targets.append(math.log(max(ratio, 0.05)))
            for season, period in zip(seasons, periods, strict=True):
                old = season.get(t % period, 1.0)
                season[t % period] = old + max(0.2, 1 / (1 + t // period)) * (min(ratio, 20.0) - old)
        else:
            kept.append(score)
        n = t + 1
        age = np.arange(n)[::-1]
        means = [float(np.average(kept, weights=0.5 ** (age / h))) for h in (*lives, 80.0)]
        middle = max(means[-1], 0.01 * float(np.mean(kept)))
        features = [1.0] + [math.log(max(m, 0.02 * middle) / middle) for m in means[:-1]]
        features += [math.log(max(s.get(n % p, 1.0), 0.05)) for s, p in zip(seasons, periods, strict=True)]
        x = np.array([*features, 0.0, 0.0])  # the output of the model never changes
        if w is None or n % 16 == 0:
            w = np.zeros(len(x))
            if rows:
                weight = 0.9999 ** np.arange(len(rows))[::-1]
                gram = (np.array(rows) * weight[:, None]).T @ np.array(rows) + np.eye(len(x))
                w = np.linalg.solve(gram, np.array(rows).T @ (weight * np.array(targets))) if n % 16 == 0 else w
        found.append(middle * math.exp(min(max(float(w @ x), -4.0), 4.0)))
    return found


@pytest.mark.parametrize("periods", [(), (7, 24)])
def test_log_scale_literally(periods):
    scores = normal(150, 1) * np.where(np.arange(150) % 7 == 0, 5.0, 1.0) + 0.01
    model, found = LogScale(periods), []
    for score in scores:
        model.learn(score)
        found.append(model.scale)
    assert np.allclose(found, literal_log_scale(scores, periods), rtol=1e-7)


def test_steady_scale_literally():
    """An average of half-life 500; a score counts as at most 30 of it; never less than a share of the largest."""
    scores = normal(300, 4)
    scores[100] = 1e6
    model, kept = SteadyScale(), []
    for t, score in enumerate(scores):
        kept.append(min(score, 30.0 * model.scale) if model.scale > 0.0 else score)
        model.learn(score)
        wanted = np.average(kept, weights=0.5 ** (np.arange(t + 1)[::-1] / 500.0))
        assert model.scale == pytest.approx(max(wanted, 1e-12 * scores[: t + 1].max()), rel=1e-9)
    for _ in range(40_000):
        model.learn(0.0)
    assert model.scale == 1e-12 * 1e6


def test_seasons_are_found():
    t = np.arange(2000)
    scores = normal(2000, 3) * np.where(t % 24 < 6, 8.0, 1.0)
    model, early, late = LogScale(), [], []
    for i, score in enumerate(scores):
        if i > 1500:
            (early if i % 24 < 6 else late).append(model.scale)
        model.learn(score)
    assert np.median(early) > 5.0 * np.median(late)


@pytest.mark.parametrize("make", [lambda: RecentScale(3.0), LogScale, lambda: LogScale(())])
def test_scales_are_equivariant(make):
    scores = normal(300, 2)
    for factor in (2.0**-20, 2.0**20):
        a, b = make(), make()
        for score in scores:
            a.learn(score)
            b.learn(factor * score)
        assert b.scale == factor * a.scale > 0.0


@pytest.mark.parametrize("make", [lambda: RecentScale(3.0), LogScale])
def test_silence_has_no_scale_and_the_first_score_makes_one(make):
    model = make()
    for _ in range(10):
        model.learn(0.0)
    assert model.scale == 0.0
    model.learn(3.0)
    assert 0.0 < model.scale <= 3.0


def test_periods_are_checked():
    with pytest.raises(TypeError, match="periods must be whole numbers"):
        LogScale(7)
    with pytest.raises(ValueError, match="periods"):
        LogScale((1,))


# the mixture


def test_mixture_literally():
    rng = np.random.default_rng(0)
    mixture, regrets, squares = Mixture(3, 0.9), np.full(3, 1e-6), np.full(3, 1e-6)
    for _ in range(50):
        radii, g, unit = rng.random(3), rng.choice([-0.9, 0.1]), 1.0 + rng.random()
        w = np.where(squares > 0, np.maximum(regrets, 0) / np.where(squares > 0, squares, 1.0), 0.0)
        w = w / w.sum() if w.sum() > 0 else np.full(3, 1 / 3)
        mixed = mixture.mix(radii)
        assert mixed == pytest.approx(float(w @ radii)) and np.allclose(mixture.weights(), w)
        assert min(radii) - 1e-12 <= mixed <= max(radii) + 1e-12
        mixture.learn(radii, mixed, g, unit)
        d = g * (mixed - radii) / unit
        regrets, squares = 0.9 * regrets + d, 0.9 * squares + d * d


def test_mixture_follows_who_is_right():
    rng = np.random.default_rng(1)
    mixture = Mixture(4)
    for t in range(1500):
        radii = np.array([1.0, 2.0, 3.0, 4.0]) if t < 700 else np.array([4.0, 1.0, 2.0, 3.0])
        mixed = mixture.mix(radii)
        score = 3.0 + 0.01 * rng.normal()  # the third, then the last
        mixture.learn(radii, mixed, 0.5 if mixed > score else -0.5, 1.0)
        if t in (699, 1499):
            assert abs(mixed - 3.0) < 0.3


# an expert on scaled scores


def test_scaled_is_faci_and_the_quantile_of_ratios():
    """FACI at the ranks of the histogram; the plain quantile is that of the last ratios but for the width of a bin."""
    rng = np.random.default_rng(5)
    expert, levels, past = Scaled(ALPHA), trackers.QuantileExperts(ALPHA, gammas=STEPS), Histogram()
    ratios = []
    for t in range(400):
        score, scale = abs(rng.normal()) * (1 + t), 1.0 + t
        if t in (1, 50, 150, 399):
            assert np.allclose(expert.radii(scale), [scale * past.quantile(1.0 - q) for q in (levels.level, ALPHA)])
        if t > 100:
            nearby = [np.quantile(ratios, q, method="inverted_cdf") for q in (0.88, 0.92)]
            assert 0.8 * nearby[0] < expert.radii(1.0)[1] < 1.2 * nearby[1]
        if t > 10:
            levels.learn(past.above(score / scale))
        past.add(score / scale)
        ratios.append(score / scale)
        expert.learn(score, scale)


def test_a_window_bounds_the_memory_of_faci():
    one = trackers.QuantileExperts(ALPHA, window=50)
    one.run(normal(60))
    size = len(json.dumps(one.state_dict()))
    one.run(normal(3000))
    assert one.past.bag.size == 50 and abs(len(json.dumps(one.state_dict())) - size) < 200


# Calibrated: the theorem


def adversaries(kind, largest, rng):
    """Scores in [0, largest] that answer the radius that was played."""
    return {
        "always missed": lambda t, r: min(r + 1e-9, largest),
        "just covered": lambda t, r: min(max(0.0, r - 1e-9), largest),
        "short memory rewarded, then betrayed": lambda t, r: (
            min(r * 1.01, largest) if (t // 60) % 2 and t % 60 < 50 else 0.0
        ),
        "constant": lambda t, r: largest / 3.0,
        "slow drift": lambda t, r: largest * t / 2000.0,
        "bursts": lambda t, r: largest if t % 97 < 9 else largest * rng.random() / 100.0,
        "silence": lambda t, r: 0.0,
    }[kind]


KINDS = ["always missed", "just covered", "short memory rewarded, then betrayed", "constant", "slow drift", "bursts"]


@pytest.mark.parametrize("base", ["constant", "wild", "magl", "blend"])
@pytest.mark.parametrize("kind", [*KINDS, "silence"])
def test_coverage_of_any_bounded_predictor(base, kind):
    rng = np.random.default_rng(0)
    rounds, largest = 400, 4.0
    radii = {"constant": np.full(rounds, 2.0), "wild": largest * (rng.random(rounds) < 0.5)}.get(base)
    inner = Given(ALPHA) if radii is not None else Blend(ALPHA) if base == "blend" else trackers.make(base, ALPHA)
    tracker = Calibrated(inner)
    scores = adversaries(kind, largest, rng)
    misses = total = 0.0
    for t in range(rounds):
        if radii is not None:
            inner.radius = radii[t]
        r = tracker.predict()
        score = scores(t, r)
        tracker.update(score)
        misses += r <= score
        total = misses - ALPHA * (t + 1)
        if t % 25 == 24:
            assert abs(total) <= tracker.coverage_bound() + 1e-9
    assert tracker.coverage_sum() == pytest.approx(total, abs=1e-6)
    assert abs(total) <= tracker.coverage_bound(largest=50.0)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=150),
    st.sampled_from([0.05, 0.1, 0.5]),
    st.sampled_from([(1.0,), (0.99, 1.0), (0.5, 0.9, 0.999, 1.0)]),
    st.sampled_from([0.1, 3.0]),
)
@settings(max_examples=25)
def test_the_theorem_on_random_games(game, alpha, discounts, epsilon):
    tracker = Calibrated(Given(alpha), epsilon=epsilon, discounts=discounts)
    total = 0.0
    for t, (score, radius) in enumerate(game):
        tracker.base.radius = radius
        total += (tracker.predict() <= score) - alpha
        tracker.update(score)
        if t % 10 == 0 or t == len(game) - 1:
            assert abs(total) <= tracker.coverage_bound() + 1e-9


def test_the_bound_is_where_the_rule_plays_that_much():
    for v, h, top, scale, eps, cap in ((90.0, 0.9, 5.0, 1.0, 0.5, 10.0), (1e6, 0.9, 100.0, 0.01, 0.1, 0.0)):
        s = theory.calibration_bound(v, h, top, scale, eps, cap) - 2.0 * h
        assert theory.prediction_rule(v, s * 1.001, h, eps) > top / scale + cap
        assert theory.prediction_rule(v, s * 0.999, h, eps) <= top / scale + cap
    assert (
        theory.calibration_bound(0.0, 0.0, 1.0, 1.0) == 0.0 and theory.calibration_bound(1.0, 1.0, 1.0, 0.0) == math.inf
    )


def test_the_bound_grows_like_the_root():
    """Four times the rounds, at most twice the bound and a little."""
    bounds = [theory.calibration_bound(v, 0.9, 5.0, 1.0, 0.5, 10.0) for v in (1e4, 4e4, 16e4)]
    assert bounds[1] < 2.05 * bounds[0] and bounds[2] < 2.05 * bounds[1]


def test_the_correction_stays_within_twice_the_largest_score():
    tracker = Calibrated(0.0, alpha=ALPHA, epsilon=50.0)
    top = 0.0
    for score in [1.0] * 60 + [5.0] * 60 + [100.0] * 20:
        assert tracker.predict() <= 2.0 * top or top == 0.0
        tracker.update(score)
        top = max(top, score)
    assert tracker.records == 3  # the first, 5 after 1, and 100 after 5


class Below(trackers.Tracker):
    """A base that plays what no radius can be."""

    def _predict(self):
        return -5.0

    def _update(self, score, radius, discount):
        pass


def test_bases_that_are_negative_or_infinite():
    for base in (Below(ALPHA), trackers.make("aci", ALPHA), trackers.make("split", ALPHA)):
        tracker = Calibrated(base)
        scores = normal(600, 8)
        radii = tracker.run(scores)
        assert (radii >= 0.0).all() and np.isfinite(radii[1:]).all()
        assert abs(tracker.coverage_sum()) <= tracker.coverage_bound() < math.inf


def test_what_the_bound_is_computed_from():
    tracker = Calibrated(Given(ALPHA, 7.0), epsilon=3.0)
    scales, reach = [], 0.0
    for score in (2.0, 1.0, 1.0, 9.0):
        tracker.predict()
        if tracker.unit.scale > 0.0:  # the first score is a record, which is counted
            scales.append(0.5 * (tracker.unit.scale + 7.0))
            reach = max(reach, abs(score - 7.0) / scales[-1], 7.0 / scales[-1])
        tracker.update(score)
    assert tracker.records == 2  # the first score, and 9 after 2
    assert tracker.least == min(scales) and tracker.reach == reach
    v, h = tracker.squares[tracker.steady], 0.9
    assert v == pytest.approx(3 * 0.1**2 + 0.9**2) and tracker.hint == h
    wanted = theory.calibration_bound(v, h, reach, 1.0, 1.0, cap=10.0, exceptions=2)
    plain = theory.calibration_bound(v, h, reach, 1.0, 1.0, 10.0)
    assert tracker.coverage_bound() == wanted == pytest.approx(plain + 2.0 * h)
    assert tracker.coverage_bound(largest=9.0) == theory.calibration_bound(v, h, 9.0, min(scales), 1.0, 10.0, 2)
    huge = theory.calibration_bound(v, h, 1.0, 1.0, epsilon=1e3)
    assert theory.prediction_rule(v, huge - 2.0 * h, h, 1e3) >= 200.0 * 0.999  # at least a fifth of epsilon
    with pytest.raises(ValueError, match="discounts must differ"):
        Calibrated(2.0, alpha=0.1, discounts=(1.0, 1.0))


def test_the_learners_are_odd_magnitude_learners():
    """In time each plays what ``OddMagnitudeLearner`` would, had it known from the start how large gradients can be."""
    tracker = Calibrated(1.0, alpha=0.3, discounts=(0.9, 1.0))
    steady = learners.OddMagnitudeLearner(0.5)
    steady.update(0.7, 1.0)  # clipped to 0, so that it only says how large gradients can be
    s = v = 0.0
    for score in normal(300, 9):
        gradient = 0.3 if tracker.predict() > score else 0.3 - 1.0
        tracker.update(score)
        steady.update(gradient)
        s, v = 0.9 * s - gradient, 0.81 * v + gradient**2
        quick = np.sign(s) * max(0.0, float(theory.prediction_rule(v, abs(s), 0.7, 0.5)))
        assert tracker.correction() == pytest.approx((steady.predict(), min(max(quick, -10.0), 10.0)), rel=1e-9)


def test_the_quick_part_is_capped():
    tracker = Calibrated(0.0, alpha=ALPHA, epsilon=1e5)
    for _ in range(60):
        tracker.update(1.0)
    assert tracker.correction()[1] == 10.0
    assert tracker.predict() == min(0.5 * tracker.unit.scale * (tracker.correction()[0] + 10.0), 2.0)


def test_calibrated_takes_numbers_and_trackers():
    tracker = Calibrated(2.0, alpha=0.2)
    assert tracker.alpha == 0.2 and isinstance(tracker.base, Given) and tracker.predict() == 2.0
    tracker.alpha = 0.3
    assert tracker.base.alpha == 0.3
    with pytest.raises(TypeError, match="beside alpha"):
        Calibrated(2.0)
    with pytest.raises(ValueError, match="1 among them"):
        Calibrated(2.0, alpha=0.1, discounts=(0.9,))
    with pytest.raises(ValueError, match="negative ones need domain"):
        Given(0.1, -1.0)
    lifted = Calibrated(2.0, alpha=0.1)
    lifted.update(1.0, radius=2.5)
    with pytest.raises(ValueError, match="the tracker's own radii"):
        lifted.coverage_bound()
    with pytest.raises(ValueError, match="scores >= 0"):
        Calibrated(Given(0.1, domain="real")).coverage_bound()


# auto


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30, 1e-6, 1e6])
def test_auto_is_equivariant(factor):
    scores = np.concatenate([normal(300), 10 * normal(300, 1)])
    a, b = trackers.make("auto", ALPHA).run(scores), trackers.make("auto", ALPHA).run(factor * scores)
    exact = factor in (2.0**-30, 2.0**30)
    assert (b == factor * a).all() if exact else np.allclose(b, factor * a, rtol=1e-6)
    assert np.isfinite(a).all() and a[-1] > 0.0


def test_zeros_first_do_not_set_the_unit():
    scores = np.concatenate([np.zeros(50), normal(400)])
    a, b = trackers.make("auto", ALPHA).run(scores), trackers.make("auto", ALPHA).run(2.0**-20 * scores)
    assert (b[51:] == 2.0**-20 * a[51:]).all() and a[:51].max() < 1e-100


def test_one_giant_score_does_not_own_it():
    scores = normal(1200, 6)
    calm = trackers.make("auto", ALPHA).run(scores)
    scores[400] = 1e8
    radii = trackers.make("auto", ALPHA).run(scores)
    assert radii[401:].max() < 100.0 and np.median(radii[450:] / calm[450:]) < 1.1


@pytest.mark.parametrize("priority", ["narrow", "balanced", "local-coverage"])
def test_long_run_coverage(priority):
    for scores in (normal(1500), np.zeros(600), np.full(600, 3.0), np.arange(1000.0)):
        tracker = trackers.make("auto", ALPHA, priority=priority)
        missed = (tracker.run(scores) <= scores).mean()
        assert abs(missed - ALPHA) <= tracker.coverage_bound() / len(scores)
        assert abs(missed - ALPHA) < 0.03
    with pytest.raises(ValueError, match="priority must be one of"):
        trackers.make("auto", ALPHA, priority="fast")


def test_priorities_trade_width_for_local_coverage():
    rng = np.random.default_rng(0)
    scores = normal(2500) * np.exp(np.cumsum(0.03 * rng.normal(size=2500)))
    found = []
    for priority in ("narrow", "balanced", "local-coverage"):
        radii = trackers.make("auto", ALPHA, priority=priority).run(scores)
        covered = wane.metrics.covered(radii, scores)[300:]
        found.append((wane.metrics.mean_lce(covered, ALPHA), wane.metrics.pinball(radii[300:], scores[300:], ALPHA)))
    assert found[0][0] > found[1][0] > found[2][0] and found[0][1] < found[2][1]


def test_jumps_of_the_scale():
    """Ten times up: few misses in the 50 rounds after; ten times down: soon near the ideal radius."""
    ideal, missed, ratios = 1.6449, [], []
    for seed in range(5):
        scores = normal(560, seed)
        up, down = scores.copy(), scores.copy()
        up[500:] *= 10.0
        down[500:] /= 10.0
        radii = trackers.make("auto", ALPHA).run(up)
        missed.append((radii[500:550] <= up[500:550]).mean())
        ratios.append(trackers.make("auto", ALPHA).run(down)[550] / (0.1 * ideal))
    assert np.mean(missed) < 0.25 and 0.7 < np.mean(ratios) < 1.4
    plain = trackers.make("dtaci", ALPHA).run(up)
    assert (plain[500:550] <= up[500:550]).mean() > 0.3  # it takes the blend to do so


def test_memory_is_of_fixed_size():
    for domain, most in (("nonnegative", 6_000), ("real", 8_000)):
        tracker = trackers.make("auto", ALPHA, domain=domain)
        size = tracker.flat()
        tracker.run(normal(1200))
        assert tracker.flat() == size == len(tracker.as_row()) and 8 * size < most  # bytes


def test_signed_scores():
    scores = np.random.default_rng(0).normal(size=1500) - 2.0
    radii = trackers.make("auto", ALPHA, domain="real").run(scores)
    assert abs((radii <= scores)[300:].mean() - ALPHA) < 0.02 and (radii[300:] < 0.0).mean() > 0.5
    assert abs(np.median(radii[300:]) - (1.2816 - 2.0)) < 0.2


def test_it_is_the_default():
    oc = wane.OnlineConformal(alpha=ALPHA)
    assert isinstance(oc.trackers[0], Calibrated)
    p = oc.predict(1.0)
    oc.update(p.id, 2.0)
    assert oc.metrics().coverage == 0.0 and oc.metrics().coverage_bound is not None
