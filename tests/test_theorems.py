"""The theorems of ``wane.theory``, on the learners of ``wane.learners``: regret never exceeds its bound.

Every comparison allows for rounding only: a billionth of what was added up.
"""

import math

import numpy as np
import pytest

from wane import domains, learners, theory

ROUNDS = 50
SEEDS = 2


# ---------------------------------------------------------------------------------------------------------------------
# Environments: what the losses and the discounts may look like. Each gets a generator, the dimension (None for
# numbers) and a bound on the gradients, and returns environment(t, x).
# ---------------------------------------------------------------------------------------------------------------------


def draw(rng, dim, rounds=None):
    return rng.normal(size=tuple(n for n in (rounds, dim) if n is not None))


def unit(g):
    length = float(np.linalg.norm(g))
    return g / length if length > 0 else g


def random_gradients(rng, dim):
    g = [unit(draw(rng, dim)) * rng.choice([0.0, 1e-3, 0.5, 1.0]) for _ in range(ROUNDS)]
    return lambda t, x: g[t]


def adversarial(rng, dim):
    """Always away from where the learner went, and along a fixed direction while it has not moved."""
    there = unit(draw(rng, dim))
    return lambda t, x: unit(x + 1e-9 * there)


def lure_and_betray(rng, dim):
    there = unit(draw(rng, dim))
    lure = int(rng.integers(5, 50))
    return lambda t, x: -there if t % (lure + 10) < lure else there


