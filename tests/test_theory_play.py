"""The game, its record and its environments."""

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import theory


class Step:
    """Gradient descent with a constant rate; the state ages with the discount so that a wrong one shows."""

    def __init__(self, x, discount=0.9):
        self.x, self.discount, self.seen = x, discount, []

    def predict(self):
        return self.x

    def update(self, gradient, discount=None):
        self.seen.append((np.copy(gradient), discount))
        self.x = discount * self.x - 0.1 * gradient


def hand_loop(x, losses, discounts):
    xs, gs, ls = [], [], []
    for loss, d in zip(losses, discounts, strict=True):
        g = loss.gradient(x)
        xs.append(x)
        gs.append(g)
        ls.append(loss.value(x))
        x = d * x - 0.1 * g
    return np.array(xs), np.array(gs), np.array(ls)


@pytest.mark.parametrize("start", [1.0, np.array([1.0]), np.array([1.0, -2.0])], ids=["number", "dim 1", "dim 2"])
def test_play_is_the_hand_loop(start):
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(6, *np.shape(start)))
    kinds = [theory.Absolute, theory.Quadratic, theory.Linear] * 2
    losses = [kind(target) for kind, target in zip(kinds, targets, strict=True)]
    discounts = [9.0, 0.5, 0.0, 1.0, 2.0, 0.9]
    record = theory.play(Step(start), lambda t, x: losses[t], discounts)
    xs, gs, ls = hand_loop(start, losses, discounts)
    np.testing.assert_array_equal(record.predictions, xs)
    np.testing.assert_array_equal(record.gradients, gs)
    np.testing.assert_array_equal(record.losses, ls)
    np.testing.assert_array_equal(record.discounts, discounts)
    assert record.loss_functions == tuple(losses)
    u = 0.3 * np.ones(np.shape(start))
    w = theory.weights(discounts)
    against = [loss.value(u) for loss in losses]
    assert record.regret(u) == pytest.approx(float(w @ (ls - against)))
    assert record.regret_path(u)[-1] == record.regret(u)
    assert record.linear_regret(u) == pytest.approx(
        float(w @ [np.sum(g * (x - u)) for g, x in zip(gs, xs, strict=True)])
    )
    assert record.regret(u) <= record.linear_regret(u) + 1e-12
    for a, b in zip(record.statistics(), theory.statistics(gs, discounts), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("discounts", [None, 0.7, [0.7] * 4, lambda t: 0.7])
def test_discounts_come_in_four_forms(discounts):
    learner = Step(1.0, discount=0.7)
    record = theory.play(learner, lambda t, x: x - 1.0, discounts, rounds=4)
    assert record.discounts.tolist() == [0.7] * 4 == [d for _, d in learner.seen]
    assert all(type(x) is np.float64 for x in record.predictions)


def test_the_length_of_a_game():
    def environment(t, x):
        return 1.0

    assert len(theory.play(Step(0.0), environment, [0.5] * 3).losses) == 3
    assert len(theory.play(Step(0.0), theory.DriftingTarget(rounds=7)).losses) == 7
    assert len(theory.play(Step(0.0), theory.DriftingTarget(rounds=7), rounds=2).losses) == 2
    with pytest.raises(ValueError, match="pass rounds"):
        theory.play(Step(0.0), environment, 0.5)
    with pytest.raises(ValueError, match="shape"):
        theory.play(Step(0.0), environment, [0.5] * 3, rounds=2)
    with pytest.raises(ValueError, match="rounds is 0"):
        theory.play(Step(0.0), environment, 0.5, rounds=0)


def test_nobody_can_change_the_record_afterwards():
    class Vandal(Step):
        def update(self, gradient, discount=None):
            gradient += 100.0
            self.x += 1.0

    def environment(t, x):
        x -= 50.0
        return np.ones(2)

    record = theory.play(Vandal(np.zeros(2)), environment, 1.0, rounds=3)
    assert record.predictions.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert record.gradients.tolist() == [[1.0, 1.0]] * 3
    assert record.losses.tolist() == [0.0, 2.0, 4.0]


def test_errors_of_a_game_say_what_to_do():
    class Bare:
        def predict(self):
            return 0.0

        def update(self, gradient, discount=None):
            pass

    with pytest.raises(ValueError, match="Bare has no `discount`"):
        theory.play(Bare(), lambda t, x: 1.0, rounds=2)
    with pytest.raises(ValueError, match="wanted the same"):
        theory.play(Bare(), lambda t, x: np.ones(1), 1.0, rounds=2)
    with pytest.raises(ValueError, match="in round 0: gradient holds nan"):
        theory.play(Bare(), lambda t, x: np.nan, 1.0, rounds=2)
    with pytest.raises(ValueError, match="in round 0: prediction holds inf"):
        theory.play(Step(np.inf), lambda t, x: 1.0, 1.0, rounds=2)
    with pytest.raises(ValueError, match=r"in round 1: discounts is -1"):
        theory.play(Bare(), lambda t, x: 1.0, lambda t: 1.0 - 2 * t, rounds=2)
    with pytest.raises(ValueError, match="one point a round"):
        theory.play(Bare(), lambda t, x: 1.0, 1.0, rounds=2).regret([1.0, 2.0, 3.0])


def test_the_losses_subgradients_are_supporting_hyperplanes():
    rng = np.random.default_rng(1)
    for shape in [(), (3,)]:
        for kind in (theory.Linear, theory.Absolute, theory.Quadratic):
            loss = kind(rng.normal(size=shape))
            for _ in range(20):
                x, y = rng.normal(size=shape), rng.normal(size=shape)
                assert loss.value(y) >= loss.value(x) + np.sum(loss.gradient(x) * (y - x)) - 1e-12
    assert theory.Absolute([1.0, 2.0]).gradient([1.0, 2.0]).tolist() == [0.0, 0.0]
    assert type(theory.Absolute(1.0).gradient(np.float64(3.0))) is float
    with pytest.raises(ValueError, match="two vectors of one length"):
        theory.Absolute([1.0, 2.0]).value(1.0)


def test_random_signs_spend_their_budget():
    game = theory.RandomSigns([3.0, 4.0], variance=2.0, discounts=0.9, rounds=50, seed=3)
    assert theory.statistics(game.gradients, game.discounts).V[-1] == pytest.approx(2.0)
    assert set(game.signs) == {-1.0, 1.0}
    np.testing.assert_array_equal(game.gradients, theory.RandomSigns([3.0, 4.0], 2.0, 0.9, 50, seed=3).gradients)
    full = 0.3**2 * theory.statistics(np.zeros(50), 0.9).H[-1]
    assert abs(theory.RandomSigns(-2.0, full, 0.9, 50, lipschitz=0.3)(0)) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="raise lipschitz"):
        theory.RandomSigns(-2.0, 1.01 * full, 0.9, 50, lipschitz=0.3)
    with pytest.raises(ValueError, match="comparator is zero"):
        theory.RandomSigns([0.0, 0.0], 1.0, 0.9, 50)
    with pytest.raises(ValueError, match="-1 or 1"):
        theory.RandomSigns(1.0, 1.0, 0.9, 2, signs=[1, 0])


