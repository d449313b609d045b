"""What choosing the discount online costs: prints the rows of the table in ``discounts.md``.

Run it with ``python docs/discounts.py``; ``tests/test_docs.py`` compares the rows with the page. Each method follows
the 90 % quantile of a stream of scores by the pinball loss.
"""

import numpy as np

from wane import domains, learners

ALPHA, ROUNDS, LARGEST = 0.1, 3000, 10.0
FIXED = [*(1.0 - 2.0**-k for k in range(3, 15)), 1.0]


class Pinball:
    """The loss of a radius for one score, with the gradient of a miss at a tie."""

    def __init__(self, score):
        self.score = score

    def value(self, x):
        return max(ALPHA * (x - self.score), (1.0 - ALPHA) * (self.score - x))

    def gradient(self, x):
        return ALPHA - (x <= self.score)


def streams():
    """Seven streams of scores, by name: a level that changes in seven ways, times |1 + N(0, 1)/4|."""
    rng = np.random.default_rng(0)
    t = np.arange(ROUNDS)
    walk = np.zeros(ROUNDS)
    for i in range(1, ROUNDS):
        walk[i] = 0.995 * walk[i - 1] + 0.05 * rng.normal()
    levels = {
        "constant": np.ones(ROUNDS),
        "one jump": np.where(t < ROUNDS // 2, 1.0, 3.0),
        "switches every 300": np.where(t // 300 % 2, 3.0, 1.0),
        "slow wave": 2.0 + np.sin(2.0 * np.pi * t / 1500),
        "fast wave": 2.0 + np.sin(2.0 * np.pi * t / 150),
        "bursts": np.where(t % 400 < 40, 4.0, 1.0),
        "random walk": np.exp(walk),
    }
    return {name: level * np.abs(1.0 + 0.25 * rng.normal(size=ROUNDS)) for name, level in levels.items()}


def methods():
    """The learners that choose the discount themselves, by name; True: they are given the loss, not its gradient."""
    line = domains.Nonnegative()
    base = learners.Constrained(learners.MagnitudeLearner(), domains.Box(0.0, LARGEST))
    return {
        "`MultiscaleLearner`": (learners.MultiscaleLearner(domain=line), False),
        "`DiscountHedge`": (learners.DiscountHedge(domain=line), False),
        "`DiscountHedge`, full loss": (learners.DiscountHedge(domain=line), True),
        "`StronglyAdaptive`": (learners.StronglyAdaptive(base, 1.0 - ALPHA, LARGEST), False),
    }


def mean_loss(learner, scores, full=False):
    """The average pinball loss of a learner on a stream."""
    total = 0.0
    for score in scores.tolist():
        x, loss = learner.predict(), Pinball(score)
        total += loss.value(x)
        if full:
            learner.update_with(loss)
        else:
            learner.update(loss.gradient(x))
    return total / len(scores)


def rows():
    """The lines of the table: the loss of the best fixed discount, then every other as a ratio to it."""
    for name, scores in streams().items():
        fixed = [mean_loss(learners.MagnitudeLearner(1.0, lam), scores) for lam in FIXED]
        best = min(fixed)
        ratios = [mean_loss(learner, scores, full) / best for learner, full in methods().values()]
        cells = [f"{best:.3f} at {FIXED[fixed.index(best)]:.4g}", *(f"{r:.2f}" for r in [*ratios, max(fixed) / best])]
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print("\n".join(rows()))
