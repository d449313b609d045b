"""Draw docs/figures/peers.png from the table of docs/peers.md: ``python docs/peers_chart.py``, after ``make peers``.

Each package is shown with the setting that has its smallest loss.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
OURS, OTHERS = "#1f77b4", "#b9bec6"
PANELS = {  # column of the table: what the reader is told
    "pinball": "loss (smaller is better;\n1 is the best fixed interval in hindsight)",
    "LCE_100": "how far the worst 100 rounds in a row\nare from 90 % (smaller is better)",
}


def best_of_each_package(page: str) -> list[dict[str, str]]:
    """The rows of the table, of each package the one with the smallest loss, the best first."""
    text = re.search(r"<!-- begin peers -->\n(.*?)<!-- end peers -->", page, flags=re.S)[1]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    head, rows = lines[0], [line for line in lines[2:] if "-" not in line]
    best: dict[str, dict[str, str]] = {}
    for row in (dict(zip(head, cells, strict=True)) for cells in rows):
        package = row["package"].split()[0]
        if package not in best or float(row["pinball"]) < float(best[package]["pinball"]):
            best[package] = row | {"package": package}
    return sorted(best.values(), key=lambda row: float(row["pinball"]))


def main() -> None:
    rows = best_of_each_package((DOCS / "peers.md").read_text())[::-1]
    names = [f"{row['package']}: {row['method'].split(',')[0]}" for row in rows]
    figure, axes = plt.subplots(1, len(PANELS), figsize=(9, 2.7), sharey=True, layout="constrained")
    for axis, (column, title) in zip(axes, PANELS.items(), strict=True):
        values = [float(row[column]) for row in rows]
        bars = axis.barh(names, values, color=[OURS if row["package"] == "wane" else OTHERS for row in rows])
        axis.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.set_xlim(0, 1.15 * max(values))
        axis.set_xticks([])
        axis.tick_params(length=0, labelsize=9)
        for side in axis.spines.values():
            side.set_visible(False)
    figure.savefig(DOCS / "figures" / "peers.png", dpi=150)


if __name__ == "__main__":
    main()
