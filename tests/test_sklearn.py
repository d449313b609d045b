"""Scikit-learn estimators with intervals and label sets: the conventions, and the same bits as by hand."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane

pytest.importorskip("sklearn")
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from wane.integrations.sklearn import ConformalClassifier, ConformalRegressor

WRAPPED = [
    ConformalRegressor(LinearRegression()),
    ConformalRegressor(SGDRegressor(random_state=0)),
    ConformalClassifier(LogisticRegression()),
    ConformalClassifier(SGDClassifier(loss="log_loss", random_state=0)),
]


@pytest.mark.filterwarnings("ignore")  # the checks provoke them: few iterations, odd targets
@parametrize_with_checks(WRAPPED)
def test_conventions(estimator, check):
    check(estimator)


def linear(rounds=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=rounds)


def classes(rounds=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, 2))
    return X, np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + rng.normal(size=rounds), [-0.7, 0.7])]


def state(model):
    return json.dumps(model.conformal_.state_dict())


def by_hand(method, score, alpha):
    return wane.OnlineConformal(method, score, alpha, history=0, on_unbounded="allow")


@settings(max_examples=12)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=4).map(sorted),
    method=st.sampled_from(["magl", "aci"]),
    alpha=st.sampled_from([0.1, (0.3, 0.1)]),
)
def test_a_learning_regressor_is_the_loop_by_hand(cuts, method, alpha):
    """Whatever the batches: each row is predicted, then learned by the tracker, then by the estimator."""
    X, y = linear(60)
    model = ConformalRegressor(SGDRegressor(random_state=0), method, alpha)
    for start, stop in zip([0, *cuts], [*cuts, 60], strict=True):
        if start < stop:
            model.partial_fit(X[start:stop], y[start:stop])
    estimator, oc = SGDRegressor(random_state=0), by_hand(method, "absolute", alpha)
    estimator.partial_fit(X[:1], y[:1])
    for t in range(1, 60):
        p = oc.predict(estimator.predict(X[t : t + 1])[0])
        oc.update(p.id, y[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1])
    assert state(model) == json.dumps(oc.state_dict())
    assert (model.estimator_.coef_ == estimator.coef_).all()
    shown = np.array([oc.preview(m).lower for m in estimator.predict(X)])
    assert (model.predict_interval(X)[..., 0] == shown).all()


@pytest.mark.parametrize("score", ["aps", "lac", wane.scores.RAPS(0.1, seed=1)], ids=str)
def test_a_learning_classifier_is_the_loop_by_hand(score):
    X, y = classes(80)
    model = ConformalClassifier(SGDClassifier(loss="log_loss", random_state=0), conformity_score=score)
    model.partial_fit(X[:1], y[:1], classes=["low", "mid", "top"]).partial_fit(X[1:50], y[1:50])
    model.partial_fit(X[50:], y[50:])
    estimator, oc = SGDClassifier(loss="log_loss", random_state=0), by_hand("auto", score, 0.1)
    estimator.partial_fit(X[:1], y[:1], classes=["low", "mid", "top"])
    for t in range(1, 80):
        p = oc.predict(estimator.predict_proba(X[t : t + 1])[0])
        oc.update(p.id, ["low", "mid", "top"].index(y[t]))
        estimator.partial_fit(X[t : t + 1], y[t : t + 1])
    assert state(model) == json.dumps(oc.state_dict())
    sets = [set(oc.preview(row).labels) for row in estimator.predict_proba(X)]
    assert [set(np.flatnonzero(row)) for row in model.predict_set(X)] == sets


def test_fit_warms_up_on_the_last_rows_with_a_model_of_the_first():
    X, y = linear()
    model = ConformalRegressor(LinearRegression(), calibration=0.25).fit(X, y)
    first = LinearRegression().fit(X[:180], y[:180])
    oc = by_hand("auto", "absolute", 0.1)
    oc.warm_start(first.predict(X[180:]), y[180:])
    assert state(model) == json.dumps(oc.state_dict()) and (model.estimator_.coef_ == first.coef_).all()
    assert np.isnan(model.coverage_)  # the past is in no metric
    cold = ConformalRegressor(LinearRegression(), calibration=0.0).fit(X, y)
    assert (cold.estimator_.coef_ == LinearRegression().fit(X, y).coef_).all()
    assert cold.conformal_.preview(0.0).cold


@settings(max_examples=10)
@given(seed=st.integers(0, 99), at=st.integers(0, 59), learning=st.booleans())
def test_what_is_shown_is_what_is_judged(seed, at, learning):
    """The interval shown before a row is learned decides whether it is covered; later labels do not matter."""
    X, y = linear(60, seed)
    changed = np.where(np.arange(60) < at, y, y + 100.0)
    shown = []
    for labels in (y, changed):
        model = ConformalRegressor(SGDRegressor(random_state=0), update_estimator=learning).fit(*linear(40, seed + 1))
        intervals = []
        for t in range(60):
            intervals.append(model.predict_interval(X[t : t + 1])[0])
            model.partial_fit(X[t : t + 1], labels[t : t + 1])
        lower, upper = np.transpose(intervals)
        assert model.metrics().rounds == 60
        assert model.coverage_ == np.mean((lower < labels) & (labels < upper))
        shown.append(intervals)
    assert np.array_equal(shown[0][: at + 1], shown[1][: at + 1])


def test_looking_changes_nothing():
    X, y = linear()
    model = ConformalRegressor(SGDRegressor(random_state=0)).partial_fit(X, y)
    before, weights = state(model), model.estimator_.coef_.copy()
    first = model.predict_interval(X)
    model.predict(X), model.score(X, y), model.metrics()
    assert np.array_equal(first, model.predict_interval(X))
    assert state(model) == before and (model.estimator_.coef_ == weights).all()
    assert model.score(X, y) == model.estimator_.score(X, y)


def test_several_levels_are_nested():
    X, y = linear()
    model = ConformalRegressor(LinearRegression(), alpha=(0.3, 0.05)).fit(X, y).partial_fit(X, y)
    inner, outer = model.predict_interval(X).swapaxes(0, 1)
    assert model.predict_interval(X).shape == (240, 2, 2) and model.coverage_.shape == (2,)
    assert (outer[:, 0] <= inner[:, 0]).all() and (inner[:, 1] <= outer[:, 1]).all()
    X, y = classes()
    model = ConformalClassifier(LogisticRegression(), alpha=(0.3, 0.05)).fit(X, y).partial_fit(X, y)
    inside = model.predict_set(X)
    assert inside.shape == (240, 2, 3) and (inside[:, 0] <= inside[:, 1]).all()
    assert ConformalClassifier(LogisticRegression(), alpha=[0.3]).fit(X, y).predict_set(X).shape == (240, 1, 3)


def test_other_scores_and_settings():
    X, y = linear()
    normalised = ConformalRegressor(BayesianRidge(), "aci", conformity_score="normalised").fit(X, y)
    center, deviation = normalised.estimator_.predict(X, return_std=True)
    width = np.ptp(normalised.predict_interval(X), axis=1)
    np.testing.assert_allclose(width, width[0] / deviation[0] * deviation)
    np.testing.assert_allclose(normalised.predict_interval(X).mean(axis=1), center)
    upper = ConformalRegressor(Ridge(), conformity_score="one-sided").fit(X, y).predict_interval(X)
    assert (upper[:, 0] == -np.inf).all() and np.isfinite(upper[:, 1]).all()
    cut = ConformalRegressor(Ridge(), settings={"lower_limit": 0.0, "window": 7}).fit(X, np.abs(y)).partial_fit(X, y**2)
    assert (cut.predict_interval(X) >= 0.0).all() and cut.metrics().window == 7
    own = wane.trackers.make("magl-d", 0.2)
    model = ConformalRegressor(Ridge(), own, alpha=None).fit(X, y)
    assert model.conformal_.alpha == 0.2 and own.rounds == 0
    wide = ConformalRegressor(Ridge(), "split", calibration=0.0).fit(X, y)
    assert np.isinf(wide.predict_interval(X)).all()


def test_an_estimator_fitted_before_is_taken_as_it_is():
    X, y = linear()
    fitted = LinearRegression().fit(X[:50], y[:50])
    model = ConformalRegressor(fitted, prefit=True).fit(X, y)
    assert model.estimator_ is fitted
    oc = by_hand("auto", "absolute", 0.1)
    oc.warm_start(fitted.predict(X), y)
    assert state(model) == json.dumps(oc.state_dict())
    cold = ConformalRegressor(fitted, prefit=True).partial_fit(X, y)
    assert cold.estimator_ is fitted and cold.metrics().rounds == 240
    learner = SGDRegressor(random_state=0).fit(X[:50], y[:50])
    weights = learner.coef_.copy()
    moved = ConformalRegressor(learner, prefit=True).partial_fit(X, y + 5.0)
    assert (learner.coef_ == weights).all() and moved.estimator_.intercept_ > learner.intercept_ + 1.0
    still = ConformalRegressor(learner, prefit=True, update_estimator=False).partial_fit(X, y + 5.0)
    assert still.estimator_ is learner and (learner.coef_ == weights).all()
    with pytest.raises(NotFittedError):
        ConformalRegressor(LinearRegression(), prefit=True).fit(X, y)


def test_a_frozen_estimator_survives_a_search():
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator(LinearRegression().fit(*linear()))
    search = GridSearchCV(ConformalRegressor(frozen, prefit=True), {"alpha": [0.1, 0.2]}, cv=3).fit(*linear(seed=1))
    assert (search.best_estimator_.estimator_.coef_ == frozen.coef_).all()


def test_the_first_call_of_partial_fit_is_fit_for_what_cannot_learn_by_rows():
    X, y = linear()
    one = ConformalRegressor(LinearRegression()).partial_fit(X, y)
    assert state(one) == state(ConformalRegressor(LinearRegression()).fit(X, y))
    weights = one.estimator_.coef_.copy()
    one.partial_fit(X, y)
    assert (one.estimator_.coef_ == weights).all() and one.metrics().rounds == 240


def test_parameters_copies_and_pickles():
    X, y = linear()
    model = ConformalRegressor(Ridge(alpha=2.0), alpha=0.2).set_params(estimator__alpha=3.0, alpha=0.3)
    assert model.estimator.alpha == 3.0 and clone(model).get_params()["estimator__alpha"] == 3.0
    assert is_regressor(model) and is_classifier(WRAPPED[2])
    model.fit(X, y).partial_fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert state(again.partial_fit(X, y)) == state(model.partial_fit(X, y))
    assert not hasattr(clone(model), "conformal_")


def test_pipelines_and_searches():
    X, y = linear()
    pipeline = make_pipeline(StandardScaler(), ConformalRegressor(Ridge())).fit(X, y)
    intervals = pipeline[-1].predict_interval(pipeline[:-1].transform(X))
    np.testing.assert_allclose(intervals.mean(axis=1), pipeline.predict(X), atol=1e-12)

    def shortness(model, X, y):
        ends = model.predict_interval(X)
        return -np.ptp(ends, axis=1).mean()

    grid = {"estimator__ridge__alpha": [0.1, 1000.0], "alpha": [0.1, 0.4]}
    search = GridSearchCV(ConformalRegressor(make_pipeline(StandardScaler(), Ridge())), grid, scoring=shortness, cv=3)
    assert search.fit(X, y).best_params_ == {"estimator__ridge__alpha": 0.1, "alpha": 0.4}
    labels = GridSearchCV(ConformalClassifier(LogisticRegression()), {"estimator__C": [1e-6, 1.0]}, cv=3)
    assert labels.fit(*classes()).best_params_ == {"estimator__C": 1.0}


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    X, y = linear()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(kind="text")
    inner = make_pipeline(
        ColumnTransformer([("numbers", StandardScaler(), ["a", "b", "c"])]).set_output(transform="pandas"), Ridge()
    )
    model = ConformalRegressor(inner).fit(frame, pandas.Series(y)).partial_fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind"] and model.n_features_in_ == 4
    plain = ConformalRegressor(make_pipeline(StandardScaler(), Ridge())).fit(X, y).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_interval(frame), plain.predict_interval(X))
    learning, numbers = ConformalRegressor(SGDRegressor(random_state=0)), frame[["a", "b", "c"]]
    wanted = clone(learning).partial_fit(X, y).predict_interval(X)
    np.testing.assert_allclose(learning.partial_fit(numbers, y).predict_interval(numbers), wanted)
    assert learning.n_features_in_ == 3 and not hasattr(learning.fit(X, y), "feature_names_in_")


def test_refusals_leave_everything_as_it_was():
    X, y = linear()
    model = ConformalRegressor(SGDRegressor(random_state=0)).fit(X, y)
    before, weights = state(model), model.estimator_.coef_.copy()
    broken = X.copy()
    broken[-1, 0] = np.nan
    far = np.where(np.arange(240) < 239, y, 1e200)
    for bad, labels in ((broken, y), (X[:, :2], y), (X, np.full(240, np.nan)), (X, y[:5]), (X, None), (X, far)):
        with pytest.raises(ValueError):
            model.partial_fit(bad, labels)
        assert state(model) == before and (model.estimator_.coef_ == weights).all()
    for wrong, error in (
        ({"alpha": 2.0}, "alpha"),
        ({"calibration": 1.0}, "calibration"),
        ({"conformity_score": "cqr"}, "conformity_score"),
        ({"conformity_score": "aps"}, "conformity_score"),
        ({"method": "magic"}, "magic"),
    ):
        with pytest.raises(ValueError, match=error):
            ConformalRegressor(Ridge()).set_params(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="n_samples=1"):
        ConformalRegressor(Ridge()).fit(X[:1], y[:1])
    with pytest.raises(NotFittedError):
        ConformalRegressor(Ridge()).predict_interval(X)
    with pytest.raises(ValueError, match="conformity_score"):
        ConformalClassifier(LogisticRegression(), conformity_score=wane.scores.APS(classes=["a", "b"])).fit(*classes())
    X, y = classes()
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="shuffle"):
        ConformalClassifier(LogisticRegression()).fit(X[order], y[order])
    with pytest.raises(ValueError, match="classes"):
        ConformalClassifier(SGDClassifier(loss="log_loss")).partial_fit(X, y)


def test_coverage_on_diabetes_after_a_shift():
    """Labels move by 150 half-way: the estimator stays wrong, and the tracker follows."""
    X, y = load_diabetes(return_X_y=True)
    stream, labels = np.tile(X[200:], (4, 1)), np.tile(y[200:], 4)
    labels = labels + 150.0 * (np.arange(len(labels)) >= len(labels) // 2)
    half = len(labels) // 2
    model = ConformalRegressor(LinearRegression()).fit(X[:200], y[:200])
    lower, upper = model.predict_interval(stream[half:]).T
    inside = (lower <= labels[half:]) & (labels[half:] <= upper)
    assert np.mean(inside) < 0.3  # a radius that stays, 107 and right for 94 % before the shift, covers little
    model.partial_fit(stream[:half], labels[:half])
    assert 0.88 <= model.coverage_ <= 0.92
    narrow = np.ptp(model.predict_interval(X[:1]))
    model.partial_fit(stream[half:], labels[half:])
    said = model.metrics()
    assert 0.86 <= said.coverage <= 0.92 and 0.85 <= said.local_coverage <= 0.97
    assert abs(said.coverage_error) <= said.coverage_bound
    assert np.ptp(model.predict_interval(X[:1])) > 2.0 * narrow


def test_coverage_on_digits_after_a_shift():
    """Noise on the pixels half-way: the sets grow, and coverage holds."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    rng = np.random.default_rng(0)
    stream, labels = X[600:], y[600:]
    half = len(labels) // 2
    noisy = np.vstack([stream[:half], stream[half:] + rng.normal(0.0, 0.5, stream[half:].shape)])
    model = ConformalClassifier(LogisticRegression(max_iter=1000), alpha=0.1, conformity_score="raps").fit(
        X[:600], y[:600]
    )
    model.partial_fit(noisy[:half], labels[:half])
    clean = model.metrics()
    model.partial_fit(noisy[half:], labels[half:])
    both = model.metrics()
    assert 0.86 <= both.coverage <= 0.94 and 0.8 <= both.local_coverage <= 1.0
    assert clean.width < both.local_width < 10.0
    assert model.predict_set(stream).sum(axis=1).mean() <= 10.0


