"""The optax transformations are the algorithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from wane import learners

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy
from optax_games import (  # noqa: E402
    GRID,
    ROUNDS,
    SPLIT,
    START,
    Magnitude,
    Trac,
    adam,
    flat,
    games,
    literal_adaptive,
    literal_tuned,
    near,
    player,
    sgd,
)

from wane.integrations import optax as ours  # noqa: E402


@settings(max_examples=25)
@given(game=games())
def test_adaptive_is_algorithm_3(game):
    g, lams = game
    start = flat(START)
    path, scales, state = player(("adaptive",))(g, lams)
    near(path, literal_adaptive(g, lams, start))
    learner = learners.AdaptiveLearner(6, center=start)
    near(path[:-1], learner.run(g, lams)[1:])
    near(path[-1], learner.predict())
    assert scales.shape == (ROUNDS,) and int(state.skipped) == 0
    assert all(x.dtype == np.float64 for x in jax.tree.leaves(state) if x.dtype.kind == "f")


@settings(max_examples=20)
@given(game=games())
def test_adaptive_with_labels_is_one_algorithm_a_label(game):
    g, lams = game
    path, scales, _ = player(("adaptive", "labels"))(g, lams)
    for i, own in enumerate(SPLIT):
        learner = learners.AdaptiveLearner(3, center=flat(START)[own])
        learner.run(g[:, own], lams)
        near(path[:, own], literal_adaptive(g[:, own], lams, flat(START)[own]))
        near(path[-1, own], learner.predict())
        near(scales[-1, i], learner.magnitude.predict())


@pytest.mark.parametrize(
    ("rule", "base", "groups"),
    [("magnitude", "sgd", False), ("trac", "sgd", False), ("magnitude", "adamw", True), ("trac", "adamw", True)],
)
@settings(max_examples=15)
@given(game=games())
def test_tuned_is_what_it_says(rule, base, groups, game):
    g, lams = game
    literal = {"magnitude": Magnitude, "trac": Trac}[rule]
    step = sgd(0.1) if base == "sgd" else adam(0.01, 0.1)
    eps = 0.5 if rule == "magnitude" else 1e-3
    want, scales, hs = literal_tuned(g, lams, flat(START), literal, step, eps, SPLIT if groups else None)
    if np.abs(want).max() > 1e6:
        return  # gradients that do not answer to the parameters: the scale may explode, and with it the rounding errors
    path, got, _ = player((rule, base, *(["labels"] if groups else [])))(g, lams)
    near(path, want)
    near(got, scales if groups else scales[:, 0])
    kind = {"magnitude": learners.MagnitudeLearner, "trac": learners.TracLearner}[rule]
    for i in range(len(SPLIT) if groups else 1):
        family = [kind(eps) for _ in GRID]
        for learner, discount in zip(family, GRID, strict=True):
            learner.run(hs[:, i], lams * discount)
        near(got[-1, i] if groups else got[-1], sum(learner.predict() for learner in family))


def test_the_games_move():
    """Else the comparisons above say little."""
    rng = np.random.default_rng(0)
    g = -0.5 + 0.2 * rng.normal(size=(ROUNDS, 6))
    for name in (("adaptive",), ("magnitude", "sgd"), ("trac", "sgd")):
        path, scales, _ = player(name)(g, 1.0)
        assert scales[-1] > 1.0 and (np.abs(path[-1] - flat(START)) > 0.1).all()


@settings(max_examples=15)
@given(game=games(), power=st.sampled_from([-300, -40, 3, 300]))
def test_adaptive_is_scale_free_to_the_last_bit(game, power):
    g, lams = game
    run = player(("adaptive",))
    a, b = run(g, lams), run(g * 2.0**power, lams)
    assert a[0].tobytes() == b[0].tobytes() and a[1].tobytes() == b[1].tobytes()


def test_silence_changes_nothing():
    run, g = player(("adaptive",)), np.zeros((ROUNDS, 6))
    g[:40] = -0.3
    path, _, state = run(g, [1.0] * 41 + [1e-30] * 19)
    assert (path[39:] == path[39]).all() and path[39, 0] > 0.5 and int(state.skipped) == 0


def test_torch_agrees():
    pytest.importorskip("torch")
    import torch

    module = pytest.importorskip("wane.integrations.torch")
    g = -0.3 + 0.5 * np.random.default_rng(1).normal(size=(ROUNDS, 6))

    def theirs(make):
        params = [torch.tensor(flat(START)[i].copy(), requires_grad=True) for i in SPLIT]
        optimiser, path = make([{"params": [p]} for p in params]), []
        for row in g:
            for p, i in zip(params, SPLIT, strict=True):
                p.grad = torch.tensor(row[i])
            optimiser.step()
            point = np.zeros(6)
            for p, i in zip(params, SPLIT, strict=True):
                point[i] = p.detach().numpy()
            path.append(point)
        return np.array(path)

    def adamw(params):
        return torch.optim.AdamW(params, lr=0.01, weight_decay=0.1)

    def sgd(params):
        return torch.optim.SGD(params, lr=0.1)

    for scope, label in (("global", ()), ("group", ("labels",))):
        near(
            player(("adaptive", *label))(g, 0.99)[0], theirs(lambda p, s=scope: module.Adaptive(p, 1.0, 0.99, scope=s))
        )
        for rule, epsilon in (("magnitude", 1.5), ("trac", 1e-3)):
            for name, base in (("sgd", sgd), ("adamw", adamw)):
                if (name == "sgd") == (scope == "global"):
                    there = theirs(lambda p, b=base, r=rule, e=epsilon, s=scope: module.Tuned(b(p), GRID, e, s, r))
                    near(player((rule, name, *label))(g, 1.0)[0], there)


# No freeze


def published(gradients, rate):
    """The published way: delta is recovered from the parameters, and only the sum is clamped."""
    s_init = eps = 1e-8
    theta, reference, scale = 1.0, 1.0, 0.0
    v, sigma, path = np.zeros(len(GRID)), np.full(len(GRID), 1e-8), []
    for g in gradients:
        delta = (theta - reference) / (scale + eps)
        h = delta * g
        v = np.square(GRID) * v + h**2
        sigma = np.array(GRID) * sigma - h
        scale = max(0.0, (s_init / special.erfi(np.sqrt(0.5)) * special.erfi(sigma / (np.sqrt(2 * v) + eps))).sum())
        theta = reference + (delta - rate * g) * scale
        path.append(theta)
    return np.array(path)


@pytest.mark.parametrize("rule", ["magnitude", "trac"])
def test_the_scale_comes_back_from_zero(rule):
    """A second gradient that contradicts the first makes it 0; then comes a slope that never ends."""
    gradients = -np.ones(80)
    gradients[1] = 1.0
    assert (published(gradients, 0.1)[1:] == 1.0).all()  # frozen at the reference
    path, scales = play_scalar(ours.tuned(optax.sgd(0.1), GRID, rule=rule), 1.0)(gradients)
    assert scales[1] == 0.0 and path[1] == 1.0
    assert scales[-1] > 1.0 and path[-1] > 2.0


def play_scalar(optimiser, start):
    @jax.jit
    def run(gradients):
        def one(carry, g):
            updates, state = optimiser.update(g, carry[1], carry[0])
            params = optax.apply_updates(carry[0], updates)
            return (params, state), (params, state.scale)

        first = jnp.asarray(start)
        return jax.lax.scan(one, (first, optimiser.init(first)), gradients.astype(first.dtype))[1]

    return lambda gradients: [np.asarray(x) for x in run(jnp.asarray(gradients))]
