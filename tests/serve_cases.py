"""The command `wane serve-lines` as the program that starts it sees it, and lines of every kind to send."""

import contextlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import strategies as st

from wane.conformal import ManySeries
from wane.serve import FIELDS
from wane.state.encoding import dumps

typer = pytest.importorskip("typer")

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NO_COLOR": "1"}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def service(**more):
    return ManySeries(**{"tracker": "magl", "alpha": 0.1, "window": 5, **more})


def state(thing):
    return dumps(thing.state_dict())


class Process:
    """The command, as the program that starts it sees it."""

    def __init__(self, *arguments, method="magl", before=(), **options):
        command = [*before, sys.executable, "-m", "wane", "serve-lines", "--method", method, *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.child = subprocess.Popen(command, env=ENVIRONMENT, **pipes, **options)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def send(self, raw):
        self.child.stdin.write(raw)
        self.child.stdin.flush()

    def ask(self, **request):
        self.send(json.dumps(request).encode() + b"\n")
        return json.loads(self.child.stdout.readline())

    def end(self, code=0):
        """What it said on standard output and standard error since, and that it left with this code."""
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        out, error = self.child.stdout.read().decode(), self.child.stderr.read().decode()
        assert self.child.wait(60) == code, error
        return out, error


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(), st.text(max_size=3),
    st.lists(st.floats(0, 1), max_size=3), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip
OBJECTS = st.fixed_dictionaries(
    {"op": st.sampled_from([op for op in FIELDS if op not in ("save", "stop")] * 3 + ["save", "", None])},
    optional={
        "output": st.floats(-9, 9) | VALUES,
        "id": st.integers(0, 5) | VALUES,
        "y": st.floats(-9, 9) | VALUES,
        "series": st.sampled_from(["a", 1]) | VALUES,
        "path": st.sampled_from(["", "\0", "no/such/folder/x", ".", 5]),
        "request": VALUES,
    },
)
LINES = st.one_of(
    OBJECTS.map(lambda x: json.dumps(x).encode()),
    st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")),
    VALUES.map(lambda x: json.dumps(x).encode()),
    OBJECTS.flatmap(lambda x: st.integers(0, 40).map(lambda n: json.dumps(x).encode()[:n])),
)
