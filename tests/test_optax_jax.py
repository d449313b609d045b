"""The optax transformations are the same whatever JAX does with them: compiled, batched, donated, saved."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy
from optax_games import GRID, MIXED, ROUNDS, SINGLE, SINGLE_UPDATE, Magnitude, literal_tuned, loop, mixed, same, sgd  # noqa: E402

from wane.integrations import optax as ours  # noqa: E402


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
    updates, after = SINGLE.update(g, state, params)  # not compiled
    assert not np.any(updates["a"]) and int(after.skipped) == 1 and same(after._replace(skipped=state.skipped), state)


def test_the_derivative_of_a_run_is_finite():
    """Also before anything was learned, where the sums of the learners are 0."""
    for rule in ("magnitude", "trac"):

        def end(start, epsilon, rule=rule):
            optimiser = ours.tuned(optax.sgd(0.1), GRID, epsilon, rule=rule)
            params, state = start, optimiser.init(start)
            for _ in range(3):
                updates, state = optimiser.update(params - 2.0, state, params)
                params = optax.apply_updates(params, updates)
            return jnp.sum(params**2)

        found = jax.jit(jax.grad(end, (0, 1)))(jnp.zeros(2), jnp.float32(0.1))
        assert all(jnp.isfinite(x).all() for x in found)


def test_gradients_of_any_size_are_learned_or_counted():
    optimiser, params = ours.adaptive(), jnp.ones(4)
    update, start = jax.jit(optimiser.update), optimiser.init(params)
    _, want, _ = loop(update, [-jnp.ones(4)] * 9, params, start)
    assert want.scale > 0.0
    for size in (2.0**-110, 2.0**125):
        _, state, _ = loop(update, [jnp.full(4, -size)] * 9, params, start)
        assert same(state.scale, want.scale) and same(state.direction, want.direction)
    for size in (1e38, 3e38):  # such numbers have no inverse in single precision
        assert int(loop(update, [jnp.full(4, -size)] * 9, params, start)[1].skipped) == 9


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


@pytest.mark.parametrize("make", [ours.adaptive, lambda: ours.tuned(optax.adam(0.1))])
def test_parameters_and_state_may_be_donated(make):
    """No two leaves share a buffer, nor does the reference with the parameters."""
    optimiser, params = make(), jnp.ones(2)
    state = optimiser.init(params)
    step = jax.jit(lambda params, state: optimiser.update(jnp.ones(2), state, params), donate_argnums=(0, 1))
    updates, state = step(params, state)
    assert not updates.any() and state.reference.tolist() == [1.0, 1.0]


def compiled(optimiser, params):
    """A step that may overwrite the parameters and the state."""

    def step(params, state, gradients):
        updates, state = optimiser.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    return jax.jit(step, donate_argnums=(0, 1)).lower(params, optimiser.init(params), params).compile()


def test_a_donated_step_keeps_no_copy_of_the_parameters():
    params = jnp.ones(100_000)
    memory = compiled(ours.tuned(optax.adam(0.1)), params).memory_analysis()
    if memory is None:
        pytest.skip("this backend does not say what memory a program takes")
    assert memory.temp_size_in_bytes < params.nbytes / 10


@pytest.mark.parametrize("make", [ours.adaptive, lambda: ours.tuned(optax.adam(0.1))])
def test_the_program_grows_in_proportion_to_the_leaves(make):
    """What is computed once is not repeated for each leaf: each next one adds the same."""
    few, more, most = (len(compiled(make(), [jnp.ones(3)] * n).as_text()) for n in (10, 20, 40))
    assert most - more < 2.2 * (more - few)


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


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    save(folder / "y.npz", loop(SINGLE_UPDATE, mixed(6, 30)[15:], *restore(folder / "x.npz"))[:2])
