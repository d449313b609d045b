"""The compiled package and the plain files of src/ do the same, to the last bit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run(*command, **env):
    done = subprocess.run(
        [sys.executable, "-W", "error", *command], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(bool(os.environ.get("WANE_PURE")), reason="compared from the compiled side")
def test_compiled_equals_uncompiled():
    compiled = run(str(HERE / "trace.py"))
    uncompiled = run(str(HERE / "trace.py"), PYTHONPATH=str(HERE.parent / "src"))
    assert len(compiled) > 100_000
    for a, b in zip(compiled.splitlines(), uncompiled.splitlines(), strict=True):
        assert a == b, a.split()[0]


def test_no_warnings():
    """Importing and running everything raises no warning under -W error (`run` passes it), with or without Cython."""
    code = (
        "import sys; sys.modules['cython'] = None; import wane, numpy as np\n"
        "from wane.learners import MagnitudeLearner, AdaptiveLearner\n"
        "MagnitudeLearner().run([-1.0] * 9000)\n"
        "AdaptiveLearner(3, domain=wane.domains.Simplex()).run(np.ones((9, 3)))\n"
        "print(wane.compiled())"
    )
    compiled = not os.environ.get("WANE_PURE")
    assert run("-c", code).strip() == str(compiled)
