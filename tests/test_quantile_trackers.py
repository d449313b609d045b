"""Trackers whose radius is a quantile of the past, against slow and literal references in plain numpy."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.trackers import load, make

GAMMAS = 0.001 * 2.0 ** np.arange(8)
RNG = np.random.default_rng(0)
STREAMS = {
    "random": np.abs(RNG.normal(size=700)),
    "shift": np.abs(RNG.normal(size=700)) * np.where(np.arange(700) // 200 % 2, 5.0, 1.0),
    "tied": RNG.integers(0, 6, 700) + 0.0,
    "equal": np.full(60, 2.0),
    "zeros": np.zeros(60),
}


def rank(x, top):
    """x rounded up, exact where x is a whole number up to rounding."""
    nearest = round(x)
    return min(nearest if abs(x - nearest) < 1e-9 else math.ceil(x), top)


def slow_split(scores, alpha, corrected):
    out = []
    for t in range(len(scores)):
        past = np.sort(scores[:t])
        if corrected:
            k = rank((t + 1) * (1 - alpha), t + 1)
            out.append(past[k - 1] if k <= t else math.inf)
        else:
            out.append(np.quantile(past, 1 - alpha, method="inverted_cdf") if t else 0.0)
    return np.array(out)


def slow_nex(scores, alpha, decay, corrected):
    out = []
    for t in range(len(scores)):
        order = np.argsort(scores[:t], kind="stable")
        weights = decay ** np.arange(t, 0, -1.0)[order]
        total = weights.sum() + (1.0 if corrected else 0.0)
        share = np.cumsum(weights) / total if t else np.zeros(0)
        i = int(np.searchsorted(share, (1 - alpha) * (1 - 1e-12)))
        out.append(scores[:t][order[i]] if i < t else math.inf if corrected or t else 0.0)
    return np.array(out)


def slow_trailing(scores, alpha, window):
    out = []
    for t in range(len(scores)):
        past = scores[max(t - window, 0) : t]
        out.append(math.inf if len(past) < np.ceil(1 / alpha) else np.quantile(past, 1 - alpha, method="higher"))
    return np.array(out)


def slow_aci(scores, alpha, gamma, window=10**9, covered=False, burn_in=0, clip=False, published=False):
    level, out = alpha, []
    for t, s in enumerate(scores):
        past = scores[max(t - window, 0) : t]
        n = t if published else len(past)
        r = math.inf if level <= 1 / (n + 1) else np.quantile(past, 1 - min(max(level, 0), 1), method="higher")
        r = 0.0 if level >= 1 and not published else r  # the empty set
        shown = past.max() if clip and t and r == math.inf else r
        judged = r if published else shown
        err = s > judged or (s == judged and not covered)
        if t >= burn_in:
            level = level + gamma * (alpha - err)
        out.append(shown)
    return np.array(out)


def slow_experts(scores, alpha, interval, eta, bounded, covered, first, clip=True):
    levels, w, sigma, out = np.full(8, alpha), np.full(8, 1 / 8), 1 / (2 * interval), []
    for t, s in enumerate(scores):
        past = scores[:t]
        level = float(w @ levels / w.sum())
        if t == 0:
            out.append(first)
        elif level <= 0 and not clip:
            out.append(math.inf)
        else:
            out.append(np.quantile(past, 1 - min(max(level, 0.0), 1.0), method="inverted_cdf"))
        if t > math.floor(1 / alpha):
            beta = np.mean(past >= s) if covered else np.mean(past > s)
            losses = np.maximum(alpha * (beta - levels), (1 - alpha) * (levels - beta))
            bar = w * np.exp(-eta * losses)
            w = (1 - sigma) * bar / bar.sum() + sigma / 8
            levels = levels + GAMMAS * (alpha - (levels > beta))
            if bounded:
                levels = np.clip(levels, 0, 1)
    return np.array(out)


def r_quantile(past, theta):
    """R's quantile of type 1 at a clipped probability, and 0 of nothing."""
    n, past = len(past), np.sort(past)
    product = n * max(0.0, min(theta, 1.0))
    j = math.floor(product + 4 * 2.0**-52)
    return 0.0 if n == 0 else past[min(max(j + (product > j), 1), n) - 1]


def r_aci(scores, coverage, gamma):
    """The package AdaptiveConformal keeps the probability theta of the quantile; also returns every theta."""
    theta, radii, thetas = coverage, [], []
    for t, s in enumerate(scores):
        radii.append(r_quantile(scores[:t], theta))
        thetas.append(theta)
        theta = theta + gamma * ((s > radii[-1]) - (1 - coverage))
    return np.array(radii), np.array(thetas)


