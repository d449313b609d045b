"""``auto`` beside the best published method in hindsight, on the streams of folders: one table.

python tools/auto_on_streams.py FOLDER [FOLDER ...] [--alpha A] [--in-time] [--processes N] [--json PATH]

A folder holds files of streams (see ``wane.streams.read_all``). Labels come in time, 10 and 100 rounds
late, and through ``wane.Horizons``: forecasts 1 to 24 rounds ahead of the same series, which a regression on its last
12 values makes (the first 3,000 rounds). The measures are those of ``tools/explore_auto.py``. *Peer* is the one of
eight published methods that has the smallest loss on the stream with labels as late, chosen in hindsight; for
``Horizons`` one peer is chosen for all steps of a stream, and *by step* another one for each step of each stream.

``auto`` was tuned on every second stream of the sorted names, *tuning*; the others are *held out*. All were looked at.
Files with many series count with their first one.
"""

import argparse
import concurrent.futures
import json
import sys
import time
from pathlib import Path

import explore_auto as explore
import numpy as np
from explore_auto import DELAYS, LAGS, RIVALS, SETTLED, Stage, forecasts_of, streams

import wane

STEPS, LONGEST = 24, 3000
WHEN = {**{f"{d} late" if d else "in time": d for d in DELAYS}, "Horizons": None, "Horizons, by step": None}


def late(stage, delay):
    """The measures of ``auto``, with the loss of each rival."""
    return {
        "auto": stage.judge(stage.auto(delay)),
        "rivals": {name: stage.judge(stage.rival(name, delay, **how)) for name, how in RIVALS.items()},
    }


def horizons(y):
    """The same for each step ahead, with ``auto`` played by ``Horizons``."""
    y = y[:LONGEST]
    found = forecasts_of(y, STEPS)
    first = LAGS + SETTLED  # the first forecast that is played is made at this round
    rows = np.arange(first, len(y) - 1)
    outputs = np.full((len(rows), STEPS), np.nan)
    for h in range(1, STEPS + 1):
        about = rows[rows + h < len(y)] + h
        outputs[: len(about), h - 1] = found[about, h - 1]
        outputs[len(about) :, h - 1] = y[-1]  # about rounds after the end, which have no label
    tables = wane.Horizons(STEPS, "auto", alpha=explore.ALPHA, history=0).run(outputs, y[first:])
    played = []
    for h, table in enumerate(tables, 1):
        count = len(y) - first - h
        labels, forecasts = y[first + h :], outputs[:count, h - 1]
        stage = Stage(np.abs(labels - forecasts), (forecasts, labels))
        rivals = {name: stage.judge(stage.rival(name, h - 1, **how)) for name, how in RIVALS.items()}
        played.append({"auto": stage.judge(table.radius[:count]), "rivals": rivals})
    return played


def on_stream(alpha, in_time, scores, forecasts):
    """All that is played on one stream."""
    explore.ALPHA = alpha
    if in_time:
        return {"in time": late(Stage(scores, forecasts), 0)}
    found = {when: late(Stage(scores, forecasts), delay) for when, delay in WHEN.items() if delay is not None}
    if forecasts is not None:
        found["Horizons"] = horizons(forecasts[1])
    return found


def rows_of(name, found):
    """A row for each way that labels come, and for each step ahead."""
    for when, one in found.items():
        if when != "Horizons":
            yield row(name, when, one["auto"], one["rivals"])
            continue
        means = {key: float(np.mean([step["auto"][key] for step in one])) for key in ("off", "lce", "chance", "loss")}
        each = {
            peer: {key: float(np.mean([step["rivals"][peer][key] for step in one])) for key in ("off", "loss")}
            for peer in RIVALS
        }
        yield row(name, when, means, each)
        for h, step in enumerate(one, 1):
            yield row(name, "Horizons, by step", step["auto"], step["rivals"], step=h)


def row(name, when, measures, rivals, **more):
    """The measures of ``auto``, and its loss beside that of the rival with the smallest one."""
    peer = min(rivals, key=lambda name: rivals[name]["loss"])
    least = rivals[peer]["loss"]
    of = measures["loss"] / least if least > 0.0 else 1.0
    said = {"pinball": of, "peer": peer, "peer_off": rivals[peer]["off"]}
    return {"stream": name, "when": when, **measures, **said, **more}


def table(rows, tuning):
    """The means in Markdown, of all streams, of those for tuning and of the others."""
    yield "| labels | streams | off target | LCE_100 | chance | pinball | worst | on |"
    yield "| --- " * 8 + "|"
    for when in WHEN:
        for part, kept in (("all", None), ("tuning", True), ("held out", False)):
            mine = [r for r in rows if r["when"] == when and (kept is None or (r["stream"] in tuning) == kept)]
            if not mine:
                continue
            off, lce, chance, pinball = (np.mean([r[key] for r in mine]) for key in ("off", "lce", "chance", "pinball"))
            worst = max(mine, key=lambda r: r["pinball"])
            on = worst["stream"] + (f", step {worst['step']}" if "step" in worst else "")
            yield (
                f"| {when} | {part}, {len({r['stream'] for r in mine})} | {off:.4f} | {lce:.3f} | {chance:.3f} | "
                f"{pinball:.3f} | {worst['pinball']:.3f} | {on} |"
            )


def worst_table(rows, count=8):
    """Where ``auto`` loses most, and what its best peer does there."""
    yield "| labels | stream | pinball | off target | peer | its off target |"
    yield "| --- " * 6 + "|"
    for when in WHEN:
        mine = sorted((r for r in rows if r["when"] == when), key=lambda r: -r["pinball"])
        for r in mine[:count]:
            on = r["stream"] + (f", step {r['step']}" if "step" in r else "")
            yield f"| {when} | {on} | {r['pinball']:.3f} | {r['off']:.3f} | {r['peer']} | {r['peer_off']:.3f} |"


def first_of_each_file(found):
    """Leave out all series of a file but its first."""
    return {name: given for name, *given in found if not (tail := name.rpartition("-")[2]).isdigit() or int(tail) == 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of files with streams")
    parser.add_argument("--alpha", type=float, default=explore.ALPHA, help="the share of misses; 0.1")
    parser.add_argument("--in-time", action="store_true", help="leave out late labels and Horizons")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="how many to start; 1")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write every row to this file")
    options = parser.parse_args()
    played = {}
    for folder in options.folders:
        played |= first_of_each_file(streams(folder))
    names = sorted(played)
    tuning = names[::2]
    rows, start = [], time.perf_counter()
    with concurrent.futures.ProcessPoolExecutor(options.processes) as pool:
        jobs = {pool.submit(on_stream, options.alpha, options.in_time, *played[name]): name for name in names}
        for count, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            rows += rows_of(jobs[job], job.result())
            print(f"{count}/{len(jobs)} {jobs[job]}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(names)} streams. Used for tuning: {', '.join(tuning)}.")
    print("", *table(rows, tuning), sep="\n")
    print("", *worst_table(rows), sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"compiled": wane.compiled(), "tuning": tuning, "rows": rows}))


if __name__ == "__main__":
    main()
