"""What a step of the optax transformations costs: ``python benchmarks/optimisers_jax.py``, or ``--quick``.

Times are of a compiled step (``update`` and ``apply_updates``) that may overwrite parameters and state, with gradients
that stay as they are, float32, on the CPU; as ratios to Adam in the same run. They take turns; the best counts. Passes
are what XLA says of the program: numbers read and written, over the number of parameters. Copies are what it holds
beside its arguments. ``taskset -c 0`` before it keeps it to one processor. ``--json PATH`` writes the numbers too.
"""

import argparse
import time
from pathlib import Path

import jax
import optax
from measure import best, machine, write

from wane.integrations.optax import adaptive, tuned

SIZES = 1_000_000, 10_000_000
COUNTS = 8, 100
ADAM = "adam"
OPTIMISERS = {
    ADAM: optax.adam(1e-4),
    "sgd": optax.sgd(1e-4),
    "tuned(adam)": tuned(optax.adam(1e-4)),
    'tuned(adam), rule="trac"': tuned(optax.adam(1e-4), rule="trac"),
    "tuned(sgd)": tuned(optax.sgd(1e-4)),
    "adaptive": adaptive(),
}


def prepared(optimiser, size, count):
    """The compiled step, and a function that plays it once."""

    def step(params, state, gradients):
        updates, state = optimiser.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    keys = jax.random.split(jax.random.key(0), 2 * count)
    params, gradients = ([jax.random.normal(k, size // count) for k in half] for half in (keys[:count], keys[count:]))
    held = [params, optimiser.init(params)]
    program = jax.jit(step, donate_argnums=(0, 1)).lower(*held, gradients).compile()

    def play():
        held[:] = jax.block_until_ready(program(*held, gradients))

    play()
    return program, play


def measured(size, count, repeats):
    """The rows of all optimisers, by name: milliseconds, the ratio to Adam, passes and copies."""
    ready = {name: prepared(optimiser, size, count) for name, optimiser in OPTIMISERS.items()}
    seconds = best(repeats, {name: lambda play=play: play for name, (_, play) in ready.items()}, time.perf_counter)
    return {
        name: {
            "ms": 1e3 * s,
            "to Adam": s / seconds[ADAM],
            "passes": ready[name][0].cost_analysis()["bytes accessed"] / 4 / size,
            "copies": ready[name][0].memory_analysis().temp_size_in_bytes / 4 / size,
        }
        for name, s in seconds.items()
    }


def main():
    parser = argparse.ArgumentParser(description="Step time of the optax transformations.")
    parser.add_argument("--quick", action="store_true", help="a million parameters only, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    options = parser.parse_args()
    m = machine()
    print(f"jax {jax.__version__}, optax {optax.__version__}, wane {m['wane']}")
    print(f"{m['cpu']}, {m['cores']} processors, load {m['load']} at the start")
    found = {}
    for size in SIZES[:1] if options.quick else SIZES:
        for count in COUNTS:
            rows = found[f"{size} in {count}"] = measured(size, count, 20 if options.quick else 50)
            print(f"\n{size:,} parameters in {count} arrays")
            print(f"  {'':<26}{'ms':>9}{'to Adam':>10}{'passes':>8}{'copies':>8}")
            for name, row in rows.items():
                numbers = f"{row['ms']:>9.2f}{row['to Adam']:>10.2f}{row['passes']:>8.1f}{row['copies']:>8.1f}"
                print(f"  {name:<26}{numbers}")
    if options.json:
        write(options.json, {"machine": m, "jax": jax.__version__, "quick": options.quick, "optimisers": found})


if __name__ == "__main__":
    main()
