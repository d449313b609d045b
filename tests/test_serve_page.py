"""The page about the lines: its examples in the shell and in node run, its tables are complete."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serve_cases import ENVIRONMENT, posix

from wane.serve import FIELDS, KINDS
from wane.serve.http.kinds import KINDS as HTTP

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
PAGE = Path(__file__).parent.parent / "docs" / "service.md"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """``wane`` on the path, and an empty folder to be in."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "wane").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m wane "$@"\n')
    (tmp_path / "bin" / "wane").chmod(0o755)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return ENVIRONMENT | {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def shown(language):
    """Each example of a language, and the output that the page shows."""
    return re.findall(
        rf"^```{language}\n((?:(?!```)[^\n]*\n)*)```\n+```text\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M
    )


@posix
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_example_in_node(command):
    program = Path(__file__).parent.parent / "examples" / "lines.mjs"
    for restart in (False, True):
        done = subprocess.run(["node", str(program)], env=command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        inside, unknown, following = done.stdout.splitlines()
        assert restart or 260 <= int(inside.removesuffix(" of 300 inside")) <= 280
        assert unknown == "unknown: no prediction has the id 1" and following.startswith("the next: ")
    assert "going on from the journal" in done.stderr


@posix
def test_the_examples_in_the_shell(command):
    found = shown("sh")  # those with an output; tests/test_service_deploy.py runs the others
    assert len(found) == 2
    for code, wanted in found:
        done = subprocess.run(["sh", "-ec", code], env=command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == wanted, done.stdout + done.stderr


def test_the_tables_are_complete():
    text = PAGE.read_text()
    assert re.findall(r'^\| `\{"op": "(\w+)"', text, flags=re.M) == list(FIELDS)
    assert re.findall(r'^\| `"([\w-]+)"` \| (.*) \|$', text, flags=re.M) == [*KINDS.items(), *HTTP.items()]
