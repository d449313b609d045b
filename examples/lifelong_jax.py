"""A softmax regression in JAX on a stream whose labels change their meaning, learned without a learning rate.

The digits of scikit-learn come one a round. Each phase gives the ten labels in another order, and nobody tells the
model when. ``adaptive`` has no learning rate at all; ``tuned`` learns the scale of optax's gradient descent, which has
rates from far too small to far too large. The whole stream is one ``jax.lax.scan``.

What to see: gradient descent alone depends on its rate; inside ``tuned`` it is better with each of them, and
``adaptive`` needs none.

    python examples/lifelong_jax.py [--rounds 4000] [--json]

JAX, optax and scikit-learn are needed: pip install ".[optax,data]".
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

RATES = (1e-3, 1e-2, 1e-1, 1.0)
PHASES = 4


def stream(rounds):
    """Images and labels; the labels of each phase in another order."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit('this example needs scikit-learn: pip install ".[optax,data]"')
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(y), size=rounds)
    names = np.array([rng.permutation(10) for _ in range(PHASES)])
    phase = np.arange(rounds) * PHASES // rounds
    return x[drawn] / 16.0, names[phase, y[drawn]]


def play(jax, optax, optimizer, x, y):
    """The mean loss of the rounds, each before its label was learned."""
    jnp = jax.numpy

    def loss(weights, image, label):
        return optax.softmax_cross_entropy_with_integer_labels(image @ weights, label)

    def step(carry, example):
        weights, state = carry
        value, gradient = jax.value_and_grad(loss)(weights, *example)
        updates, state = optimizer.update(gradient, state, weights)
        return (optax.apply_updates(weights, updates), state), value

    weights = jnp.zeros((x.shape[1], 10))
    _, losses = jax.lax.scan(step, (weights, optimizer.init(weights)), (jnp.asarray(x), jnp.asarray(y)))
    return float(losses.mean())


def main():
    """Play everyone on the same stream, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4000, help="at least 400")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    if options.rounds < 400:
        parser.error(f"--rounds must be at least 400, got {options.rounds}: each phase needs time to be learned")
    try:
        import jax
        import optax
    except ImportError:
        sys.exit('this example needs JAX and optax: pip install ".[optax,data]"')
    from wane.integrations.optax import adaptive, tuned

    x, y = stream(options.rounds)
    facts = {"ignorance": float(np.log(10.0)), "rates": RATES}
    facts["sgd"] = [play(jax, optax, optax.sgd(rate), x, y) for rate in RATES]
    facts["tuned"] = [play(jax, optax, tuned(optax.sgd(rate)), x, y) for rate in RATES]
    facts["adaptive"] = play(jax, optax, adaptive(), x, y)
    print(f"mean loss of {options.rounds} rounds; knowing nothing has {facts['ignorance']:.2f}\n")
    print(f"{'rate':>8s}{'sgd':>8s}{'tuned(sgd)':>12s}")
    for rate, alone, ours in zip(RATES, facts["sgd"], facts["tuned"], strict=True):
        print(f"{rate:8g}{alone:8.3f}{ours:12.3f}")
    print(f"\nadaptive, without a rate: {facts['adaptive']:.3f}")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
