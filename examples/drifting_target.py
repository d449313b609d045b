"""Chase a moving target with every learner: discounted regret beside its bound, and a picture.

In each round the learner plays a number x, the target y is revealed, and the loss is abs(x - y). The targets drift, and
jump now and then, so only the recent past matters: the regret is discounted, by 0.995 a round.

    python examples/drifting_target.py [--out drifting_target.png]
"""

from __future__ import annotations

import argparse
import dataclasses
import sys

import numpy as np

from wane import learners, theory
from wane.domains import Box, Nonnegative

DISCOUNT = 0.995
TOP = 10.0  # the learners that must know where the target can be are told [0, TOP]


def steady(s, v, h):
    """A prediction function for FTRL, for the sake of the example: the sum over the root of the variance."""
    return s / (1.0 + v) ** 0.5


def players():
    """Every learner, with a function (record, u) -> its bound where a theorem gives one."""
    inside = Box([0.0], [TOP])

    def base(record, u):
        return theory.base_bound(u, record.gradients, record.predictions, record.discounts)

    def main(record, u):
        return theory.main_bound(u, record.gradients, np.abs(record.predictions[:, 0]), record.discounts)

    def adagrad(record, u):
        return theory.adagrad_bound(TOP, record.statistics().V[-1])

    def horizon(record, u):
        return theory.ogd_bound(TOP, 1.0, record.statistics().H[-1])

    def constant(record, u):
        return theory.constant_ogd_bound(TOP, 1.0, DISCOUNT)

    return {
        "MagnitudeLearner (Algorithm 1)": (learners.MagnitudeLearner(discount=DISCOUNT), base),
        "Rescaled(Algorithm 2)": (learners.Rescaled(learners.MagnitudeLearner(), DISCOUNT), base),
        "AdaptiveLearner (Algorithm 3)": (learners.AdaptiveLearner(1, discount=DISCOUNT), main),
        "SimplifiedMagnitudeLearner (Algorithm 5)": (learners.SimplifiedMagnitudeLearner(discount=DISCOUNT), None),
        "OddMagnitudeLearner": (learners.OddMagnitudeLearner(discount=DISCOUNT), None),
        "AdaGrad": (learners.AdaGrad(discount=DISCOUNT, domain=inside), adagrad),
        "GradientDescent, constant rate": (learners.GradientDescent(discount=DISCOUNT, domain=inside), constant),
        "GradientDescent, horizon": (
            learners.GradientDescent(discount=DISCOUNT, domain=inside, schedule="horizon"),
            horizon,
        ),
        "LinearFTRL": (learners.LinearFTRL(0.1, DISCOUNT), None),
        "RegularizedGradientDescent": (learners.RegularizedGradientDescent(0.1, discount=DISCOUNT), None),
        "FTRL with a function of yours": (learners.FTRL(steady, DISCOUNT), None),
        "ExponentialPotential": (learners.ExponentialPotential(discount=DISCOUNT), None),
        "Constrained(CoinBetting)": (
            learners.Constrained(learners.CoinBetting(discount=DISCOUNT), Nonnegative()),
            None,
        ),
        "Centered(AdaptiveLearner) at 3": (
            learners.Centered(learners.AdaptiveLearner(1, discount=DISCOUNT), [3.0]),
            lambda record, u: theory.main_bound(
                abs(u - 3.0), record.gradients, np.abs(record.predictions[:, 0] - 3.0), record.discounts
            ),
        ),
        "MagnitudeLearner, never forgetting": (learners.MagnitudeLearner(discount=1.0), None),
    }


def play(learner, targets):
    """One game with the learner's own discount; its regret is discounted by DISCOUNT in any case."""
    record = theory.play(learner, lambda t, x: theory.Absolute(np.full(np.shape(x), targets[t])), rounds=len(targets))
    return dataclasses.replace(record, discounts=np.full(len(targets), DISCOUNT))


def world():
    """The middle, which drifts for long and then jumps twice, and the targets, which scatter around it."""
    middle = np.concatenate([np.linspace(5.0, 6.0, 3000), np.linspace(1.5, 2.5, 1000), np.linspace(4.0, 3.0, 1000)])
    return middle, np.abs(middle + np.random.default_rng(0).normal(scale=0.5, size=len(middle)))


def main(out):
    """Play all games, print the table, save the figure."""
    middle, targets = world()
    u = theory.best_fixed(targets, DISCOUNT)
    print(f"{len(targets)} rounds, discount {DISCOUNT}; the best fixed point of the recent rounds is u = {u:.3f}\n")
    print(f"{'learner':42s} {'discounted regret':>17s} {'its bound':>10s} {'mean loss':>10s}")
    records = {}
    for name, (learner, bound) in players().items():
        record = play(learner, targets)
        point = u if learner.dim is None else np.array([u])
        text = f"{bound(record, u):10.1f}" if bound else f"{'-':>10s}"
        print(f"{name:42s} {record.regret(point):17.2f} {text} {record.losses.mean():10.3f}", flush=True)
        records[name] = record
    print("\nThe regret is against u, in hindsight; '-' means that no theorem is claimed.")
    draw(records, middle, targets, out)
    print(f"figure: {out}")


def draw(records, middle, targets, out):
    """The chase above; below, the discounted regret at every moment, against the best point of that moment."""
    try:
        import matplotlib
    except ImportError:
        sys.exit('the figure needs matplotlib: pip install ".[plot]"')
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ours = "MagnitudeLearner (Algorithm 1)"
    shown = {
        "GradientDescent, constant rate": ("#E69F00", 0.6),
        "MagnitudeLearner, never forgetting": ("#CC79A7", 1.5),
        ours: ("#0072B2", 1.5),
    }
    moments = np.arange(50, len(targets) + 1, 50)
    best = [theory.best_fixed(targets[:t], DISCOUNT) for t in moments]
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    above.plot(targets, ".", color="0.8", ms=2, label="targets")
    above.plot(middle, color="black", lw=1.5, label="their middle")
    for name, (colour, width) in shown.items():
        record = records[name]
        above.plot(record.predictions, color=colour, lw=width, label=name)
        below.plot(moments, [prefix(record, t).regret(u) for t, u in zip(moments, best, strict=True)], color=colour)
    record = records[ours]
    bounds = [
        theory.base_bound(u, record.gradients[:t], record.predictions[:t], record.discounts[:t])
        for t, u in zip(moments, best, strict=True)
    ]
    below.plot(moments, bounds, "--", color=shown[ours][0], label="bound of Algorithm 1 (Theorem base)")
    above.set_xlim(2500, len(targets))
    above.set_ylabel("prediction")
    above.set_ylim(0.0, 1.4 * targets.max())
    above.legend(loc="upper left", fontsize=8, ncols=3)
    below.set_ylabel("discounted regret")
    below.set_xlabel("round")
    below.legend(loc="center right", fontsize=8)
    figure.savefig(out, dpi=130)


def prefix(record, rounds):
    """The first rounds of a game."""
    return theory.Record(
        record.predictions[:rounds],
        record.gradients[:rounds],
        record.losses[:rounds],
        record.discounts[:rounds],
        record.loss_functions[:rounds],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="drifting_target.png")
    arguments = parser.parse_args()
    main(arguments.out)
