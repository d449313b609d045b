"""The report in a real browser, without a display: what is drawn, what can be done with it, and what it does not do."""

import base64
import csv
import io
import re

import browser
import numpy as np
import pytest
from test_report import track

from wane.charts import asset
from wane.report import Track, numbers, write

PROGRAM = browser.found()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM")
WIDE, PHONE = (1200, 900), (390, 800)
CHARTS = ["series", "coverage", "width", "radius", "sum"]
VIEW = "[view.min, view.max]"
SCALES = "charts.map(({ u }) => [u.scales.x.min, u.scales.x.max])"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    """One browser for all tests."""
    made = browser.Page(PROGRAM, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A long series with dates, and a panel of three series by two methods at two levels."""
    folder = tmp_path_factory.mktemp("reports")
    long = track(20_000, dates=True, levels=(0.1,))
    lower = long.lower.copy()
    lower[:5] = -np.inf
    long = Track("long", "auto", long.time, long.y, long.y_hat, long.levels, lower, long.upper)
    panel = [track(250 + 40 * i, f"s{i}", m, i, spread=s) for i in range(12) for m, s in (("auto", 1.0), ("wide", 1.4))]
    unknown = Track("s99", "auto", None, [np.nan] * 9, None, panel[0].levels, np.zeros((9, 2)), np.ones((9, 2)))
    write(folder / "long.html", [long], {"coverage_bound": 400.0})
    write(folder / "panel.html", [*panel, unknown])
    return {"folder": folder, "long": long, "panel": panel}


@pytest.fixture
def opened(tab, files):
    """A function that opens a report; afterwards there was no complaint and no request but for the page."""

    def open_(name, size=WIDE, phone=False, dark=False, everything=True):
        tab.events.clear()
        tab.size(*size, phone)
        tab.scheme(dark)
        tab.open(files["folder"] / f"{name}.html")
        if everything:
            tab.run("actions.all()")
        tab.settle()
        return tab

    yield open_
    assert tab.complaints() == []
    assert {url.rpartition("/")[2] for url in tab.requests()} <= {"long.html", "panel.html"}
    assert all(url.startswith("file:") for url in tab.requests())


def middle(tab, chart="series", part=0.5):
    """A point of a chart, scrolled into sight."""
    tab.run(f"document.getElementById('chart-{chart}').scrollIntoView({{block: 'center'}})")
    box = tab.run(
        f"(({{left, top, width, height}}) => [left, top, width, height])"
        f"(charts.find((c) => c.spec.id === '{chart}').u.over.getBoundingClientRect())"
    )
    return box[0] + part * box[2], box[1] + 0.5 * box[3]


def rendered(tab, chart):
    """How many pixels of a chart in a picture of the page are not its background, and how many are the dots'."""
    image = pytest.importorskip("PIL.Image")
    tab.run(f"document.getElementById('chart-{chart}').scrollIntoView({{block: 'center'}})")
    tab.settle()
    box = tab.run(
        f"(({{left, top, right, bottom}}) => [left, top, right, bottom].map(Math.round))"
        f"(charts.find((c) => c.spec.id === '{chart}').u.over.getBoundingClientRect())"
    )
    pixels = np.asarray(image.open(io.BytesIO(tab.picture())).convert("RGB").crop(box)).astype(int)
    background = np.array(
        tab.run("getComputedStyle(document.querySelector('figure')).backgroundColor.match(/\\d+/g).map(Number)")
    )
    other = (np.abs(pixels - background).max(axis=2) > 24).mean()
    orange = ((pixels[..., 0] > pixels[..., 2] + 60) & (pixels[..., 0] > 120)).mean()
    return other, orange


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("size", "phone"), [(WIDE, False), (PHONE, True)])
@pytest.mark.parametrize("name", ["long", "panel"])
def test_charts_are_drawn(opened, name, size, phone, dark):
    tab = opened(name, size, phone, dark)
    assert tab.run("charts.map((c) => c.spec.id)") == CHARTS
    for chart in CHARTS:
        other, orange = rendered(tab, chart)
        assert 0.003 < other < 0.9, chart
        assert chart != "series" or orange > 1e-4  # the outcomes outside
    assert tab.run("document.documentElement.scrollWidth") == size[0]  # nothing hangs over the edge
    low, high = sorted(tab.run("[css('--page'), css('--ink')].map((c) => parseInt(c.slice(1, 3), 16))"))
    assert (tab.run("parseInt(css('--page').slice(1, 3), 16)") == low) == dark and high - low > 150


