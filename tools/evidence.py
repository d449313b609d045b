"""Refresh what docs/ shows of the experiments, by the very commands that they name.

python tools/evidence.py [--tinyimagenet FILE.npz]
python tools/evidence.py --families [--seeds 5]      only the optimisers on images and control tasks: an hour or two

Runs `wane reproduce`, `wane bench streams` and `wane bench lifelong` on bundled data, and with a file also on that one,
into build/evidence; copies the figures to docs/figures and puts tables and sentences between the marks that name them.
(docs/theory_experiments.py writes the page of the theory.)
Times are measured: run it on a machine that does nothing else.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "evidence"
PAGES = sorted((ROOT / "docs").glob("*.md"))


def wane(*arguments):
    command = [sys.executable, "-m", "wane", *map(str, arguments)]
    print("wane", *arguments[:4], "...", flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def put(blocks):
    """Replace what is between the marks of each name; a name that is nowhere is an error."""
    for name, text in blocks.items():
        mark = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.S)
        found = 0
        for page in PAGES:
            old = page.read_text()
            new, count = mark.subn(lambda m, text=text: m[1] + "\n" + text.strip() + "\n\n" + m[2], old)
            found += count
            if new != old:
                page.write_text(new)
        if not found:
            sys.exit(f"no page has the mark <!-- begin {name} -->")


def lifelong(folder):
    """The blocks of what `wane bench lifelong` wrote into a folder."""
    tasks = side_by_side(columns((folder / "tasks.md").read_text(), (0, 1, 3, 9, 10)))
    return {"lifelong-convex": (folder / "convex.md").read_text(), "lifelong-tasks": tasks}


def side_by_side(table):
    """A table whose first column is a place and whose second a method, with a row for each method instead."""
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    found = {}
    for place, method, *cells in rows:
        found.setdefault(method, {})[place] = cells
    places = list(dict.fromkeys(row[0] for row in rows))
    names = ["method", *(f"{place}, {name}" for place in places for name in head[2:])]
    lines = [names, ["---"] * len(names)]
    lines += [[method, *(cell for place in places for cell in row[place])] for method, row in found.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def families(folder, seeds):
    """The block of what `wane bench lifelong --family images` and `control` wrote, a column for each place."""
    scores = {}
    for family in ("images", "control"):
        out = folder / family
        wane("bench", "lifelong", "--family", family, "--defaults", "--seeds", seeds, "--out", out)
        for line in (out / f"{family}.md").read_text().splitlines()[2:]:
            where, method, _, score, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            scores.setdefault(method, {})[where] = score
    places = list(dict.fromkeys(where for row in scores.values() for where in row))
    lines = ["| method | " + " | ".join(places) + " |", "| --- " * (1 + len(places)) + "|"]
    for method, row in sorted(scores.items(), key=lambda item: item[1][places[0]], reverse=True):
        lines.append(f"| {method} | " + " | ".join(row.get(where, "") for where in places) + " |")
    return {"lifelong-families": "\n".join(lines)}


def columns(table, kept):
    """Keep these columns of a table."""
    cells = [line.strip("|").split("|") for line in table.strip().splitlines()]
    return "\n".join("|" + "|".join(row[k] for k in kept) + "|" for row in cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tinyimagenet", type=Path, metavar="FILE.npz")
    parser.add_argument("--families", action="store_true", help="only images and control tasks, which take long")
    parser.add_argument("--seeds", type=int, default=5, help="of these")
    options = parser.parse_args()
    file, blocks = options.tinyimagenet, {}
    if options.families:
        put(families(OUT, options.seeds))
        return
    wane("reproduce", "table1", "fig1", "fig2", "fig3", "--data", "digits", "--out", OUT / "digits")
    wane("bench", "streams", "--out", OUT / "bench")
    wane("bench", "lifelong", "--out", OUT / "lifelong")
    results = json.loads((OUT / "digits" / "results.json").read_text())
    blocks["table1-digits"] = (OUT / "digits" / "table1.md").read_text()
    for name in ("fig1", "fig2", "fig3"):
        blocks[f"{name}-digits"] = results[name]["sentence"]
    blocks["leaderboard"] = columns((OUT / "bench" / "leaderboard.md").read_text(), (0, 1, 2, 4, 5, 11))
    blocks["pareto"] = json.loads((OUT / "bench" / "leaderboard.json").read_text())["sentence"]
    blocks |= lifelong(OUT / "lifelong")
    if file is not None:
        wane("reproduce", "table1", "--data", file, "--out", OUT / "table1-tiny")
        blocks["table1-tiny"] = (OUT / "table1-tiny" / "table1.md").read_text()
    put(blocks)
    shown = ROOT / "docs" / "figures"
    figures = {figure: shown for figure in [*(OUT / "digits").glob("fig*.png"), OUT / "bench" / "pareto.png"]}
    figures |= {figure: shown / "lifelong" for figure in (OUT / "lifelong").glob("*.png")}
    for figure, place in figures.items():
        place.mkdir(exist_ok=True)
        shutil.copy(figure, place / figure.name)
    print(f"{len(blocks)} blocks and {len(figures)} figures are fresh")


if __name__ == "__main__":
    main()
