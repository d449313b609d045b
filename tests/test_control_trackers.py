"""Control, decaying steps, SAOCP, ECI, KT, the linear tracker, Bayes, the trivial and the lagged one.

Each method is compared with a slow, literal reference, written here and importing nothing of ours.
"""

import json
import math

import numpy as np
import pytest

from wane.trackers import base, lagged, make
from wane.trackers.control import Control, Range, Trend

METHODS = {
    "p-control": {},
    "pi-control": {"gain": 3.0},
    "pid": {"gain": 2.0},
    "decaying-ogd": {},
    "saocp": {"max_score": 4.0, "lifetime": 8},
    "trivial": {},
    "eci": {},
    "kt": {},
    "linear-tracker": {"order": 2},
    "bayes": {"max_score": 4.0, "discount": 0.99},
}
SAME = {"rtol": 1e-9, "atol": 1e-12}
each = pytest.mark.parametrize("name", METHODS)


def streams():
    rng = np.random.default_rng(7)
    smooth = np.abs(rng.normal(size=400)) * np.where(np.arange(400) < 200, 1.0, 3.0)
    tied = rng.integers(0, 4, size=400) / 2.0
    return [smooth, tied, np.zeros(50), np.full(300, 2.0)]


def missed(s, q, tie):
    return float(s > q or (s == q and tie == "miss"))


def control_reference(scores, alpha, rate, gain=0.0, saturation=1.0, window=100, late=True, tie="miss", cast=None):
    """P, PI and PID, round by round from the whole past."""
    errors, radii, q, level, slope = [], [], 0.0, None, 0.0
    for t, s in enumerate(scores):
        integral = 0.0
        if gain and t > 0:
            x = sum(e - alpha for e in (errors[:-1] if late else errors))
            angle = x * math.log(t) / (saturation * t)
            integral = gain * math.tan(angle) if abs(angle) < math.pi / 2 else math.copysign(math.inf, angle)
        forecast = 0.0 if cast is None or level is None else level + slope
        radii.append(max(0.0, q + integral + forecast))
        errors.append(missed(s, radii[-1], tie))
        past = scores[max(0, t - window) : t]
        eta = rate * (max(past) - min(past)) if t > 0 else rate
        q += eta * (errors[-1] - alpha)
        if cast is not None:
            before = s if level is None else level
            level = cast[0] * s + (1 - cast[0]) * (before + slope)
            slope = cast[1] * (level - before) + (1 - cast[1]) * slope
    return np.array(radii)


@pytest.mark.parametrize("tie", ["miss", "covered"])
@pytest.mark.parametrize("window", [1, 7, 100])
@pytest.mark.parametrize("late", [True, False])
def test_control(tie, window, late):
    for s in streams():
        p = make("p-control", 0.1, rate=0.3, window=window, tie=tie)
        np.testing.assert_allclose(p.run(s), control_reference(s, 0.1, 0.3, window=window, tie=tie), **SAME)
        pi = make("pi-control", 0.1, rate=0.3, gain=2.0, saturation=0.2, window=window, late=late, tie=tie)
        want = control_reference(s, 0.1, 0.3, 2.0, 0.2, window, late, tie)
        np.testing.assert_allclose(pi.run(s), want, **SAME)
        pid = make("pid", 0.1, rate=0.3, gain=2.0, window=window, late=late, tie=tie, scorecaster=Trend(0.25, 0.125))
        want = control_reference(s, 0.1, 0.3, 2.0, 1.0, window, late, tie, (0.25, 0.125))
        np.testing.assert_allclose(pid.run(s), want, **SAME)


def test_integral_saturates():
    pi = make("pi-control", 0.1, gain=1.0, saturation=0.01, domain="real")
    radii = pi.run(10.0 + np.arange(400) % 3)
    assert np.isposinf(radii).any() and not np.isnan(radii).any()
    assert np.isneginf(make("pi-control", 0.4, saturation=0.01, domain="real").run([-5.0] * 9)).any()
    again = base.load(json.loads(json.dumps(pi.state_dict())))  # the state is finite
    assert again.predict() == pi.predict()


def test_range():
    rng = np.random.default_rng(1)
    for window in (1, 2, 5, 30):
        kept, scores = Range(window), rng.integers(-3, 4, size=200).astype(float)
        for t, s in enumerate(scores):
            kept.push(s)
            last = scores[max(0, t + 1 - window) : t + 1]
            assert (kept.high, kept.low) == (last.max(), last.min())


