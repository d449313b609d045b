"""The transformations among those of optax: chains, groups, injected hyperparameters; and what is refused."""

import importlib.util
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy
from optax_games import GRID, MIXED, SINGLE, loop, mixed, same  # noqa: E402

from wane.integrations import optax as ours  # noqa: E402


def test_apply_if_finite_may_stand_around_it():
    guard, params = optax.apply_if_finite(ours.tuned(optax.sgd(0.1), GRID, rule="trac"), 3), jnp.ones(2)
    update, state = jax.jit(guard.update), guard.init(params)
    params, state, _ = loop(update, [-jnp.ones(2)] * 30, params, state)
    updates, after = update(jnp.array([1.0, jnp.nan]), state, params)
    assert (updates == 0.0).all() and int(after.notfinite_count) == 1 and same(after.inner_state, state.inner_state)
    assert state.inner_state.scale > 1e-7


def test_a_rate_that_is_far_too_large_does_not_end_at_the_start():
    """On Rosenbrock's function, whose loss is 1 there; with an infinite horizon it does."""

    def valley(x):
        return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2

    def lowest(horizon):
        optimiser = ours.tuned(optax.adam(1.0), horizon=horizon)

        def one(carry, _):
            params, state = carry
            loss, gradient = jax.value_and_grad(valley)(params)
            updates, state = optimiser.update(gradient, state, params)
            return (optax.apply_updates(params, updates), state), loss

        params = jnp.zeros(2)
        return jax.lax.scan(one, (params, optimiser.init(params)), length=1500)[1][-100:].mean()

    assert lowest(None) < 0.75 < lowest(np.inf)


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


def test_a_base_may_widen_its_memory_in_the_first_round():
    """As injected numbers of single precision do with moments of half precision: compiled as uncompiled."""
    base, params = optax.inject_hyperparams(optax.adam)(0.1), {"a": jnp.ones(2), "b": jnp.ones(3, jnp.bfloat16)}
    optimiser, gradients = ours.tuned(base), [jax.tree.map(lambda p: -p, params)] * 12
    state = optimiser.init(params)
    got, after, _ = loop(jax.jit(optimiser.update), gradients, params, state)
    want, memory, _ = loop(optimiser.update, gradients, params, state)
    assert [x.dtype for x in jax.tree.leaves(after)] == [x.dtype for x in jax.tree.leaves(memory)]
    assert state.base.inner_state[0].mu["b"].dtype == jnp.bfloat16 != after.base.inner_state[0].mu["b"].dtype
    np.testing.assert_allclose(got["a"], want["a"], rtol=1e-5)
    assert float(after.scale) > 0.0


@pytest.mark.parametrize("wrong", [0.0, -1.0, jnp.nan])
@pytest.mark.parametrize("make", [ours.adaptive, lambda epsilon: ours.tuned(optax.sgd(0.1), epsilon=epsilon)])
def test_an_injected_epsilon_that_is_not_positive_spoils_the_round(make, wrong):
    optimiser, params = make(jnp.asarray(wrong)), jnp.ones(2)
    state = optimiser.init(params)
    for count in (1, 2, 3):
        updates, state = optimiser.update(jnp.ones(2), state, params)
        assert state.skipped == count and not updates.any() and state.scale == 0.0


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
        (
            lambda: SINGLE.update(jnp.ones(()), SINGLE.init(jnp.ones(2)), jnp.ones(2)),
            r"gradients .* \[\(2,\)\].*got \[\(\)\]",
        ),
        (lambda: SINGLE.update(jnp.ones(1), SINGLE.init(jnp.ones(2)), jnp.ones(1)), "a state from init"),
        (lambda: SINGLE.update([jnp.ones(2)], SINGLE.init(jnp.ones(2)), [jnp.ones(2)]), "a state from init"),
        (lambda: ours.tuned(optax.sgd(0.1), ()), "at least one"),
        (lambda: ours.tuned(optax.sgd(0.1), (0.9, -1.0)), r"discounts\[1\]"),
        (lambda: ours.tuned(optax.sgd(0.1), rule="erfi"), "'magnitude' or 'trac'"),
        (lambda: ours.tuned(optax.sgd(0.1), horizon=0.5), "a number of rounds >= 1"),
    ],
)
def test_errors_say_what_to_do(wrong, match):
    with pytest.raises((TypeError, ValueError), match=match):
        wrong()


def test_without_optax_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    spec = importlib.util.spec_from_file_location("ours_without", ours.__file__)
    with pytest.raises(ImportError, match=r'run pip install "\.\[optax\]"'):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
