"""The optax transformations are the algorithms, whatever JAX does with them: compiled, batched, scanned, saved."""

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import special

from wane import learners

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy
from wane.integrations import optax as ours  # noqa: E402

double = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
ROUNDS = 60
GRID = (0.9, 0.99, 1.0)
START = {"a": np.array([0.5, -1.0]), "b": {"c": np.array([[2.0], [0.0], [1.0]]), "d": np.array(0.25)}}
LABELS = {"a": "one", "b": {"c": "two", "d": "one"}}  # the coordinates 0, 1, 5 and 2, 3, 4


def tree(rows):
    """(..., 6) numbers as the leaves of START."""
    rows = np.asarray(rows)
    return {"a": rows[..., :2], "b": {"c": rows[..., 2:5, None], "d": rows[..., 5]}}


def flat(made):
    return np.concatenate([made["a"], made["b"]["c"][..., 0], made["b"]["d"][..., None]], axis=-1)


# The algorithms, literally


def sgd(rate):
    return lambda g, t, theta: -rate * g


def adam(rate, decay=0.0):
    moments = [0.0, 0.0]

    def step(g, t, theta):
        moments[0] = 0.9 * moments[0] + 0.1 * g
        moments[1] = 0.999 * moments[1] + 0.001 * g**2
        m, v = moments[0] / (1 - 0.9 ** (t + 1)), moments[1] / (1 - 0.999 ** (t + 1))
        return -rate * (m / (np.sqrt(v) + 1e-8) + decay * theta)

    return step


def erfi(x):
    return np.sqrt(np.pi) / 2 * special.erfi(x)


class Magnitude:
    """Algorithm 1 with v, s and h as the paper prints them."""

    def __init__(self, eps):
        self.eps, self.v, self.s, self.h, self.x = eps, 0.0, 0.0, 0.0, -1.0

    def learn(self, g, size, lam):
        hint = max(lam * self.h, size)
        clip = lam * self.h / hint if hint > 0 else 0.0
        self.h, c = hint, clip * g
        if c > 0 and self.x < 0:
            c = 0.0
        self.v, self.s = lam**2 * self.v + c**2, lam * self.s - c
        if self.h > 0:
            e = self.v + 2 * self.h * self.s + 16 * self.h**2
            z = self.s / (2 * np.sqrt(e))
            self.x = self.eps * (erfi(z) - self.h / np.sqrt(e) * np.exp(z**2))
        return clip


class Trac:
    """The rule of Fast TRAC."""

    def __init__(self, eps):
        self.eps, self.v, self.s, self.x = eps, 0.0, 1e-8, 0.0

    def learn(self, g, size, lam):
        self.v, self.s = lam**2 * self.v + g**2, lam * self.s - g
        self.x = self.eps * special.erfi(self.s / (np.sqrt(2 * self.v) + 1e-8)) / special.erfi(1 / np.sqrt(2))


def literal_adaptive(gradients, lams, start, eps=1.0):
    """What Algorithm 3 plays after each gradient."""
    y, w, total, path = Magnitude(eps), np.zeros_like(start), 0.0, []
    for g, lam in zip(gradients, lams, strict=True):
        clip = y.learn(g @ w, np.linalg.norm(g), lam)
        total = lam**2 * total + clip**2 * (g @ g)
        w = w - 2 * clip * g / np.sqrt(total) if total > 0 else w
        w = w / max(1.0, np.linalg.norm(w))
        path.append(start + max(0.0, y.x) * w)
    return np.array(path)


def literal_tuned(gradients, lams, start, rule, step, eps, groups=None):
    """What ``tuned`` plays after each gradient, its scales, and the gradients h of its learners."""
    groups = [np.arange(start.size)] if groups is None else groups
    players = [[rule(eps) for _ in GRID] for _ in groups]
    delta, theta, path, scales, hs = np.zeros_like(start), start, [], [], []
    for t, (g, lam) in enumerate(zip(gradients, lams, strict=True)):
        h = [delta[i] @ g[i] for i in groups]
        for value, family in zip(h, players, strict=True):
            for player, discount in zip(family, GRID, strict=True):
                player.learn(value, abs(value), lam * discount)
        scale = np.array([sum(max(0.0, p.x) for p in family) for family in players])
        delta = delta + step(g, t, theta)
        theta = start.copy()
        for i, s in zip(groups, scale, strict=True):
            theta[i] = start[i] + s * delta[i]
        path.append(theta)
        scales.append(scale)
        hs.append(h)
    return np.array(path), np.array(scales), np.array(hs)