class LastScore:
    """A scorecaster of a user's, without a state that can be saved."""

    def __init__(self):
        self.last = 0.0

    def predict(self):
        return self.last

    def update(self, score):
        if score == 13.0:
            raise RuntimeError("unlucky")
        self.last = score


def test_scorecaster():
    s = np.cumsum(np.full(200, 1.0))
    assert abs(make("pid", 0.1, rate=0.1, gain=0.0).run(s)[150:] - s[150:]).mean() < 5.0
    tracker = make("pid", 0.1, scorecaster=LastScore(), gain=0.0)
    tracker.run([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="scorecaster"):
        base.load(tracker.state_dict())
    other = base.load(tracker.state_dict(), scorecaster=tracker.scorecaster)
    assert other.predict() == tracker.predict()
    before = tracker.state_dict()
    with pytest.raises(RuntimeError, match="unlucky"):
        tracker.update(13.0)
    assert tracker.state_dict() == before
    with pytest.raises(TypeError, match=r"predict\(\) and update"):
        make("pid", 0.1, scorecaster=3)


@pytest.mark.parametrize("tie", ["miss", "covered"])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.6, 1.0])
def test_decaying(tie, exponent):
    for s in streams():
        q, want = 0.5, []
        for t, score in enumerate(s, start=1):
            want.append(max(0.0, q))
            q += 2.0 * t**-exponent * (missed(score, want[-1], tie) - 0.2)
        tracker = make("decaying-ogd", 0.2, rate=2.0, exponent=exponent, start=0.5, tie=tie)
        np.testing.assert_allclose(tracker.run(s), want, **SAME)


def test_decaying_published_starts_at_the_first_score():
    s = np.random.default_rng(3).exponential(size=100)
    q, want = s[0], []
    for t, score in enumerate(s, start=1):
        want.append(q)
        q += t**-0.6 * (float(score > q) - 0.1)
    got = make("decaying-ogd", 0.1, published=True, domain="real").run(s)
    assert got[0] == 0.0  # the first score is not known before the first round
    np.testing.assert_allclose(got[1:], want[1:], **SAME)


def saocp_reference(scores, alpha, largest, lifetime, tie):
    """The experts as a dict by birth."""
    experts, radii = {}, []

    def loss(x, s):
        return max((1 - alpha) * (s - x), alpha * (x - s))

    def weight(e):
        return e["z"] / e["age"] * (1 + e["y"]) if e["age"] else 0.0

    def mixture():
        prior = {t: 1.0 / (t * t * t.bit_length()) for t in experts}
        p = {t: prior[t] * max(0.0, weight(e)) for t, e in experts.items()}
        if sum(p.values()) == 0.0:
            p = prior
        return sum(p[t] / sum(p.values()) * e["x"] for t, e in experts.items())

    for t, s in enumerate(scores, start=1):
        radii.append(mixture())
        for old in [k for k, e in experts.items() if e["age"] > lifetime * (k & -k)]:
            del experts[old]
        experts[t] = {"x": radii[-1], "v": 0.0, "z": 0.0, "y": 0.0, "age": 0}
        meta = loss(mixture(), s)
        for e in experts.values():
            w, x = weight(e), e["x"]
            g = np.clip((meta - loss(x, s)) / (largest * max(alpha, 1 - alpha)), -1.0 if w > 0 else 0.0, 1.0)
            e["z"], e["y"], e["age"] = e["z"] + g, e["y"] + g * w, e["age"] + 1
            at = {"miss": alpha - 1, "covered": alpha, "neither": 0.0}[tie]
            slope = alpha if x > s else alpha - 1 if x < s else at
            e["v"] += slope * slope
            if e["v"]:
                e["x"] = max(0.0, x - largest / math.sqrt(3) / math.sqrt(e["v"]) * slope)
    return np.array(radii), len(experts)


@pytest.mark.parametrize("tie", ["miss", "covered", "neither"])
def test_saocp(tie):
    """Exactly at first; the path is chaotic, so later by what it does."""
    for s in streams()[:2]:
        tracker = make("saocp", 0.1, max_score=4.0, lifetime=8, tie=tie)
        got, (want, alive) = tracker.run(s), saocp_reference(s, 0.1, 4.0, 8, tie)
        np.testing.assert_allclose(got[:8], want[:8], **SAME)
        assert abs((s < got).mean() - (s < want).mean()) < 0.03
        assert abs(got.mean() / want.mean() - 1.0) < 0.1
        assert tracker.alive == alive


