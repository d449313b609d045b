"""The attacks of tools/torture, each for a moment: what may never happen does not, and the runner knows if it does."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import wane

RUNNER = Path(__file__).parents[1] / "tools" / "torture" / "run.py"
spec = importlib.util.spec_from_file_location("torture_runner", RUNNER)
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
OWN = ("hostile_states", "interrupts")  # which have tests of their own
SECONDS = {"hostile_calls": 6}  # others take 2

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the attacks fork")


@pytest.mark.parametrize("name", [name for name in runner.attacks() if name not in OWN])
def test_a_short_attack(name):
    for module in ("typer", "matplotlib"):
        pytest.importorskip(module)
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(RUNNER), "--only", name, "--seconds", str(SECONDS.get(name, 2)), "--seed", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing happened that may not happen" in done.stdout and "seed 0" in done.stdout


def test_what_may_not_happen_is_known():
    assert runner.bad({"kills of save": 7, "failed": 0, "torn: auto": 0, "rounds": 5}) == {}
    assert runner.bad({"failed": 1, "torn: auto": 2, "raw errors": 3, "played": 4}) == {
        "failed": 1, "torn: auto": 2, "raw errors": 3,
    }  # fmt: skip


def test_an_attack_that_dies_or_fails_is_noticed(tmp_path):
    runner_copy = tmp_path / "run.py"
    runner_copy.write_text(RUNNER.read_text())
    (tmp_path / "dies.py").write_text("import os\n\n\ndef main(seconds, seed):\n    os.abort()\n")
    (tmp_path / "fails.py").write_text(
        "def helper():\n    pass\n\n\ndef main(seconds, seed):\n    return {'lost': 2}\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parents[1])}
    done = subprocess.run([sys.executable, str(runner_copy)], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "FAILED: {'dies: crashed': 1, 'fails: lost': 2}" in done.stdout
