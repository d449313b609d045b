"""The leaderboard into a folder: a table, a figure of coverage error against width, every number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wane import streams
from wane.checks import share
from wane.errors import InputError
from wane.experiments import figures, leaderboard, parallel
from wane.experiments.figures import COLOURS, GREY
from wane.experiments.leaderboard import Entry
from wane.experiments.results import Finding, markdown, versions, write_csv, write_json
from wane.state.files import replace_file
from wane.streams.files import IN_FOLDERS, SUFFIXES
from wane.trackers.registry import refuse_unknown

COLUMNS = {  # head: key, form
    "method": ("method", ""),
    "off target": ("miss_of_target", ".4f"),
    "LCE_100": ("lce_100", ".3f"),
    "worst LCE": ("lce_100_worst", ".2f"),
    "pinball": ("pinball_ratio", ".3f"),
    "worst": ("pinball_worst", ".3f"),
    "Winkler": ("winkler_ratio", ".3f"),
    "width": ("width_ratio", ".2f"),
    "infinite": ("infinite", ".4f"),
    "rank": ("rank_pinball", ".1f"),
    "rank LCE": ("rank_lce_100", ".1f"),
    "ns": ("nanoseconds", ".0f"),
}
LETTER, LINE = 6.0, 11.0  # pixels, of the names in the figure
PLACES = [(side, up) for up in (0.0, LINE, -LINE, 2 * LINE) for side in (0, -1)]
OWN = ("leaderboard.csv", "pareto.csv")  # files of ours, should they stand among the streams
CAPTION = (
    "off target is the distance of the coverage from the target; pinball, Winkler and width are divided by the best on "
    "the stream; rank is that by pinball loss; ns is the time of a round in an array, the median over the streams"
)


def bundled() -> list[Entry]:
    """The real streams out of installed packages, and the digits."""
    series = [leaderboard.entry(name, [streams.make(name)]) for name in streams.names()]
    return [*series, leaderboard.entry("digits-sudden", [streams.digits("sudden")])]


def folder(path: Path) -> list[Entry]:
    """One entry for a file, or for each file of a folder; the series of a file count as one."""
    if not path.exists():
        cure = f"give 'bundled', a file {', '.join(SUFFIXES)}, or a folder of such files"
        raise InputError(f"{path} is not there", argument="data", cure=cure)
    there = [f for f in path.iterdir() if f.suffix in IN_FOLDERS and f.name not in OWN] if path.is_dir() else [path]
    files = sorted(there)
    if not files:
        raise InputError(f"{path} holds no stream", argument="data", cure=f"files {', '.join(IN_FOLDERS)} are wanted")
    stems = [f.stem for f in files]
    names = [f.stem if stems.count(f.stem) == 1 else f.name for f in files]
    return [leaderboard.entry(name, streams.read_all(f)) for name, f in zip(names, files, strict=True)]


def run(
    entries: Sequence[Entry],
    methods: Sequence[str],
    alpha: float,
    out: Path,
    count: int | None = None,
    started: Callable[[str, int], Callable[[], Any]] = lambda name, ticks: lambda: None,
) -> dict[str, Any]:
    """Play, or find again what was played; write leaderboard.{json,csv,md} and pareto.{pdf,svg,png,csv}."""
    share("alpha", alpha)
    figures.needed()
    refuse_unknown(methods)
    short = [e.name for e in entries if not e.scores]
    entries = [e for e in entries if e.scores]
    if not entries:
        raise InputError(f"no stream has {leaderboard.LEAST} rounds, the fewest that can be judged")
    out.mkdir(parents=True, exist_ok=True)
    tick = started("streams", len(entries) * len(methods))
    rows = leaderboard.ranked(parallel.run(entries, methods, alpha, out / "cache", count, tick))
    lines = leaderboard.board(rows)
    finding = pareto(lines)
    write_csv(out / "leaderboard.csv", {key: [row[key] for row in rows] for key in rows[0]})
    write_csv(out / "pareto.csv", finding.data)
    replace_file(out / "leaderboard.md", markdown(list(COLUMNS), cells(lines)).encode(), sync=False)
    drawn = figures.save(finding, out)
    results = {
        "alpha": alpha,
        "streams": {e.name: {"series": len(e.scores), "rounds": sum(map(len, e.scores))} for e in entries},
        "too_short": short,
        "leaderboard": lines,
        "rows": rows,
        "sentence": finding.sentence,
        "defaults": leaderboard.defaults(methods),
        "rules": leaderboard.__doc__,
        "versions": versions(),
        "files": ["leaderboard.json", "leaderboard.csv", "leaderboard.md", "pareto.csv", *(p.name for p in drawn)],
    }
    write_json(out / "leaderboard.json", results)
    return results


def cells(lines: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The text of the table."""
    return [[format(line[key], form) for key, form in COLUMNS.values()] for line in lines]


def pareto(lines: Sequence[dict[str, Any]]) -> Finding:
    """Coverage error against width: who is not beaten in both by another."""
    real = [line for line in lines if line["method"] not in leaderboard.NO_RIVAL]
    points = {line["method"]: (line["miss_of_target"], line["width_ratio"]) for line in real}
    front = [
        name
        for name, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    ]
    front.sort(key=lambda name: points[name])
    said = (
        "Nobody is both nearer to the target and narrower, on average over the streams, than "
        f"{', '.join(front)}; of {len(points)} methods."
    )
    data = {
        "method": list(points),
        "miss_of_target": [x for x, _ in points.values()],
        "width_ratio": [y for _, y in points.values()],
        "front": [int(name in front) for name in points],
    }
    return Finding("pareto", said, {"front": front}, data, lambda f: draw(f, points, front), (6.5, 4.5))


def draw(figure: Any, points: dict[str, tuple[float, float]], front: Sequence[str]) -> None:
    """Points with names, the front as a line of steps."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes = figure.subplots()
    for name, (x, y) in points.items():
        best = name in front
        axes.plot(x, y, "o" if best else "s", color=COLOURS[0] if best else GREY, markersize=4)
    line = {"color": COLOURS[0], "linewidth": 0.8, "alpha": 0.4}
    xs, ys = ([points[name][k] for name in front] for k in (0, 1))
    axes.step(xs, ys, "--", where="post", **line)
    axes.set_xscale("log")
    axes.margins(x=0.2)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("distance of the coverage from its target, mean over the streams")
    axes.set_ylabel("width / the narrowest on the stream, mean")
    figure.draw_without_rendering()
    taken: list[tuple[float, float, float]] = []
    for name, point in sorted(points.items(), key=lambda item: item[1][1]):
        x, y = axes.transData.transform(point)
        length = LETTER * len(name)
        right, up = min(
            PLACES, key=lambda place: (crowded(taken, x + place[0] * length, y + place[1], length), abs(place[1]))
        )
        taken.append((x + right * length, y + up, length))
        side = "left" if right == 0 else "right"
        offset = (4 if right == 0 else -4, 0.72 * up - 3)
        axes.annotate(name, point, textcoords="offset points", xytext=offset, fontsize=7, ha=side)


def crowded(taken: Sequence[tuple[float, float, float]], x: float, y: float, length: float) -> bool:
    """Whether a name at this place covers another one."""
    return any(abs(y - b) < LINE and x < a + n and a < x + length for a, b, n in taken)
