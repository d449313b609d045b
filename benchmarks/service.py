"""How fast `wane serve` answers, beside the bare object; its memory with many series; how fast a journal is recovered.

python benchmarks/service.py [--seconds 3] [--series 100000] [--calls 1000000] [--soak 1000000] [--write]

The load comes from this machine, over 127.0.0.1, predictions and labels in turn, as many at a time as there are
connections. *CPU* counts the time of the service only, so that other work on the machine, and the load generator, do
not count; latencies are of the wall clock, and suffer from both. ``--write`` puts everything into
docs/service.md, which takes about five minutes on a quiet machine with two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import wane
from wane.conformal import ManySeries, OnlineConformal
from wane.state.journal import Journal

CONNECTIONS = (1, 32, 256)
SYNC = ("group", "each", "none")
BATCH = 100  # operations of a batch


class Served:
    """The service in a process of its own."""

    def __init__(self, folder: str, *options: str) -> None:
        command = [sys.executable, "-m", "wane", "serve", "--journal", folder, "--port", "0", *options]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.child.stderr is not None
        for line in self.child.stderr:
            if "serving on http://" in line:
                self.port = int(line.partition(", ")[0].rpartition(":")[2])
                return
        raise SystemExit("the service did not start")

    def cpu(self) -> float:
        """Seconds of CPU of all threads so far."""
        tasks = Path(f"/proc/{self.child.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def memory(self) -> float:
        """Megabytes."""
        lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def stop(self) -> None:
        self.child.terminate()
        self.child.wait()
        assert self.child.stderr is not None
        self.child.stderr.close()


def request(path: str, body: object) -> bytes:
    raw = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(raw)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + raw


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length")).split(b":")[1])
    return await reader.readexactly(length)


async def client(port: int, name: str, batch: bool, until: float, took: list[float]) -> None:
    """One connection: a request after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    t = 0
    while time.perf_counter() < until:
        if batch:
            operations = []
            for _ in range(BATCH // 2):
                operations.append({"op": "predict", "output": 1.5, "id": t, "series": name})
                operations.append({"op": "label", "id": t, "y": 1.5 + t * t * 7 % 37 / 8, "series": name})
                t += 1
            wires = [request("/v1/batch", {"operations": operations})]
        else:
            wires = [
                request(f"/v1/series/{name}/predictions", {"output": 1.5, "id": t}),
                request(f"/v1/series/{name}/labels", {"id": t, "y": 1.5 + t * t * 7 % 37 / 8}),
            ]
            t += 1
        for wire in wires:
            begin = time.perf_counter()
            writer.write(wire)
            await answer(reader)
            took.append(time.perf_counter() - begin)
    writer.close()


async def load(port: int, connections: int, batch: bool, seconds: float) -> list[float]:
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(client(port, f"s{k}", batch, until, took) for k in range(connections)))
    return sorted(took)


SAID: list[str] = []  # everything that was measured, as text


def say(text: str) -> None:
    SAID.append(text)
    print(text, flush=True)


def speed(seconds: float) -> None:
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        served = Served(f"{folder}/j")
        ready, used = time.perf_counter() - begin, served.cpu()
        served.stop()
    say(f"It is ready {ready:.1f} s after its start, {used:.1f} s of CPU.\n")
    say("| `--sync` | requests | connections | operations a CPU second | p50 in ms | p99 in ms |\n" + "|---" * 6 + "|")
    bare = play(ManySeries("auto", alpha=0.1), 5_000, {"series": "a"})
    say(f"| no service | calls of `ManySeries` | | {1 / bare:,.0f} | {1e3 * bare:.4f} | |")
    for sync in SYNC:
        for batch in (False, True):
            for connections in CONNECTIONS:
                with tempfile.TemporaryDirectory() as folder:
                    served = Served(f"{folder}/j", "--sync", sync)
                    asyncio.run(load(served.port, min(connections, 8), batch, 0.3))  # so that everything is imported
                    before = served.cpu()
                    took = asyncio.run(load(served.port, connections, batch, seconds))
                    used = served.cpu() - before
                    served.child.kill()
                    served.stop()
                done = len(took) * (BATCH if batch else 1)
                kind = f"batches of {BATCH}" if batch else "single"
                p50, p99 = (1e3 * took[int(q * (len(took) - 1))] for q in (0.5, 0.99))
                say(f"| {sync} | {kind} | {connections} | {done / used:,.0f} | {p50:.2f} | {p99:.2f} |")


def play(thing: Any, rounds: int, keywords: dict[str, Any]) -> float:
    """Seconds of CPU of a call, predictions and labels in turn."""
    begin = time.process_time()
    for t in range(rounds):
        thing.predict(1.5, id=t, **keywords)
        thing.update(t, 1.5 + t * t * 7 % 37 / 8, **keywords)
    return (time.process_time() - begin) / (2 * rounds)


def play_grouped(thing: Any, rounds: int, keywords: dict[str, Any]) -> float:
    """The same in a journal, with one commit for 64 calls, as under load in the service."""
    begin = time.process_time()
    for t in range(rounds):
        thing.call("predict", [1.5], {"id": t, **keywords})
        thing.call("update", [t, 1.5 + t * t * 7 % 37 / 8], keywords)
        if t % 32 == 31:
            thing.commit()
    return (time.process_time() - begin) / (2 * rounds)