@pytest.mark.parametrize("dim", [None, 1, 4])
def test_a_drifting_target_jumps_and_drifts(dim):
    world = theory.DriftingTarget(rounds=95, dim=dim, segment=20, jump=10.0, drift=0.01, seed=5)
    assert world.targets.shape == ((95,) if dim is None else (95, dim))
    steps = np.linalg.norm(np.diff(world.targets.reshape(95, -1), axis=0), axis=1)
    jumps = np.arange(1, 95) % 20 == 0
    assert steps[~jumps] == pytest.approx(0.01)
    assert (steps[jumps] > 0.02).all()
    record = theory.play(Step(np.zeros(dim) if dim else 0.0), world)
    assert record.comparator_losses(world.targets).tolist() == [0.0] * 95
    assert theory.statistics(record.gradients, 1.0).G[-1] <= 1 + 1e-12
    assert theory.dynamic_regret(record.losses, record.comparator_losses(world.targets)) == pytest.approx(
        record.losses.sum()
    )


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.floats(0, 1.5)), min_size=1, max_size=12))
def test_best_fixed_minimises_the_discounted_absolute_loss(rows):
    targets, d = (np.array(c, dtype=float) for c in zip(*rows, strict=True))
    w = theory.weights(d)
    costs = [float(w @ abs(targets - u)) for u in targets]
    u = theory.best_fixed(targets, d)
    assert u in targets
    assert float(w @ abs(targets - u)) <= min(costs) + 1e-9


def test_plot_draws_the_regret_path():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    record = theory.play(Step(1.0), theory.DriftingTarget(rounds=20, seed=0))
    ax = record.plot(0.5)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), record.regret_path(0.5))
    assert record.plot(0.0, ax=ax) is ax and len(ax.lines) == 2
    plt.close(ax.figure)


def test_plot_without_matplotlib_names_the_extra(monkeypatch):
    real = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        theory.play(Step(1.0), lambda t, x: 1.0, rounds=2).plot(0.0)
