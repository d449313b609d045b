"""What scores let in: outputs and labels of every kind, missing labels, and errors that say what to do."""

import math

import numpy as np
import pytest
from score_cases import bits, data, every, gap, gap_set

from wane.scores import (
    APS,
    CQR,
    LAC,
    RAPS,
    Absolute,
    Normalised,
    NormBall,
    OneSided,
    UserScore,
    as_score,
    make,
    uniforms,
)


@every
def test_outputs_are_independent_of_the_caller(score):
    raw, raw_y, _, _ = data(score, 3)
    one, y = score.output(raw[0]), score.label(raw_y[0])
    row = score.row(score.outputs(raw.copy()), 0)
    raw[0], raw_y[0] = raw[2] + 1.0, raw_y[2] + 1
    before, before_y, _, _ = data(score, 3)
    assert bits(one) == bits(row) == bits(before[0]) and bits(y) == bits(before_y[0])
    outputs = score.outputs(before)
    if score.finite or isinstance(score, NormBall):
        score.row(outputs, 0)[:] = 9.0
        assert bits(outputs) == bits(data(score, 3)[0])


@pytest.mark.parametrize("kind", [list, tuple, np.float32, np.int64])
def test_kinds_of_numbers(kind):
    values = [1, 2, 3]
    given = kind(values) if kind in (list, tuple) else np.array(values, dtype=kind)
    assert Absolute().outputs(given).tolist() == [1.0, 2.0, 3.0] and Absolute().outputs(given).dtype == np.float64
    assert type(Absolute().output(given[0])) is type(Absolute().label(given[0])) is float
    assert LAC().labels(given, 3)[0].tolist() == values


@pytest.mark.parametrize("score", [CQR(), Normalised()], ids=str)
def test_pairs_as_rows_and_columns(score):
    first, second = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    wanted = bits(first) + bits(second)
    for pairs in (np.column_stack((first, second)), list(zip(first, second, strict=True)), (first, second)):
        columns = score.outputs(pairs)
        assert bits(columns[0]) + bits(columns[1]) == wanted
        again = score.outputs(columns)
        assert bits(again[0]) + bits(again[1]) == wanted
    assert score.output(np.array([1.0, 4.0])) == score.row(columns, 0) == (1.0, 4.0)


@pytest.mark.parametrize("score", [Absolute(), LAC(), UserScore(gap, gap_set)], ids=["real", "class", "user"])
@pytest.mark.parametrize(
    "values",
    [
        [1, None, 0, math.nan],
        np.array([1.0, math.nan, 0.0, math.nan]),
        np.array([1, None, 0, math.nan], dtype=object),
        [np.float32(1.0), np.float32("nan"), 0, np.array(math.nan)],
    ],
    ids=["list", "floats", "objects", "scalars"],
)
def test_missing_labels(score, values):
    ys, known = score.labels(values, 4)
    assert known.tolist() == [True, False, True, False] and ys[known].tolist() == [1, 0]
    outputs = score.outputs(np.full((4, 2), 0.5) if score.finite else np.zeros(4))
    assert score.score(outputs, ys).shape == (4,)
    for t in (1, 3):
        with pytest.raises(ValueError, match=r"y is missing .*leave this label out"):
            score.label(values[t])