def test_saocp_lifetimes_and_scale():
    s = np.random.default_rng(0).random(5000)
    for lifetime in (1, 3, 8):
        tracker = make("saocp", 0.1, max_score=1.0, lifetime=lifetime)
        tracker.run(s)
        assert tracker.alive == sum(5000 - t <= lifetime * (t & -t) for t in range(1, 5001)) < tracker.room
    small, large = (make("saocp", 0.1, max_score=c, lifetime=8).run(c * s) for c in (1.0, 1024.0))
    assert (1024.0 * small == large).all()


def test_saocp_wealth_saturates():
    tracker = make("saocp", 0.1, max_score=1.0, lifetime=2048)
    for _ in range(2100):
        tracker.update(1.0, radius=math.inf)  # every expert wins all it can
    assert max(tracker.y) == 1e200 and math.isfinite(tracker.predict())
    assert np.isfinite(make("saocp", 0.1, max_score=1e-3).run(1e6 * np.random.default_rng(0).random(2000))).all()


def test_trivial_is_right_and_useless():
    for alpha in (0.1, 0.05, 0.3, 1 / 3, 0.01, 0.07):
        for rounds in (1, 10, 999, 3000):
            s = np.random.default_rng(0).random(rounds)
            r = make("trivial", alpha).run(s)
            assert abs((s >= r).mean() - alpha) <= 1.0 / rounds + 1e-12
    pinball = np.where(r > s, alpha * (r - s), (1 - alpha) * (s - r))
    assert pinball.mean() == math.inf
    s = np.random.default_rng(0).normal(size=1000)
    assert (s >= make("trivial", 0.1, domain="real").run(s)).mean() == 0.1


@pytest.mark.parametrize("name", ["magl", "magl-d", "pi-control", "trivial"])
def test_lagged(name):
    s = streams()[0]
    a, b = make(name, 0.1), lagged.Lagged(make(name, 0.1))
    now, late = a.run(s), b.run(s)
    assert late[0] == 0.0 and (late[1:] == now[:-1]).all()
    c = base.load(json.loads(json.dumps(b.state_dict())))
    assert (c.run(s) == b.run(s)).all() and c.tracker.rounds == c.rounds == 800
    b.alpha = 0.3
    assert b.tracker.alpha == 0.3
    b.reset()
    assert (b.run(s)[:1] == 0.0).all() and b.rounds == 400
    with pytest.raises(TypeError, match="Tracker"):
        lagged.Lagged(3)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("window", [0, 10])
def test_eci(published, window):
    for s in streams():
        q, extra, want = 0.0, 0.0, []
        for t, score in enumerate(s):
            want.append(max(0.0, q + extra))
            past = s[max(0, t - window) : t]
            eta = 0.2 * (max(past) - min(past)) if window and t else 0.2
            d = score - want[-1]
            term = d * 2.0 * math.exp(-2.0 * d) / (1 + math.exp(-2.0 * d)) ** 2
            q += eta * (missed(score, want[-1], "covered" if published else "miss") - 0.1)
            if published:
                extra = eta * term
            else:
                q += eta * term
        tracker = make("eci", 0.1, rate=0.2, scale=2.0, window=window, output_only=False, published=published)
        np.testing.assert_allclose(tracker.run(s), want, **SAME)


def test_eci_settles_where_its_docstring_says():
    s = np.abs(np.random.default_rng(0).normal(size=60_000))
    assert abs((s < make("eci", 0.1, rate=0.02, published=True).run(s))[10_000:].mean() - 0.9) < 0.005
    r = make("eci", 0.1, rate=0.02, window=0, output_only=False).run(s)
    d = (s - r)[10_000:]
    bias = (d * np.exp(-d) / (1 + np.exp(-d)) ** 2).mean()
    assert abs((d >= 0).mean() - (0.1 - bias)) < 1e-3 and bias < -0.05
    assert make("eci", 0.1, rate=1.0, window=0, output_only=False, domain="real").run([1e149, 0.0, 5.0]).max() < 10.0