def test_zoom_and_pan_by_mouse(opened):
    tab = opened("long")
    first, last = tab.run(VIEW)
    span = last - first
    tab.drag(middle(tab, part=0.25), middle(tab, part=0.5))
    low, high = tab.run(VIEW)
    assert low == pytest.approx(first + 0.25 * span, abs=0.02 * span)
    assert high == pytest.approx(first + 0.5 * span, abs=0.02 * span)
    tab.until(f"{SCALES}.every(([a, b]) => a === view.min && b === view.max)")  # all charts, also those out of sight
    date = r"\d{1,2} [A-Z][a-z]{2} \d{4}"
    assert re.fullmatch(rf"{date} \u2013 {date}", tab.run("document.getElementById('range').textContent"))
    tab.drag(middle(tab, part=0.5), middle(tab, part=0.75), modifiers=8)  # with shift: to what was before
    moved = tab.run(VIEW)
    assert moved[0] == pytest.approx(low - 0.25 * (high - low), abs=0.02 * span) and moved[1] - moved[
        0
    ] == pytest.approx(high - low)
    tab.mouse("mouseWheel", *middle(tab), deltaX=0, deltaY=-200, modifiers=2)
    tab.settle()
    closer = tab.run(VIEW)
    assert closer[1] - closer[0] == pytest.approx((high - low) / np.e, rel=0.01)
    x, y = middle(tab)
    for clicks in (1, 2):
        tab.mouse("mousePressed", x, y, button="left", clickCount=clicks)
        tab.mouse("mouseReleased", x, y, button="left", clickCount=clicks)
    tab.settle()
    assert tab.run(VIEW) == [first, last]


def test_zoom_by_buttons_and_keys(opened):
    tab = opened("panel")
    first, last = tab.run(VIEW)
    for do, want in [("in", 0.5), ("in", 0.25), ("out", 0.5), ("all", 1.0)]:
        tab.run(f"document.querySelector('[data-do={do}]').click()")
        tab.settle()
        low, high = tab.run(VIEW)
        assert high - low == pytest.approx(want * (last - first))
    tab.run("document.getElementById('chart-width').focus()")
    seen = []
    for key in ("+", "ArrowRight", "ArrowLeft", "ArrowLeft", "0"):
        tab.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        tab.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        tab.settle()
        seen.append(tab.run(VIEW))
    quarter = 0.125 * (last - first)
    assert np.allclose(np.diff([a for a, _ in seen[:4]]), [quarter, -quarter, -quarter]) and seen[4] == [first, last]
    for _ in range(40):
        tab.run("actions.in()")
        tab.settle()
    low, high = tab.run(VIEW)
    assert first <= low < high <= last and high - low >= 1.0  # never an empty chart
    tab.run("actions.all()")