def r_dtaci(scores, coverage, eta=None, interval=100):
    """Experts are run by themselves; the weights look at beta, the share of the past at or below the score.

    NaN where n times the mean theta is a whole number up to rounding, which then decides on the rank.
    """
    thetas = np.array([r_aci(scores, coverage, gamma)[1] for gamma in GAMMAS]).T
    a, sigma = coverage, 1 / (2 * interval)
    if eta is None:
        eta = math.sqrt(3 / interval) * math.sqrt(
            (math.log(8 * interval) + 2) / (a**2 * (1 - a) ** 3 + (1 - a) ** 2 * a**3)
        )
    w, radii = np.full(8, 1 / 8), []
    for t, s in enumerate(scores):
        theta = math.fsum(thetas[t] * (w / w.sum()))
        unsure = t > 0 and 0.0 < theta < 1.0 + 1e-12 and abs(t * theta - round(t * theta)) < 1e-11
        radii.append(math.nan if unsure else r_quantile(scores[:t], theta))
        beta = np.mean(scores[:t] <= s) if t else 0.0
        bar = w * np.exp(-eta * (coverage * (beta - thetas[t]) - np.minimum(0, beta - thetas[t])))
        star = (1 - sigma) * bar + bar.sum() * sigma / 8
        w = star / star.sum()
    return np.array(radii)


def slow_aggregated(scores, alpha, covered, clip):
    levels, w, out = np.full(8, alpha), np.full(8, 1 / 8), []
    eta, total, squares, largest = np.zeros(8), np.zeros(8), np.zeros(8), np.zeros(8)
    for t, s in enumerate(scores):
        past, level = scores[:t], float(w @ levels / w.sum())
        if t == 0 or (level <= 0 and not clip):
            out.append(math.inf)
        else:
            out.append(np.quantile(past, 1 - min(max(level, 0.0), 1.0), method="inverted_cdf"))
        if t > math.floor(1 / alpha):
            beta = np.mean(past >= s) if covered else np.mean(past > s)
            loss = ((level > beta) - alpha) * (levels - level)
            squares, largest = squares + loss**2, np.maximum(largest, np.abs(loss))
            reach = 2 ** (np.ceil(np.log2(largest + 0.001)) + 1)
            total = total + 0.5 * (loss * (1 + eta * loss) + reach * (eta * loss > 0.5))
            with np.errstate(divide="ignore"):
                eta = np.minimum(1 / reach, np.sqrt(math.log(8) / squares))
            w = eta * np.exp(-eta * total + (eta * total).min())
            w = w / w.sum()
            levels = levels + GAMMAS * (alpha - (levels > beta))
    return np.array(out)


def slow_radii(scores, alpha, scale, tie):
    radii, w, squares, out, largest = np.zeros(8), np.full(8, 1 / 8), [], [], 0.0
    for s in scores:
        out.append(max(w @ radii / w.sum(), 0.0))
        largest = max(largest, s)
        d = largest if scale is None else scale
        losses = np.maximum((1 - alpha) * (s - radii), alpha * (radii - s))
        total = np.mean(squares[-100:]) * 100 if squares else 100 * (d * (1 - alpha)) ** 2
        squares.append(w @ losses**2)
        if total > 0:
            bar = w * np.exp(-math.sqrt((math.log(800) + 2) / total) * losses)
            w = (1 - 1 / 200) * bar / bar.sum() + 1 / 1600
        at_tie = {"miss": 1.0, "covered": 0.0, "neither": alpha}[tie]
        radii = radii + GAMMAS * d * (np.where(s == radii, at_tie, s > radii) - alpha)
    return np.array(out)


