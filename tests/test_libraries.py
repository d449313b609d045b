"""The examples with other libraries run, and what they print is near 90 %; each is skipped where its library is not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wane

FOLDER = Path(__file__).parent.parent / "examples" / "libraries"
NEEDS = {
    "with_mlforecast": ("mlforecast", "sklearn"),
    "with_pytorch": ("torch",),
    "with_skforecast": ("skforecast",),
    "with_sklearn": ("sklearn",),
    "with_statsforecast": ("statsforecast",),
}


def test_every_example_is_listed():
    assert sorted(NEEDS) == sorted(path.stem for path in FOLDER.glob("with_*.py"))


@pytest.mark.parametrize("name", NEEDS)
def test_coverage_is_near_the_target(name):
    for library in NEEDS[name]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    environment = os.environ | {"PYTHONPATH": str(Path(wane.__file__).parent.parent), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    shares = [float(x) for x in re.findall(r"\b0\.\d\d\b", done.stdout)]
    if name == "with_pytorch":  # the first is that of the network alone
        assert shares.pop(0) < shares[0]
    assert shares and all(0.87 <= share <= 0.94 for share in shares), done.stdout