def test_fingers(opened):
    tab = opened("long", PHONE, phone=True)
    tab.ask("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    first, last = tab.run(VIEW)
    x, y = middle(tab)
    tab.touch([(x - 20, y), (x + 20, y)], [(x - 40, y), (x + 40, y)], [(x - 80, y), (x + 80, y)])
    low, high = tab.run(VIEW)
    assert high - low == pytest.approx((last - first) / 4, rel=0.1)
    tab.touch([(x, y)], [(x + 30, y)], [(x + 60, y)])
    moved = tab.run(VIEW)
    assert moved[0] < low and moved[1] - moved[0] == pytest.approx(high - low)
    tab.ask("Emulation.setTouchEmulationEnabled", enabled=False)


def column(tab, at):
    return tab.run(f"Array.from(document.querySelectorAll('#streams tbody tr'), (r) => valueOf(r.cells[{at}]))")


def test_sorting_finding_and_choosing(opened, files):
    tab = opened("panel")
    click = "document.querySelectorAll('#streams thead button')[{}].click()"
    tab.run(click.format(3))  # Inside
    values = column(tab, 3)
    known = [float(v) for v in values if v]
    assert known == sorted(known) and values[-1] == "" and len(values) == 25
    assert tab.run("document.querySelectorAll('#streams th')[3].getAttribute('aria-sort')") == "ascending"
    tab.run(click.format(3))
    values = column(tab, 3)
    assert [float(v) for v in values if v] == known[::-1] and values[-1] == ""  # what is not known stays last
    want = max(files["panel"], key=lambda t: numbers.judged(t, 0, 100).coverage)
    assert (column(tab, 0)[0], column(tab, 1)[0]) == (want.name, want.method)
    tab.run(click.format(0))
    assert column(tab, 0)[::2][:12] == [f"s{i}" for i in range(12)]  # s2 before s10
    tab.run("var find = document.getElementById('streams-find'); find.value = 'S1'; find.oninput()")
    shown = tab.run(
        "Array.from(document.querySelectorAll('#streams tbody tr')).filter((r) => !r.hidden).map((r) => r.dataset.row)"
    )
    assert set(shown) == {"s1", "s10", "s11"}
    tab.run("document.querySelector('#streams tbody tr[data-row=s7]').click()")
    tab.until("charts[0].spec.track.name === 's7'")
    assert tab.run("document.getElementById('choose-name').selectedOptions[0].textContent") == "s7"
    assert tab.run("view.last") == len(next(t for t in files["panel"] if t.name == "s7")) - 1
    tab.run("document.querySelector('#streams tbody tr[data-row=s99]').click()")  # without an outcome
    tab.until("charts[0].spec.track.name === 's99'")


def shown_csv(tab, chart):
    return list(csv.DictReader(io.StringIO(tab.run(f"csvOf('{chart}')"))))


def test_methods_levels_and_the_data_behind_each_chart(opened, files):
    tab = opened("panel")
    mine, other = files["panel"][:2]
    tab.run(f"chosen.name = '{mine.name}'; show()")
    tab.until(f"charts[0].spec.track.name === '{mine.name}'")
    rows = shown_csv(tab, "series")
    assert list(rows[0]) == [
        "round",
        *(f"{e} {p}\u00a0%" for p in (90, 70) for e in ("upper", "lower")),
        "forecast",
        "outcome",
        "inside 90\u00a0%",
    ]
    got = np.array([[float(v or "nan") for v in row.values()] for row in rows]).T
    ends = [mine.upper[:, 0], mine.lower[:, 0], mine.upper[:, 1], mine.lower[:, 1]]
    np.testing.assert_allclose(
        got, [np.arange(len(mine)), *ends, mine.y_hat, mine.y, mine.covered[:, 0]], rtol=1e-5, atol=1e-5
    )
    for level in (0, 1):
        tab.run(
            f"var s{level} = document.getElementById('choose-level'); s{level}.value = {level}; s{level}.onchange()"
        )
        tab.until(f"charts[0].spec.said.includes('{100 - 100 * mine.levels[level]:.0f}\u00a0%')")
        for key in ("coverage", "width", "sum"):
            rows = shown_csv(tab, key)
            for made in (mine, other):
                want = numbers.curves(made, level, 100)[key]
                found = np.array([float(row[made.method] or "nan") for row in rows])
                np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    tab.run("var m = document.getElementById('choose-method'); m.value = 1; m.onchange()")
    tab.until("charts[0].spec.track.method === 'wide'")
    radius = np.array([float(row["radius"]) for row in shown_csv(tab, "radius")])
    np.testing.assert_allclose(radius, 0.5 * (other.upper - other.lower)[:, 1], rtol=1e-5)
    lines = list(csv.reader(io.StringIO(tab.run("tableText(document.getElementById('streams'))"))))
    assert lines[0][:4] == ["Series", "Method", "Outcomes", "Inside"]
    assert float(lines[1][3]) == numbers.judged(mine, 0, 100).coverage


def test_a_file_is_downloaded(opened, tmp_path):
    tab = opened("long")
    tab.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=False)
    tab.run("document.querySelector('figure .csv').click()")
    tab.until("1")
    path = tmp_path / "long-long-series.csv"
    for _ in range(500):
        if path.exists():
            break
        tab.settle()
    rows = path.read_text().splitlines()
    assert rows[0] == "time,upper,lower,forecast,outcome,inside" and len(rows) == 20_001
    assert rows[1].startswith("2020-01-01,") and rows[1].split(",")[2] == "-inf" and rows[10_002].endswith(",,")


