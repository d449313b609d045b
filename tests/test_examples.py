"""The examples run, and what they promise their readers to see is what they print."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wane

EXAMPLES = Path(__file__).parent.parent / "examples"


def facts(name, *arguments):
    """What an example prints as its last line with --json, run with the wane that is tested here."""
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parent.parent), "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(EXAMPLES / name), *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def regressor():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    return facts("drifting_regressor.py", "--rounds", "2000")


@pytest.fixture(scope="module")
def classifier():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    return facts("corrupted_classifier.py", "--rounds", "1800")


@pytest.fixture(scope="module")
def day_ahead():
    return facts("day_ahead.py")


def test_regressor_covers_at_every_level(regressor):
    for alpha, coverage in zip(regressor["levels"], regressor["coverage_after_300"]["online"], strict=True):
        assert abs(coverage - (1.0 - alpha)) < 0.02


def test_regressor_beats_fixed_intervals_in_the_worst_window(regressor):
    for online, fixed in zip(regressor["worst"]["online"], regressor["worst"]["fixed"], strict=True):
        assert online > fixed + 0.2


def test_regressor_widens_and_narrows(regressor):
    calm, moving, noisy, calm_again = regressor["width_by_phase"]["online"]
    assert calm < moving and calm_again < moving < noisy
    fixed = regressor["width_by_phase"]["fixed"]
    assert min(fixed) == pytest.approx(max(fixed))


def test_regressor_levels_are_nested(regressor):
    assert regressor["nested"]


def test_classifier_covers(classifier):
    assert abs(classifier["coverage_after_300"]["magl"] - classifier["target"]) < 0.02
    assert classifier["coverage_after_300"]["fixed"] < classifier["target"] - 0.05


def test_classifier_beats_the_fixed_threshold_in_the_worst_window(classifier):
    for method in ("magl", "magl-d"):
        assert classifier["worst"][method] > classifier["worst"]["fixed"] + 0.2


def test_classifier_says_more_labels_when_images_are_bad(classifier):
    for method in ("magl", "magl-d"):
        clean, noise, clean_again, blur, both, _ = classifier["size_by_phase"][method]
        assert max(clean, clean_again) < min(noise, blur) and max(noise, blur) < both


def test_day_ahead_covers_at_every_level(day_ahead):
    for i, alpha in enumerate(day_ahead["levels"]):
        assert abs(day_ahead["coverage"]["online"][i] - (1.0 - alpha)) < 0.02
        assert day_ahead["coverage_at_the_end"]["fixed"][i] < 1.0 - alpha - 0.05


def test_day_ahead_covers_at_every_step(day_ahead):
    for alpha, coverages in zip(day_ahead["levels"], day_ahead["coverage_by_step"], strict=True):
        assert len(coverages) == 48
        assert max(abs(coverage - (1.0 - alpha)) for coverage in coverages) < 0.04


def test_day_ahead_knows_the_far_future_less_well(day_ahead):
    for widths in day_ahead["width_by_step"]:
        assert sum(widths[:12]) < sum(widths[12:24]) < sum(widths[36:])


def test_service_loses_nothing():
    f = facts("service.py", "--rounds", "150", "--kills", "4")
    assert f["kills"] == 4
    assert f["acknowledged"] == 147
    assert f["calls"] == f["rounds"] + f["acknowledged"]  # no request was done twice
    assert f["lost"] == f["different"] == f["different_in_the_journal"] == 0


def test_tuned_adam_bears_a_wrong_rate_and_resumes():
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    f = facts("lifelong_torch.py", "--tasks", "2")
    assert f["resumed"]
    assert f["rates"][2] == 1e-3  # what follows compares with the rate in the middle
    for wrong in (1, 3, 4):
        assert f["Tuned(Adam)"][wrong] > f["Tuned(Adam)"][2] - 0.15
    assert f["Tuned(Adam)"][1] > f["Adam"][1] + 0.2 and f["Tuned(Adam)"][4] > f["Adam"][4] + 0.2


def test_fine_tuning_parts_where_one_network_stops():
    for package in ("sklearn", "torch", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason=f"needs {package}")
    f = facts("fine_tuning.py", "--batches", "12")
    for_ever, stopped = f["learns for ever"], f["learns in the first third"]
    assert for_ever[0] == stopped[0] and for_ever[2] != stopped[2]


def test_tuned_descent_bears_a_wrong_rate():
    for package in ("jax", "optax", "sklearn"):
        pytest.importorskip(package)
    f = facts("lifelong_jax.py", "--rounds", "1200")
    assert max(f["adaptive"], *f["tuned"]) < f["ignorance"]
    for alone, ours in zip(f["sgd"], f["tuned"], strict=True):
        assert ours < alone
    assert max(f["tuned"]) < max(f["sgd"]) - 1.0


def test_regressor_does_not_look_ahead():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    example = runpy.run_path(str(EXAMPLES / "drifting_regressor.py"))
    x, y, _ = example["world"](1000)
    x, y, t = x[:900], y[:900], 800
    ends = example["play"](x, y)
    changed = example["play"](x, np.where(np.arange(len(y)) < t, y, 5.0))
    played = t + 1 - example["WARM_UP"]  # the interval of round t is there before its label
    for name in ends:
        np.testing.assert_array_equal(changed[name][:, :played], ends[name][:, :played])
    assert not np.array_equal(changed["online"], ends["online"])


def test_day_ahead_does_not_look_ahead():
    example = runpy.run_path(str(EXAMPLES / "day_ahead.py"))
    y = example["synthetic"](140)
    origins, made = example["forecasts"](y)
    played = example["play"](y, origins, made)["online"][1]
    day = example["WARM_UP"] + 8
    future = np.arange(len(y)) > origins[day]
    changed_origins, changed = example["forecasts"](np.where(future, 2.0 * y, y))
    np.testing.assert_array_equal(changed_origins, origins)
    np.testing.assert_array_equal(changed[: day + 1], made[: day + 1])
    widths = example["play"](np.where(future, 2.0 * y, y), origins, changed)["online"][1]
    np.testing.assert_array_equal(widths[: 8 + 1], played[: 8 + 1])
    assert not np.array_equal(widths, played)


@pytest.mark.parametrize("name", ["drifting_regressor.py", "corrupted_classifier.py", "day_ahead.py"])
def test_too_few_rounds_are_refused(name):
    flag = "--days" if name == "day_ahead.py" else "--rounds"
    command = [sys.executable, str(EXAMPLES / name), flag, "10"]
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parent.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "least" in done.stderr


def test_the_table_of_sales_is_what_its_program_writes():
    made = runpy.run_path(str(EXAMPLES / "sales.py"))["rows"]()
    assert (EXAMPLES / "sales.csv").read_text().splitlines() == made


def test_many_series_are_covered_from_the_second_row_on():
    found = facts("many_series.py", "--series", "300")
    assert abs(found["pool"]["early"] - 0.9) < 0.05 and abs(found["pool"]["late"] - 0.9) < 0.02
    assert found["magl"]["early"] < found["auto"]["early"] < found["pool"]["early"]
