"""Games for the optax transformations: the algorithms literally, players that are compiled once, gradients."""

from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import special

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


# Parameters of several types

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
