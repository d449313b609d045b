"""What is built from the repository: a source archive, and wheels with and without a C compiler."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [f for f in (ROOT / "src").rglob("*") if f.suffix in (".py", ".pxd") or f.parent.name == "assets"]
SOURCES = {str(f.relative_to(ROOT / "src")) for f in FILES}

pytest.importorskip("build")
pytestmark = pytest.mark.skipif(bool(os.environ.get("WANE_PURE")), reason="built once, in the compiled run")


def python(*arguments, where, **env):
    env = {k: v for k, v in {**os.environ, **env}.items() if v is not None}
    done = subprocess.run([sys.executable, *arguments], cwd=where, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The source archive, built and unpacked."""
    out = tmp_path_factory.mktemp("dist")
    python("-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), where=ROOT)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    return next(p for p in out.iterdir() if p.is_dir())


def wheel(source, out, **env):
    said = python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), where=source, **env)
    (path,) = out.glob("*.whl")
    with zipfile.ZipFile(path) as z:
        z.extractall(out / "installed")
        return set(z.namelist()), said


def uses(where):
    code = "import wane; print(wane.__file__, wane.compiled(), wane.learners.MagnitudeLearner().run([-1.0] * 30)[-1])"
    return python("-c", code, where=where, PYTHONPATH=str(where)).split()


def test_source_archive_is_whole(unpacked):
    files = {str(f.relative_to(unpacked)) for f in unpacked.rglob("*") if f.is_file()}
    assert {f"src/{name}" for name in SOURCES} <= files
    assert {"Makefile", "LICENSE", "README.md", "setup.py", "tests/conftest.py", "benchmarks/speed.py"} <= files
    assert not [f for f in files if f.endswith((".so", ".c")) and not f.startswith("benchmarks/")]


def test_pure_wheel(unpacked, tmp_path):
    names, _ = wheel(unpacked, tmp_path, WANE_PURE="1")
    assert names >= {*SOURCES, "wane/py.typed"} and not [n for n in names if n.endswith(".so")]
    file, compiled, x = uses(tmp_path / "installed")
    assert file.startswith(str(tmp_path)) and compiled == "False" and float(x) > 0.0


def test_a_file_that_was_removed_is_not_installed_again(unpacked, tmp_path):
    """What an earlier build left behind is not in the wheel, unless its source is still there."""
    built = unpacked / "build" / "lib" / "wane" / "trackers"
    built.mkdir(parents=True, exist_ok=True)
    for name in ("gone.py", "gone.pxd", "gone.cpython-311-x86_64-linux-gnu.so"):
        (built / name).write_text("")
    names, _ = wheel(unpacked, tmp_path, WANE_PURE="1")
    assert names >= SOURCES and not [n for n in names if "gone" in n]


def test_without_a_compiler_the_package_installs_uncompiled_and_says_so(unpacked, tmp_path):
    names, said = wheel(unpacked, tmp_path, CC="no-such-compiler", WANE_REQUIRE_COMPILED=None)
    assert names >= SOURCES and not [n for n in names if n.endswith(".so")]
    assert "installed uncompiled" in said
    assert uses(tmp_path / "installed")[1] == "False"
