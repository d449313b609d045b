"""What the source must not say, because compiled and uncompiled would differ, and what it must."""

import ast
from pathlib import Path

import pytest
from conftest import ONCE

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
FILES = sorted(pxd.with_suffix(".py") for pxd in SRC.rglob("*.pxd"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_same_bits(path):
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.Pow), f"{path}: C turns x ** 2 into x * x, Python calls pow: other bits"
        if isinstance(node, ast.ImportFrom):
            assert node.module != "math", f"{path}: `import math`, and in the .pxd `from libc cimport math`"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
            assert node.attr not in ("hypot", "pow", "fsum", "dist"), f"{path}: math.{node.attr} is not C's: other bits"


def test_source_holds_no_binaries():
    assert not [f for f in SRC.rglob("*") if f.suffix in (".so", ".c", ".pyd")]


def test_files_stay_small():
    long = {f.name: n for f in SRC.rglob("*.py") if (n := len(f.read_text().splitlines())) > 400}
    assert not long, f"is each of these really one idea? {long}"


def test_what_runs_once_is_never_compiled():
    """The names in tests/conftest.py are of files that are there, and none is called after a module that compiles."""
    once = {name: [f.stem for f in (ROOT / "tests").glob(f"test_{name}*.py")] for name in ONCE}
    assert all(once.values()), once
    compiled = {f"test_{path.stem}" for path in FILES}
    assert not compiled & {stem for stems in once.values() for stem in stems}