def test_missing_vectors():
    score = NormBall()
    rows = [[1.0, 2.0], None, [math.nan, 1.0], np.array([3.0, 4.0]), math.nan]
    ys, known = score.labels(rows, 5)
    assert known.tolist() == [True, False, False, True, False] and ys[known].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert score.score(score.outputs(np.zeros((5, 2))), ys)[known].tolist() == [math.sqrt(5.0), 5.0]
    array = np.array([[1.0, 2.0], [math.nan, 1.0], [3.0, 4.0]])
    ys, known = score.labels(array, 3)
    assert known.tolist() == [True, False, True] and ys.tolist() == [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    nothing, known = score.labels([None] * 3, 3)
    assert not known.any() and score.score(np.zeros((3, 2)), nothing).shape == (3,)
    for row in rows[1:3]:
        with pytest.raises(ValueError, match="y is missing"):
            score.label(row)


BAD = [
    (Absolute(), "output", math.nan, ValueError, "output must be finite.*clean it"),
    (Absolute(), "output", math.inf, ValueError, "output must be finite"),
    (Absolute(), "output", 1e151, ValueError, "at most 1e.150.*larger unit"),
    (Absolute(), "output", "1", TypeError, "output must be one real number, got '1'"),
    (Absolute(), "output", [1.0], TypeError, "output must be one real number"),
    (Absolute(), "outputs", [1.0, math.nan], ValueError, r"outputs\[1\] must be finite"),
    (Absolute(), "outputs", [1.0, 2.0, -1e151], ValueError, r"outputs\[2\] must be finite, of at most"),
    (Absolute(), "outputs", [1.0, "2", 3.0], TypeError, r"outputs\[1\] must be one real number, got '2'"),
    (Absolute(), "outputs", [1.0, None], TypeError, r"outputs\[1\] must be one real number, got None"),
    (Absolute(), "outputs", [[1.0, 2.0]], ValueError, r"outputs must have shape \(rounds,\).*got \(1, 2\)"),
    (Absolute(), "outputs", 1.0, ValueError, r"outputs must have shape \(rounds,\)"),
    (Absolute(), "outputs", np.ma.array([1.0, 2.0], mask=[0, 1]), TypeError, "masked"),
    (Absolute(), "label", math.inf, ValueError, "y must be finite"),
    (Absolute(), "label", "a", TypeError, "y must be one real number"),
    (Normalised(), "output", 1.0, TypeError, "output must be a pair of numbers, got 1.0"),
    (Normalised(), "output", (1.0, 2.0, 3.0), TypeError, "output must be a pair"),
    (Normalised(), "output", (1.0, 0.0), ValueError, r"the scale of output must be a number in \[1e-150, 1e.150\]"),
    (Normalised(), "output", (math.nan, 1.0), ValueError, "the forecast of output must be finite"),
    (Normalised(), "outputs", [(1.0, 1.0), (1.0, -1.0)], ValueError, r"the scale of outputs\[1\] must be"),
    (Normalised(), "outputs", ([1.0, 2.0], [0.0, 1.0]), ValueError, r"the scale of outputs\[0\] must be"),
    (CQR(), "output", (1.0, math.inf), ValueError, "the upper quantile of output must be finite"),
    (CQR(), "outputs", [(1.0, 2.0), (math.nan, 2.0)], ValueError, r"the lower quantile of outputs\[1\] must be finite"),
    (CQR(), "outputs", [(1.0, 2.0), 3.0], TypeError, r"outputs\[1\] must be a pair"),
    (CQR(), "outputs", np.zeros((3, 4)), ValueError, r"outputs must have shape \(rounds, 2\).*got \(3, 4\)"),
    (CQR(), "outputs", ([1.0], [1.0, 2.0]), ValueError, "two columns of one length.*rows as a list or an array"),
    (CQR(), "outputs", ([1.0, 2.0],) * 3, ValueError, "two columns"),
    (LAC(), "output", [0.5, 0.6], ValueError, "output must hold probabilities that add up to 1, got 1.1: divide"),
    (LAC(), "output", [0.5, 1.5, -1.0], ValueError, "got 1.5 for class 1: of logits take the softmax"),
    (LAC(), "output", [1.0, math.nan], ValueError, "got nan for class 1"),
    (LAC(), "output", [1e308, 1e308], ValueError, r"got 1e\+308 for class 0"),
    (LAC(), "outputs", [[0.5, 0.5], [1e308, 1e308]], ValueError, r"outputs\[1\] must hold probabilities, got 1e\+308"),
    (LAC(), "outputs", [[0.5, 0.5], [1.0005, -0.0005]], ValueError, r"outputs\[1\] must hold .* got -0.0005"),
    (LAC(), "output", [1.0], ValueError, r"at least 2 probabilities, one for each class, got shape \(1,\)"),
    (LAC(), "output", ["a", "b"], TypeError, "output must hold real numbers"),
    (LAC(), "outputs", [[0.5, 0.5], [0.5, 0.4]], ValueError, r"outputs\[1\] must hold probabilities that add up"),
    (LAC(), "outputs", [[0.5, 0.5], [math.nan, 0.4]], ValueError, r"outputs\[1\] must hold probabilities, got nan"),
    (LAC(), "outputs", [[1.0], [1.0]], ValueError, r"outputs\[0\] must hold at least 2"),
    (LAC(), "outputs", [0.5, 0.5], ValueError, r"outputs must have shape \(rounds, entries\)"),
    (LAC(), "outputs", [[0.5, 0.5], [1.0, 0.0, 0.0]], ValueError, "rows differ in length"),
    (LAC(classes=["a", "b"]), "output", [0.5, 0.25, 0.25], ValueError, "must hold 2 probabilities"),
    (LAC(classes=["a", "b"]), "outputs", np.full((2, 4), 0.25), ValueError, r"shape \(rounds, 2\).*got \(2, 4\)"),
    (LAC(), "label", 1.5, ValueError, "y must be the index of a class, a whole number >= 0, got 1.5"),
    (LAC(), "label", -1, ValueError, "whole number >= 0"),
    (LAC(), "label", 1e300, ValueError, "whole number >= 0"),
    (LAC(), "label", "cat", TypeError, r"y must be the index of a class, got 'cat'.*classes=\[...\]"),
    (LAC(classes=["a", "b"]), "label", "c", ValueError, r"y must be one of the classes, got 'c'.*LAC\(classes="),
    (LAC(classes=["a", "b"]), "label", [1], ValueError, "y must be one of the classes"),
    (NormBall(), "output", 1.0, ValueError, "output must be a vector, got shape"),
    (NormBall(), "output", [], ValueError, "output must be a vector"),
    (NormBall(), "output", [1.0, math.inf], ValueError, "output must be finite, with entries up to"),
    (NormBall(), "outputs", [[], []], ValueError, r"outputs\[0\] must be a vector"),
    (NormBall(), "outputs", [[1.0, 2.0], [1e151, 1.0]], ValueError, r"outputs\[1\] must be finite"),
    (NormBall(), "outputs", [[1.0, 2.0], ["a", 1.0]], TypeError, r"outputs\[1\] must hold real numbers"),
    (NormBall(), "label", [1e151], ValueError, "y must be finite"),
    (UserScore(gap, gap_set), "outputs", 1.0, TypeError, "outputs must be a sequence, one entry a round"),
    (UserScore(gap, gap_set), "outputs", "abc", TypeError, "outputs must be a sequence"),
]  # fmt: skip


@pytest.mark.parametrize(("score", "method", "value", "error", "text"), BAD)
def test_refusals(score, method, value, error, text):
    with pytest.raises(error, match=text):
        getattr(score, method)(value)


BAD_LABELS = [
    (Absolute(), [1.0, 2.0], ValueError, "y must hold 3 labels, one a round, got 2: None or NaN for an unknown"),
    (Absolute(), [1.0, None, math.inf], ValueError, r"y\[2\] must be finite"),
    (Absolute(), [math.nan, "a", 1.0], TypeError, r"y\[1\] must be one real number, got 'a'"),
    (Absolute(), 1.0, TypeError, "y must be a sequence, one entry a round"),
    (Absolute(), np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), TypeError, "masked entries: fill them with NaN"),
    (Absolute(), np.zeros((3, 2)), ValueError, r"y must have shape \(rounds,\)"),
    (LAC(), [0, None, 0.5], ValueError, r"y\[2\] must be the index of a class"),
    (LAC(), ["a", "b", "c"], TypeError, r"y\[0\] must be the index of a class.*classes="),
    (LAC(classes=["a", "b"]), ["a", "b", "c"], ValueError, r"y\[2\] must be one of the classes, got 'c'"),
    (NormBall(), [[1.0], [2.0], [1.0, 2.0]], ValueError, r"vectors of one length, got lengths \[1, 2\]"),
    (NormBall(), [[1.0], None, [1e151]], ValueError, r"y\[2\] must be finite"),
    (NormBall(), np.array([[1.0], [math.nan], [1e151]]), ValueError, r"y\[2\] must be finite"),
    (NormBall(), [1.0, 2.0, 3.0], ValueError, r"y\[0\] must be a vector"),
    (NormBall(), np.zeros(3), ValueError, r"y must have shape \(rounds, entries\)"),
    (UserScore(gap, gap_set), "abc", TypeError, "y must be a sequence"),
]


