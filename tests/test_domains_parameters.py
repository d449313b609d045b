"""Parameters of domains: printed, saved and copied they make the same set; bad ones are refused."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from domain_cases import CASES, INF, each

from wane import domains, learners
from wane.domains import Ball, Box, Custom, HalfSpace, Simplex


@each
def test_repr_pickle_and_copies(name):
    domain = CASES[name](3)
    x = np.array([3.0, -2.0, 1.0])
    evaluated = eval(repr(domain), {**vars(domains), "inf": INF})
    for same in (evaluated, pickle.loads(pickle.dumps(domain)), copy.copy(domain), copy.deepcopy(domain)):
        assert type(same) is type(domain) and repr(same) == repr(domain)
        assert same.project(x).tobytes() == domain.project(x).tobytes()
        assert (same.diameter, same.size) == (domain.diameter, domain.size)


@each
def test_a_learner_saves_its_domain(name):
    domain = CASES[name](3)
    learner = learners.AdaptiveLearner(3, domain=domain)
    g = np.random.default_rng(0).normal(size=(40, 3))
    learner.run(g)
    again = learners.load(json.loads(json.dumps(learner.state_dict(), allow_nan=False)))
    assert again.run(g).tobytes() == learner.run(g).tobytes()
    assert repr(again.domain) == repr(domain)


def test_parameters_are_copied():
    center, normal, x = np.zeros(2), np.array([1.0, 0.0]), np.array([5.0, 5.0])
    ball, half = Ball(1.0, center), HalfSpace(normal, 1.0)
    before = [(repr(d), pickle.dumps(d), d.project(x).tolist()) for d in (ball, half)]
    center += 100.0
    normal[:] = [0.0, -1.0]
    assert [(repr(d), pickle.dumps(d), d.project(x).tolist()) for d in (ball, half)] == before


def test_limits_are_copied():
    low, high = np.zeros(2), np.ones(2)
    box = Box(low, high)
    before = repr(box), box.project([5.0, -5.0]).tolist(), copy.deepcopy(box).project([5.0, -5.0]).tolist()
    low -= 100.0
    high += 100.0
    assert (repr(box), box.project([5.0, -5.0]).tolist(), copy.deepcopy(box).project([5.0, -5.0]).tolist()) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ball(0.0), "radius"),
        (lambda: Ball(-1.0), "radius"),
        (lambda: Ball(math.nan), "radius"),
        (lambda: Ball(INF), "radius"),
        (lambda: Ball("1"), "radius"),
        (lambda: Ball(1.0, [[1.0]]), "center"),
        (lambda: Ball(1.0, []), "center"),
        (lambda: Ball(1.0, [math.nan]), "center"),
        (lambda: Ball(1.0, "ab"), "center"),
        (lambda: Box(1.0, 0.0), "lower"),
        (lambda: Box([0.0, 2.0], 1.0), "lower"),
        (lambda: Box(math.nan, 1.0), "lower"),
        (lambda: Box(0.0, [1.0, math.nan]), "upper"),
        (lambda: Box(INF, INF), "lower"),
        (lambda: Box(-INF, -INF), "upper"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), "length"),
        (lambda: Box([], []), "lower"),
        (lambda: Box([[0.0]], 1.0), "lower"),
        (lambda: Box("a", 1.0), "lower"),
        (lambda: Simplex(0.0), "total"),
        (lambda: Simplex(-1.0), "total"),
        (lambda: Simplex(math.nan), "total"),
        (lambda: HalfSpace([0.0, 0.0]), "normal"),
        (lambda: HalfSpace([math.nan]), "normal"),
        (lambda: HalfSpace([]), "normal"),
        (lambda: HalfSpace(1.0), "normal"),
        (lambda: HalfSpace([1.0], INF), "offset"),
        (lambda: HalfSpace([1.0], "x"), "offset"),
        (lambda: Custom(3), "project"),
        (lambda: Custom(None), "project"),
    ],
)
def test_bad_parameters_are_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()
