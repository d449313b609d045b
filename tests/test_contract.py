"""What every learner keeps, whoever wrote it: each row of ``table`` and a learner in plain Python."""

import copy
import inspect
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import IDS, MAKERS, ROWS, objects, shaped

import wane
from wane import learners
from wane.learners import Learner, load


class Mine(Learner):
    """An algorithm written by a user, in Python, on the line and in R^d."""

    parameters = ("rate", "discount", "dim")
    memory = ("x",)

    def __init__(self, rate=0.1, discount=0.99, dim=None):
        super().__init__(discount, dim)
        self.rate = rate
        self.x = 0.0 if dim is None else np.zeros(dim)

    def _predict(self):
        return self.x

    def _update(self, gradient, discount):
        self.x = discount * self.x - self.rate * gradient


EVERY = [*MAKERS, Mine, lambda: Mine(dim=2)]
each = pytest.mark.parametrize("make", EVERY, ids=[*IDS, "Mine0", "Mine1"])
numbers = st.lists(st.sampled_from([0.0, 1.0, -1.0, 1e-6, -1e6]) | st.floats(-1e3, 1e3), max_size=30)
discounts = st.none() | st.sampled_from([0.0, 0.5, 0.99, 1.0, 1.1])


def steps(learner, gradients, discounts=None):
    out = []
    for t, g in enumerate(gradients):
        out.append(learner.predict())
        learner.update(g, None if discounts is None else discounts[t])
    return np.array(out).reshape(gradients.shape)


def full_state(learner):
    return json.dumps(learner.state_dict())


def played(make):
    learner = make()
    learner.run(shaped(learner, [1.0, -2.0, -0.5, 0.0, 3.0, -1.0]))
    return learner


def test_every_learner_has_a_row():
    public = {getattr(learners, name) for name in learners.__all__} - {Learner, load}
    assert {cls.__name__ for cls in public} == set(ROWS)
    for name, makers in ROWS.items():
        assert all(type(make()).__name__ == name for make in makers)


@each
@settings(max_examples=30)
@given(numbers=numbers, data=st.data())
def test_batch_equals_steps(make, numbers, data):
    gradients = shaped(make(), numbers)
    factors = data.draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.1]), min_size=30, max_size=30))
    factors = None if factors is None else factors[: len(gradients)]
    a, b = make(), make()
    assert a.run(gradients, factors).tobytes() == steps(b, gradients, factors).tobytes()
    assert full_state(a) == full_state(b)


@each
def test_shapes_and_purity(make):
    learner = make()
    shape = () if learner.dim is None else (learner.dim,)
    before = full_state(learner)
    x = learner.predict()
    assert type(x) is (float if learner.dim is None else np.ndarray) and np.shape(x) == shape
    again = learner.predict()
    assert np.array_equal(x, again) and full_state(learner) == before
    if learner.dim is not None:  # what a caller does to the answer is the caller's
        x += 1.0
        assert np.array_equal(learner.predict(), again)
    gradients = shaped(learner, [0.5] * 12)
    assert learner.run(gradients).shape == gradients.shape
    assert learner.run([]).shape == (0, *shape)
    assert learner.update(gradients[0]) is None


@each
@settings(max_examples=15)
@given(first=numbers, then=numbers)
def test_resume_equals_never_stopped(make, first, then):
    a = make()
    first, then = shaped(a, first), shaped(a, then)
    a.run(first)
    b = load(json.loads(full_state(a)), **objects(a))
    want = a.run(then)
    assert type(b) is type(a) and b.run(then).tobytes() == want.tobytes()
    assert full_state(a) == full_state(b)


@each
def test_copies_are_independent(make):
    a = played(make)
    before = full_state(a)
    for b in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert type(b) is type(a) and full_state(b) == before and repr(b) == repr(a)
        b.update(shaped(b, [-3.0] * b.n)[0])
        assert full_state(b) != before
    assert full_state(a) == before


@each
def test_reset(make):
    a = played(make)
    a.reset()
    assert full_state(a) == full_state(make())
    g = shaped(a, [1.0, -1.0, -2.0, -1.0])
    assert a.run(g).tobytes() == make().run(g).tobytes()


@each
def test_repr_is_the_call(make):
    a = make()
    text = repr(a)
    assert text.startswith(type(a).__name__ + "(") and all(f"{k}=" in text for k in a.parameters)


