"""WANE_PURE=1 tests the files of src/ uncompiled and without Cython; otherwise the installed, compiled package."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

SRC = Path(__file__).parent.parent / "src"
PURE = bool(os.environ.get("WANE_PURE"))
ONCE = (  # of what is never compiled and only calls what is: `make test` runs these files compiled, not a second time
    "arrays",
    "cli",
    "cluster",
    "digits",
    "docs",
    "examples",
    "experiments",
    "explore",
    "leaderboard",
    "libraries",
    "lifelong",
    "live",
    "notebooks",
    "optax",
    "peers",
    "release",
    "report",
    "serve",
    "service",
    "showing",
    "stream",
    "table",
    "torch",
    "torture",
    "vision",
)

settings.register_profile("wane", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("wane")

if PURE:
    sys.modules["cython"] = sys.modules["Cython"] = None  # importing Cython at run time is an ImportError


def what_is_wrong():
    """Compare what would be tested with src/: the reason not to test it, or None."""
    import wane

    package = Path(wane.__file__).parent
    if PURE:
        if package != SRC / "wane":
            return f"WANE_PURE needs PYTHONPATH=src, not {package}"
        return "src/ holds a .so, delete it" if any(SRC.rglob("*.so")) else None
    if package == SRC / "wane":
        return "PYTHONPATH or an editable install shadows the compiled package"
    here, there = (
        {f.relative_to(p): f.read_bytes() for f in p.rglob("*.p[yx]*") if f.suffix in (".py", ".pxd")}
        for p in (SRC / "wane", package)
    )
    if different := sorted(str(f) for f in here.keys() | there.keys() if here.get(f) != there.get(f)):
        return f"{package} is not what src/ holds ({', '.join(different)})"
    for pxd in sorted(SRC.rglob("*.pxd")):
        module = importlib.import_module(".".join(pxd.relative_to(SRC).with_suffix("").parts))
        if module.__file__.endswith(".py"):
            return f"{module.__name__} is not compiled"
    return None


def pytest_configure(config):
    if wrong := what_is_wrong():
        pytest.exit(f"{wrong}: run `make build` (or `make clean build`)", returncode=3)


def pytest_report_header(config):
    return f"wane: {'uncompiled' if PURE else 'compiled'}"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name.startswith(tuple(f"test_{name}" for name in ONCE)):
            item.add_marker("once")
