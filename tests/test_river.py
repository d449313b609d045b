"""River models with intervals and label sets: river's own checks, and the same bits as by hand."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

import wane

pytest.importorskip("river")
pytest.importorskip("sklearn")  # river's checks take data from it
from river import checks, compose, conf, datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing, stream

from wane.integrations.river import ConformalClassifier, ConformalRegressor


def regression():
    return preprocessing.StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1)


def classification():
    return preprocessing.StandardScaler() | naive_bayes.GaussianNB()


WRAPPED = [
    ConformalRegressor(regression()),
    preprocessing.StandardScaler() | ConformalRegressor(linear_model.LinearRegression()),
    ConformalClassifier(preprocessing.StandardScaler() | linear_model.LogisticRegression()),
    ConformalClassifier(naive_bayes.GaussianNB()),
]
CHECKS = [(model, check) for model in WRAPPED for check in checks.yield_checks(model)]


@pytest.mark.parametrize(("model", "check"), CHECKS, ids=[f"{model}-{check.__name__}" for model, check in CHECKS])
def test_conventions(model, check):
    check(model.clone())


def state(model):
    return json.dumps(model._conformal.state_dict())


def by_hand(method, score, alpha):
    return wane.OnlineConformal(method, score, alpha, history=0, on_unbounded="allow")


@pytest.mark.parametrize("method", ["magl", "aci"])
@pytest.mark.parametrize("score", ["absolute", "signed"])
def test_a_regressor_is_the_loop_by_hand(method, score):
    model, inner, oc = ConformalRegressor(regression(), method, 0.2, score), regression(), by_hand(method, score, 0.2)
    covered = []
    for x, y in datasets.TrumpApproval().take(300):
        shown, p = model.predict_one(x, with_interval=True), oc.predict(inner.predict_one(x))
        assert isinstance(shown, conf.interval.Interval) and (shown.lower, shown.upper) == (p.lower, p.upper)
        covered.append(shown.lower < y < shown.upper)
        oc.update(p.id, y)
        model.learn_one(x, y)
        inner.learn_one(x, y)
    assert state(model) == json.dumps(oc.state_dict())
    assert model.metrics().rounds == 300 and model.metrics().coverage == np.mean(covered)


def test_a_classifier_is_the_loop_by_hand():
    model, inner = ConformalClassifier(classification()), classification()
    oc, labels = by_hand("auto", "aps", 0.1), []
    for x, y in datasets.ImageSegments().take(400):
        said = inner.predict_proba_one(x)
        new = y not in labels
        labels = [*labels, y] if new else labels
        p = [said.get(label, 0.0) for label in labels]
        p = p if sum(p) > 0.0 else [1.0 / max(1, len(p) - new)] * (len(p) - new) + [0.0] * new
        if len(labels) > 1:
            if not new:
                assert model.predict_set_one(x) == {labels[k] for k in oc.preview(p).labels}
            oc.update(oc.predict(np.array(p) / np.sum(p)).id, labels.index(y))
        model.learn_one(x, y)
        inner.learn_one(x, y)
    assert state(model) == json.dumps(oc.state_dict())
    assert model.predict_one(x) == inner.predict_one(x) and model.predict_proba_one(x) == inner.predict_proba_one(x)


def test_coverage_of_intervals():
    """Near the target after some rounds, in the unit of the labels, and the misses are within the bound."""
    for data, skip in ((datasets.TrumpApproval(), 200), (datasets.ChickWeights(), 100), (datasets.WaterFlow(), 100)):
        numbers = compose.SelectType(float, int) | regression()
        model, inside = ConformalRegressor(numbers), []
        for x, y in data:
            inside.append(y in model.predict_one(x, with_interval=True))
            model.learn_one(x, y)
        assert 0.85 <= np.mean(inside[skip:]) <= 0.95
        assert abs(model.metrics().coverage_error) <= model.metrics().coverage_bound


def test_coverage_of_sets():
    model, inside, sizes = ConformalClassifier(classification(), score="raps"), [], []
    for x, y in datasets.ImageSegments():
        s = model.predict_set_one(x)
        inside.append(y in s)
        sizes.append(len(s))
        model.learn_one(x, y)
    assert 0.87 <= np.mean(inside[300:]) <= 0.93 and np.mean(sizes[300:]) < 4.0


def test_pipelines_pass_the_question_on():
    model = preprocessing.StandardScaler() | ConformalRegressor(linear_model.LinearRegression())
    for x, y in datasets.TrumpApproval().take(100):
        model.learn_one(x, y)
    shown = model.predict_one(x, with_interval=True)
    assert math.isclose(shown.center, model.predict_one(x)) and shown.width > 0.0


def test_evaluation_is_that_of_the_regressor():
    data = datasets.TrumpApproval().take(200)
    rows = list(data)
    with_sets = evaluate.progressive_val_score(rows, ConformalRegressor(regression()), metrics.MAE())
    without = evaluate.progressive_val_score(rows, regression(), metrics.MAE())
    assert with_sets.get() == without.get()


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ConformalRegressor(regression(), wane.trackers.make("magl", 0.2), None), datasets.TrumpApproval()),
        (ConformalClassifier(classification()), datasets.ImageSegments()),
    ],
    ids=["regressor", "classifier"],
)
def test_copies_and_pickles_go_on_alike(model, data):
    model, rows = model.clone(), list(data.take(120))
    for x, y in rows[:60]:
        model.learn_one(x, y)
    fresh, others = model.clone(), [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    assert fresh.metrics().rounds == 0
    for x, y in rows[60:]:
        for one in (model, *others):
            one.learn_one(x, y)
    for x, y in rows:
        fresh.learn_one(x, y)
    assert state(others[0]) == state(others[1]) == state(model) == state(fresh)


def test_mutation_reaches_the_regressor():
    model = ConformalRegressor(linear_model.LinearRegression())
    model.mutate({"regressor": {"l2": 0.5}})
    assert model.regressor.l2 == 0.5
    with pytest.raises(ValueError, match="alpha"):
        model.mutate({"alpha": 0.5})


def test_labels_that_come_late():
    """Looking changes nothing, so predictions may be made long before their labels are learned."""
    model, kept = ConformalRegressor(regression()), {}
    rows = list(datasets.TrumpApproval().take(150))
    for i, x, y in stream.simulate_qa(rows, moment=None, delay=7):
        if y is None:
            before = state(model)
            kept[i] = model.predict_one(x, with_interval=True)
            assert state(model) == before
        else:
            model.learn_one(x, y)
    in_time = ConformalRegressor(regression())
    for x, y in rows:
        in_time.learn_one(x, y)
    assert len(kept) == 150 and state(model) == state(in_time)


def test_the_first_rounds():
    model = ConformalClassifier(classification())
    assert model.predict_set_one({"x": 1.0}) == set()
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_set_one({"x": 1.0}) == {"a"} and model.metrics().rounds == 0
    model.learn_one({"x": 2.0}, "b")
    assert model.metrics().rounds == 1 and model.metrics().coverage == 0.0
    wide = ConformalRegressor(regression(), "split").predict_one({"x": 1.0}, with_interval=True)
    assert (wide.lower, wide.upper) == (-math.inf, math.inf)


def test_refusals():
    model = ConformalRegressor(regression(), settings={"lower_limit": 0.0})
    for t in range(50):
        model.learn_one({"x": t % 5}, float(t % 5))
    before = model.predict_one({"x": 3}, with_interval=True)
    for bad in (math.nan, None, "text", -1.0):
        with pytest.raises((TypeError, ValueError)):
            model.learn_one({"x": 3}, bad)
    assert model.predict_one({"x": 3}, with_interval=True) == before
    assert model.metrics().rounds == 50 and model.metrics().pending == 0
    labels = ConformalClassifier(classification())
    with pytest.raises(ValueError, match="missing"):
        labels.learn_one({"x": 1.0}, None)
    for wrong in ({"alpha": (0.1, 0.2)}, {"alpha": 2.0}, {"score": "aps"}, {"score": "cqr"}, {"score": "normalised"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ConformalRegressor(regression(), **wrong)
    for wrong in ("absolute", wane.scores.APS(classes=["a", "b"])):
        with pytest.raises(ValueError, match="score"):
            ConformalClassifier(classification(), score=wrong)
