"""Signals, kills, a full disk and answers that nobody reads: what was answered is not lost."""

import json
import os
import random
import signal
import sys
import threading
import time
import warnings

import pytest
from serve_cases import Process, posix, service, state

import wane
from wane import serve
from wane.cli.serve_lines import Leaving, Signals
from wane.serve import Lines

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def test_a_signal_interrupts_what_waits_and_not_what_works():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signals, done = Signals(), []
            with pytest.raises(Leaving):
                with signals:
                    os.kill(os.getpid(), number)
                    done.append("the line")
                done.append("another")
            assert done == ["the line"] and signals.came == number
            with pytest.raises(Leaving):
                os.kill(os.getpid(), number)
                time.sleep(20)  # as a read that waits
            signals.ignore()
            os.kill(os.getpid(), number)
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)


@posix
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_waits_for_the_line(tmp_path, number, code):
    """What was done was answered, and the journal is whole: under a stream of requests, and with none."""
    for burst in (0, 500) if code == 0 else (0,):
        path = tmp_path / f"{burst}.wane"
        with Process("--journal", path) as process:
            assert process.ask(op="predict", output=0.0)["ok"]
            process.send(b'{"op": "predict", "output": 1.0}\n' * burst)
            if burst:
                process.child.stdout.readline()
            process.child.send_signal(number)
            process.child.wait(20)  # its input has not ended
            out, said = process.end(code)
        answered = 1 + bool(burst) + out.count("\n")
        assert all(json.loads(x)["ok"] for x in out.splitlines()) and "Traceback" not in said
        assert ("interrupted" in said) == (code == 130)
        with wane.Journal(path) as journal:
            assert journal.sequence == answered and journal.recovered.dropped == 0


@posix
def test_nobody_reads_the_answers():
    with Process() as process:
        process.ask(op="version")
        process.child.stdout.close()
        process.send(b'{"op": "version"}\n' * 3)
        assert process.child.wait(60) == 1
        assert process.child.stderr.read().decode() == "wane: nobody reads the answers any more: stopped\n"


def todo(k):
    """Request number k of an endless sequence: each is one call, in two series, with ids of the program's own."""
    series = ("north", "south")[k // 4 % 2]
    x = (7 * k * k + 3 * k) % 37 / 8
    if k % 4 < 2:
        return {"op": "predict", "output": x, "id": f"{k}", "series": series}
    if k % 4 == 2 or k % 3:
        return {"op": "label", "id": f"{k - 2}", "y": -x, "series": series}
    return {"op": "expire", "id": f"{k - 2}", "series": series}


def repeat(process, at):
    """Ask from request number ``at`` on, until the process dies; the number of the first that was not answered."""
    while True:
        try:
            found = process.ask(**todo(at))
        except (BrokenPipeError, ValueError):
            return at
        if not found["ok"]:  # it was done, and the answer was lost in the kill: only the first can be so
            assert found["error"]["kind"] in ("waiting", "labelled", "expired"), found
        at += 1


@posix
def test_kill_9_at_any_moment_loses_nothing_that_was_answered(tmp_path):
    """And after all the kills the state is that of a service that was never stopped."""
    path, chance, at, never, done = tmp_path / "j.wane", random.Random(0), 0, Lines(service(window=100)), 0
    for n in range(5):
        arguments = ["--journal", path, "--compact-every", (7, 100)[n % 2], *(["--sync"] if n == 3 else [])]
        with Process(*arguments) as process:
            stats = process.ask(op="stats")
            assert stats["predictions"] == sum(todo(k)["op"] == "predict" for k in range(done))
            for name in never.many.names():
                assert process.ask(op="pending", series=name)["ids"] == never.many.pending(name)
            timer = threading.Timer(chance.uniform(0.01, 0.2), process.child.kill)
            timer.start()
            at = repeat(process, at)
            timer.join()
            said = process.child.stderr.read().decode()
        assert ("going on from the journal" in said) == (n > 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wane.JournalWarning)  # a record that the kill cut short
            with wane.Journal(path) as journal:
                assert at <= journal.sequence <= at + 1
                while done < journal.sequence:
                    assert never.answer(todo(done))["ok"]
                    done += 1
                assert state(journal.object) == state(never.many)
    assert done > 100


@posix
def test_a_full_disk_is_told_and_what_was_answered_stays(tmp_path):
    pytest.importorskip("resource")
    small = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with Process("--journal", tmp_path / "j.wane", before=(sys.executable, "-c", small)) as process:
        answered = 0
        while (found := process.ask(op="predict", output=1.0))["ok"]:
            answered += 1
        for _ in range(2):  # it lives on, and acknowledges nothing
            assert found["error"]["kind"] == "journal"
            found = process.ask(op="predict", output=1.0)
        process.child.stdin.close()
    with pytest.warns(wane.JournalWarning, match="no whole record"):
        again = serve.opened(service(window=100), tmp_path / "j.wane")
    assert again.answer({"op": "stats"})["predictions"] == answered > 100
    again.journal.close()
