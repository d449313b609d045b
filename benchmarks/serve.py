"""How many lines a second `wane serve-lines` answers: one at a time as a careful program asks, and many ahead.

python benchmarks/serve.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import wane

REQUESTS = 6_000
SYNCED = 1_000  # of those that wait for the disk
TURNS = 5
JOURNALS = {"no journal": [], "`--journal`": ["--journal"], "`--journal --sync`": ["--sync", "--journal"]}


def lines(count: int) -> list[bytes]:
    """Predictions, each followed by its label."""
    made = []
    for t in range(count // 2):
        made.append({"op": "predict", "output": 1.5, "id": t})
        made.append({"op": "label", "id": t, "y": 1.5 + (t * t * 7 % 37) / 8})
    return [json.dumps(request).encode() + b"\n" for request in made]


def rate(options: list[str], count: int, ahead: bool) -> float:
    """Lines a second, after the process has started."""
    command = [sys.executable, "-m", "wane", "serve-lines", *options]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None

    def ask(raw: bytes) -> None:
        child.stdin.write(raw)
        child.stdin.flush()
        assert child.stdout.readline().startswith(b'{"ok": true')

    ask(b'{"op": "version"}\n')
    requests = lines(count)
    begin = time.perf_counter()
    if ahead:
        writer = threading.Thread(target=lambda: (child.stdin.write(b"".join(requests)), child.stdin.flush()))
        writer.start()
        for _ in requests:
            assert child.stdout.readline().startswith(b'{"ok": true')
        writer.join()
    else:
        for raw in requests:
            ask(raw)
    seconds = time.perf_counter() - begin
    child.stdin.close()
    child.wait()
    return len(requests) / seconds


def main() -> None:
    rates: dict[tuple[str, bool], list[float]] = {}
    for _ in range(TURNS):
        for name, options in JOURNALS.items():
            for ahead in (False, True):
                with tempfile.TemporaryDirectory(dir=".") as folder:
                    path = [f"{folder}/j.wane"] if options else []
                    count = SYNCED if "--sync" in options else REQUESTS
                    rates.setdefault((name, ahead), []).append(rate([*options, *path], count, ahead))
    print(f"lines a second, compiled: {wane.compiled()}\n")
    print("| | one at a time | many ahead |\n|---|---|---|")
    for name in JOURNALS:
        print(f"| {name} | {shown(rates[name, False])} | {shown(rates[name, True])} |")


def shown(found: list[float]) -> str:
    """The median, the least and the most."""
    return f"{statistics.median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f})"


if __name__ == "__main__":
    main()
