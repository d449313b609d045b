"""What every tracker keeps, found by name: a method that is registered is tested here."""

import copy
import inspect
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import NEEDS

from wane import learners, trackers
from wane.trackers import CoverageWarning, LossTracker, Pinball, Tracker, load, make, names

each = pytest.mark.parametrize("name", names())
pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
scores = st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5]) | st.floats(0.0, 100.0), max_size=40)


def tracker_of(name, alpha=0.1, **more):
    return make(name, alpha, **NEEDS.get(name, {}), **more)


def full_state(tracker):
    return json.dumps(tracker.state_dict())


def steps(tracker, scores):
    out = []
    for s in scores:
        out.append(tracker.predict())
        tracker.update(s)
    return np.array(out)


class Last(Tracker):
    """A method written by a user, in Python: the last score, and a bit more."""

    parameters = ("alpha", "factor")
    memory = ("rounds", "radius")

    def __init__(self, alpha, factor=1.5):
        super().__init__(alpha)
        self.factor = factor
        self.radius = 0.0

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.radius = self.factor * score


@each
@settings(max_examples=20)
@given(scores=scores)
def test_batch_equals_steps(name, scores):
    a, b = tracker_of(name), tracker_of(name)
    assert a.run(scores).tobytes() == steps(b, scores).tobytes()
    assert full_state(a) == full_state(b)


@each
def test_predict_is_pure(name):
    a = tracker_of(name)
    a.run(np.abs(np.random.default_rng(0).normal(size=50)))
    before = full_state(a)
    assert a.predict() == a.predict() and type(a.predict()) is float
    assert full_state(a) == before and repr(a)


@each
@settings(max_examples=10)
@given(first=scores, then=scores)
def test_resume_equals_never_stopped(name, first, then):
    a = tracker_of(name)
    a.run(first)
    b = load(json.loads(full_state(a)))
    for same in (b, copy.copy(a), pickle.loads(pickle.dumps(a))):
        assert type(same) is type(a) and same.rounds == a.rounds and same.alpha == a.alpha
    assert b.run(then).tobytes() == a.run(then).tobytes()
    assert full_state(a) == full_state(b)


@each
@pytest.mark.parametrize("bad", [math.nan, None, math.inf, -1.0, "x", [1.0], 1j])
def test_bad_scores_leave_the_state(name, bad):
    a = tracker_of(name)
    a.run([1.0, 2.0, 0.5])
    before = full_state(a)
    with pytest.raises((ValueError, TypeError)):
        a.update(bad)
    with pytest.raises((ValueError, TypeError)):
        a.run([1.0, 1.0, bad])
    with pytest.raises(ValueError, match="radius"):
        a.update(1.0, radius=math.nan)
    assert full_state(a) == before
    if bad is not None and isinstance(bad, float):
        with pytest.raises(ValueError, match=r"scores\[2\]"):
            a.run([1.0, 1.0, bad])


@each
def test_missing_scores_are_skipped_on_demand(name):
    a, b = tracker_of(name, on_missing="skip"), tracker_of(name)
    s = np.abs(np.random.default_rng(1).normal(size=60))
    gaps = s.copy()
    gaps[::7] = math.nan
    got = a.run(gaps)
    assert got[~np.isnan(gaps)].tobytes() == b.run(s[~np.isnan(gaps)]).tobytes()
    for missing in (None, math.nan, np.float64("nan"), np.float32("nan")):
        a.update(missing)
    assert a.rounds == b.rounds == (~np.isnan(gaps)).sum()
    assert a.run([None, 1.0]).shape == (2,)


@each
def test_reset_and_cold(name):
    a = tracker_of(name)
    fresh = full_state(a)
    assert a.cold
    a.run(np.abs(np.random.default_rng(2).normal(size=100)))
    assert not a.cold and a.rounds == 100
    a.reset()
    assert full_state(a) == fresh and a.cold


@each
def test_memory_is_bounded_or_the_reason_is_documented(name):
    a = tracker_of(name)
    s = np.abs(np.random.default_rng(6).normal(size=9000))
    a.run(s[:3000])
    young = len(full_state(a))
    a.run(s[3000:])
    if len(full_state(a)) > 1.3 * young:
        assert "memory grows" in " ".join(type(a).__doc__.lower().split())


