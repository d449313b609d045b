"""Other packages beside wane, on the same rounds in the same run: ``make peers``, or ``python benchmarks/peers.py``.

The rules, the same for all:

1. A method sees the forecast of a round, gives an interval that should hold 90 % of the labels, then sees the label.
2. The first 300 rounds (a third of a short stream) warm it up, calibrate and tune it, and are not scored.
3. An interval covers what is not outside it. Width and pinball loss (the mean of both ends, at 5 % and 95 %) are
   divided by those of the one symmetric interval that would have covered 90 % of the scored rounds, in hindsight.
4. An infinite end counts as far away as the largest error so far, and the share of such rounds is shown.
5. Time is processor time of a scored round, interval and label; the best of up to three runs, the median over streams.

It prints every setting. ``--write`` puts the best of each package into docs/peers.md and draws the chart of the README.
Ctrl-C keeps the streams that are done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, write
from peer_adapters import Method, methods

from wane import metrics, streams

ALPHA = 0.1
WARM_UP = 300
WINDOW = 100
TRIALS, ENOUGH = 3, 1.0  # runs for the time, and the seconds after which there is no further one
ROOT = Path(__file__).parent.parent
COLUMNS = {  # head: key, form
    "coverage": ("coverage", ".3f"),
    "off target": ("off_target", ".3f"),
    "LCE_100": ("lce_100", ".3f"),
    "worst LCE": ("lce_100_worst", ".2f"),
    "width": ("width", ".2f"),
    "widest": ("width_worst", ".1f"),
    "pinball": ("pinball", ".3f"),
    "worst": ("pinball_worst", ".2f"),
    "infinite": ("infinite", ".4f"),
    "µs": ("microseconds", ".1f"),
    "time / auto": ("times_auto", ".1f"),
}
OWN_ROWS = ("auto", "faci", "pid", "magl", "magl-d")  # of wane on the page
ON_THE_PAGE = ("off target", "LCE_100", "width", "pinball", "worst", "infinite", "µs")
SAID = {"off target": "off_target", "LCE_100": "lce_100", "pinball": "pinball", "time": "microseconds"}
NOT_INSTALLED = "not installed"
INTERRUPTED = 130  # the exit status


def judge(y: np.ndarray, y_hat: np.ndarray, intervals: np.ndarray, first: int, alpha: float) -> dict[str, float]:
    """The measures of the intervals of all rounds from the first that is scored."""
    errors = np.abs(y - y_hat)
    so_far = np.maximum.accumulate(errors)[first - 1 : -1]
    y, y_hat, errors = y[first:], y_hat[first:], errors[first:]
    if intervals.shape != (len(y), 2) or np.isnan(intervals).any():
        raise ValueError(f"{len(y)} intervals without NaN are wanted, got {intervals.shape} with NaN or of wrong shape")
    lower, upper = intervals.T
    covered = (lower <= y) & (y <= upper)
    infinite = ~np.isfinite(intervals).all(axis=1)
    lower = np.where(np.isfinite(lower), lower, y_hat - so_far)
    upper = np.where(np.isfinite(upper), upper, y_hat + so_far)
    fixed = float(np.quantile(errors, 1.0 - alpha, method="inverted_cdf"))
    width = metrics.width(np.maximum(upper - lower, 0.0))  # ends that cross hold nothing
    return {
        "rounds": len(y),
        "coverage": metrics.coverage(covered),
        "off_target": abs(metrics.coverage(covered) - (1.0 - alpha)),
        "lce_100": metrics.lce(covered, alpha, WINDOW),
        "width": width / (2.0 * fixed),
        "pinball": ends(lower, upper, y, alpha) / ends(y_hat - fixed, y_hat + fixed, y, alpha),
        "infinite": float(infinite.mean()),
    }


def ends(lower: np.ndarray, upper: np.ndarray, y: np.ndarray, alpha: float) -> float:
    """The mean pinball loss of both ends, each at half of alpha."""
    return (metrics.pinball(upper, y, alpha / 2.0) + metrics.pinball(-lower, -y, alpha / 2.0)) / 2.0


def play(method: Method, stream: streams.ForecastStream, alpha: float = ALPHA) -> dict[str, Any]:
    """One method on one stream: the measures and the time, or why there are none."""
    row: dict[str, Any] = {"package": method.package, "method": method.name, "stream": stream.name}
    if method.version is None:
        return row | {"failed": NOT_INSTALLED}
    y, y_hat = stream.y, stream.y_hat
    n = warm_up(len(y))
    best, spent = np.inf, 0.0
    try:
        with warnings.catch_warnings():  # of tuning, of changed meanings, of coverage: the table shows what comes of it
            warnings.simplefilter("ignore")
            for _ in range(TRIALS):
                begin = time.process_time()
                made = method.make(alpha)
                made.warm_up(y_hat[:n], y[:n])
                start = time.process_time()
                intervals = made.run(y_hat[n:], y[n:])
                end = time.process_time()
                best, spent = min(best, end - start), spent + end - begin
                if spent > ENOUGH:
                    break
        found = judge(y, y_hat, np.asarray(intervals, float), n, alpha)
    except Exception as error:  # of a foreign package: the table says it, and the others go on
        return row | {"failed": f"{type(error).__name__}: {error}"}
    return row | found | {"microseconds": 1e6 * best / (len(y) - n)}


def warm_up(rounds: int) -> int:
    """How many first rounds are not scored."""
    return min(WARM_UP, rounds // 3)


def compare(chosen: Sequence[Method], found: Sequence[streams.ForecastStream]) -> tuple[list[dict[str, Any]], bool]:
    """The rows of all methods on the streams that were finished, and whether these are all."""
    rows: list[dict[str, Any]] = []
    for stream in found:
        print(f"{stream.name}, {len(stream)} rounds", end="", file=sys.stderr, flush=True)
        here = []
        try:
            for method in chosen:
                here.append(play(method, stream))
                print("." if "failed" not in here[-1] else "-", end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print("\ninterrupted: the tables hold the streams that were done", file=sys.stderr)
            return rows, False
        print(file=sys.stderr)
        rows += here
    return rows, True


def means(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a method: means over the streams and the worst; by pinball loss, those that failed last."""
    lines = []
    for package, name in dict.fromkeys((row["package"], row["method"]) for row in rows):
        mine = [row for row in rows if (row["package"], row["method"]) == (package, name)]
        line: dict[str, Any] = {"package": package, "method": name, "streams": len(mine)}
        failed = [row for row in mine if "failed" in row]
        if failed:
            where = "" if len(failed) == len(mine) else f" ({len(failed)} of {len(mine)} streams)"
            lines.append(line | {"failed": failed[0]["failed"] + where})
            continue
        for key in ("coverage", "off_target", "lce_100", "width", "pinball", "infinite"):
            line[key] = float(np.mean([row[key] for row in mine]))
        for key in ("lce_100", "width", "pinball"):
            line[f"{key}_worst"] = max(row[key] for row in mine)
        line["microseconds"] = float(np.median([row["microseconds"] for row in mine]))
        lines.append(line)
    auto = [line["microseconds"] for line in lines if (line["package"], line["method"]) == ("wane", "auto")]
    for line in lines:
        if "failed" not in line:
            line["times_auto"] = line["microseconds"] / auto[0] if auto else np.nan
    return sorted(lines, key=lambda line: line.get("pinball", np.inf))


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *body])