# The same, compiled


def play(optimiser, start=START):
    """A function of gradients and discounts: the parameters after each round, the scales, the last state."""

    @jax.jit
    def run(gradients, discounts):
        def one(carry, row):
            params, state = carry
            updates, state = optimiser.update(row[0], state, params, discount=row[1])
            params = optax.apply_updates(params, updates)
            return (params, state), (params, state.scale)

        params = jax.tree.map(jnp.asarray, start)
        (_, state), (path, scales) = jax.lax.scan(one, (params, optimiser.init(params)), (gradients, discounts))
        return path, scales, state

    def in_double(gradients, discounts):
        with double(True):
            path, scales, state = run(tree(gradients), np.broadcast_to(discounts, len(gradients)))
            return flat(jax.tree.map(np.asarray, path)), np.asarray(scales), state

    return in_double


@cache
def player(name):
    """Each is compiled once."""
    bases = {"sgd": optax.sgd(0.1), "adamw": optax.adamw(0.01, weight_decay=0.1)}
    if name[0] == "adaptive":
        return play(ours.adaptive(1.0, discount=1.0, scope=LABELS if name[1:] else "global"))
    rule, base, *scope = name
    epsilon = 1.5 if rule == "magnitude" else 1e-3
    scope = LABELS if scope else "global"
    return play(ours.tuned(bases[base], GRID, epsilon, rule=rule, scope=scope))


SPLIT = [np.array([0, 1, 5]), np.array([2, 3, 4])]
numbers = st.sampled_from([0.0, 1.0, -1.0, -0.25]) | st.floats(-1.0, 1.0).map(lambda x: round(x, 6))
sizes = st.sampled_from([1.0, 1.0, 1.0, 1e-5, 300.0])
factors = st.sampled_from([1.0, 1.0, 0.99, 0.9, 0.5, 1.02, 0.0])


