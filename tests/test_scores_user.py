"""A score of the user's own: numbers, any objects, and functions that answer nonsense."""

import itertools
import math

import numpy as np
import pytest
from score_cases import bits, data, gap, gap_set

from wane.scores import Absolute, NormBall, UserScore
from wane.scores.sets import Ball, UserSet


def test_user_score_is_the_score_it_imitates():
    outputs, ys, radii, _ = data(Absolute(), 30)
    user, own = UserScore(gap, gap_set), Absolute()
    columns = user.outputs(outputs)
    labels, _ = user.labels(ys, 30)
    assert bits(user.score(columns, labels)) == bits(own.score(outputs, ys))
    limits = (-1.0, 1.0)
    assert bits(user.width(columns, radii, limits=limits)) == bits(own.width(outputs, radii, limits=limits))
    for t in range(30):
        m, r = float(outputs[t]), float(radii[t])
        assert user.set(m, r) == own.set(m, r) and user.set(m, r, limits=limits) == own.set(m, r, limits=limits)


def edits(a, b):
    return sum(x != y for x, y in itertools.zip_longest(a, b))


def test_user_score_of_any_objects():
    words = ["cat", "cot", "dog"]
    score = UserScore(edits, lambda word, radius: {w for w in words if edits(word, w) <= radius})
    columns = score.outputs(words)
    ys, known = score.labels(["cot", None, "dog"], 3)
    assert score.rows(columns) == 3 and score.row(columns, 1) == "cot" and known.tolist() == [True, False, True]
    assert score.score(columns, ys).tolist() == [1.0, 0.0, 0.0]
    assert score.set("cat", 1.0) == UserSet({"cat", "cot"}) and "dog" not in score.set("cat", 1.0)
    assert score.width(columns, np.array([0.0, 1.0, 3.0])).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="limits cut intervals"):
        score.set("cat", 1.0, limits=(0.0, 1.0))
    balls = UserScore(NormBall().score, NormBall().set)
    assert isinstance(balls.set(np.zeros(2), 1.0), Ball)  # a set of this package is taken as it is


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda m, y: -1.0, ValueError, r"score_function\(output, y\) must be >= 0, got -1.0.*signed=True"),
        (lambda m, y: math.nan, ValueError, r"score_function\(output, y\) must be finite"),
        (lambda m, y: None, TypeError, r"score_function\(output, y\) must be one real number"),
    ],
)
def test_bad_user_scores(function, error, text):
    with pytest.raises(error, match=text):
        UserScore(function, gap_set).score(0.0, 1.0)
    score = UserScore(lambda m, y: function(m, y) if y == 2 else 1.0, gap_set)
    with pytest.raises(error, match=r"score_function\(outputs, y\)\[1\] must"):
        score.score(score.outputs([0, 0]), score.labels([1, 2], 2)[0])
    assert UserScore(lambda m, y: y - m, gap_set, signed=True).score(1.0, 0.0) == -1.0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ([1.0, 2.0], TypeError, r"tuple \(lower, upper\), or a container such as a Python set, got \[1.0, 2.0\]"),
        (np.array([1.0, 2.0]), TypeError, r"must give a tuple \(lower, upper\)"),
        ((1.0, 2.0, 3.0), TypeError, r"must give a tuple \(lower, upper\)"),
        (5.0, TypeError, r"must give a tuple \(lower, upper\)"),
        (("a", "b"), TypeError, "the lower end of your set must be one real number"),
        ((1.0, math.nan), ValueError, "must give two ends"),
    ],
)
def test_bad_user_sets(given, error, text):
    with pytest.raises(error, match=text):
        UserScore(gap, lambda m, r: given).set(0.0, 1.0)