@each
def test_alpha_may_change(name):
    a = tracker_of(name)
    s = np.abs(np.random.default_rng(3).normal(size=4000))
    a.run(s)
    a.alpha = 0.4
    assert a.alpha == 0.4
    radii = a.run(s)
    if name != "trivial":
        assert not np.isnan(radii).any()
        assert abs((radii <= s).mean() - 0.4) < 0.08
    for bad in (0.0, 1.0, -1.0, math.nan, "x"):
        with pytest.raises((ValueError, TypeError), match="alpha"):
            a.alpha = bad
    assert a.alpha == 0.4


@each
def test_late_labels_use_the_radius_that_was_played(name):
    """A label that comes at once with the current radius is a label in time; with another radius it is not ignored."""
    s = np.abs(np.random.default_rng(4).normal(size=30))
    a, b = tracker_of(name), tracker_of(name)
    for x in s:
        a.update(x, radius=a.predict())
        b.update(x)
    assert full_state(a) == full_state(b)


@each
def test_coverage_on_iid_scores(name):
    s = np.abs(np.random.default_rng(5).normal(size=20_000))
    radii = tracker_of(name).run(s)
    assert not np.isnan(radii).any() and (radii >= 0.0).all()
    assert abs((radii > s)[1000:].mean() - 0.9) < 0.03  # magl-d under-covers by .024: see the documentation


def test_make():
    assert make("magl-d", coverage=0.9).alpha == 0.1
    assert make("magl", 0.25).alpha == 0.25
    with pytest.raises(ValueError, match=r"known are .*magl-d"):
        make("nothing", 0.1)
    with pytest.raises(TypeError, match="max_score"):
        make("sf-ogd", 0.1)
    with pytest.raises(TypeError, match="has no setting"):
        make("magl", 0.1, learning_rate=3)
    with pytest.raises(TypeError, match="not both"):
        make("magl", 0.1, coverage=0.9)
    with pytest.raises(TypeError, match="give alpha"):
        make("magl")
    with pytest.warns(UserWarning, match="coverage=0.9"):
        make("magl", 0.9)
    with pytest.raises(ValueError, match="exists already"):
        trackers.register("magl")(lambda alpha: None)


def test_a_method_in_python():
    a = Last(0.1)
    assert a.run([1.0, 2.0, 3.0]).tolist() == [0.0, 1.5, 3.0]
    assert load(json.loads(full_state(a))).predict() == a.predict() == 4.5

    class Raises(Last):
        def _update(self, score, radius, discount):
            if score == 7.0:
                raise KeyError("mine")
            super()._update(score, radius, discount)

    b = Raises(0.1)
    with pytest.raises(KeyError, match="in round 1: mine"):
        b.run([1.0, 7.0])
    assert b.predict() == 0.0 and b.rounds == 0


def test_the_papers_methods_are_a_learner_on_pinball_gradients():
    s = np.abs(np.random.default_rng(6).normal(size=500))
    for name, learner in (
        ("magl-d", learners.MagnitudeLearner(1.0, 0.999)),
        ("magl", learners.MagnitudeLearner()),
        ("magdis", learners.SimplifiedMagnitudeLearner()),
    ):
        want = []
        for x in s:
            want.append(learner.predict())
            learner.update(0.1 if want[-1] > x else 0.1 - 1.0)
        assert make(name, 0.1).run(s).tobytes() == np.array(want).tobytes()


