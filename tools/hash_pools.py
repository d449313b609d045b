"""What hash pools cost against one pool: the table of docs/cluster.md.

python tools/hash_pools.py [FOLDER] [--pools 4 16 64] [--alpha 0.1]

FOLDER holds panels as tools/panel_table.py describes them; without it the panels are some that anyone can make. Each
panel is played by one pool, and again with its series dealt out to pools by the hash of their ids, as
``wane.integrations`` deals them out on a cluster. "Series" is the median number of series of a pool, "first 20" the
coverage of the first 20 rows of a series. Pinball loss and width are relative to one pool. Numbers are means over
panels.
"""

import argparse
from pathlib import Path

import numpy as np
from panel_table import Panel, bundled, by_method, from_folder, measured

from wane.panel.partitions import HASH_POOLS, hash_pools


def by_pools(panel, alpha, count):
    """Radii of a panel whose series learn from each other within so many pools."""
    names = np.array(hash_pools(range(panel.ids.max() + 1), count))[panel.ids]
    radii = np.full(len(panel.t), np.nan)
    for name in np.unique(names):
        mine = names == name
        part = Panel(name, *(a[mine] for a in (panel.y, panel.yhat, panel.ids, panel.t)), panel.h)
        radii[mine] = by_method(part, alpha, "pool")
    return radii


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="of .npz files; without it, panels that are made here")
    parser.add_argument("--pools", nargs="*", type=int, default=[4, HASH_POOLS, 64], help="how many")
    parser.add_argument("--alpha", type=float, default=0.1, help="the level")
    options = parser.parse_args()
    found, sizes = {count: [] for count in (1, *options.pools)}, {count: [] for count in (1, *options.pools)}
    for panel in bundled() if options.folder is None else from_folder(options.folder):
        one = by_method(panel, options.alpha, "pool")
        for count, rows in found.items():
            radii = one if count == 1 else by_pools(panel, options.alpha, count)
            rows.append(measured(panel, radii, one, options.alpha))
            sizes[count].append((panel.ids.max() + 1) / count)
    print(f"{len(found[1])} panels, alpha {options.alpha:g}\n")
    print("| pools | series | first 20 | all rows | worst panel | pinball | worst | width | none |")
    print("| --- |" + " --- |" * 8)
    for count, rows in found.items():
        means = {key: np.nanmean([row[key] for row in rows]) for key in rows[0]}
        worst = max((row["all"] for row in rows), key=lambda share: abs(share - 1.0 + options.alpha))
        numbers = (means["first"], means["all"], worst, means["pinball"], max(row["pinball"] for row in rows))
        cells = [f"{x:.3f}" for x in (*numbers, means["width"], means["none"])]
        print(f"| {count} | {np.median(sizes[count]):.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
