"""Scores as plain data, copies and names: what comes back is the same score."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest
from score_cases import bits, data, every, gap, gap_set

import wane.scores
from wane.scores import RAPS, Score, UserScore, as_score, make, names
from wane.state.data import subclasses


@every
def test_state(score):
    objects = {"score_function": gap, "set_function": gap_set} if isinstance(score, UserScore) else {}
    state = json.loads(json.dumps(score.state_dict()))
    raw, raw_y, radii, u = data(score, 5)
    outputs, (ys, _) = score.outputs(raw), score.labels(raw_y, 5)
    for other in (
        type(score).from_state_dict(state, **objects),
        copy.deepcopy(score),
        copy.copy(score),
        pickle.loads(pickle.dumps(score)),
    ):
        assert other.state_dict() == score.state_dict() and repr(other) == repr(score)
        assert bits(other.score(outputs, ys, u)) == bits(score.score(outputs, ys, u))
        assert bits(other.width(outputs, radii, u)) == bits(score.width(outputs, radii, u))
        other.reset()
        assert other.state_dict() == score.state_dict()
    if objects:
        with pytest.raises(TypeError, match="plain data cannot hold"):
            type(score).from_state_dict(state)


def test_state_of_names():
    score = RAPS(0.02, classes=np.array(["cat", "dog"]), seed=3, k_reg=1, allow_empty=False, published=True)
    other = RAPS.from_state_dict(json.loads(json.dumps(score.state_dict())))
    assert other.classes == ("cat", "dog") and other.randomised and not other.allow_empty and other.published
    assert other.label("dog") == 1


def test_registry():
    assert names() == sorted(wane.scores.SCORES) and len(names()) == 10
    for name, kind in wane.scores.SCORES.items():
        arguments = {"score_function": gap, "set_function": gap_set} if name == "user" else {}
        score = make(name, **arguments)
        assert type(score) is kind and as_score(score) is score
        assert arguments or type(as_score(name)) is kind
        assert tuple(inspect.signature(kind).parameters) == score.parameters
    final = {cls for cls in subclasses(Score) if cls.__module__.startswith("wane.")}
    assert final - set(wane.scores.SCORES.values()) == {cls for cls in final if cls.__name__ in ABSTRACT}


ABSTRACT = ("IntervalScore", "PairScore", "LabelScore")


def test_a_score_must_say_what_it_does():
    for name in ("output", "outputs", "row", "label", "labels", "score", "floor", "set", "width"):
        arguments = (1.0,) if name in ("output", "outputs", "label", "floor") else (1.0, 1)
        with pytest.raises(NotImplementedError, match=f"Score must define {name}"):
            getattr(Score(), name)(*arguments)