def test_scale_free_gradient_descent():
    s = np.abs(np.random.default_rng(7).normal(size=500))
    for name, D in (("simple-ogd", 1.0), ("sf-ogd", 5.0)):
        r, total, want = 0.0, 0.0, []
        for x in s:
            want.append(r)
            g = 0.1 if r > x else -0.9
            total += g * g
            r = max(0.0, r - D / math.sqrt(3.0 * total) * g)
        np.testing.assert_allclose(tracker_of(name).run(s), want, rtol=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    rounds=st.integers(1, 120),
    epsilon=st.sampled_from([0.01, 1.0, 30.0]),
    schedule=st.sampled_from(["one", "fixed", "mixed", "above"]),
    kind=st.sampled_from(["normal", "heavy", "chase", "ties"]),
    alpha=st.sampled_from([0.01, 0.1, 0.5]),
)
def test_the_coverage_lemmas_hold(seed, rounds, epsilon, schedule, kind, alpha):
    """Lemmas "connecting" and "bounded_induction", and the sums by their definition; line 7 never fires."""
    rng = np.random.default_rng(seed)
    factors = {
        "one": np.ones(rounds),
        "fixed": np.full(rounds, 0.97),
        "mixed": rng.choice([0.0, 0.5, 0.99, 1.0, 1.05], size=rounds),
        "above": np.full(rounds, 1.01),
    }[schedule]
    D = 50.0
    tracker = make("magl-d", alpha, epsilon=epsilon)
    total = 0.0
    for t in range(rounds):
        r = tracker.predict()
        s = {
            "normal": abs(rng.normal()),
            "heavy": min(abs(rng.standard_cauchy()), D),
            "chase": min(r, D) if rng.random() < 0.5 else max(0.0, min(r, D) - 1e-3),
            "ties": float(rng.integers(0, 3)),
        }[kind]
        g = alpha if r > s else alpha - 1.0
        total = factors[t] * total - g
        assert not (g > 0.0 and tracker.learner.x < 0.0)  # what line 7 would reject
        tracker.update(s, discount=factors[t])
        assert tracker.coverage_sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert abs(total) <= tracker.coverage_bound() * (1 + 1e-9)
        assert abs(total) <= tracker.coverage_bound(max_score=D) * (1 + 1e-9)
        assert tracker.coverage_sum(clipped=True) == pytest.approx(tracker.learner.statistics[1])


@pytest.mark.parametrize("discount", [1.0, 0.999, 0.95])
def test_the_coverage_lemmas_hold_on_real_residuals(discount):
    """Residuals of a model that learns as it goes, on the diabetes data that scikit-learn brings, ordered by age."""
    data = pytest.importorskip("sklearn.datasets").load_diabetes()
    order = np.argsort(data.data[:, 0], kind="stable")
    x, y = np.column_stack([np.ones(len(order)), data.data[order]]), data.target[order]
    gram, moment, scores = np.eye(x.shape[1]), np.zeros(x.shape[1]), []
    for row, target in zip(x, y, strict=True):
        scores.append(abs(target - row @ np.linalg.solve(gram, moment)))
        gram += np.outer(row, row)
        moment += target * row
    for epsilon in (1.0, 50.0):
        tracker = make("magl-d", 0.1, epsilon=epsilon, discount=discount)
        for s in scores:
            tracker.update(s)
            total = abs(tracker.coverage_sum())
            assert total <= tracker.coverage_bound() and total <= tracker.coverage_bound(max_score=max(scores))


def test_where_the_lemmas_do_not_apply():
    with pytest.raises(TypeError, match="magl-d and magl"):
        make("magdis", 0.1).coverage_bound()
    with pytest.raises(ValueError, match="domain='real'"):
        make("magl", 0.1, domain="real").coverage_bound()
    late = make("magl", 0.1)
    late.run([1.0] * 30)
    late.update(1.0, radius=0.0)
    with pytest.raises(ValueError, match="in time"):
        late.coverage_bound()
    assert math.isfinite(late.coverage_sum())


def test_target_rate_adaptivity():
    """The coverage sum scales like sqrt(alpha (1 - alpha) T), not like sqrt(T)."""
    s = np.abs(np.random.default_rng(8).normal(size=20_000))
    for alpha in (0.01, 0.1, 0.5):
        tracker = make("magl", alpha)
        tracker.run(s)
        assert 1.0 < abs(tracker.coverage_sum()) / math.sqrt(alpha * (1 - alpha) * len(s)) < 4.0


def test_signed_scores():
    s = np.random.default_rng(9).normal(loc=-2.0, size=5000)
    with pytest.raises(ValueError, match="domain='real'"):
        make("magl", 0.1).update(-1.0)
    radii = make("magl", 0.1, domain="real").run(s)
    assert abs((radii > s)[500:].mean() - 0.9) < 0.02 and radii[-1] < 0.0