def test_kt():
    for s in streams():
        wealth, total, q, want = 1.0, 0.0, 0.0, []
        for t, score in enumerate(s, start=1):
            want.append(max(0.0, q))
            g = 0.1 - missed(score, want[-1], "miss")
            wealth -= g * q
            total -= g
            q = wealth * total / (t + 1)
        np.testing.assert_allclose(make("kt", 0.1).run(s), want, **SAME)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_linear(order, published):
    for s in streams():
        theta = np.full(order + 1, 1.0 / max(order, 1) if published else 0.0)
        want = []
        for t, score in enumerate(s):
            x = np.array([*s[t - order : t], 2.0]) if t >= order else np.zeros(order + 1)
            want.append(max(0.0, theta @ x))
            err = missed(score, want[-1], "covered" if published else "miss")
            theta = theta + 0.05 * (t + 1.0) ** -0.6 * (err - 0.1) * x
        tracker = make("linear-tracker", 0.1, rate=0.05, order=order, bias=2.0, exponent=0.6, published=published)
        np.testing.assert_allclose(tracker.run(s), want, **SAME)


def test_linear_features():
    tracker = make("linear-tracker", 0.1, rate=0.01, features=2)
    with pytest.raises(ValueError, match="features"):
        tracker.set_features([1.0])
    with pytest.raises(ValueError, match="features"):
        tracker.set_features([1.0, math.nan])
    rng, misses = np.random.default_rng(0), []
    for _ in range(5000):
        x = rng.random(2)
        tracker.set_features(x)
        score = 1.0 + 2.0 * x[0] + rng.random()
        misses.append(score >= tracker.predict())
        tracker.update(score)
    assert abs(np.mean(misses[1000:]) - 0.1) < 0.01
    tracker.set_features([1.0, 0.0])
    high = tracker.predict()
    tracker.set_features([0.0, 0.0])
    assert 1.5 < high - tracker.predict() < 2.5
    again = base.load(json.loads(json.dumps(tracker.state_dict())))
    assert again.predict() == tracker.predict()
    big = make("linear-tracker", 0.1, rate=1e150, order=1)
    with pytest.raises(OverflowError, match="in round 1"):
        big.run([1e150, 1e150, 1e150, 1e150] * 3)


def test_bayes():
    for s in streams()[:2]:
        for discount in (1.0, 0.95):
            counts, want, edges = np.zeros(40), [], np.arange(1, 41) / 40 * 4.0
            for score in s:
                lam = 1.0 / math.sqrt(counts.sum() + 1.0)
                law = lam / 40 + (1 - lam) * counts / max(counts.sum(), 1e-9)
                want.append(edges[min(39, int(np.sum(np.cumsum(law) < 0.9 - 1e-9)))])
                counts *= discount
                counts[min(39, max(0, math.ceil(score / 4.0 * 40) - 1))] += 1.0
            got = make("bayes", 0.1, max_score=4.0, discount=discount, cells=40).run(s)
            np.testing.assert_allclose(got, want, **SAME)
    tracker = make("bayes", 0.1, max_score=4.0)
    tracker.run(streams()[0])
    radii = []
    for alpha in (0.5, 0.3, 0.1, 0.05, 0.01):
        tracker.alpha = alpha
        radii.append(tracker.predict())
    assert radii == sorted(radii)  # nested


# What all of them keep.


@each
@pytest.mark.parametrize("domain", ["nonnegative", "real"])
def test_batch_equals_steps_and_resume_equals_never_stopped(name, domain):
    for s in streams()[:2]:
        s = s if domain == "nonnegative" else s - 1.0
        a, b, c = (make(name, 0.1, domain=domain, **METHODS[name]) for _ in range(3))
        want = a.run(s)
        steps = []
        for score in s:
            steps.append(b.predict())
            b.update(score)
        first = c.run(s[:150])
        c = base.load(json.loads(json.dumps(c.state_dict())))
        assert want.tobytes() == np.array(steps).tobytes() == np.concatenate([first, c.run(s[150:])]).tobytes()
        assert a.state_dict() == b.state_dict() == c.state_dict()
        assert not np.isnan(want).any() and (domain == "real" or (want >= 0.0).all())
        assert a.memory[0] == "rounds" and a.rounds == len(s) and repr(a).startswith(type(a).__name__)
        a.reset()
        assert a.run(s).tobytes() == want.tobytes()