def markdown(lines: Sequence[dict[str, Any]], versions: dict[str, str | None], heads: Sequence[str]) -> str:
    """The lines as a table, dashes where there is no number; the reasons below."""
    body, reasons = [], {}
    for line in lines:
        label = [f"{line['package']} {versions[line['package']] or ''}".strip(), line["method"]]
        if "failed" in line:
            reasons.setdefault((line["package"], line["failed"]), []).append(line["method"])
            body.append([*label, *["-"] * len(heads)])
        else:
            body.append([*label, *(format(line[COLUMNS[h][0]], COLUMNS[h][1]) for h in heads)])
    why = [f"- {package}, {', '.join(names)}: {reason}\n" for (package, reason), names in reasons.items()]
    return table(["package", "method", *heads], body) + ("\n" + "".join(why) if why else "")


def by_stream(rows: Sequence[dict[str, Any]], lines: Sequence[dict[str, Any]], key: str, form: str) -> str:
    """One measure, a stream a line, of the methods that play on all."""
    shown = [line for line in lines if "failed" not in line]
    cells = {(row["stream"], row["package"], row["method"]): row.get(key) for row in rows}
    names = dict.fromkeys(row["stream"] for row in rows)
    body = [[name, *(format(cells[name, line["package"], line["method"]], form) for line in shown)] for name in names]
    return table(["", *(line["method"] if line["package"] == "wane" else line["package"] for line in shown)], body)


