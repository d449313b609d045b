"""Domains of the user's own: any object with `project`, and answers that are no point."""

import math
import pickle

import numpy as np
import pytest
from domain_cases import INF

from wane import learners
from wane.domains import Ball, Custom, Domain, Simplex


class Moved:
    """A domain of a user's, x <= 1/2 in every coordinate, that spoils its argument and looks at what it was given."""

    def __init__(self):
        self.seen = []

    def project(self, x):
        self.seen.append((type(x), x.dtype, x.shape))
        out = np.minimum(x, 0.5)
        x[:] = math.nan
        return out


class Answers:
    """A domain whose projection is whatever it was told."""

    def __init__(self, answer):
        self.answer = answer

    def project(self, x):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_custom_wraps_any_object_with_project():
    mine = Moved()
    domain = Custom(mine)
    x = np.array([3.0, 0.25, -1.0])
    assert domain.project(x).tolist() == [0.5, 0.25, -1.0]
    assert x.tolist() == [3.0, 0.25, -1.0]
    assert mine.seen == [(np.ndarray, np.dtype(float), (3,))]
    assert domain.object is mine and domain.size is None and domain.diameter == INF
    assert domain.project(4.0) == 0.5 and type(domain.project(4.0)) is float
    assert [0.5, 0.5] in domain and 0.6 not in domain
    assert pickle.loads(pickle.dumps(domain)).project([2.0, 0.0]).tolist() == [0.5, 0.0]
    assert repr(Custom(Ball(2.0))) == "Custom(object=Ball(radius=2.0, center=None))"
    x = [[0.7], [1.0, 2.0, 3.0]]
    for point in x:
        assert Custom(Simplex()).project(point).tobytes() == Simplex().project(point).tobytes()


def test_custom_takes_every_kind_of_array():
    for answer in ([1, 2], (1.0, 2.0), np.array([1.0, 2.0], dtype=np.float32), np.array([9, 1, 9, 2])[1::2]):
        assert Custom(Answers(answer)).project([0.0, 0.0]).tolist() == [1.0, 2.0]
    assert Custom(Answers(2.5)).project(0.0) == 2.5


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ([1.0], ValueError, "2 finite numbers"),
        ([1.0, 2.0, 3.0], ValueError, "2 finite numbers"),
        (1.0, ValueError, "2 finite numbers"),
        ([], ValueError, "2 finite numbers"),
        ([1.0, math.nan], ValueError, "2 finite numbers"),
        ([INF, 1.0], ValueError, "2 finite numbers"),
        (None, TypeError, "projection"),
        ("ab", TypeError, "projection"),
        ([1j, 1.0], TypeError, "projection"),
        (KeyError("of the user"), KeyError, "of the user"),
        ([[1.0], [2.0]], ValueError, "2 finite numbers"),
    ],
)
def test_custom_refuses_what_is_no_point(answer, error, words):
    with pytest.raises(error, match=words):
        Custom(Answers(answer)).project([0.0, 0.0])


def test_a_set_without_a_projection():
    with pytest.raises(NotImplementedError, match="must define _project"):
        Domain().project([1.0])


def test_a_subclass_may_define_project():
    class Half(Domain):
        def project(self, x):
            return np.minimum(x, 0.5)

    g = np.full((60, 2), -1.0)
    want = learners.AdaptiveLearner(2, domain=Custom(Half())).run(g)
    assert want.max() == 0.5
    assert learners.AdaptiveLearner(2, domain=Half()).run(g).tobytes() == want.tobytes()
