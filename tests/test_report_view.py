"""The report in a browser: where it opens, the strip over all rounds, dots, alarms, dates and words explained."""

import browser
import numpy as np
import pytest
from test_report import track
from test_report_chance import normal

from wane.report import Track, numbers, write

pytestmark = pytest.mark.skipif(
    browser.found() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
)
VIEW = "[view.min, view.max]"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    made = browser.Page(browser.found(), tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def opened(tab, tmp_path):
    """A function that writes tracks as a report and opens it; afterwards there was no complaint."""

    def open_(*tracks, **more):
        tab.events.clear()
        tab.size(1200, 900)
        write(tmp_path / "r.html", tracks, **more)
        tab.open(tmp_path / "r.html")
        tab.settle()
        return tab

    yield open_
    assert tab.complaints() == []


def box(tab, selector):
    return tab.run(
        f"(({{left, top, width, height}}) => [left, top, width, height])"
        f"(document.querySelector('{selector}').getBoundingClientRect())"
    )


@pytest.mark.parametrize(("rounds", "shown"), [(5000, 300), (421, 300), (400, 400), (7, 7)])
def test_the_page_opens_on_the_last_few_hundred_rounds(opened, rounds, shown):
    tab = opened(track(rounds, missing=False))
    low, high = tab.run(VIEW)
    assert high == rounds - 1 and high - low + 1 == shown
    tab.run("actions.all()")
    tab.settle()
    assert tab.run(VIEW) == [0, rounds - 1]
    tab.run("actions.last()")
    tab.settle()
    assert tab.run(VIEW) == [low, high]


def test_the_strip_is_dragged_and_so_are_its_ends(opened):
    tab = opened(track(10_000, missing=False))
    left, top, width, height = box(tab, "#strip")
    at = lambda share: (left + share * width, top + 0.5 * height)  # noqa: E731
    seen = lambda: [v / 9999 for v in tab.run(VIEW)]  # noqa: E731
    tab.drag(at(0.4), at(0.4))  # beyond the brush: it goes there
    low, high = seen()
    assert (low + high) / 2 == pytest.approx(0.4, abs=0.005) and high - low == pytest.approx(0.03, abs=0.002)
    tab.drag(at(0.4), at(0.6))  # its middle moves it
    assert sum(seen()) / 2 == pytest.approx(0.6, abs=0.005)
    tab.drag(at(seen()[0]), at(0.3))  # its ends widen it
    assert seen()[0] == pytest.approx(0.3, abs=0.01)
    tab.drag(at(seen()[1]), at(0.9))
    assert seen()[1] == pytest.approx(0.9, abs=0.01) and seen()[0] == pytest.approx(0.3, abs=0.01)
    brush = box(tab, ".brush")
    assert brush[0] - left == pytest.approx(0.3 * width, abs=12) and brush[2] == pytest.approx(0.6 * width, abs=20)
    tab.until("charts.every((c) => c.u.scales.x.min === view.min)")


def test_the_strip_by_keyboard(opened):
    tab = opened(track(5000, dates=True))
    assert tab.run("document.activeElement.className") != "brush"
    tab.run("document.querySelector('.brush').focus()")
    before = tab.run(VIEW)
    for key in ("ArrowLeft", "ArrowLeft"):
        tab.ask("Input.dispatchKeyEvent", type="keyDown", key=key)
        tab.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        tab.settle()
    low, high = tab.run(VIEW)
    assert high - low == pytest.approx(before[1] - before[0]) and low == pytest.approx(before[0] - 0.5 * (high - low))
    said = tab.run("document.querySelector('.brush').getAttribute('aria-valuetext')")
    assert said == tab.run("document.getElementById('range').textContent") and " 20" in said


@pytest.mark.parametrize(
    ("step", "unit", "said"),
    [
        (1, "h", "1 Jan 2024, 00:00 \u2013 2 Jan 2024, 15:00"),
        (1, "D", "1 Jan \u2013 9 Feb 2024"),
        (1, "M", "Jan 2024 \u2013 Apr 2027"),
        (1, "Y", "2024 \u2013 2063"),
        (20, "s", "1 Jan 2024, 00:00:00 \u2013 00:13:00"),
    ],
)
def test_time_ranges_read_as_people_write_dates(opened, step, unit, said):
    made = track(40, missing=False)
    time = np.datetime64("2024-01-01").astype(f"datetime64[{unit}]") + step * np.arange(40)
    tab = opened(Track("s", "m", time, made.y, made.y_hat, made.levels, made.lower, made.upper))
    found = (
        tab.run("span(track_, view.first, view.last)").replace(" ", " ").replace("\u202f", " ").replace("\u2009", " ")
    )
    assert found.replace("\u2013", " \u2013 ").replace("  ", " ") == said
    labels = tab.run("charts[0].u.axes[0]._values")
    assert not any("/" in str(label) or "am" in str(label) for label in labels)


def test_dots_are_thinned_but_no_far_miss_is_lost(opened):
    made = normal(40_000)
    tab = opened(made)
    count = (
        "((c) => { const arcs = [], { ctx } = c.u, arc = ctx.arc;"
        " ctx.arc = function (...a) { arcs.push(a); return arc.apply(this, a); };"
        " c.u.redraw(false);"
        " const after = (done) => requestAnimationFrame(() => { delete ctx.arc; done(arcs.map((a) => a[1])); });"
        " return new Promise(after); })"
        "(charts[0])"
    )
    few = tab.run(count)
    low, high = (round(v) for v in tab.run("[view.from, view.to]"))
    misses = int((made.covered[low : high + 1, 0] == 0.0).sum())
    assert misses - 3 <= len(few) <= misses  # nearly every one has its dot
    tab.run("actions.all()")
    tab.settle()
    many = tab.run(count)
    width = tab.run("charts[0].u.bbox.width")
    assert (made.covered == 0.0).sum() > 3500 and len(many) <= 2 * width / 4
    top = tab.run(f"charts[0].u.valToPos({float(made.y.max())!r}, 'y', true)")
    assert min(many) == pytest.approx(top, abs=1.0)


def test_alarms_are_on_the_time_axis_and_lead_to_it(opened):
    scale = np.where((np.arange(3000) > 900) & (np.arange(3000) < 1100), 4.0, 1.0)
    made = normal(3000, scale=scale, start="2024-01-01")
    below, above = numbers.alarms(made, 0, 100)
    assert below
    tab = opened(made)
    assert tab.run("document.querySelectorAll('#alarms .alarm').length") == min(6, len(below) + len(above))
    first = "Array.from(document.querySelectorAll('#alarms .alarm.bad')).at(-1)"
    assert tab.run(f"{first}.textContent").startswith("\u25bc ")
    tab.run(f"{first}.click()")
    tab.settle()
    shown = tab.run("[view.from, view.to]")
    assert any(shown[0] <= at <= shown[1] for at in below)
    at = next(at for at in below if shown[0] <= at <= shown[1])
    colour = tab.run(
        f"((u, i) => {{ const x = Math.round(u.valToPos(view.x[i], 'x', true));"
        f" const y = Math.round(u.bbox.top + u.bbox.height);"
        f" return Array.from(u.ctx.getImageData(x, y - 1, 1, 1).data); }})(charts[0].u, {at})"
    )
    assert colour[0] > 180 and colour[2] < 90  # the triangle of the colour of misses
    assert " the last on " in tab.run("charts[0].spec.said")


def test_the_worst_window_is_one_button_away(opened):
    made = normal(5000, scale=np.where((np.arange(5000) > 900) & (np.arange(5000) < 1000), 4.0, 1.0))
    tab = opened(made)
    tab.run("document.querySelector('[data-do=worst]').click()")
    tab.settle()
    first, last = numbers.judged(made, 0, 100).worst_at
    low, high = tab.run(VIEW)
    assert low < first and last < high and high - low < 500


@pytest.mark.parametrize("way", ["pointer", "focus"])
def test_winkler_and_pinball_are_explained(opened, way):
    tab = opened(normal(300, "a"), normal(300, "b", seed=1))
    for term, word in (("winkler", "2/alpha"), ("pinball", "quantile")):
        head = f"#streams [data-term={term}]"
        tab.run(f"document.querySelector('{head}').scrollIntoView({{block: 'center'}})")
        tab.settle()
        assert tab.run("document.getElementById('tip').hidden")
        if way == "pointer":
            left, top, width, height = box(tab, head)
            tab.mouse("mouseMoved", left + width / 2, top + height / 2)
        else:
            tab.run(f"document.querySelector('{head}').focus({{preventScroll: true}})")
        tab.until("!document.getElementById('tip').hidden")
        assert word in tab.run("document.getElementById('tip').textContent")
        left, top, width, height = box(tab, "#tip")
        assert 0 <= left and left + width <= 1200 and 0 <= top and top + height <= 900
        tab.ask("Input.dispatchKeyEvent", type="keyDown", key="Escape")
        assert tab.run("document.getElementById('tip').hidden")
        described = tab.run(f"document.querySelector('{head}').getAttribute('aria-describedby')")
        assert word in tab.run(f"document.getElementById('{described}').textContent")
        tab.mouse("mouseMoved", 5, 5)
        tab.run("document.activeElement.blur()")


def test_a_panel_opens_on_its_worst_series_and_a_click_brings_the_charts_into_view(opened):
    tracks = [normal(300, f"s{i}", seed=i, spread=1.0 if i == 7 else 1.645) for i in range(20)]
    tab = opened(*tracks)
    assert tab.run("charts[0].spec.track.name") == "s7"
    assert tab.run("document.querySelector('.multiple').getAttribute('aria-pressed')") == "true"
    for selector in (".multiple[data-name=s4]", "#streams tr[data-row=s5]"):
        tab.run(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
        tab.settle()
        tab.run(f"document.querySelector('{selector}').click()")
        name = "s4" if "s4" in selector else "s5"
        tab.until(f"charts[0].spec.track.name === '{name}'")
        tab.settle()
        _, top, _, _ = box(tab, "#chart-series")
        assert 0 < top < 500
    assert tab.run("document.querySelectorAll('.multiple').length") == 20
    assert tab.run("document.querySelectorAll('svg.drawing rect').length") > 5