def top(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page shows: some of ours, and of each other package the setting with the smallest loss."""
    seen = set()
    kept = []
    for line in lines:
        ours = line["package"] == "wane"
        if (ours and line["method"] in OWN_ROWS) or (not ours and line["package"] not in seen):
            kept.append(line)
            seen.add(line["package"])
    return kept


def sentence(lines: Sequence[dict[str, Any]]) -> str:
    """Who is best in each column, and who is best of the others where that is one of ours."""
    parts = []
    for head, key in SAID.items():
        done = sorted((line for line in lines if "failed" not in line), key=lambda line: line[key])
        if not done:
            continue
        said = f"{named(done[0])} {done[0][key]:.3g}"
        others = [line for line in done if line["package"] != "wane"]
        if done[0]["package"] == "wane" and others:
            said += f", of the others {named(others[0])} {others[0][key]:.3g}"
        elif done[0]["package"] != "wane":
            own = next((line for line in done if line["package"] == "wane"), None)
            said += f", of ours {named(own)} {own[key]:.3g}" if own else ""
        parts.append(f"{head}: {said}")
    return "The smallest means: " + "; ".join(parts) + "."


def named(line: dict[str, Any]) -> str:
    return f"{line['package']} ({line['method']})"


def blocks(rows: Sequence[dict[str, Any]], versions: dict[str, str | None]) -> dict[str, str]:
    """The table of the page by the name of its mark."""
    return {"peers": f"{markdown(top(means(rows)), versions, ON_THE_PAGE)}\n{about(rows)}"}


def everything(rows: Sequence[dict[str, Any]], versions: dict[str, str | None]) -> str:
    """Every setting with all measures, and the losses by stream."""
    lines = means(rows)
    by_name = by_stream(rows, top(lines), "pinball", ".2f")
    return f"{markdown(lines, versions, list(COLUMNS))}\n{about(rows)} {sentence(lines)}\n\n{by_name}"


def about(rows: Sequence[dict[str, Any]]) -> str:
    """What was played, in a sentence."""
    scored = {row["stream"]: row["rounds"] for row in rows if "rounds" in row}
    return f"Means over {len(scored)} streams, {sum(scored.values()):,} scored rounds, the same for every method."


def chosen_streams(names: str | None, rounds: int | None) -> list[streams.ForecastStream]:
    """The bundled streams, or those that are named; a name with a dot is a file of forecasts."""
    found = []
    for name in names.split(",") if names else streams.names():
        read = streams.read_all(name) if "." in name else [streams.make(name)]
        for stream in read:
            if not isinstance(stream, streams.ForecastStream):
                sys.exit(f"{name} has no forecasts with outcomes: columns y and yhat are wanted")
            short = streams.ForecastStream(stream.name, stream.y[:rounds], stream.y_hat[:rounds])
            if len(short) < 3 * WINDOW:
                sys.exit(f"{stream.name} has {len(short)} rounds: at least {3 * WINDOW} are wanted")
            found.append(short)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--streams", metavar="NAMES", help="bundled streams or files, with commas; all bundled ones")
    parser.add_argument("--rounds", type=int, metavar="N", help="only the first N rounds of each; all")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write every number to this file as well")
    parser.add_argument("--read", type=Path, metavar="PATH", help="play nothing: tables of what --json wrote")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/peers.md")
    options = parser.parse_args()
    if options.read:
        kept = json.loads(options.read.read_text(encoding="utf-8"))
        rows, versions, m, whole = kept["rows"], kept["versions"], kept["machine"], True
    else:
        chosen, m = methods(), machine()
        versions = {method.package: method.version for method in chosen}
        print(f"wane {m['wane']}, compiled: {m['compiled']}; {m['cpu']}, load {m['load']}", file=sys.stderr)
        rows, whole = compare(chosen, chosen_streams(options.streams, options.rounds))
    if not rows:
        sys.exit(INTERRUPTED)
    print(everything(rows, versions))
    if options.json:
        write(options.json, {"machine": m, "versions": versions, "rules": __doc__, "means": means(rows), "rows": rows})
    if not whole:
        sys.exit(INTERRUPTED)
    if options.write:
        refresh(blocks(rows, versions), rows, versions, m)


def refresh(made: dict[str, str], rows: Sequence[dict[str, Any]], versions: dict[str, str | None], m: dict) -> None:
    """Put the tables into the pages, if they are the whole comparison."""
    missing = [package for package, version in versions.items() if version is None]
    wanted = {name: about.rounds for name, about in streams.names().items()}
    played = {row["stream"]: row["rounds"] + warm_up(wanted.get(row["stream"], 0)) for row in rows if "rounds" in row}
    if missing or not m["compiled"] or played != wanted:
        sys.exit(f"not written: wanted are all packages (missing: {missing}), compiled, on all rounds of all streams")
    sys.path.insert(0, str(ROOT / "tools"))
    from evidence import put

    put(made)
    subprocess.run([sys.executable, ROOT / "docs" / "peers_chart.py"], check=True)


if __name__ == "__main__":
    main()
