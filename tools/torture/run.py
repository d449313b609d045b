"""The attacks of this folder, one after another: what must never happen is counted, and none of it may have happened.

python tools/torture/run.py --seconds 60 --seed 0 [--only kills cuts] [--write]

Each module beside this one with a function ``main(seconds, seed)`` is an attack. It stops after about so many seconds
and returns counts by name. Names that begin with a word of ``NEVER`` count failures, each of which the module prints
with what repeats it. An attack runs in a process of its own, so that one that crashes is known by its exit code.
``--write`` puts the counts into docs/reliability.md.
"""

import argparse
import importlib.util
import json
import os
import platform
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reliability.md"
NEVER = ("changed", "crashed", "different", "failed", "hung", "lost", "raw", "torn", "twice")  # what may not happen
GRACE = 300.0  # seconds that an attack may take longer than it was told
RESULT = "counts: "  # how the last line of an attack begins


def attacks():
    """The modules by name."""
    return {p.stem: p for p in sorted(HERE.glob("*.py")) if "\ndef main(" in p.read_text() and p.name != "run.py"}


def load(name):
    """A module of this folder; its own neighbours can be imported by it."""
    sys.path.insert(0, str(HERE))
    spec = importlib.util.spec_from_file_location(name, attacks()[name])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def attacked(name, seconds, seed):
    """The counts of one attack, in a process of its own."""
    command = [sys.executable, __file__, "--inside", name, "--seconds", str(seconds), "--seed", str(seed)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=seconds + GRACE)
    except subprocess.TimeoutExpired:
        return {"hung": 1}
    *said, last = done.stdout.splitlines() or [""]
    print("".join(f"  {line}\n" for line in said), end="")
    if done.returncode or not last.startswith(RESULT):
        print(f"  {last}\n  exit code {done.returncode}")
        return {"crashed": 1}
    return json.loads(last.removeprefix(RESULT))


def bad(counts):
    """The counts of what may not happen."""
    return {k: v for k, v in counts.items() if k.split()[0].strip(":") in NEVER and v}


def table(rows):
    """Counts as Markdown."""
    lines = [
        f"| {name} | {seconds:.0f} | {', '.join(f'{v:,} {k}' for k, v in counts.items())} |"
        for name, seconds, counts in rows
    ]
    return "\n".join(["| attack | seconds | counts |", "|---|---|---|", *lines])


def write(text):
    """Put the counts between the marks of the page."""
    marks = r"(<!-- begin torture -->\n).*?(<!-- end torture -->)"
    page = re.sub(marks, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", PAGE.read_text(), flags=re.S)
    PAGE.write_text(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each attack")
    parser.add_argument("--seed", type=int, default=None, help="without it, one is drawn and printed")
    parser.add_argument("--only", nargs="*", default=None, choices=list(attacks()))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(RESULT + json.dumps(load(options.inside).main(options.seconds, options.seed)))
        return 0
    import wane

    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    built = "compiled" if wane.compiled() else "uncompiled"
    what = f"seed {seed}, {options.seconds:g} seconds each, wane {wane.__version__} {built}"
    print(f"{what}, Python {platform.python_version()}", flush=True)
    rows, failed = [], {}
    for name in options.only or attacks():
        print(
            f"{name}: python tools/torture/run.py --only {name} --seconds {options.seconds:g} --seed {seed}", flush=True
        )
        begun = time.monotonic()
        counts = attacked(name, options.seconds, seed)
        rows.append((name, time.monotonic() - begun, counts))
        failed |= {f"{name}: {key}": count for key, count in bad(counts).items()}
        print(f"  {counts}", flush=True)
    made = table(rows)
    print(f"\n{made}\n\n" + (f"FAILED: {failed}" if failed else "nothing happened that may not happen"))
    if options.write:
        write(f"{what[0].upper()}{what[1:]}:\n\n{made}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