def test_losses():
    r, s = np.meshgrid(np.linspace(0, 3, 13), np.linspace(0, 3, 13))
    for loss in (Pinball(0.2), trackers.SkewedQuadratic(0.2), Pinball(0.2, tie="covered")):
        for x, y in zip(r.ravel(), s.ravel(), strict=True):
            g = loss.gradient(x, y)
            assert g <= 0.0 if x < y else (g >= 0.0 if x > y else True)
    assert [Pinball(0.2, tie).gradient(1.0, 1.0) for tie in ("miss", "covered", "neither")] == [-0.8, 0.2, 0.0]
    with pytest.raises(ValueError, match="tie"):
        Pinball(0.2, "both")
    expectile = make("magl", 0.1, loss="skewed-quadratic").run(np.abs(np.random.default_rng(0).normal(size=20_000)))
    s = np.abs(np.random.default_rng(0).normal(size=20_000))
    assert abs((expectile > s)[2000:].mean() - 0.84) < 0.02
    own = make("magl", 0.1, loss=lambda r, s: 0.1 if r > s else -0.9)
    assert own.run(s[:200]).tobytes() == make("magl", 0.1).run(s[:200]).tobytes()
    wrong = make("magl", 0.1, loss=lambda r, s: 1.0)
    with pytest.raises(ValueError, match="subgradient"):
        wrong.update(1.0)
    with pytest.raises(ValueError, match="loss must be"):
        make("magl", 0.1, loss="huber")


def test_discounts_by_half_life():
    clock = trackers.HalfLife(100.0)
    times = np.array([0.0, 50.0, 100.0, 100.0, 350.0])
    np.testing.assert_allclose(clock.discounts(times).prod(), 0.5 ** (350 / 100))
    assert clock.discount(450.0) == 0.5
    with pytest.raises(ValueError, match="before"):
        clock.discount(1.0)
    a, b = make("magl-d", 0.1), make("magl-d", 0.1)
    s = np.abs(np.random.default_rng(1).normal(size=5))
    by_time = trackers.HalfLife(100.0)
    for t, x in zip(times, s, strict=True):
        a.update(x, discount=by_time.discount(t))
    b.run(s, discounts=trackers.HalfLife(100.0).discounts(times))
    assert full_state(a) == full_state(b)


def test_a_tracker_warns_once_of_what_it_cannot_reach():
    tracker = make("magl-d", 0.1, discount=0.9)
    assert tracker.reach == pytest.approx(make_steady(0.9), rel=1e-6)
    with pytest.warns(CoverageWarning, match="beyond reach.*epsilon") as caught:
        tracker.run([0.1, 0.2, 5.0, 7.0, 5.0])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(json.loads(full_state(tracker))).update(8.0)  # it has said so
        make("magl-d", 0.1, discount=0.9, epsilon=100.0).run([5.0, 7.0])
        make("magl", 0.1).run([5.0, 1e9])
        with pytest.raises(CoverageWarning, match="in round 1"):
            make("magl-d", 0.1, discount=0.9).run([0.1, 5.0])


def make_steady(discount):
    """The radius after a thousand misses."""
    learner = learners.MagnitudeLearner(discount=discount)
    learner.run([-0.9] * 1000)
    return learner.predict()


def test_a_tracker_warns_once_of_its_structural_under_coverage():
    """At stationarity the miss rate exceeds alpha by (1 - discount) times the mean coverage sum."""
    s = np.abs(np.random.default_rng(0).normal(size=30_000))
    tracker = make("magl-d", 0.1, discount=0.99)
    with pytest.warns(CoverageWarning, match="exceeds alpha by about 0.1") as caught:
        radii = tracker.run(s)
    assert len(caught) == 1
    excess = (radii <= s).mean() - 0.1
    assert excess == pytest.approx(0.01 * tracker.sums / len(s), rel=0.01) and excess > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make("magl", 0.1).run(s)
        make("magl-d", 0.1, discount=0.9999).run(s)


@pytest.mark.parametrize("name", ["magl-d", "magl", "magdis"])
def test_epsilon_from_the_warm_up(name):
    s = 1000.0 * np.abs(np.random.default_rng(0).normal(size=400))
    tracker = make(name, 0.1, epsilon="auto")
    with pytest.raises(ValueError, match="warm_start"):
        tracker.update(1.0)
    with pytest.raises(ValueError, match="at least one score"):
        tracker.warm_start([])
    tracker.warm_start(s[:100])
    epsilon = float(np.quantile(s[:100], 0.9, method="inverted_cdf"))
    plain = make(name, 0.1, epsilon=epsilon)
    plain.run(s[:100])
    again = load(json.loads(full_state(tracker)))
    assert tracker.rounds == 100 and again.learner.epsilon == epsilon
    assert again.run(s[100:]).tobytes() == plain.run(s[100:]).tobytes() == tracker.run(s[100:]).tobytes()
    with pytest.raises(TypeError, match="epsilon"):
        LossTracker(learners.AdaGrad(1.0), Pinball(0.1), auto_epsilon=True)


