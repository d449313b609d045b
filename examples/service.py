"""A prediction service that is killed again and again, and loses nothing.

A child process serves predictions through ``wane.Journal``: it reads requests from its standard input, one line of JSON
each, and answers on its standard output. The parent kills it (SIGKILL) at random moments, some between requests, some
in the middle of one, starts it again and repeats the request that was not answered. Requests name their prediction by
an id, so the service can tell whether a repeated one was done before the kill.

What to see: every acknowledged label is there, and every radius is, bit for bit, that of a run without any kill.

    python examples/service.py [--rounds 400] [--kills 6] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import wane
from wane.state.journal import JournalWarning

ALPHA = 0.1
LONGEST_WAIT = 2e-4  # seconds from a request to a kill: about what a request takes
DELAY = 3  # the label of round t comes after the prediction of round t + DELAY


def start(rounds):
    """The object behind the service; it remembers all of its predictions, so that the parent can look at them."""
    return wane.OnlineConformal("magl", alpha=ALPHA, history=rounds)


def serve(path, rounds):
    """The child: answer requests until there are no more."""
    warnings.simplefilter("ignore", JournalWarning)  # a record cut short by a kill is no news here
    # Waiting for the disk (sync=True, the default) protects from power failures; a kill of the process needs no sync.
    with wane.Journal(path, start=lambda: start(rounds), sync=False, compact_every=100) as journal:
        print(json.dumps({"recovered": journal.sequence}), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"id": request["id"], "radius": answer(journal, **request)}), flush=True)


def answer(journal, what, id, value):
    """Do a request, or find that it was done before: its sender repeats it when it has had no answer."""
    try:
        known = journal.object.explain(id)
    except KeyError:
        known = None  # never heard of
    if what == "predict" and known is None:
        return journal.predict(value, id=id).radius
    if what == "update" and known.status == "waiting":
        journal.update(id, value)
    return known.radius


class Client:
    """The parent's side: sends requests, kills the child now and then, counts what was acknowledged."""

    def __init__(self, path, rounds, kills):
        """The moments of the kills are drawn here: after so many requests, and then so many seconds."""
        rng = np.random.default_rng(0)
        self.command = [sys.executable, os.path.abspath(__file__), "--serve", path, "--rounds", str(rounds)]
        after, wait = rng.permutation(2 * rounds - DELAY)[:kills], rng.uniform(0.0, LONGEST_WAIT, kills)
        self.moments = dict(zip(after.tolist(), wait, strict=True))
        self.sent = self.kills = self.repeated = 0
        self.child = None

    def ask(self, what, id, value):
        """The radius of the prediction; the request is repeated until it is acknowledged."""
        line = json.dumps({"what": what, "id": id, "value": value}) + "\n"
        while True:
            if self.child is None:
                self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                self.child.stdout.readline()  # it has recovered
            self.child.stdin.write(line)
            self.child.stdin.flush()
            moment = self.moments.get(self.sent)
            self.sent += 1
            if moment is not None:
                then = time.perf_counter() + moment
                while time.perf_counter() < then:  # a sleep would be too long
                    pass
                self.child.kill()
                self.kills += 1
            reply = self.child.stdout.readline()  # after a kill: what it managed to say, or nothing
            if moment is not None:
                self.stop()
            if reply.endswith("\n"):
                return json.loads(reply)["radius"]
            if moment is None:
                sys.exit(f"the service died of itself, with exit code {self.child.wait()}")
            self.repeated += 1

    def stop(self):
        """Let the child end, or bury it."""
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()
        self.child = None


def world(rounds):
    """Model outputs and labels."""
    rng = np.random.default_rng(1)
    outputs = 20.0 + np.cumsum(rng.normal(scale=0.1, size=rounds))
    return outputs, outputs + rng.normal(size=rounds) * np.linspace(0.5, 2.0, rounds)


def play(rounds, kills):
    """Serve the stream with kills; returns the facts."""
    outputs, y = world(rounds)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "service.wane")
        client = Client(path, rounds, kills)
        radii, acknowledged = [], []
        for t in range(rounds):
            radii.append(client.ask("predict", t, outputs[t]))
            if t >= DELAY:
                client.ask("update", t - DELAY, y[t - DELAY])
                acknowledged.append(t - DELAY)
        if client.child is not None:
            client.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JournalWarning)
            with wane.Journal(path) as journal:
                found = [journal.object.explain(t) for t in range(rounds)]
                calls = journal.sequence
    undisturbed = start(rounds).run(outputs, y, delay=DELAY).radius
    return {
        "rounds": rounds,
        "kills": client.kills,
        "repeated": client.repeated,
        "calls": calls,
        "acknowledged": len(acknowledged),
        "lost": sum(found[t].status != "labelled" for t in acknowledged),
        "different": int(np.sum(np.array(radii) != undisturbed)),
        "different_in_the_journal": int(np.sum(np.array([f.radius for f in found]) != undisturbed)),
    }


def main():
    """Play and print, or be the child."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400, help="predictions to serve")
    parser.add_argument("--kills", type=int, default=6, help="of the child; each costs a start of Python")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    parser.add_argument("--serve", metavar="JOURNAL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.rounds)
        return
    if options.rounds <= DELAY or not 0 <= options.kills <= options.rounds:
        parser.error(f"--rounds must be above {DELAY}, --kills from 0 to --rounds")
    facts = play(options.rounds, options.kills)
    print(f"{'predictions served':40s}{facts['rounds']:6d}")
    print(f"{'kills':40s}{facts['kills']:6d}")
    print(f"{'requests repeated after a kill':40s}{facts['repeated']:6d}")
    print(f"{'labels acknowledged':40s}{facts['acknowledged']:6d}")
    print(f"{'of them lost':40s}{facts['lost']:6d}")
    print(f"{'radii unlike those of an undisturbed run':40s}{facts['different']:6d}", flush=True)
    if facts["lost"] or facts["different"] or facts["different_in_the_journal"]:
        sys.exit("this must not happen: the journal has lost or changed something")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