@st.composite
def games(draw):
    """Gradients that lean to one side and turn, with surprises, and discounts."""
    lean = np.array(draw(st.lists(numbers, min_size=6, max_size=6)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    g = lean * np.where(np.arange(ROUNDS) < draw(st.integers(0, ROUNDS)), 1.0, -1.0)[:, None]
    g = g + draw(st.sampled_from([0.0, 0.3, 1.0])) * rng.normal(size=g.shape)
    for _ in range(draw(st.integers(0, 3))):
        g[draw(st.integers(0, ROUNDS - 1))] *= draw(sizes)
    lams = np.full(ROUNDS, draw(factors))
    for _ in range(draw(st.integers(0, 3))):
        lams[draw(st.integers(0, ROUNDS - 1))] = draw(factors)
    return g, lams


def near(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(want).max()))


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


# What JAX does with it

MIXED = {"a": jnp.array([0.5, -1.0], jnp.float32), "b": jnp.ones(3, jnp.bfloat16), "n": jnp.arange(2), "none": None}
SINGLE = ours.tuned(optax.sgd(lambda count: 0.125), GRID, 1.5)  # a power of two: exact in 16 bits, too
SINGLE_UPDATE = jax.jit(SINGLE.update)


def mixed(seed, rounds=ROUNDS):
    rng = np.random.default_rng(seed)
    rows = -0.3 + 0.2 * rng.normal(size=(rounds, 5))
    zeros = np.zeros(2, dtype=jax.dtypes.float0)  # what jax.grad gives for whole numbers
    return [
        {"a": jnp.float32(r[:2]), "b": jnp.bfloat16(r[2:]), "n": zeros, "none": None} for r in rows.astype(np.float32)
    ]


def loop(update, gradients, params, state, **extra):
    for g in gradients:
        updates, state = update(g, state, params, **extra)
        params = optax.apply_updates(params, updates)
    return params, state, updates


def same(a, b):
    return jax.tree.structure(a) == jax.tree.structure(b) and all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def test_single_and_half_precision():
    gradients = mixed(0)
    params, state, updates = loop(SINGLE_UPDATE, gradients, MIXED, SINGLE.init(MIXED))
    given = np.concatenate([[np.float64(x) for x in (*g["a"], *g["b"])] for g in gradients]).reshape(ROUNDS, 5)
    start = np.array([0.5, -1.0, 1.0, 1.0, 1.0])
    want = literal_tuned(given, np.ones(ROUNDS), start, Magnitude, sgd(0.125), 0.5)[0][-1]
    np.testing.assert_allclose(params["a"], want[:2], rtol=2e-5)
    np.testing.assert_allclose(params["b"].astype(float), want[2:], rtol=1.01 * 2.0**-8)
    np.testing.assert_allclose(1.0 + state.scale * state.delta["b"], want[2:], rtol=1e-4)  # more than 8 bits
    assert jax.tree.map(lambda u, p: u.dtype == p.dtype, updates, MIXED) == {
        "a": True,
        "b": True,
        "n": True,
        "none": None,
    }
    assert (params["n"] == MIXED["n"]).all() and params["n"].dtype == MIXED["n"].dtype
    assert state.delta["b"].dtype == state.learners.x.dtype == jnp.float32


def test_the_updates_lead_to_reference_plus_scale_times_delta():
    gradients = mixed(3, 40)
    params, state, _ = loop(SINGLE_UPDATE, gradients, MIXED, SINGLE.init(MIXED))
    assert state.scale > 0.0
    np.testing.assert_allclose(params["a"], MIXED["a"] + state.scale * state.delta["a"], rtol=2.0**-22)
    np.testing.assert_allclose(params["b"].astype(float), 1.0 + state.scale * state.delta["b"], rtol=1.01 * 2.0**-8)


def test_compiled_equals_uncompiled_to_rounding():
    gradients = mixed(1, 40)
    params, state, _ = loop(SINGLE_UPDATE, gradients[:36], MIXED, SINGLE.init(MIXED))
    a = loop(SINGLE_UPDATE, gradients[36:], params, state)[:2]
    b = loop(SINGLE.update, gradients[36:], params, state)[:2]
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        rtol = 2.0**-7 if x.dtype == jnp.bfloat16 else 1e-5
        np.testing.assert_allclose(np.float64(x), np.float64(y), rtol=rtol, atol=1e-6)


def test_vmap_equals_a_loop_over_seeds():
    runs = [mixed(seed, 30) for seed in range(3)]
    many = jax.vmap(SINGLE.update, in_axes=({"a": 0, "b": 0, "n": None, "none": None}, 0, 0))
    many = jax.jit(many, donate_argnums=(1,))  # no two leaves share a buffer
    params = jax.tree.map(lambda x: jnp.stack([x] * 3), MIXED)
    state = jax.vmap(SINGLE.init)(params)
    for t in range(30):
        g = {k: jnp.stack([run[t][k] for run in runs]) for k in "ab"} | {"n": runs[0][t]["n"], "none": None}
        updates, state = many(g, state, params)
        params = optax.apply_updates(params, updates)
    for seed, run in enumerate(runs):
        alone, memory, _ = loop(SINGLE_UPDATE, run, MIXED, SINGLE.init(MIXED))
        np.testing.assert_allclose(params["a"][seed], alone["a"], rtol=1e-5)
        np.testing.assert_allclose(state.scale[seed], memory.scale, rtol=1e-5)
        assert memory.scale > 0.1


def test_a_round_that_is_not_finite_teaches_nothing():
    gradients = mixed(2, 21)
    params, state, _ = loop(SINGLE_UPDATE, gradients[:20], MIXED, SINGLE.init(MIXED))
    for bad in (np.nan, np.inf, -np.inf):
        for where in "ab":
            g = {**gradients[20], where: gradients[20][where].at[1].set(bad)}
            updates, after = SINGLE_UPDATE(g, state, params)
            assert all(not np.any(u) for u in jax.tree.leaves(updates))
            assert int(after.skipped) == 1 and same(after._replace(skipped=state.skipped), state)
            again, more = SINGLE_UPDATE(gradients[20], after, params)
            want, clean = SINGLE_UPDATE(gradients[20], state, params)
            assert same(again, want) and same(more._replace(skipped=clean.skipped), clean)


def test_apply_if_finite_may_stand_around_it():
    guard, params = optax.apply_if_finite(ours.tuned(optax.sgd(0.1), GRID, rule="trac"), 3), jnp.ones(2)
    update, state = jax.jit(guard.update), guard.init(params)
    params, state, _ = loop(update, [-jnp.ones(2)] * 30, params, state)
    updates, after = update(jnp.array([1.0, jnp.nan]), state, params)
    assert (updates == 0.0).all() and int(after.notfinite_count) == 1 and same(after.inner_state, state.inner_state)
    assert state.inner_state.scale > 1e-7


@pytest.mark.parametrize("nonfinite", ["skip", "propagate"])
def test_skip_or_propagate(nonfinite):
    params = {"a": jnp.ones(2), "b": jnp.ones(1), "empty": jnp.zeros((0, 3))}
    if nonfinite == "skip":
        optimiser = ours.adaptive(scope="leaf")
    else:
        optimiser = ours.tuned(optax.sgd(0.1), GRID, rule="trac", scope="leaf", nonfinite=nonfinite)
    update, good = jax.jit(optimiser.update), params
    params, state, _ = loop(update, [good] * 20, params, optimiser.init(params), discount=jnp.float32(1.0))
    assert (state.scale[:2] > 0.0).all() and int(state.skipped) == 0
    rounds = [(good, -0.5), (good, np.nan), (good, np.inf), ({**good, "b": jnp.array([jnp.nan])}, 1.0)]
    for n, (g, discount) in enumerate(rounds):
        updates, after = update(g, state, params, discount=jnp.float32(discount))
        assert np.isnan(updates["a"]).all() if nonfinite == "propagate" else (updates["a"] == 0.0).all()
        assert int(after.skipped) == n + 1 and same(after._replace(skipped=state.skipped), state)
        state = after


# In optax


def test_injected_hyperparameters_are_the_arguments():
    def schedule(count):
        return 1.0 - 0.1 / (1.0 + count)

    gradients, params = [g["a"] for g in mixed(4, 25)], MIXED["a"]
    made, plain = optax.inject_hyperparams(ours.adaptive)(epsilon=2.0, discount=schedule), ours.adaptive(2.0)
    injected, update = jax.jit(made.update), jax.jit(plain.update)
    got, state, _ = loop(injected, gradients, params, made.init(params))
    want, memory = params, plain.init(params)
    for t, g in enumerate(gradients):
        want, memory, _ = loop(update, [g], want, memory, discount=jnp.float32(schedule(t)))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert float(memory.scale) > 0.1 and float(state.hyperparams["epsilon"]) == 2.0
    state.hyperparams["epsilon"] = jnp.float32(4.0)
    doubled = injected(gradients[0], state, got)[1].inner_state.scale
    single = update(gradients[0], memory, want, discount=jnp.float32(schedule(25)))[1].scale
    np.testing.assert_allclose(doubled, 2.0 * single, rtol=1e-5)


@pytest.mark.parametrize("wrong", [0.0, -1.0, jnp.nan])
@pytest.mark.parametrize("make", [ours.adaptive, lambda epsilon: ours.tuned(optax.sgd(0.1), epsilon=epsilon)])
def test_an_injected_epsilon_that_is_not_positive_spoils_the_round(make, wrong):
    optimiser, params = make(jnp.asarray(wrong)), jnp.ones(2)
    state = optimiser.init(params)
    for count in (1, 2, 3):
        updates, state = optimiser.update(jnp.ones(2), state, params)
        assert state.skipped == count and not updates.any() and state.scale == 0.0


@pytest.mark.parametrize("make", [ours.adaptive, lambda: ours.tuned(optax.adam(0.1))])
def test_parameters_and_state_may_be_donated(make):
    """No two leaves share a buffer, nor does the reference with the parameters."""
    optimiser, params = make(), jnp.ones(2)
    state = optimiser.init(params)
    step = jax.jit(lambda params, state: optimiser.update(jnp.ones(2), state, params), donate_argnums=(0, 1))
    updates, state = step(params, state)
    assert not updates.any() and state.reference.tolist() == [1.0, 1.0]


def test_groups_are_those_of_multi_transform_and_come_after_a_clip():
    params = {"a": jnp.ones(2), "b": (jnp.ones(1), jnp.zeros(2)), "c": jnp.ones(1)}
    rng = np.random.default_rng(5)
    gradients = [jax.tree.map(lambda x: jnp.float32(rng.normal(-0.3, 0.2, x.shape)), params) for _ in range(20)]
    labels = {"a": "x", "b": "y", "c": "x"}  # a prefix
    base, clip = optax.sgd(0.1), optax.clip_by_global_norm(0.3)
    one = optax.chain(clip, ours.tuned(base, GRID, 0.1, rule="trac", scope=labels))
    two = optax.multi_transform({k: ours.tuned(base, GRID, 0.1, rule="trac") for k in "xy"}, labels)
    two = optax.masked(two, {"a": True, "b": True, "c": False})
    a, (_, state), _ = loop(jax.jit(one.update), gradients, params, one.init(params))
    gradients = [{**clip.update(g, optax.EmptyState())[0], "c": jnp.zeros(1)} for g in gradients]
    b, _, _ = loop(jax.jit(two.update), gradients, params, two.init(params))
    assert state.scale.shape == (2,) and (state.scale > 0.01).all() and state.scale[0] != state.scale[1]
    np.testing.assert_allclose(a["b"][0], b["b"][0], rtol=1e-5)
    np.testing.assert_allclose(a["b"][1], b["b"][1], rtol=1e-5)
    assert (b["c"] == 1.0).all() and a["a"][0] != b["a"][0]  # c is learned with a, and hidden there


def test_the_base_sees_parameters_and_extra_arguments():
    seen = {}

    def update(updates, state, params=None, *, value=None, **extra):
        seen.update(value=value, params=params, extra=extra)
        return jax.tree.map(lambda g: -g, updates), state

    base = optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
    optimiser = ours.tuned(base, (1.0,))

    def once(params):
        return optimiser.update(params, optimiser.init(params), params, value=7.0, discount=0.5, more=1)[0]

    assert jax.eval_shape(once, {"w": jnp.ones(2)})["w"].shape == (2,)
    assert seen["value"] == 7.0 and seen["extra"] == {"more": 1} and seen["params"]["w"].shape == (2,)


def test_the_reference_is_where_it_plays():
    reference, params = {"w": np.array([3.0, 3.0])}, {"w": jnp.zeros(2, jnp.bfloat16)}
    optimiser = ours.tuned(optax.sgd(1.0), (1.0,), reference=reference)
    state = optimiser.init(params)
    assert state.reference["w"].dtype == jnp.float32
    updates, state = jax.jit(optimiser.update)(params, state, params)
    assert (optax.apply_updates(params, updates)["w"] == 3.0).all()
    hidden = optax.masked(ours.adaptive(reference=reference | {"v": 1.0}), {"w": True, "v": False})
    assert (hidden.init(params | {"v": jnp.ones(1)}).inner_state.reference["w"] == 3.0).all()


def test_empty_trees_and_maps_over_the_state():
    for optimiser in (ours.adaptive(), ours.tuned(optax.adam(0.1), scope="leaf")):
        assert jax.eval_shape(lambda o=optimiser: o.update({}, o.init({}), {})[0]) == {}
        state = optimiser.init({"w": jnp.ones(2)})
        said = optax.tree_map_params(optimiser, lambda p: "param", state, transform_non_params=lambda x: "other")
        assert said.reference == {"w": "param"} and said.skipped == "other"


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: ours.adaptive(-1.0), "epsilon"),
        (lambda: ours.adaptive(discount=-1.0), "discount"),
        (lambda: ours.adaptive(nonfinite="ignore"), "'skip' or 'propagate'"),
        (lambda: ours.adaptive(scope="group").init(jnp.ones(2)), "scope must be"),
        (lambda: ours.adaptive().init(jnp.ones(2) * 1j), "complex"),
        (lambda: ours.adaptive(reference=jnp.ones(3)).init(jnp.ones(2)), "shapes"),
        (lambda: ours.adaptive().update(jnp.ones(2), ours.adaptive().init(jnp.ones(2))), "needs the parameters"),
        (lambda: SINGLE.update(jnp.ones(2), SINGLE.init(jnp.ones(2)), jnp.ones(2), discount=-1.0), "discount"),
        (lambda: ours.tuned(optax.sgd(0.1), ()), "at least one"),
        (lambda: ours.tuned(optax.sgd(0.1), (0.9, -1.0)), r"discounts\[1\]"),
        (lambda: ours.tuned(optax.sgd(0.1), rule="erfi"), "'magnitude' or 'trac'"),
    ],
)
def test_errors_say_what_to_do(wrong, match):
    with pytest.raises((TypeError, ValueError), match=match):
        wrong()