@each
@pytest.mark.parametrize("domain", ["nonnegative", "real"])
def test_extreme_scores_leave_a_state_that_loads(name, domain):
    """Scores from the ends of what is allowed: never NaN, and the tracker resumes."""
    if domain == "real" and name == "magdis":
        pytest.skip("on [0, inf) only")
    sizes = np.array([0.0, 5e-324, 1e-300, 1e-20, 1.0, 1.0, 1e20, 1e149, 1e150])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        s = rng.choice(sizes, size=120) * (rng.choice([-1.0, 1.0], size=120) if domain == "real" else 1.0)
        tracker = tracker_of(name, **({} if name == "magdis" else {"domain": domain}))
        try:
            radii = tracker.run(s)
        except (OverflowError, ValueError) as refused:
            assert "in round" in str(refused)
            continue
        assert not np.isnan(radii).any()
        again = load(json.loads(full_state(tracker)))
        assert again.run(s[:20]).tobytes() == tracker.run(s[:20]).tobytes()


def test_nothing_is_learned_from_what_is_refused():
    for bad in (1e151, 1.7e308):
        with pytest.raises(ValueError, match="at most 1e"):
            make("magl", 0.1).update(bad)
        with pytest.raises(ValueError, match=r"scores\[1\]"):
            make("magl", 0.1).run([1.0, bad])
    steep = make("magl", 0.1, loss="skewed-quadratic")
    before = full_state(steep)
    with pytest.raises(ValueError, match="too steep"):
        steep.update(1.0, radius=math.inf)
    assert full_state(steep) == before
    with pytest.raises(ValueError, match="too steep"):
        make("magl", 0.1, loss=lambda r, s: -math.inf).update(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        biased = make("magl-d", 0.1, discount=0.9)
        with pytest.raises(CoverageWarning):
            for _ in range(300):
                before = full_state(biased)
                biased.update(0.1)
        assert full_state(biased) == before
        cold = make("magl-d", 0.1, epsilon="auto", discount=0.5)
        before = full_state(cold)
        with pytest.raises(CoverageWarning):
            cold.warm_start([3.0] * 5)
        assert full_state(cold) == before
    with pytest.raises(ValueError, match="share of misses"):
        make("faci", 1e-300)


@each
def test_an_explicit_tie_wins_over_the_published_one(name):
    """``published=True`` changes what a tie is by default only."""
    if not {"tie", "published"} <= set(inspect.signature(trackers.registry.METHODS[name]).parameters):
        pytest.skip("it has no such choice")
    rule = {
        given: full_state(tracker_of(name, published=True, **({} if given is None else {"tie": given})))
        for given in (None, "miss", "covered")
    }
    assert rule["miss"] != rule["covered"] and rule["miss"] != rule[None]


def test_a_loss_belongs_to_its_tracker():
    loss = Pinball(0.1)
    a, b = make("magl", 0.1, loss=loss), make("magl", 0.1, loss=loss)
    a.alpha = 0.5
    assert (a.loss.alpha, b.loss.alpha, loss.alpha) == (0.5, 0.1, 0.1)
    with pytest.raises(ValueError, match="give both the same"):
        make("magl", 0.2, loss=loss)
    with pytest.raises(ValueError, match="share of misses"):
        Pinball(5)


def test_discounts_by_a_schedule():
    def schedule(t):
        return 0.9 if t < 5 else 1.0

    s = np.abs(np.random.default_rng(0).normal(size=12))
    a, b, c = make("magl-d", 0.1), make("magl-d", 0.1), make("magl-d", 0.1)
    a.run(s[:3], schedule)
    a.run(s[3:], schedule)
    b.run(s, [schedule(t) for t in range(12)])
    for x in s:
        c.update(x, discount=schedule)
    assert full_state(a) == full_state(b) == full_state(c)


def test_loss_tracker_arguments():
    for wrong in (None, 3, learners.AdaptiveLearner(2)):
        with pytest.raises(TypeError, match="learner must be"):
            LossTracker(wrong, Pinball(0.1))
    with pytest.raises(TypeError, match="loss must be"):
        LossTracker(learners.MagnitudeLearner(), 0.1)
    with pytest.raises(ValueError, match="domain"):
        make("magl", 0.1, domain="complex")
    with pytest.raises(ValueError, match="on_missing"):
        make("magl", 0.1, on_missing="ignore")
    with pytest.raises(ValueError, match="alpha"):
        make("magl", 0.0)
