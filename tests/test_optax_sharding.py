"""Parameters that are spread over several devices: the state lies where they lie, and learns the same."""

import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
jnp = jax.numpy

if not hasattr(jax.sharding, "AxisType") or not hasattr(jax, "set_mesh"):
    pytest.skip("this JAX has no meshes with explicit axes", allow_module_level=True)

DEVICES = 4


def test_several_devices():
    """JAX counts its devices once for each process, so all of this file's checks run in a process with four."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [check.__name__ for check in CHECKS]


def makers():
    from wane.integrations.optax import adaptive, tuned

    return {
        "tuned": lambda **settings: tuned(optax.adam(0.1), **settings),
        "adaptive": adaptive,
    }


def mesh(kind):
    return jax.make_mesh((DEVICES,), ("x",), axis_types=(getattr(jax.sharding.AxisType, kind),))


def spread(mesh):
    """One parameter in parts, by rows or by columns, of two types, and one that is whole everywhere."""
    places = {"rows": jax.P("x"), "columns": jax.P(None, "x"), "whole": jax.P()}
    values = {"rows": jnp.ones((8, 4)), "columns": jnp.ones((4, 8), jnp.bfloat16), "whole": jnp.ones(3)}
    return {k: jax.device_put(values[k], jax.sharding.NamedSharding(mesh, places[k])) for k in values}


def lies_alike(state, params):
    for tree in (state.reference, state.path):
        for key, p in params.items():
            assert tree[key].sharding.is_equivalent_to(p.sharding, p.ndim), (key, tree[key].sharding)


def types(tree):
    return jax.tree.map(jax.typeof, tree)


def the_state_keeps_the_types_of_its_parameters():
    """With explicit axes the sharding is part of a type: from init to update, compiled and not, it does not change."""
    for make in makers().values():
        with jax.set_mesh(mesh("Explicit")):
            params, optimiser = spread(mesh("Explicit")), make()
            state = optimiser.init(params)
            lies_alike(state, params)
            assert types(jax.jit(optimiser.init)(params)) == types(state)
            for update in (optimiser.update, jax.jit(optimiser.update)):
                updates, after = update(params, state, params)
                assert types(after) == types(state) and types(updates) == types(params)


def with_automatic_axes_no_device_holds_all():
    for make in makers().values():
        params, optimiser = spread(mesh("Auto")), make()
        state = optimiser.init(params)
        updates, after = jax.jit(optimiser.update)(params, state, params)
        for found in (state, jax.jit(optimiser.init)(params), after):
            lies_alike(found, params)
        assert all(updates[k].sharding.is_equivalent_to(p.sharding, p.ndim) for k, p in params.items())


def a_reference_lies_where_the_parameters_do():
    for kind in ("Explicit", "Auto"):
        params = spread(mesh(kind))
        given = {k: np.full(p.shape, 3.0) for k, p in params.items()}
        optimiser = makers()["tuned"](reference=given)
        with jax.set_mesh(mesh(kind)):
            for init in (optimiser.init, jax.jit(optimiser.init)):
                state = init(params)
                lies_alike(state, params)
                assert all((x == 3.0).all() for x in jax.tree.leaves(state.reference))


def what_is_spread_learns_what_one_device_learns():
    """To the rounding of sums in another order, which half precision makes coarse."""
    learned = []
    for params in (spread(mesh("Explicit")), jax.device_get(spread(mesh("Auto")))):
        params, optimiser = jax.tree.map(jnp.asarray, params), makers()["tuned"]()
        state, update = optimiser.init(params), jax.jit(optimiser.update)
        for _ in range(30):
            updates, state = update(jax.tree.map(lambda p: p - 3.0, params), state, params)
            params = optax.apply_updates(params, updates)
        learned.append(jax.device_get((params["rows"], state.scale)))
    for a, b in zip(*learned, strict=True):
        np.testing.assert_allclose(a, b, rtol=5e-3)
    assert learned[0][1] > 0.1


CHECKS = (
    the_state_keeps_the_types_of_its_parameters,
    with_automatic_axes_no_device_holds_all,
    a_reference_lies_where_the_parameters_do,
    what_is_spread_learns_what_one_device_learns,
)

if __name__ == "__main__":
    assert jax.device_count() == DEVICES
    for check in CHECKS:
        check()
        print(check.__name__)
