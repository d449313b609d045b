"""A report on a bundled stream: draws ``docs/figures/report.png`` and ``report_figure.png``, and measures the page.

Run it with ``python docs/report.py``; it prints the table of ``report.md``. It needs matplotlib,
``wane[data]`` and Chromium.
"""

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
STREAM, ALPHAS, OTHER = "sunspots", (0.1, 0.2, 0.05), "magl"
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


def track(method):
    """The stream by a method, with the bound on its coverage sum where there is one."""
    stream = make(STREAM)
    oc = wane.OnlineConformal(method, alpha=list(ALPHAS), score="absolute")
    table = oc.run(stream.y_hat, stream.y)
    made = Track(STREAM, method, stream.time, stream.y, stream.y_hat, ALPHAS, table.lower, table.upper, table.covered)
    return made, [level.coverage_bound for level in oc.metrics().values()]


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


def main():
    """Everything."""
    import browser

    found = [track(method) for method in ("auto", OTHER)]
    tracks = [made for made, _ in found]
    bounds = {made.method: bound for made, bound in found}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "report.html"
        write(path, tracks, {"score": "absolute", "coverage_bound": bounds}, title="Sunspots, monthly")
        page = browser.Page(browser.found(), folder / "profile", width=1100, height=1290)
        page.open(path)
        page.settle()
        (HERE / "figures" / "report.png").write_bytes(page.picture())
        page.close()
        print("| rounds | file | written in | first paint | charts drawn | a frame of zooming |")
        print("|---|---|---|---|---|---|")
        for row in measured(browser, folder):
            print(row)
    figure(tracks[0]).savefig(HERE / "figures" / "report_figure.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
