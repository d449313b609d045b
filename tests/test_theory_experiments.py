"""The claims of the theory, in the numbers of the experiments."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from wane import learners
from wane.experiments.results import write_csv, write_json
from wane.experiments.theory import EXPERIMENTS, bounds, center, epsilon, forgetting, ogd_failure, rescaling, restarts
from wane.experiments.theory import smallest_set as smallest
from wane.experiments.theory import target_rate as rate
from wane.experiments.theory.games import chase, columns, slope, where

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def found():
    return {name: run(quick=True) for name, run in EXPERIMENTS.items()}


def rows(finding, **values):
    return where(finding.data, **values)


def test_findings_are_named_as_registered_and_can_be_written(found, tmp_path):
    for name, finding in found.items():
        assert finding.name == name and finding.sentence.endswith(".") and "nan" not in finding.sentence.split()
        assert len({len(column) for column in finding.data.values()}) == 1
        write_csv(tmp_path / f"{name}.csv", finding.data)  # these two refuse NaN and unequal lengths
        write_json(tmp_path / f"{name}.json", finding.numbers)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_figures_say_what_they_show(found, name):
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=found[name].size, layout="constrained")
    FigureCanvasAgg(figure)
    found[name].draw(figure)
    figure.canvas.draw()
    axes = figure.get_axes()
    assert all(ax.get_xlabel() or ax.get_shared_x_axes().joined(ax, axes[-1]) for ax in axes)
    assert all(ax.get_ylabel() or ax.get_yticklabels() for ax in axes)
    assert any(ax.get_title() for ax in axes)
    assert sum(len(ax.lines) for ax in axes) >= 2


def test_the_seed_decides_and_nothing_else_does(found):
    again, other = restarts.run(quick=True), restarts.run(seed=1, quick=True)
    assert again.sentence == found["restarts"].sentence != other.sentence
    for name, column in again.data.items():
        np.testing.assert_array_equal(column, found["restarts"].data[name])


def test_the_page_is_what_the_code_says():
    text = (DOCS / "theory_experiments.md").read_text()
    spec = importlib.util.spec_from_file_location("theory_experiments", DOCS / "theory_experiments.py")
    page = importlib.util.module_from_spec(spec)
    pytest.importorskip("matplotlib")
    spec.loader.exec_module(page)
    assert list(page.TITLES) == list(EXPERIMENTS)
    places = [text.index(f"(figures/theory/{name}.png)") for name in EXPERIMENTS]
    assert places == sorted(places)
    assert all((DOCS / "figures" / "theory" / f"{name}.png").exists() for name in EXPERIMENTS)
    assert text.startswith(page.INTRODUCTION)
    for run in (forgetting.run, restarts.run):  # the fast ones, at full size
        assert page.section(run()) in text


# the claims


def test_bounds_hold_and_are_not_idle(found):
    drift = rows(found["bounds"], game="drift")
    assert set(drift["learner"]) == set(bounds.STYLES) and len(bounds.STYLES) == 6
    assert drift["ratio"].max() <= 1.0
    upper = rows(found["bounds"], game="random signs, upper")
    assert len(upper["ratio"]) == 6 and 0.0 < upper["ratio"].max() <= 1.0
    assert rows(found["bounds"], game="drift", learner="AdaGrad")["ratio"].max() > 0.5


def test_nobody_beats_the_adversary(found):
    signs = rows(found["bounds"], game="random signs")
    assert (signs["ratio"] + 3.0 * signs["standard_error"] >= 1.0).all()
    assert (np.abs(signs["ratio"] - math.sqrt(4.0 / math.pi)) <= 4.0 * signs["standard_error"]).all()


def test_the_ratio_is_that_of_a_game_played_by_hand():
    """Gradient descent by hand, its regret and its bound, as the theorem writes them."""
    targets, top, discount = np.array([1.0, 3.0, 2.5, 0.5, 0.5, 3.0]), 3.0, bounds.DISCOUNT
    x, xs, gs = 0.0, [], []
    for y in targets:
        g = float(np.sign(x - y))
        xs.append(x)
        gs.append(g)
        x = min(max(x - top * math.sqrt(1.0 - discount**2) * g, 0.0), top)
    weight = discount ** np.arange(5.0, -1.0, -1.0)
    order = np.argsort(targets)
    u = targets[order][np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2.0)]
    want = float(weight @ (np.array(gs) * (np.array(xs) - u))) / (1.5 * top / math.sqrt(1.0 - discount**2))
    learner, bound = bounds.players(top)["gradient descent, constant rate"]
    ((moment, ratio),) = bounds.ratios(learner, bound, targets, range(6, 7))
    assert moment == 6 and ratio == pytest.approx(want)


def test_epsilon_costs_a_logarithm_and_a_rate_its_factor(found):
    numbers = found["epsilon"].numbers
    ours, theirs = numbers["slopes"][epsilon.OURS], numbers["slopes"][epsilon.THEIRS]
    added = numbers["added_by_each_decade_below"]
    assert added.min() > 0.0 and added.max() < 2.0 * added.min()  # as much for each factor of 10: a logarithm
    assert theirs["below"] < -0.7 < 2.0 * ours["below"]
    hundredth = numbers["cost_of_a_hundredth"]
    assert hundredth[epsilon.THEIRS] > 5.0 * hundredth[epsilon.OURS]
    assert all(0.85 < side["above"] < 1.15 for side in (ours, theirs))  # too large is too large for both


def test_the_center_is_remembered_and_the_start_is_not(found):
    ours, theirs = (found["center"].numbers[name] for name in (center.OURS, center.THEIRS))
    assert ours["largest_change_by_the_noise"] < 0.1
    assert ours["distance_from_x*_after_the_noise"] < 0.5 * center.EPSILON
    assert 0.35 < theirs["exponent_of_the_distance_in_the_noise"] < 0.75  # a random walk has 1/2
    assert theirs["regret_near_x*_after_the_noise"] > 10.0 * theirs["regret_near_x*_fresh"]
    assert ours["exponent_in_the_distance_after_the_noise"] > 0.8
    assert theirs["exponent_in_the_distance_after_the_noise"] < 0.2
    assert ours["regret_near_x*_after_the_noise"] < 0.1 * theirs["regret_near_x*_fresh"]


def test_mistakes_are_forgotten(found):
    finding = found["forgetting"]
    horizon = 1.0 / (1.0 - forgetting.DISCOUNT)
    forever, discounted = (rows(finding, what="length", discount=d)["value"] for d in (1.0, forgetting.DISCOUNT))
    assert finding.numbers["exponent_in_the_length"]["discount 1"] > 0.9
    assert forever[-1] > 10.0 * discounted[-1]
    assert discounted[-1] == forgetting.rounds_until_back(forgetting.DISCOUNT, 5000, 1.0) <= math.log(2.0) * horizon
    sized = rows(finding, what="size", discount=forgetting.DISCOUNT)
    assert (np.diff(sized["value"]) <= 1.01 * horizon * np.diff(np.log(sized["x"])) + 1.0).all()  # the hint decays
    assert finding.numbers["largest_regret_over_bound"] <= 1.0


def test_the_window_forgets_at_the_rate_of_the_discount(found):
    one, best, spared = (
        rows(found["forgetting"], what=w) for w in (forgetting.ONE, forgetting.BEST, forgetting.SPARED)
    )
    excess = best["value"] - spared["value"]
    allowed = forgetting.DISCOUNT ** np.maximum(best["x"] - 60.0, 0.0) * (one["value"] - spared["value"])
    assert (excess <= 1.01 * allowed + 0.02 * spared["value"]).all()  # the prediction is back after 48 rounds
    later = found["forgetting"].numbers["700_rounds_later"]
    assert later[forgetting.BEST] < 1.05 * later[forgetting.SPARED] < 0.2 * later[forgetting.ONE]


def test_zeros_and_ones_are_restarts(found):
    numbers = found["restarts"].numbers
    assert numbers["largest_difference_from_fresh_learners"] == 0.0
    dynamic = numbers["dynamic_regret"]
    for name, regrets in numbers["segments"].items():
        assert dynamic[name] == pytest.approx(regrets.sum())
        assert rows(found["restarts"], discount=name)["regret_so_far"][-1] == pytest.approx(dynamic[name])
    assert max(dynamic, key=dynamic.get) == restarts.NEVER


def test_the_difference_from_fresh_learners_can_be_seen():
    targets = np.repeat([3.0, 1.0], 50)
    record = chase(learners.MagnitudeLearner(), targets, 1.0)
    assert restarts.unlike_fresh_learners(record, 2) > 0.5


def test_the_oracle_rate_fails_and_regularisation_repairs_it(found):
    finding = found["ogd_failure"]
    exponents = finding.numbers["exponents"]
    assert exponents[ogd_failure.VARYING] > 1.3
    for name in set(exponents) - {ogd_failure.VARYING}:
        path = rows(finding, learner=name)["over_optimal_rate"]
        assert exponents[name] < 0.6 and path.max() < 3.0
    assert rows(finding, learner=ogd_failure.CONSTANT)["over_optimal_rate"].max() <= 1.0 + 1e-9  # its own bound
    assert finding.numbers["worst_turn"] == pytest.approx(1.0 / 3.0, abs=0.07)


def test_the_failure_by_hand():
    """x_{t+1} = x_t - g_t / sqrt(t) on gradients that turn round in the middle: regret of order T^1.5."""
    regrets = []
    for rounds in (200, 800):
        g = np.repeat([-1.0, 1.0], rounds // 2)
        x = np.concatenate([[0.0], -np.cumsum(g / np.sqrt(np.arange(1, rounds + 1)))[:-1]])
        regrets.append(float(g @ x))
        assert ogd_failure.regret(learners.AdaGrad(1.0), g) == pytest.approx(regrets[-1])
    limit = 2.0 * (2.0 - (2.0 / 3.0) * (2.0 * math.sqrt(2.0) - 1.0)) - 4.0 / 3.0  # by integrals, times (T/2)^1.5
    assert regrets[1] / 400.0**1.5 == pytest.approx(limit, rel=0.3)
    assert slope([200, 800], regrets) == pytest.approx(1.5, abs=0.1)


def test_a_guess_of_the_lipschitz_constant_does_not_survive_rescaling(found):
    numbers = found["rescaling"].numbers
    path = numbers["regret"]
    never = (1.0 - rescaling.DISCOUNT**rescaling.TEST) / (1.0 - rescaling.DISCOUNT)
    assert numbers["never_moving"] == pytest.approx(never)
    assert (np.diff(path[rescaling.CLASSICAL]) > 0.0).all()
    assert path[rescaling.CLASSICAL][-1] > 0.98 * never
    assert path[rescaling.OURS].max() < 0.15 * never and path[rescaling.UNAGED].max() < 0.4 * never
    assert numbers["rescaled_differs_by"] < 1e-9
    assert path[rescaling.OURS][-1] <= path[rescaling.OURS][0]  # no worse for waiting


def test_rare_misses_are_learned_sooner(found):
    numbers = found["target_rate"].numbers
    needed, alphas = numbers["rounds_needed"], np.array(numbers["alphas"])
    ours, theirs = needed[rate.OURS], needed[rate.OGD]
    assert (np.diff(ours[alphas <= 0.1]) < 0.0).all() and (np.diff(theirs) >= 0.0).all()  # alphas fall
    assert (theirs[alphas <= 0.1] > 2.0 * ours[alphas <= 0.1]).all() and theirs[-1] > 6.0 * ours[-1]
    np.testing.assert_allclose(theirs, ((1.0 - alphas) / numbers["tolerance"]) ** 2, rtol=0.6)
    np.testing.assert_allclose(needed[rate.RULE], ours, rtol=0.45)


def test_a_miss_rate_that_does_not_settle_is_an_error():
    with pytest.raises(ValueError, match="play more"):
        rate.settled(np.ones(10, dtype=bool), 0.1, 0.01)
    with pytest.raises(ValueError, match="play more"):
        rate.descent(0.1, np.ones(200), 0.001, 4)


def test_from_zero_small_sets(found):
    finding = found["smallest_set"]
    numbers = finding.numbers
    ours, zero, free, split, above = smallest.METHODS
    median = numbers["median_radius"]
    assert smallest.LOW < median[ours] < 2.0 and median[zero] < 2.0
    assert median[free] > 2.0 and median[above] > 4.5
    assert numbers["share_in_the_lower_half"][ours] > 0.9
    assert all(abs(coverage - 0.9) < 0.02 for coverage in numbers["mean_coverage"].values())
    ends = rows(finding, method=split)["radius"]
    assert (((ends > 0.9) & (ends <= smallest.LOW)) | ((ends >= smallest.HIGH) & (ends < smallest.HIGH + 0.2))).all()


def test_the_law_has_the_gap_it_claims():
    scores = smallest.law(20_000, np.random.default_rng(0))
    assert not ((scores > smallest.LOW) & (scores < smallest.HIGH)).any()
    assert np.mean(scores > smallest.LOW) == pytest.approx(smallest.ALPHA, abs=0.01)


def test_tables():
    table = columns("name value", [("a", 1.0), ("b", 2.0), ("a", 3.0)])
    assert where(table, name="a")["value"].tolist() == [1.0, 3.0]
    assert where(table, name="a", value=3.0)["name"].tolist() == ["a"]