@pytest.mark.parametrize(("score", "values", "error", "text"), BAD_LABELS)
def test_label_refusals(score, values, error, text):
    with pytest.raises(error, match=text):
        score.labels(values, 3)


def test_score_refusals():
    p = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="y must be below 2, the number of classes of its output, got 2"):
        LAC().score(p[0], 2)
    with pytest.raises(ValueError, match=r"y\[1\] must be below 2"):
        LAC().score(p, np.array([0, 3, 2]))
    with pytest.raises(ValueError, match=r"shape of its output, \(2,\), got \(3,\)"):
        NormBall().score(np.zeros(2), np.zeros(3))
    for call in (lambda s: s.score(p[0], 0), lambda s: s.set(p[0], 1.0), lambda s: s.width(p, np.ones(3))):
        with pytest.raises(TypeError, match=r"needs u, a uniform in \[0, 1\).*wane.scores.uniforms"):
            call(APS(seed=1))
    for score, output in ((LAC(), p[0]), (NormBall(), np.zeros(2))):
        with pytest.raises(ValueError, match=r"limits cut intervals.*leave them out"):
            score.set(output, 1.0, limits=(0.0, 1.0))
        with pytest.raises(ValueError, match="limits cut intervals"):
            score.width(np.atleast_2d(output), np.ones(1), limits=(0.0, 1.0))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: OneSided("up"), ValueError, "side must be 'upper' or 'lower'.*got 'up'"),
        (lambda: NormBall(3), ValueError, "norm must be 1, 2 or inf, got 3"),
        (lambda: NormBall(True), ValueError, "norm must be"),
        (lambda: RAPS(-0.1), ValueError, "penalty must be a number in .*0 is APS"),
        (lambda: RAPS(math.nan), ValueError, "penalty must be"),
        (lambda: RAPS(k_reg=-1), ValueError, "k_reg must be a whole number, in"),
        (lambda: RAPS(k_reg=1.5), ValueError, "k_reg must be a whole number"),
        (lambda: APS(seed=-1), ValueError, "seed must be a whole number, in"),
        (lambda: APS(seed=True), ValueError, "seed must be a whole number"),
        (lambda: uniforms(0, -1, 2), ValueError, "start must be a whole number"),
        (lambda: uniforms(0, 1, 2.5), ValueError, "count must be a whole number"),
        (lambda: LAC(classes="ab"), TypeError, "classes must be several values"),
        (lambda: LAC(classes=3), TypeError, "classes must be several values"),
        (lambda: LAC(classes=["a"]), ValueError, "at least 2 different names"),
        (lambda: LAC(classes=["a", "b", "a"]), ValueError, "at least 2 different names"),
        (lambda: LAC(classes=["a", ("b",)]), TypeError, r"classes\[1\] must be text or a number"),
        (lambda: LAC(classes=[1.0, math.nan]), TypeError, r"classes\[1\] must be"),
        (lambda: UserScore(1, gap_set), TypeError, "score_function must be a function, got 1"),
        (lambda: UserScore(gap, None), TypeError, "set_function must be a function"),
        (lambda: make("absolut"), ValueError, "no score is called 'absolut'.*known are absolute, aps"),
        (lambda: make(3), ValueError, "no score is called 3"),
        (lambda: make("absolute", side=1), TypeError, "absolute has no setting 'side': it takes nothing"),
        (lambda: make("user"), TypeError, r"user needs '\w+': give \w+"),
        (lambda: as_score(3), TypeError, "score must be one of wane.scores or a name of one, got 3"),
    ],
)
def test_argument_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
