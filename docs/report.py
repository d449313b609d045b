"""A report on a table of sales: draws ``docs/figures/report*.png``, and measures the page.

``report.png`` is the page as it opens on ``examples/sales.csv`` at the time when the noise triples.

Run it with ``python docs/report.py``; it prints the table of ``report.md``. It needs matplotlib,
``pip install ".[data]"`` and Chromium.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import wane
from wane.report import Track, figure, write
from wane.streams import make

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
STREAM, ALPHAS = "sunspots", (0.1, 0.2, 0.05)
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# From the beginning of a frame until what is in sight is painted; reading a pixel waits for that.
FRAMES = """(async () => {
  const took = [];
  for (let i = 0; i < 40; i++) {
    const span = view.last - view.first;
    let began;
    requestAnimationFrame(() => { began = performance.now(); });
    look(view.first + 0.01 * i * span, view.last - 0.005 * i * span);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    for (const { u, stale } of charts) if (!stale) u.ctx.getImageData(0, 0, 1, 1);
    took.push(performance.now() - began);
  }
  return took.sort((a, b) => a - b)[20];
})()"""


def track():
    """A bundled stream at three levels."""
    stream = make(STREAM)
    table = wane.OnlineConformal("auto", alpha=list(ALPHAS), score="absolute").run(stream.y_hat, stream.y)
    ends = (table.lower, table.upper, table.covered)
    return Track(STREAM, "auto", stream.time, stream.y, stream.y_hat, ALPHAS, *ends)


def noise(rounds):
    """A random walk with noise around it, which does not repeat and so hardly compresses."""
    rng = np.random.default_rng(0)
    y_hat, errors = np.cumsum(rng.normal(size=rounds)), rng.normal(size=rounds)
    radii = wane.trackers.make("magl", ALPHAS[0]).run(np.abs(errors))
    return Track("noise", "magl", None, y_hat + errors, y_hat, ALPHAS[:1], y_hat - radii, y_hat + radii)


def measured(browser, folder):
    """Rows of the table of sizes and times."""
    for rounds in (10_000, 100_000):
        path = folder / f"{rounds}.html"
        made = noise(rounds)
        began = time.perf_counter()
        write(path, [made])
        wrote = time.perf_counter() - began
        page = browser.Page(browser.found(), folder / f"profile{rounds}")
        page.open(path)
        page.settle()
        ready = page.run("performance.getEntriesByName('charts')[0].startTime")
        paint = page.run(PAINT)
        page.run("document.getElementById('bar').scrollIntoView()")
        frame = page.run(FRAMES)
        page.close()
        size = path.stat().st_size / 1e6
        cells = (f"{size:.2f} MB", *(f"{ms:.0f} ms" for ms in (1e3 * wrote, paint, ready, frame)))
        yield f"| {rounds:,} | {' | '.join(cells)} |"


def sales(folder):
    """The report that ``wane run examples/sales.csv --report report.html`` writes."""
    path = folder / "report.html"
    table, out = HERE.parent / "examples" / "sales.csv", folder / "intervals.csv"
    command = [sys.executable, "-m", "wane", "run", table.name, "--out", out, "--report", path]
    subprocess.run(command, check=True, capture_output=True, cwd=table.parent)
    return path


def main():
    """Everything."""
    import browser

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = browser.Page(browser.found(), folder / "profile", width=1100, height=920)
        page.open(sales(folder))
        # The noise triples in the spring of 2024: show the months around it.
        page.run("look(...['2024-02-15', '2024-06-30'].map((day) => Date.parse(day) / 1000))")
        page.settle()
        (HERE / "figures" / "report.png").write_bytes(page.picture())
        page.close()
        if "--pictures" not in sys.argv:
            print("| rounds | file | written in | first paint | charts drawn | a frame of zooming |")
            print("|---|---|---|---|---|---|")
            for row in measured(browser, folder):
                print(row)
    figure(track()).savefig(HERE / "figures" / "report_figure.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