def test_without_optax_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    spec = importlib.util.spec_from_file_location("ours_without", ours.__file__)
    with pytest.raises(ImportError, match=r'pip install "wane\[optax\]"'):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


# In another process


def test_another_process_goes_on_to_the_last_bit(tmp_path):
    gradients = mixed(6, 30)
    params, state, _ = loop(SINGLE_UPDATE, gradients[:15], MIXED, SINGLE.init(MIXED))
    save(tmp_path / "x.npz", (params, state))
    subprocess.run([sys.executable, __file__, str(tmp_path)], check=True)
    params, state, _ = loop(SINGLE_UPDATE, gradients[15:], params, state)
    assert same(restore(tmp_path / "y.npz"), (params, state))


def save(path, made):
    leaves = [np.asarray(x) for x in jax.tree.leaves(made)]
    np.savez(path, *[x.view(np.uint16) if x.dtype == jnp.bfloat16 else x for x in leaves])


def restore(path):
    like = jax.eval_shape(lambda: (MIXED, SINGLE.init(MIXED)))
    with np.load(path) as file:
        leaves = [jnp.asarray(x.view(s.dtype)) for x, s in zip(file.values(), jax.tree.leaves(like), strict=True)]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


# The special functions


@cache
def exact(name):
    x = np.concatenate(
        [[0.0, -0.0, 1e-30, 1e-8], np.linspace(-9, 9, 91), np.linspace(5.9, 6.1, 11), [1.0, 20.0, 26.0, 1e10]]
    )
    x = x.astype(np.float32).astype(float)
    with mp.workdps(40):
        grown = [mp.sqrt(mp.pi) / 2 * mp.erfi(mp.mpf(t)) if abs(t) < 30 else mp.inf for t in x]
        flat = [
            mp.exp(-(mp.mpf(t) ** 2)) * y if y != mp.inf else 1 / (2 * mp.mpf(t)) for t, y in zip(x, grown, strict=True)
        ]
        return x, np.array([float(y) for y in (grown if name == "erfi" else flat)])


@pytest.mark.parametrize(("name", "compiled"), [("dawson", True), ("erfi", True), ("erfi", False)])
def test_special_functions(name, compiled):
    x, want = exact(name)
    function = jax.jit(getattr(ours, name)) if compiled else getattr(ours, name)
    with double(True):
        got = function(jnp.asarray(x))
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert float(function(jnp.asarray(1))) == pytest.approx(float(want[x == 1.0][0]), rel=1e-12)
    with np.errstate(over="ignore"):
        single = want.astype(np.float32)
    got = function(jnp.asarray(x, jnp.float32).reshape(-1, 1))[:, 0]
    keep = np.isfinite(single) & (np.abs(x) < 9.3) if name == "erfi" else single == single
    np.testing.assert_allclose(got[keep], single[keep], rtol=1e-6)
    assert not np.isnan(got).any() and np.isnan(function(jnp.nan))
    assert function(jnp.bfloat16(0.5)).dtype == jnp.bfloat16


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    save(folder / "y.npz", loop(SINGLE_UPDATE, mixed(6, 30)[15:], *restore(folder / "x.npz"))[:2])