def journal(turns: int = 10, rounds: int = 1_500) -> None:
    """The journal beside the bare object, in turn, the best of several."""
    say("\n| microseconds of CPU a call | bare | in a journal (`sync=False`) | ratio | 64 calls a commit | ratio |")
    say("|---" * 6 + "|")
    for cls, keywords in ((ManySeries, {"series": "a"}), (OnlineConformal, {})):
        for method in ("auto", "magl"):
            start = partial(cls, method, alpha=0.1)
            bare, kept, grouped = [], [], []
            for _ in range(turns):
                bare.append(play(start(), rounds, keywords))
                for measure, found in ((play, kept), (play_grouped, grouped)):
                    with tempfile.TemporaryDirectory() as folder:
                        with Journal(f"{folder}/x.wane", start, sync=False, compact_every=10**9) as thing:
                            found.append(measure(thing, rounds, keywords))
            own, one, many = (min(found) for found in (bare, kept, grouped))
            say(
                f"| `{cls.__name__}`, {method} | {1e6 * own:.1f} | {1e6 * one:.1f} | {one / own:.2f} | "
                f"{1e6 * many:.1f} | {many / own:.2f} |"
            )


def memory(series: int) -> None:
    """The memory of a service with many series, each with a prediction that waits and some labels."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(f"{folder}/j", "--max-series", str(series), "--sync", "none", "--compact-every", "1000000000")
        empty = served.memory()

        async def fill() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            for begin in range(0, series, 100):
                operations = []
                for k in range(begin, min(series, begin + 100)):
                    for t in range(2):
                        operations.append({"op": "predict", "output": 1.5, "id": t, "series": f"s{k}"})
                    operations.append({"op": "label", "id": 0, "y": 2.5, "series": f"s{k}"})
                writer.write(request("/v1/batch", {"operations": operations}))
                await answer(reader)
            writer.close()

        asyncio.run(fill())
        full = served.memory()
        served.child.kill()
        served.stop()
    say(f"\nWith {series:,} series it takes {full:,.0f} MB, {1024 * (full - empty) / series:.1f} kB a series.")


def recovery(calls: int) -> None:
    """How long it takes to open a journal whose log has all calls, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.wane"
        with Journal(path, lambda: ManySeries("auto", alpha=0.1), sync=False, compact_every=10**9) as thing:
            for t in range(calls // 2):
                thing.call("predict", [1.5], {"id": t, "series": f"s{t % 100}"})
                thing.call("update", [t, 1.5 + t * t * 7 % 37 / 8], {"series": f"s{t % 100}"})
                if t % 1000 == 0:
                    thing.commit()
        code = "import sys, time, wane; begin = time.process_time(); wall = time.perf_counter(); "
        code += "journal = wane.Journal(sys.argv[1], sync=False); "
        code += "print(time.process_time() - begin, time.perf_counter() - wall, journal.recovered.replayed)"
        said = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
        cpu, wall, replayed = map(float, said.split())
    say(f"\nA journal of {replayed:,.0f} calls opens in {cpu:.1f} s of CPU ({wall:.1f} s of the clock).")


def soak(operations: int, quarters: int = 4) -> None:
    """Many operations on 100 series, with a snapshot after each 100,000: does the memory or the folder grow?"""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(f"{folder}/j", "--sync", "none", "--set", "history=100")
        found = []

        async def part(first: int, last: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            for begin in range(first, last, BATCH // 2):
                made = []
                for t in range(begin, begin + BATCH // 2):
                    series = f"s{t % 100}"
                    made.append({"op": "predict", "output": 1.5, "id": t, "series": series})
                    made.append({"op": "label", "id": t, "y": 1.5 + t * t * 7 % 37 / 8, "series": series})
                writer.write(request("/v1/batch", {"operations": made}))
                await answer(reader)
            writer.close()

        rounds = operations // 2
        for k in range(quarters):
            asyncio.run(part(k * rounds // quarters, (k + 1) * rounds // quarters))
            kept = sum(file.stat().st_size for file in Path(folder, "j").iterdir()) / 1e6
            found.append(f"{served.memory():,.0f} MB and {kept:,.0f} MB")
        served.stop()
    say(f"\nAfter each quarter of {operations:,} operations, memory and folder: {'; '.join(found)}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of load for each row")
    parser.add_argument("--series", type=int, default=100_000, help="for the memory")
    parser.add_argument("--calls", type=int, default=1_000_000, help="for the recovery")
    parser.add_argument("--soak", type=int, default=1_000_000, help="operations of the soak")
    parser.add_argument("--only", choices=("speed", "journal", "memory", "recovery", "soak"))
    parser.add_argument("--write", action="store_true", help="put everything into docs/service.md")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    print(f"compiled: {wane.compiled()}\n")
    parts = {
        "speed": lambda: speed(options.seconds),
        "journal": journal,
        "memory": lambda: memory(options.series),
        "recovery": lambda: recovery(options.calls),
        "soak": lambda: soak(options.soak),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()
    if options.write:
        if options.only is not None or not wane.compiled():
            sys.exit("not written: wanted are all parts, and a compiled package")
        sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
        from evidence import put

        put({"service": "\n".join(SAID) + "\n"})


if __name__ == "__main__":
    main()