def faci_eta(alpha, interval=100, published=False):
    a = (1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3
    return math.sqrt(3 / interval * (math.log(8 * interval) + 2) / a * (3 if published else 1))


def dtaci_eta(alpha, interval=500):
    a = (1 - alpha) ** 2 * alpha**3 + alpha**2 * (1 - alpha) ** 3
    return math.sqrt(3 / interval * (math.log(16 * interval) + 1) / a)


CASES = [
    ("split", {}, lambda s, a: slow_split(s, a, True)),
    ("split", {"finite_sample": False}, lambda s, a: slow_split(s, a, False)),
    ("split", {"published": True}, lambda s, a: slow_split(s, a, False)),
    ("nex", {}, lambda s, a: slow_nex(s, a, 1 - a / 4, True)),
    ("nex", {"published": True}, lambda s, a: slow_nex(s, a, 1 - a / 4, False)),
    ("nex", {"decay": 0.92, "finite_sample": False}, lambda s, a: slow_nex(s, a, 0.92, False)),
    ("nex", {"decay": 0.85}, lambda s, a: slow_nex(s, a, 0.85, True)),
    ("trailing-window", {}, lambda s, a: slow_trailing(s, a, 100)),
    ("trailing-window", {"window": 30}, lambda s, a: slow_trailing(s, a, 30)),
    ("aci", {}, lambda s, a: slow_aci(s, a, 0.005)),
    ("aci", {"gamma": 0.1}, lambda s, a: slow_aci(s, a, 0.1)),
    ("aci", {"gamma": 0.05, "window": 40}, lambda s, a: slow_aci(s, a, 0.05, 40)),
    ("aci", {"gamma": 0.05, "window": 40, "clip": True}, lambda s, a: slow_aci(s, a, 0.05, 40, clip=True)),
    ("aci", {"published": True}, lambda s, a: slow_aci(s, a, 0.005, covered=True, published=True)),
    (
        "aci",
        {"published": True, "gamma": 0.1, "window": 50, "clip": True, "burn_in": 30},
        lambda s, a: slow_aci(s, a, 0.1, 50, True, 30, True, True),
    ),
    ("aci", {"published": "adaptiveconformal", "gamma": 0.01}, lambda s, a: r_aci(s, 1 - a, 0.01)[0]),
    ("aci", {"published": "adaptiveconformal", "gamma": 0.05}, lambda s, a: r_aci(s, 1 - a, 0.05)[0]),
    ("faci", {}, lambda s, a: slow_experts(s, a, 100, faci_eta(a), True, False, math.inf)),
    ("faci", {"published": True}, lambda s, a: slow_experts(s, a, 100, faci_eta(a, 100, True), True, True, 0.0)),
    ("faci", {"eta": 3.0, "tie": "covered"}, lambda s, a: slow_experts(s, a, 100, 3.0, True, True, math.inf)),
    ("dtaci", {}, lambda s, a: slow_experts(s, a, 500, dtaci_eta(a), False, False, math.inf)),
    ("dtaci", {"published": True}, lambda s, a: slow_experts(s, a, 500, 2.72, False, True, math.inf, False)),
    ("dtaci", {"published": "adaptiveconformal"}, lambda s, a: r_dtaci(s, 1 - a)),
    (
        "dtaci",
        {"published": "adaptiveconformal", "eta": 2.72, "interval": 50},
        lambda s, a: r_dtaci(s, 1 - a, 2.72, 50),
    ),
    ("agaci", {}, lambda s, a: slow_aggregated(s, a, False, True)),
    ("agaci", {"published": True}, lambda s, a: slow_aggregated(s, a, True, False)),
    ("faci-s", {}, lambda s, a: slow_radii(s, a, None, "miss")),
    ("faci-s", {"max_score": 5.0, "tie": "covered"}, lambda s, a: slow_radii(s, a, 5.0, "covered")),
    ("faci-s", {"max_score": 5.0, "published": True}, lambda s, a: slow_radii(s, a, 1.0, "neither")),
]
IDS = [f"{name}{i}" for i, (name, _, _) in enumerate(CASES)]
each = pytest.mark.parametrize(("name", "options"), [c[:2] for c in CASES], ids=IDS)
numbers = st.lists(st.sampled_from([0.0, 1.0, 2.0]) | st.floats(0, 1e6), max_size=60)


def full(tracker):
    return json.dumps(tracker.state_dict())


@pytest.mark.parametrize(("name", "options", "slow"), CASES, ids=IDS)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("alpha", [0.1, 0.2])
def test_against_the_slow_reference(name, options, slow, stream, alpha):
    scores = STREAMS[stream]
    ours, theirs = make(name, alpha, **options).run(scores), slow(scores, alpha)
    assert not np.isnan(ours).any()
    sure = ~np.isnan(theirs)
    assert sure.mean() > 0.98
    ours, theirs = ours[sure], theirs[sure]
    assert (np.isinf(ours) == np.isinf(theirs)).all()
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@each
@settings(max_examples=15)
@given(scores=numbers)
def test_batch_equals_steps(name, options, scores):
    a, b = make(name, 0.2, **options), make(name, 0.2, **options)
    radii = []
    for s in scores:
        radii.append(b.predict())
        b.update(s)
    assert a.run(scores).tobytes() == np.array(radii, dtype=float).tobytes()
    assert full(a) == full(b) and a.rounds == len(scores)
    assert not math.isnan(a.predict()) and a.predict() >= 0.0


@each
@settings(max_examples=10)
@given(first=numbers, then=numbers)
def test_resume_equals_never_stopped(name, options, first, then):
    a = make(name, 0.2, **options)
    a.run(first)
    b = load(json.loads(full(a)))
    c = copy.deepcopy(a)
    want = a.run(then).tobytes()
    assert b.run(then).tobytes() == want and c.run(then).tobytes() == want
    assert full(a) == full(b) == full(c)


@each
def test_resume_after_long(name, options):
    a = make(name, 0.1, **options)
    a.run(STREAMS["shift"])
    b = load(json.loads(full(a)))
    assert b.run(STREAMS["tied"]).tobytes() == a.run(STREAMS["tied"]).tobytes()
    a.reset()
    assert full(a) == full(make(name, 0.1, **options))


@each
def test_alpha_may_change(name, options):
    a = make(name, 0.1, **options)
    if name != "trailing-window" or options.get("window", 100) >= 50:
        a.run(STREAMS["random"])
        wide = a.predict()
        a.alpha = 0.3
        if name != "faci-s":
            assert a.predict() <= wide
        b = load(json.loads(full(a)))
        radii = a.run(STREAMS["random"])
        assert not np.isnan(radii).any() and b.run(STREAMS["random"]).tobytes() == radii.tobytes()
        assert 0.15 < (STREAMS["random"] >= radii)[100:].mean() < 0.45


@each
def test_an_error_leaves_the_state(name, options):
    a = make(name, 0.1, **options)
    a.run(STREAMS["random"])
    before = full(a)
    for bad in (math.nan, math.inf, -1.0, "x"):
        with pytest.raises((ValueError, TypeError)):
            a.update(bad)
    with pytest.raises(ValueError, match=r"scores\[1\]"):
        a.run([1.0, -2.0])
    assert full(a) == before
    skipping = make(name, 0.1, on_missing="skip", **options)
    skipping.run([1.0, math.nan, 2.0])
    skipping.update(None)
    assert skipping.rounds == 2


@each
def test_extremes(name, options):
    """Neither tiny nor huge scores give NaN; a power of two changes nothing but the scale."""
    for scale in (1e-300, 1e-160, 1e100, 1e149):
        radii = make(name, 0.1, **options).run(STREAMS["random"] * scale)
        assert not np.isnan(radii).any()
    if name != "faci-s" or not options:
        radii = make(name, 0.1, **options).run(STREAMS["random"] * 2.0**40)
        assert (radii == make(name, 0.1, **options).run(STREAMS["random"]) * 2.0**40).all()


@each
def test_signed_scores(name, options):
    a = make(name, 0.1, domain="real", **options)
    radii = a.run(STREAMS["random"] - 2.0)
    assert not np.isnan(radii).any()


@pytest.mark.parametrize("name", ["split", "nex", "trailing-window", "aci", "faci", "dtaci", "agaci", "faci-s"])
def test_cold(name):
    a = make(name, 0.1)
    assert a.cold
    cold = []
    for s in STREAMS["random"][:120]:
        cold.append(a.cold)
        if name not in ("faci-s", "aci"):  # faci-s starts at 0; the level of aci rises while it is cold
            assert a.cold == math.isinf(a.predict())
        a.update(s)
    first = cold.index(False)
    assert not any(cold[first:]), "warm once, warm for ever"
    assert first == {"split": 9, "trailing-window": 10, "aci": 10, "nex": 11}.get(name, 1)


def test_the_played_radius_judges_a_late_label():
    a, b = make("aci", 0.1, gamma=0.05), make("aci", 0.1, gamma=0.05)
    for tracker in (a, b):
        tracker.run(STREAMS["random"][:100])
    before = a.level
    a.update(1.0, radius=0.5)
    b.update(1.0, radius=1.5)
    assert a.level == pytest.approx(before - 0.045) and b.level == pytest.approx(before + 0.005)
    a.update(1.0, radius=math.inf)
    assert a.level == pytest.approx(before - 0.04)


@pytest.mark.parametrize(("tie", "moved"), [("miss", -0.045), ("covered", 0.005)])
def test_ties(tie, moved):
    a = make("aci", 0.1, gamma=0.05, tie=tie)
    a.run(np.ones(20))
    before = a.level
    a.update(3.0, radius=3.0)
    assert a.level - before == pytest.approx(moved)


def test_aci_does_not_wind_up_where_scores_fall():
    """At level 1 the set is empty and the round must miss, so the paper's guarantee holds on both sides."""
    falling = np.linspace(10.0, 1.0, 5000)
    for gamma in (0.005, 0.05):
        a = make("aci", 0.1, gamma=gamma)
        radii = a.run(falling)
        assert a.level <= 1.0 + gamma
        assert abs((radii <= falling).mean() - 0.1) <= (1.0 + gamma) / (gamma * len(falling))
    signed = make("aci", 0.1, gamma=0.05, domain="real")
    radii = signed.run(falling)
    assert radii.min() == -math.inf and signed.level <= 1.05
    assert make("aci", 0.1, gamma=0.05, published=True).run(falling).min() > 0.0


def test_the_level_is_never_clipped():
    a = make("aci", 0.1, gamma=0.1, clip=True)
    a.run(np.arange(100.0))  # every score is a record: always missed
    assert a.level < -8.0 and a.predict() == 99.0
    assert make("aci", 0.1, gamma=0.1).run(np.arange(100.0))[-20:].max() == math.inf


def test_experts_on_given_ranks():
    """The recursion of DtACI, where betas come from elsewhere."""
    a = make("dtaci", 0.1)
    assert a.level == pytest.approx(0.1, rel=1e-15)
    a.learn(0.0)
    assert np.asarray(a.levels) == pytest.approx(0.1 - 0.9 * GAMMAS)


@pytest.mark.parametrize("name", ["aci", "dtaci"])
def test_the_level_of_the_package_is_that_of_the_paper(name):
    """The package keeps 1 - alpha_t, which is a matter of rounding; ``level`` is alpha_t all the same."""
    a = make(name, 0.1, published="adaptiveconformal", tie="covered")
    assert a.level == pytest.approx(0.1)
    a.alpha = 0.2
    assert a.level == pytest.approx(0.2)
    if name == "aci":
        b = make(name, 0.2, finite_sample=False, clip=True, tie="covered")
        for s in STREAMS["random"][:3]:
            a.update(s)
            b.update(s)
    else:
        b = make(name, 0.2, interval=100, eta=1.0)
        a = make(name, 0.2, eta=1.0, published="adaptiveconformal")
        for beta in (0.0, 0.15, 0.9, 0.3):
            a.learn(beta)
            b.learn(beta)
    assert a.level == pytest.approx(b.level, rel=1e-12)


def test_finite_sample_coverage():
    """Exchangeable scores: the chance of a miss is at most alpha, and at least alpha - 1 / (n + 1)."""
    rng = np.random.default_rng(3)
    misses = 0
    for _ in range(4000):
        scores = rng.normal(size=20) + 10.0
        a = make("split", 0.1)
        a.warm_start(scores[:19])
        misses += scores[19] > a.predict()
    assert 0.05 - 0.015 < misses / 4000 < 0.1 + 0.015


def test_long_run_coverage():
    scores = np.abs(np.random.default_rng(5).normal(size=20_000))
    for name in ("split", "nex", "aci", "faci", "dtaci", "agaci", "trailing-window", "faci-s"):
        missed = scores >= make(name, 0.1).run(scores)
        assert abs(missed[500:].mean() - 0.1) < 0.02, name


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("nex", {"decay": 1.0}),
        ("nex", {"decay": 0.0}),
        ("trailing-window", {"window": 5}),
        ("trailing-window", {"window": None}),
        ("aci", {"gamma": 0.0}),
        ("aci", {"window": 0}),
        ("aci", {"tie": "x"}),
        ("aci", {"burn_in": -1}),
        ("aci", {"published": "x"}),
        ("dtaci", {"published": "x"}),
        ("faci", {"published": "adaptiveconformal"}),
        ("faci", {"gammas": []}),
        ("faci", {"sigma": 2.0}),
        ("faci", {"interval": 0}),
        ("faci", {"eta": -1.0}),
        ("dtaci", {"tie": "neither"}),
        ("agaci", {"gammas": [0.1]}),
        ("faci-s", {"max_score": -1.0}),
        ("faci-s", {"tie": "x"}),
    ],
)
def test_bad_arguments(name, wrong):
    with pytest.raises((ValueError, TypeError)) as caught:
        make(name, 0.1, **wrong)
    assert len(str(caught.value)) > 15