@each
def test_late_radius(name):
    """The radius that was played decides, and giving the current one changes nothing."""
    a, b, c = (make(name, 0.1, **METHODS[name]) for _ in range(3))
    for tracker in (a, b, c):
        tracker.run(streams()[0][:60])
    a.update(1.0)
    b.update(1.0, radius=b.predict())
    assert a.state_dict() == b.state_dict()
    d = make(name, 0.1, **METHODS[name])
    d.run(streams()[0][:60])
    c.update(1.0, radius=0.0)  # a miss
    d.update(1.0, radius=math.inf)  # covered
    if name in ("trivial", "bayes"):
        assert c.state_dict() == d.state_dict()
    elif name == "saocp":
        assert c.state_dict() != d.state_dict()
    else:
        assert c.predict() > d.predict()
    assert not math.isnan(c.predict()) and not math.isnan(d.predict())


@each
def test_alpha_changed_mid_run(name):
    s = np.random.default_rng(5).random(6000)
    tracker = make(name, 0.1, **METHODS[name])
    tracker.run(s[:2000])
    tracker.alpha = 0.4
    assert tracker.alpha == 0.4
    r = tracker.run(s[2000:])
    tolerance = {"bayes": 0.1, "saocp": 0.06, "kt": 0.08}.get(name, 0.03)
    assert abs((s[2000:] >= r)[2000:].mean() - 0.4) < tolerance
    assert base.load(tracker.state_dict()).alpha == 0.4


@each
def test_missing_scores(name):
    s = streams()[0]
    holes = s.copy()
    holes[[3, 50]] = np.nan
    a, b = make(name, 0.1, on_missing="skip", **METHODS[name]), make(name, 0.1, **METHODS[name])
    a.run(holes)
    b.run(s[~np.isnan(holes)])
    assert a.predict() == b.predict() and a.rounds == b.rounds == 398


@each
def test_long_runs_cover(name):
    s = np.random.default_rng(6).random(20_000)
    r = make(name, 0.1, **METHODS[name]).run(s)
    tolerance = {"bayes": 0.1}.get(name, 0.02)
    assert abs((s >= r)[5000:].mean() - 0.1) < tolerance


@pytest.mark.parametrize("name", ["p-control", "pi-control", "pid", "eci", "linear-tracker", "decaying-ogd"])
def test_published_covers_ties(name):
    made = [
        make(name, 0.1, published=p, **{**METHODS[name], "order": 0} if name == "linear-tracker" else METHODS[name])
        for p in (False, True)
    ]
    for tracker in made:
        tracker.run([1.0, 2.0])
    (a, x), (b, y) = ((t, t.q if name != "linear-tracker" else t.theta[0]) for t in made)
    a.update(5.0, radius=5.0)
    b.update(5.0, radius=5.0)
    assert a.tie == "miss" and (a.q if name != "linear-tracker" else a.theta[0]) > x
    assert b.tie == "covered" and (b.q if name != "linear-tracker" else b.theta[0]) < y


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: make("p-control", 0.1, rate=0.0),
        lambda: make("p-control", 0.1, window=0),
        lambda: make("p-control", 0.1, window=2.5),
        lambda: make("p-control", 0.1, tie="both"),
        lambda: make("pi-control", 0.1, gain=-1.0),
        lambda: make("pi-control", 0.1, saturation=0.0),
        lambda: Control(0.1, domain="positive"),
        lambda: Trend(1.5),
        lambda: make("decaying-ogd", 0.1, exponent=-1.0),
        lambda: make("decaying-ogd", 0.1, start="second"),
        lambda: make("decaying-ogd", 0.1, start=math.nan),
        lambda: make("saocp", 0.1, max_score=0.0),
        lambda: make("saocp", 0.1, max_score=1.0, lifetime=0),
        lambda: make("saocp", 0.1, max_score=1.0, tie="half"),
        lambda: make("eci", 0.1, scale=-1.0),
        lambda: make("linear-tracker", 0.1, order=-1),
        lambda: make("linear-tracker", 0.1, exponent=2.0),
        lambda: make("bayes", 0.1, max_score=1.0, cells=0),
        lambda: make("bayes", 0.1, max_score=1.0, discount=1.5),
        lambda: make("bayes", 0.1),
        lambda: make("saocp", 0.1),
    ],
)
def test_bad_arguments(wrong):
    with pytest.raises((ValueError, TypeError)) as caught:
        wrong()
    assert len(str(caught.value)) > 15