@each
@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, "x", "1.0", None, 1j, [1.0, 2.0, 3.0, 4.0], [[1.0]], {}]
)
def test_bad_gradient_leaves_the_state(make, bad):
    a = played(make)
    before = full_state(a)
    given = bad if a.dim is None or isinstance(bad, (list, dict)) or bad is None else [bad] * a.dim
    with pytest.raises((ValueError, TypeError)) as caught:
        a.update(given)
    assert len(str(caught.value)) > 10
    assert full_state(a) == before


@each
@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "x", [0.5], 1j])
def test_bad_discount_leaves_the_state(make, bad):
    a = played(make)
    before = full_state(a)
    g = shaped(a, [1.0] * a.n)[0]
    with pytest.raises((ValueError, TypeError), match="discount"):
        a.update(g, discount=bad)
    with pytest.raises((ValueError, TypeError), match="discount"):
        a.run([g, g], discounts=[1.0, bad])
    assert full_state(a) == before


@each
def test_bad_round_in_run_is_named(make):
    a = played(make)
    before = full_state(a)
    gradients = shaped(a, [1.0] * (5 * a.n))
    gradients[3] = math.nan
    with pytest.raises(ValueError, match=r"gradients\[3\]"):
        a.run(gradients)
    with pytest.raises(ValueError, match=r"discounts\[2\]"):
        a.run(shaped(a, [1.0] * (5 * a.n)), [1.0, 1.0, -1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        a.run(np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="shape"):
        a.run(shaped(a, [1.0] * (5 * a.n)), [1.0, 1.0])
    assert full_state(a) == before


@each
def test_any_array(make):
    a = make()
    g = shaped(a, list(np.linspace(-1, 1, 20)))
    want = a.run(g)
    readonly = g.copy()
    readonly.flags.writeable = False
    strided = np.repeat(g, 2, axis=0)[::2]
    for same in (readonly, strided, np.asfortranarray(g), g.astype(">f8"), g.tolist()):
        assert make().run(same).tobytes() == want.tobytes()
    kept = g.copy()
    b = make()
    for row in g:
        b.update(row)
    assert (g == kept).all()  # the caller's array is not written to
    assert make().run(g.astype(np.float32)).shape == want.shape
    assert make().run(np.sign(g).astype(int)).tobytes() == make().run(np.sign(g)).tobytes()


@each
def test_discount_none_is_the_learners_own(make):
    a, b, c = make(), make(), make()
    g = shaped(a, [0.5] * (3 * a.n))
    a.run(g)
    b.run(g, discounts=a.discount)
    for row in g:
        c.update(gradient=row, discount=None)
    assert full_state(a) == full_state(b) == full_state(c)


@each
def test_numbers_of_every_kind(make):
    a, b = make(), make()
    g = shaped(a, [2.0] * a.n)[0]
    a.update(g, np.float64(0.5))
    b.update(np.float32(2.0) if b.dim is None else np.asarray(g, dtype=np.float32), 0.5)
    assert full_state(a) == full_state(b)
    a.update(2 if a.dim is None else [2] * a.dim, 1)
    b.update(np.array(2) if b.dim is None else np.full(b.dim, 2), np.array(1.0))
    assert full_state(a) == full_state(b)


@each
def test_bad_state_is_refused(make):
    a = played(make)
    good = json.loads(full_state(a))
    for breaking, match in [
        ({"format": 99}, "format"),
        ({"class": "Nothing"}, "Nothing"),
        ({"memory": {}} if a.memory else {"memory": {"x": 1}}, "memory"),
        ({"parameters": {**good["parameters"], "nonsense": 1}}, "nonsense"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            load({**good, **breaking}, **objects(a))
    for name, value in good["memory"].items():
        for wrong in (math.nan, "text", None, [1.0] * 17):
            with pytest.raises(ValueError):
                load({**good, "memory": {**good["memory"], name: wrong}}, **objects(a))
        assert value == good["memory"][name]
    for nonsense in (None, 3, [], {}, "state"):
        with pytest.raises(ValueError, match="state_dict"):
            load(nonsense)


@each
@settings(max_examples=15)
@given(numbers=numbers, factor=discounts)
def test_always_finite(make, numbers, factor):
    a = make()
    g = shaped(a, numbers)
    assert np.isfinite(a.run(g, factor)).all() and np.isfinite(a.predict()).all()


@each
def test_memory_is_constant(make):
    a = make()
    if "Rescaled" in repr(a):
        pytest.skip("its weights end: that is tested with the reductions")
    g = shaped(a, list(np.random.default_rng(0).normal(size=400 * a.n)))
    a.run(g[:200])
    before = np.array(json.dumps(a.state_dict()["memory"]).count(","))
    a.run(g)
    assert json.dumps(a.state_dict()["memory"]).count(",") == before


@pytest.mark.parametrize(
    ("make", "memory"),
    [
        (learners.MagnitudeLearner, {"b": -100.0}),
        (learners.MagnitudeLearner, {"a": -1e6}),
        (learners.MagnitudeLearner, {"h": [-1.0, 0]}),
        (learners.MagnitudeLearner, {"h": [1e300, 0]}),
        (learners.MagnitudeLearner, {"h": [1.0, 0.5]}),
        (learners.MagnitudeLearner, {"x": 10**400}),
        (learners.OddMagnitudeLearner, {"b": -1e3}),
        (lambda: learners.AdaGrad(1.0, dim=2), {"b": -5.0}),
        (lambda: learners.AdaGrad(domain=wane.domains.Ball()), {"x": [5.0]}),
        (learners.TracLearner, {"v": -1.0}),
        (learners.CoinBetting, {"s": [100.0]}),
        (learners.CoinBetting, {"count": -1.0}),
        (learners.ExponentialPotential, {"b": -3.0}),
        (lambda: learners.GradientDescent(diameter=1.0, schedule="horizon"), {"H": -5.0}),
    ],
)
def test_a_corrupted_memory_is_refused(make, memory):
    learner = make()
    learner.run(shaped(learner, [-1.0, 0.5, -1.0, 1.0]))
    state = learner.state_dict()
    assert load(state).run(shaped(learner, [1.0, 1.0])) is not None
    with pytest.raises(ValueError):
        load({**state, "memory": {**state["memory"], **memory}})


def test_all_parameters_must_be_there():
    state = learners.MagnitudeLearner().state_dict()
    for wrong in ({}, [], {"epsilon": 1.0}):
        with pytest.raises(ValueError, match="parameters"):
            load({**state, "parameters": wrong})


@pytest.mark.parametrize(
    "bad",
    [
        np.array("-1.5"),
        bytearray(b"-1.5"),
        np.timedelta64(1, "s"),
        np.complex64(1 + 2j),
        10**400,
        np.ma.masked_array([1.0], [1]),
    ],
    ids=str,
)
def test_what_is_no_real_number(bad):
    learner = learners.MagnitudeLearner()
    for wrong in (
        lambda: learner.update(bad),
        lambda: learner.update(1.0, bad),
        lambda: learners.MagnitudeLearner(epsilon=bad),
        lambda: learners.LinearFTRL(dim=1).update([bad] if np.ndim(bad) == 0 else bad),
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_the_caller_keeps_the_arrays():
    """Writing to an array that was given, or to one that is shown, changes no learner."""
    given = np.array([0.5, 0.5])
    made = [
        learners.AdaGrad(2.0, dim=2, start=given),
        learners.GradientDescent(0.1, dim=2, start=given),
        learners.Centered(learners.LinearFTRL(dim=2), given),
        learners.AdaptiveLearner(2, center=given),
        learners.AdaptiveLearner(2, domain=wane.domains.Ball(1.0, given)),
    ]
    given[:] = 9.0
    for learner in made:
        for same in (learner, copy.deepcopy(learner)):
            same.reset()
            assert same.predict().tolist() == [0.5, 0.5] or "Ball" in repr(same)
        for name in ("start", "center"):
            shown = getattr(learner, name, None)
            if shown is not None:
                with pytest.raises(ValueError, match="read-only"):
                    shown[:] = 7.0


def test_a_user_learner_that_plays_nonsense_is_refused():
    class Nonsense(Mine):
        def _predict(self):
            return math.nan if self.x else 0.0

    learner = Nonsense()
    with pytest.raises(ValueError, match=r"in round 1: Nonsense\(.*finite"):
        learner.run([1.0, 1.0])
    learner.update(1.0)
    with pytest.raises(ValueError, match="the prediction must be finite"):
        learner.predict()


def test_every_error_names_its_round():
    for error in (AssertionError(), ValueError(3), KeyError("a", "b")):

        class Raises(Mine):
            def _update(self, gradient, discount, error=error):
                if gradient == 7.0:
                    raise error
                super()._update(gradient, discount)

        with pytest.raises(type(error)) as caught:
            Raises().run([1.0, 7.0])
        assert "in round 1" in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_plain_data_cannot_hold_objects():
    a = ROWS["FTRL"][0]()
    with pytest.raises(TypeError, match=r"prediction=\.\.\."):
        load(a.state_dict())
    with pytest.raises(TypeError, match="no parameter epsilon"):
        load(learners.LinearFTRL().state_dict(), epsilon=1.0)


def test_python_subclass_in_every_loop():
    g = np.random.default_rng(0).normal(size=(50, 2))
    assert (Mine().run(g[:, 0]) == learners.LinearFTRL(0.1, 0.99).run(g[:, 0] * 1.0)).all() or np.allclose(
        Mine().run(g[:, 0]), learners.LinearFTRL(0.1, 0.99).run(g[:, 0]), rtol=1e-12
    )
    for wrap in (lambda b: learners.Centered(b, [1.0, 2.0]), lambda b: learners.Constrained(b, wane.domains.Ball())):
        a, b = wrap(Mine(dim=2)), wrap(learners.RegularizedGradientDescent(0.1, discount=0.99, dim=2))
        assert a.run(g).tobytes() == b.run(g).tobytes()


def test_python_subclass_errors():
    class Raises(Mine):
        count = 0

        def _update(self, gradient, discount):
            if gradient == 7.0:
                raise KeyError("mine")
            super()._update(gradient, discount)

    class Forgot(Learner):
        pass

    a = Raises()
    a.update(1.0)
    before = a.x
    with pytest.raises(KeyError, match="in round 2: mine"):
        a.run([1.0, 2.0, 7.0, 1.0])
    assert a.x == before
    with pytest.raises(NotImplementedError, match="Forgot must define _predict"):
        Forgot().predict()
    with pytest.raises(NotImplementedError, match="Forgot must define _update"):
        Forgot().update(1.0)
    with pytest.raises(NotImplementedError, match="Forgot must define _predict"):
        Forgot(dim=3).predict()


def test_interrupt_leaves_the_state():
    class Interrupted(Mine):
        def _update(self, gradient, discount):
            if gradient == 7.0:
                raise KeyboardInterrupt
            super()._update(gradient, discount)

    a = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        a.run([1.0, 2.0, 7.0])
    assert a.x == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: learners.MagnitudeLearner(epsilon=0.0),
        lambda: learners.MagnitudeLearner(epsilon=-1.0),
        lambda: learners.MagnitudeLearner(epsilon=math.nan),
        lambda: learners.MagnitudeLearner(epsilon="1"),
        lambda: learners.MagnitudeLearner(discount=-1.0),
        lambda: learners.MagnitudeLearner(discount=math.inf),
        lambda: learners.SimplifiedMagnitudeLearner(initial_variance=0.0),
        lambda: learners.AdaptiveLearner(0),
        lambda: learners.AdaptiveLearner(2.5),
        lambda: learners.AdaptiveLearner(None),
        lambda: learners.AdaptiveLearner(2, center=[1.0]),
        lambda: learners.AdaptiveLearner(2, center=[5.0, 0.0], domain=wane.domains.Ball()),
        lambda: learners.AdaptiveLearner(2, domain=wane.domains.Ball(1.0, [0.0, 0.0, 0.0])),
        lambda: learners.AdaptiveLearner(2, domain="ball"),
        lambda: learners.GradientDescent(),
        lambda: learners.GradientDescent(diameter=1.0),
        lambda: learners.GradientDescent(0.1, schedule="horizon"),
        lambda: learners.GradientDescent(0.1, schedule="other"),
        lambda: learners.GradientDescent(0.1, start=2.0, domain=wane.domains.Ball()),
        lambda: learners.AdaGrad(),
        lambda: learners.AdaGrad(domain=wane.domains.Nonnegative()),
        lambda: learners.RegularizedGradientDescent(0.5, 3.0),
        lambda: learners.FTRL(3),
        lambda: learners.Rescaled(learners.MagnitudeLearner(discount=0.9)),
        lambda: learners.Constrained(3, wane.domains.Ball()),
        lambda: learners.Constrained(learners.LinearFTRL(), None),
        lambda: learners.Centered(None, 0.0),
        lambda: learners.Centered(learners.LinearFTRL(dim=2), 0.0),
    ],
)
def test_bad_arguments(wrong):
    with pytest.raises((ValueError, TypeError)) as caught:
        wrong()
    assert len(str(caught.value)) > 15


def test_signatures():
    assert str(inspect.signature(Learner.update)).startswith("(self, gradient")
    assert next(iter(inspect.signature(load).parameters)) == "state"
    assert "Ingest" in inspect.getdoc(learners.GradientDescent.update)