class Weighed(LinearRegression):
    """It notes what it was fitted with."""

    def fit(self, X, y, sample_weight=None, tag=None):
        self.seen_ = (None if sample_weight is None else np.array(sample_weight), tag)
        return super().fit(X, y, sample_weight=sample_weight)


def test_weights_go_to_the_estimator_with_their_rows():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(100, 2)), rng.random(100)
    y = X @ [1.0, -2.0] + rng.normal(size=100)
    model = ConformalRegressor(Weighed(), "magl", calibration=0.3).fit(X, y, sample_weight=w, tag="x")
    assert np.array_equal(model.estimator_.seen_[0], w[:70]) and model.estimator_.seen_[1] == "x"
    alone = LinearRegression().fit(X[:70], y[:70], sample_weight=w[:70])
    assert np.array_equal(model.predict(X), alone.predict(X))
    with pytest.raises(ValueError, match="one weight for each of 100 rows"):
        model.fit(X, y, sample_weight=w[:50])


def test_partial_fit_gives_each_row_its_weight():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(60, 2)), rng.integers(2, size=60), rng.random(60)
    model = ConformalClassifier(SGDClassifier(loss="log_loss", random_state=0), "magl", conformity_score="lac")
    model.partial_fit(X, y, classes=[0, 1], sample_weight=w)
    alone = SGDClassifier(loss="log_loss", random_state=0)
    for t in range(60):
        alone.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1], sample_weight=w[t : t + 1])
    assert np.array_equal(model.estimator_.coef_, alone.coef_)


def test_metadata_is_routed_to_what_asks_for_it():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(90, 2)), rng.random(90)
    y = X @ [1.0, -2.0] + rng.normal(size=90)
    with config_context(enable_metadata_routing=True):
        asks = ConformalRegressor(Weighed().set_fit_request(sample_weight=True, tag=True), "magl")
        asks.fit(X, y, sample_weight=w, tag="x")
        assert asks.estimator_.seen_[0] is not None and asks.estimator_.seen_[1] == "x"
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, ConformalRegressor(Weighed().set_fit_request(sample_weight=True), "magl"))
        pipeline.fit(X, y, sample_weight=w)
        assert np.array_equal(pipeline[-1].estimator_.seen_[0], w[:63])
        with pytest.raises(Exception, match="sample_weight"):  # neither asked for nor refused
            ConformalRegressor(Weighed(), "magl").fit(X, y, sample_weight=w)