def test_thinning_keeps_the_extremes(opened, files):
    tab = opened("long")
    long = files["long"]
    for part in (1.0, 0.4, 0.05):
        start = 0.3 * (1 - part)
        tab.run(f"var at = (s) => view.first + s * (view.last - view.first); look(at({start}), at({start + part}))")
        tab.settle()
        a, b = tab.run("[view.from, view.to]")
        drawn = tab.run("charts[0].u.data.map((c) => Array.from(c))")
        width = tab.run("charts[0].u.width")
        assert len(drawn[0]) <= 4 * width and all(len(c) == len(drawn[0]) for c in drawn)
        outcomes = [v for v in drawn[-1] if v is not None]
        assert min(outcomes) == pytest.approx(np.nanmin(long.y[a : b + 1]), abs=1e-4)
        assert max(outcomes) == pytest.approx(np.nanmax(long.y[a : b + 1]), abs=1e-4)
        if b - a + 1 > 4 * width:
            assert len(drawn[0]) == 2 * width
            cuts = [a + p * (b - a + 1) // width for p in range(width + 1)]
            for p in (0, width // 3, width - 1):
                piece = long.y[cuts[p] : cuts[p + 1]]
                pair = drawn[-1][2 * p : 2 * p + 2]
                assert sorted(pair) == pytest.approx([np.nanmin(piece), np.nanmax(piece)], abs=1e-4)
        else:
            assert len(drawn[0]) == b - a + 1


def test_text_instead_of_charts(opened, files):
    tab = opened("long")
    spoken = tab.run("Array.from(document.querySelectorAll('.chart'), (c) => c.getAttribute('aria-label'))")
    assert len(spoken) == 5 and all("long" in text and " from " in text for text in spoken)
    worst = numbers.judged(files["long"], 0, 100).worst
    assert f"{100 * worst:.0f}\u00a0%" in spoken[1]
    tab.run("document.querySelectorAll('figure details')[1].open = true")
    tab.until("document.querySelectorAll('figure details')[1].querySelectorAll('tbody tr').length === 12")
    named = "(b) => !!(b.textContent.trim() || b.getAttribute('aria-label'))"
    assert tab.run(f"Array.from(document.querySelectorAll('button, select, input')).every({named})")
    assert tab.run("document.querySelector('svg.calibration').getAttribute('aria-label')").startswith("Calibration")


def test_paper_is_light_and_the_screen_comes_back(opened):
    tab = opened("panel", dark=True)
    before = tab.run("css('--page')")
    tab.run("addEventListener('beforeprint', () => { window.onPaper = [css('--page'), charts[0].u.width] })")
    pdf = base64.b64decode(tab.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    assert tab.run("window.onPaper") == ["#fbfbf9", 720]
    assert tab.run("css('--page')") == before and tab.run("charts[0].u.width") > 800


def test_the_page_follows_the_window(opened):
    tab = opened("long")
    wide = tab.run("charts[0].u.width")
    tab.size(600, 900)
    tab.until(f"charts[0].u.width < {wide} - 300")
    assert tab.run("document.documentElement.scrollWidth") == 600


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_and_lines_stand_out():
    """WCAG: 4.5 for text, 3 for what is drawn; in both themes."""
    style = asset("theme.css")
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root[^{]*\{([^}]*)\}", style)]
    assert len(themes) == 2
    for theme in themes:
        for paper in ("page", "paper"):
            base = luminance(theme[paper])
            for name, least in [("ink", 4.5), ("soft", 4.5), ("miss", 3.0), *((f"c{i}", 3.0) for i in range(6))]:
                dark, light = sorted([base, luminance(theme[name])])
                assert (light + 0.05) / (dark + 0.05) >= least, (name, theme[name])


# The last call before the first track is unpacked: what follows it at once comes before anything is drawn.
EARLY = """
const usual = window.matchMedia.bind(window);
window.matchMedia = (query) => {
  queueMicrotask(() => {
    if (window.early !== undefined) return;
    window.early = current === null;
    for (const button of document.querySelectorAll("[data-do]")) button.click();
    const level = document.getElementById("choose-level");
    level.value = 1;
    level.onchange();
    for (const button of document.querySelectorAll("[data-do]")) button.click();
    dispatchEvent(new Event("beforeprint"));
    dispatchEvent(new Event("afterprint"));
  });
  return usual(query);
};
"""


def test_controls_that_are_used_before_the_first_draw(opened, tab):
    script = tab.ask("Page.addScriptToEvaluateOnNewDocument", source=EARLY)["identifier"]
    try:
        opened("panel", everything=False)
    finally:
        tab.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    assert tab.run("early") is True
    assert tab.run("chosen.level") == 1
    low, high = tab.run(VIEW)
    assert tab.run("view.first") <= low < high == tab.run("view.last")
    assert all(scale == tab.run(VIEW) for scale in tab.run(SCALES))