def growing(rng, dim):
    """Gradients that grow by orders of magnitude, so that all clipping errors matter; at most 1."""
    there = unit(draw(rng, dim))
    return lambda t, x: (-1.0) ** (t // 7) * 10.0 ** ((t - ROUNDS) / 10) * there


def absolute(rng, dim):
    targets = 2.0 * draw(rng, dim, ROUNDS)
    return lambda t, x: theory.Absolute(targets[t])


def drifting(rng, dim):
    return theory.DriftingTarget(ROUNDS, dim, segment=20, seed=int(rng.integers(1000)))


def quadratic(rng, dim):
    targets = 3.0 + draw(rng, dim, ROUNDS)
    return lambda t, x: theory.Quadratic(targets[t])


LIPSCHITZ = [random_gradients, adversarial, lure_and_betray, growing, absolute, drifting]  # gradients of at most 1
ANY = [*LIPSCHITZ, quadratic]


def mixed_discounts(rng, kind):
    if kind == "mixed":
        return rng.choice([0.0, 0.5, 0.9, 0.99, 1.0, 1.05, 1.5], p=[0.03, 0.1, 0.2, 0.3, 0.2, 0.12, 0.05], size=ROUNDS)
    return np.full(ROUNDS, kind)


DISCOUNTS = ["mixed", 0.97, 1.0, 1.02]


def games(environments=ANY, discounts=DISCOUNTS, seeds=SEEDS):
    """Every environment with every kind of discounts, several times."""
    for i, environment in enumerate(environments):
        for j, kind in enumerate(discounts):
            for seed in range(seeds):
                rng = np.random.default_rng([seed, i, j])
                yield rng, environment, mixed_discounts(rng, kind)


def hindsight(record, domain=None):
    """A comparator that does well on the finished game: the weighted mean or median of targets, or far downhill."""
    w = theory.weights(record.discounts)
    f = record.loss_functions[0]
    if isinstance(f, theory.Linear):
        u = -100.0 * unit(w @ record.gradients)
    else:
        targets = np.array([f.target for f in record.loss_functions])
        u = w @ targets / w.sum()
        for _ in range(20 if isinstance(f, theory.Absolute) else 0):  # Weiszfeld
            pull = w / (1e-9 + np.linalg.norm((targets - u).reshape(ROUNDS, -1), axis=1))
            u = pull @ targets / pull.sum()
    return u if domain is None else domain.project(u)


def kept(record, bound, u):
    """Regret against u at most the bound, for the linear losses and, by convexity, for the true ones.

    Returns regret / bound.
    """
    scalar = record.predictions.ndim == 1
    x, g = (a.reshape(ROUNDS, -1) for a in (record.predictions, record.gradients))
    w = theory.weights(record.discounts)
    linear = float(w @ ((x - u) * g).sum(axis=1))
    room = 1e-9 * float(w @ (np.linalg.norm(g, axis=1) * np.linalg.norm(np.abs(x) + np.abs(u), axis=1)))
    assert linear <= bound + room
    if not isinstance(record.loss_functions[0], theory.Linear):
        u = float(u) if scalar else u
        assert record.linear_regret(u) == pytest.approx(linear, rel=1e-9, abs=room)
        assert record.regret(u) <= linear + room
    return linear / bound if bound > 0 else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Gradient descent on bounded domains
# ---------------------------------------------------------------------------------------------------------------------

BOUNDED = {
    "ball": lambda: domains.Ball(0.7),
    "ball off 0": lambda: domains.Ball(2.0, [1.0, -2.0, 0.5]),
    "box": lambda: domains.Box([-1.0, -0.1, 0.0], [0.5, 0.3, 2.0]),
    "simplex": lambda: domains.Simplex(1.5),
}
on_bounded_domains = pytest.mark.parametrize("name", BOUNDED)


def corners(domain, rng):
    """Comparators in the domain: far ends in random directions, and inner points."""
    return [domain.project(scale * rng.normal(size=3)) for scale in (100.0, 100.0, 100.0, 1.0, 0.01)]


@on_bounded_domains
def test_ogd_with_the_horizon_rate(name):
    worst = 0.0
    for rng, world, lam in games(LIPSCHITZ):
        domain = BOUNDED[name]()
        learner = learners.GradientDescent(dim=3, schedule="horizon", domain=domain)
        record = theory.play(learner, world(rng, 3), lam, ROUNDS)
        bound = theory.ogd_bound(domain.diameter, 1.0, record.statistics().H[-1])
        for u in [*corners(domain, rng), hindsight(record, domain)]:
            worst = max(worst, kept(record, bound, u))
    assert worst > 0.1  # the games are no pushovers


@on_bounded_domains
def test_ogd_with_the_constant_rate(name):
    worst = 0.0
    for rng, world, lam in games(LIPSCHITZ, [0.3, 0.9, 0.99]):
        domain = BOUNDED[name]()
        learner = learners.GradientDescent(None, lam[0], dim=3, domain=domain)
        record = theory.play(learner, world(rng, 3), rounds=ROUNDS)
        assert (record.discounts == lam).all()
        bounds = [theory.constant_ogd_bound(domain.diameter, 1.0, lam[0])]
        if ROUNDS >= 0.5 / (1.0 - lam[0]):
            bounds.append(theory.constant_ogd_bound(domain.diameter, 1.0, lam[0], ROUNDS))
        for u in [*corners(domain, rng), hindsight(record, domain)]:
            worst = max(worst, kept(record, min(bounds), u))
    assert worst > 0.1


@on_bounded_domains
def test_adagrad(name):
    worst = 0.0
    for rng, world, lam in games():
        domain = BOUNDED[name]()
        start = domain.project(rng.normal(size=3))
        record = theory.play(learners.AdaGrad(dim=3, domain=domain, start=start), world(rng, 3), lam, ROUNDS)
        bound = theory.adagrad_bound(domain.diameter, record.statistics().V[-1])
        for u in [*corners(domain, rng), hindsight(record, domain)]:
            worst = max(worst, kept(record, bound, u))
    assert worst > 0.1


# ---------------------------------------------------------------------------------------------------------------------
# The magnitude learner
# ---------------------------------------------------------------------------------------------------------------------

EPSILONS = (0.1, 1.0, 10.0)


def magnitudes_to_beat(record):
    """0, near, far, the largest prediction and the best in hindsight; the theorem is about u >= 0."""
    return {0.0, 0.3, 1.0, 50.0, 1e6, float(record.predictions.max()), max(0.0, float(hindsight(record)))}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("environment", ANY, ids=lambda e: e.__name__)
def test_base_undiscounted(epsilon, environment):
    for rng, world, lam in games([environment], [1.0]):
        record = theory.play(learners.MagnitudeLearner(epsilon), world(rng, None), lam)
        for u in magnitudes_to_beat(record):
            kept(record, theory.base_undiscounted_bound(u, record.gradients, record.predictions, epsilon), u)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("environment", ANY, ids=lambda e: e.__name__)
def test_base_for_every_window(epsilon, environment):
    worst = 0.0
    for rng, world, lam in games([environment]):
        record = theory.play(learners.MagnitudeLearner(epsilon), world(rng, None), lam)
        for u in magnitudes_to_beat(record):
            worst = max(
                worst, kept(record, theory.base_bound(u, record.gradients, record.predictions, lam, epsilon), u)
            )
        windows = [
            theory.base_bound(u, record.gradients, record.predictions, lam, epsilon, window=tau)
            for tau in range(1, ROUNDS + 1)
        ]
        assert theory.base_bound(u, record.gradients, record.predictions, lam, epsilon) <= min(windows) * (1 + 1e-12)
    assert worst > 0.0


def test_the_papers_target():
    """A drifting target, discount 0.99: at the end of every prefix the discounted regret is below its bound.

    The comparator is, at each prefix, the best point in hindsight for the weights of that prefix.
    """
    rounds = 1500
    world = theory.DriftingTarget(rounds, segment=300, jump=3.0, drift=0.01, seed=1)
    world.targets = np.abs(world.targets)
    record = theory.play(learners.MagnitudeLearner(discount=0.99), world)
    assert (record.discounts == 0.99).all()
    for end in range(1, rounds + 1, 23):
        past = slice(0, end)
        u = theory.best_fixed(world.targets[past], 0.99)
        against = [f.value(u) for f in record.loss_functions[past]]
        regret = theory.discounted_regret(record.losses[past], against, 0.99)
        bound = theory.base_bound(u, record.gradients[past], record.predictions[past], 0.99)
        assert regret <= bound
        assert theory.weighted_average_loss(record.losses[past], 0.99) <= theory.weighted_average_loss_bound(
            against, 0.99, bound
        ) * (1 + 1e-9)
    against = record.comparator_losses(u := theory.best_fixed(world.targets, 0.99))
    assert record.regret_path(u)[-1] == pytest.approx(theory.discounted_regret(record.losses, against, 0.99))


# ---------------------------------------------------------------------------------------------------------------------
# The learner on R^d
# ---------------------------------------------------------------------------------------------------------------------

DOMAINS = {
    "R^d": lambda: None,
    "ball": lambda: domains.Ball(0.7),
    "ball off 0": lambda: domains.Ball(2.0, [1.0, -2.0, 0.5]),
    "box": lambda: domains.Box([-1.0, -0.1, 0.0], [0.5, 0.3, 2.0]),
    "infinite box": lambda: domains.Box([-1.0, -math.inf, 0.0], [math.inf, 0.3, 2.0]),
    "simplex": lambda: domains.Simplex(1.5),
    "half space": lambda: domains.HalfSpace([1.0, -2.0, 0.5], 0.4),
    "half space off 0": lambda: domains.HalfSpace([1.0, 1.0, 0.0], -2.0),
    "nonnegative": lambda: domains.Nonnegative(),
}


def watched(learner, environment, distances):
    """The environment, which on the way writes down m_t = |x~_t - x*|."""

    def answer(t, x):
        distances.append(float(np.linalg.norm(learner.unprojected() - learner.center)))
        return environment(t, x)

    return answer


@pytest.mark.parametrize("environment", ANY, ids=lambda e: e.__name__)
@pytest.mark.parametrize("centered", [False, True], ids=["", "centered"])
@pytest.mark.parametrize("name", DOMAINS)
def test_main_for_every_window(name, centered, environment):
    worst, left = 0.0, 0
    for k, (rng, world, lam) in enumerate(games([environment], seeds=1)):
        domain = DOMAINS[name]()
        project = (lambda p: p) if domain is None else domain.project
        center = project(2.0 * rng.normal(size=3)) if centered else None
        epsilon = EPSILONS[k % 3]
        learner = learners.AdaptiveLearner(3, epsilon, center=center, domain=domain)
        distances = []
        record = theory.play(learner, watched(learner, world(rng, 3), distances), lam, ROUNDS)
        left += sum(m > 0 for m in distances)
        points = [learner.center, record.predictions[-1], hindsight(record, domain)]
        for u in [*points, *(project(s * rng.normal(size=3)) for s in (0.1, 1.0, 100.0))]:
            bound = theory.main_bound(u - learner.center, record.gradients, distances, lam, epsilon)
            worst = max(worst, kept(record, bound, u))
        if k == 0:
            windows = [
                theory.main_bound(u - learner.center, record.gradients, distances, lam, epsilon, window=tau)
                for tau in range(1, ROUNDS + 1)
            ]
            assert bound <= min(windows) * (1 + 1e-12)  # None is the best of all windows
    assert worst > 0.0 and left > 10  # it left the center, and had regret


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_main_in_other_dimensions(dim):
    for rng, world, lam in games():
        learner = learners.AdaptiveLearner(dim)
        distances = []
        record = theory.play(learner, watched(learner, world(rng, dim), distances), lam, ROUNDS)
        for u in (np.zeros(dim), rng.normal(size=dim), 1e3 * rng.normal(size=dim)):
            kept(record, theory.main_bound(u, record.gradients, distances, lam), u)


# ---------------------------------------------------------------------------------------------------------------------
# The lower bound, and the average loss
# ---------------------------------------------------------------------------------------------------------------------

PLAYERS = {
    "adaptive": lambda: learners.AdaptiveLearner(3),
    "adaptive, ball": lambda: learners.AdaptiveLearner(3, domain=domains.Ball(4.0)),
    "adagrad": lambda: learners.AdaGrad(dim=3, domain=domains.Ball(4.0)),
    "descent": lambda: learners.GradientDescent(dim=3, schedule="horizon", domain=domains.Ball(4.0)),
    "linear": lambda: learners.LinearFTRL(0.2, dim=3),
    "coin": lambda: learners.CoinBetting(1.0, 10.0, dim=3),
}


@pytest.mark.parametrize("name", PLAYERS)
@pytest.mark.parametrize("discount", [0.9, 1.0, 1.02])
def test_no_learner_escapes_the_lower_bound(name, discount):
    """The mean of max(regret(u), regret(-u)) over the signs is at least |u| sqrt(V / 2), up to 3 standard errors."""
    u = np.array([1.0, -2.0, 0.5])
    worst = []
    for seed in range(100):
        game = theory.RandomSigns(u, 5.0, discount, 40, seed=seed)
        record = theory.play(PLAYERS[name](), game, game.discounts)
        assert record.statistics().V[-1] == pytest.approx(5.0, rel=1e-12)
        worst.append(max(record.regret(u), record.regret(-u)))
    assert np.mean(worst) >= game.bound - 3.0 * np.std(worst) / math.sqrt(len(worst))


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_the_magnitude_learner_does_not_escape_either(discount):
    for make in (learners.MagnitudeLearner, learners.OddMagnitudeLearner, lambda: learners.AdaGrad(2.0)):
        worst = []
        for seed in range(100):
            game = theory.RandomSigns(1.5, 5.0, discount, 40, seed=seed)
            record = theory.play(make(), game, game.discounts)
            worst.append(max(record.regret(1.5), record.regret(-1.5)))
        assert np.mean(worst) >= game.bound - 3.0 * np.std(worst) / math.sqrt(len(worst))


@pytest.mark.parametrize("environment", [absolute, drifting, quadratic], ids=lambda e: e.__name__)
def test_the_average_loss_on_the_look_back_window(environment):
    """A regret bound bounds the weighted average loss of the learner by that of any comparator and bound / sum w."""
    for rng, world, lam in games([environment]):
        learner = learners.AdaptiveLearner(3)
        distances = []
        record = theory.play(learner, watched(learner, world(rng, 3), distances), lam, ROUNDS)
        w = theory.weights(lam)
        for u in (np.zeros(3), rng.normal(size=3), hindsight(record)):
            bound = theory.main_bound(u, record.gradients, distances, lam)
            left = theory.weighted_average_loss(record.losses, lam)
            assert left == pytest.approx(float(w @ record.losses / w.sum()), rel=1e-9)
            right = theory.weighted_average_loss_bound(record.comparator_losses(u), lam, bound)
            assert left <= right * (1 + 1e-9)
            tight = theory.weighted_average_loss_bound(record.comparator_losses(u), lam, record.regret(u))
            assert left == pytest.approx(tight, rel=1e-9, abs=1e-9)  # with the regret itself it is an identity
