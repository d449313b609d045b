"""What a step of the torch optimisers costs: ``python benchmarks/optimisers.py``, or ``--quick`` for the small sizes.

Times are of ``step`` alone, with gradients that stay as they are, float32, one thread; as ratios to Adam with
``foreach=True``, and to the base, in the same run. They take turns, so that a disturbance does not fall on one; the
best counts. "Few" are eight tensors, "many" are tensors of 1,000 numbers. Memory is what an optimiser keeps after a
step, in copies of the parameters (Adam itself keeps two). ``--json PATH`` writes the numbers too.
"""

import argparse
import time
from pathlib import Path

import torch
from measure import best, machine, write

from wane.integrations.torch import Adaptive, Tuned

SHAPES = {"few": 8, "many": None}
SIZES = 1_000_000, 10_000_000
SMALL = 1_000  # numbers in one of many tensors
ADAM = "Adam"


BASES = {
    ADAM: lambda params: torch.optim.Adam(params, lr=1e-4, foreach=True),
    "AdamW": lambda params: torch.optim.AdamW(params, lr=1e-4, foreach=True),
    "Adam, fused": lambda params: torch.optim.Adam(params, lr=1e-4, fused=True),
    "SGD": lambda params: torch.optim.SGD(params, lr=1e-4, foreach=True),
}
TUNED = {f"Tuned({name})": (lambda params, base=base: Tuned(base(params))) for name, base in BASES.items()}
TRAC = {'Tuned(Adam), rule="trac"': lambda params: Tuned(BASES[ADAM](params), rule="trac")}
OPTIMISERS = {**BASES, **TUNED, **TRAC, "Adaptive": Adaptive}


def parameters(size, count):
    """That many numbers in all, in ``count`` tensors, with gradients."""
    generator = torch.Generator().manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(size // count, generator=generator)) for _ in range(count)]
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator)
    return params


def kept(optimiser):
    """Copies of the parameters in the state, that of a base included."""
    states = [*optimiser.state.values(), *getattr(getattr(optimiser, "base", None), "state", {}).values()]
    held = sum(t.numel() for state in states for t in state.values() if isinstance(t, torch.Tensor))
    return held / sum(p.numel() for group in optimiser.param_groups for p in group["params"])


def measured(size, count, repeats):
    """The rows of all optimisers, by name: milliseconds, the ratios to Adam and to the base, copies."""
    optimisers = {name: make(parameters(size, count)) for name, make in OPTIMISERS.items()}
    for optimiser in optimisers.values():
        optimiser.step()
    steps = {name: lambda step=optimiser.step: step for name, optimiser in optimisers.items()}
    seconds = best(repeats, steps)
    return {
        name: {
            "ms": 1e3 * s,
            "to Adam": s / seconds[ADAM],
            "to its base": s / seconds[name[6:].partition(")")[0]] if name.startswith("Tuned") else None,
            "copies": kept(optimisers[name]),
        }
        for name, s in seconds.items()
    }


def main():
    parser = argparse.ArgumentParser(description="Step time and memory of the torch optimisers.")
    parser.add_argument("--quick", action="store_true", help="a million parameters only, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.perf_counter()
    m = machine()
    print(f"torch {torch.__version__}, one thread; wane {m['wane']}, compiled: {m['compiled']}")
    print(f"{m['cpu']}, load {m['load']} at the start")
    found = {}
    for size in SIZES[:1] if options.quick else SIZES:
        for shape, few in SHAPES.items():
            count = few or size // SMALL
            rows = found[f"{size} in {count}"] = measured(size, count, 5 if options.quick else 30)
            print(f"\n{size:,} parameters in {count:,} tensors ({shape})")
            print(f"  {'':<26}{'ms':>9}{'to Adam':>10}{'to its base':>13}{'copies':>8}")
            for name, row in rows.items():
                base = f"{row['to its base']:.2f}" if row["to its base"] else ""
                print(f"  {name:<26}{row['ms']:>9.2f}{row['to Adam']:>10.2f}{base:>13}{row['copies']:>8.1f}")
    print(f"\n{time.perf_counter() - started:.0f} s")
    if options.json:
        write(options.json, {"machine": m, "torch": torch.__version__, "quick": options.quick, "optimisers": found})


if __name__ == "__main__":
    main()
