"""Reports of data that is hard to draw: few, tiny, huge, infinite, sparse, narrow or uneven numbers."""

import csv
import datetime
import io
import re

import browser
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_report import embedded, track

from wane.report import Track, page, read, write
from wane.report.calibration import drawing
from wane.report.packing import unpacked
from wane.report.sentences import SPACE, headline, on_target, percent, target

needs_browser = pytest.mark.skipif(
    browser.found() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"
)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_called_all_or_none_only_if_it_is(hits, more):
    said = percent(hits / (hits + more)).replace(SPACE, " ")
    assert said != "100 %" and (said == "0 %") == (hits == 0)
    assert float(said.removesuffix(" %")) == pytest.approx(100 * hits / (hits + more), abs=0.05001)


@pytest.mark.parametrize(("alpha", "said"), [(0.1, "90 %"), (0.025, "97.5 %"), (0.0027, "99.73 %"), (1e-5, "99.999 %")])
def test_a_target_is_said_as_it_was_given(alpha, said):
    made = track(300, levels=(alpha,))
    assert target(alpha).replace(SPACE, " ") == said
    assert f"the target was {said}. " in page.page([made]).replace(SPACE, " ")


def test_the_figure_names_its_level():
    pytest.importorskip("matplotlib")
    from wane.report import figure

    texts = figure(track(300, levels=(0.025,))).axes[0].get_legend().get_texts()
    assert texts[0].get_text().replace(SPACE, " ") == "97.5 % interval"


def test_the_figure_of_infinite_intervals_sparse_outcomes_and_a_constant_width():
    pytest.importorskip("matplotlib")
    from wane.report import figure

    y = np.where(np.arange(300) % 2, np.nan, np.arange(300.0))
    ends = np.arange(300.0)[:, None] + [-1.65, 1.65]
    ends[:10] = -np.inf, np.inf
    series, _, width = figure(Track("s", "m", None, y, None, [0.1], *ends.T)).axes
    low, high = series.get_ylim()
    corners = series.collections[0].get_paths()[0].vertices
    assert {low, high} <= set(corners[corners[:, 0] == 5.0, 1])  # the band reaches from edge to edge
    dots = [line for line in series.lines if line.get_marker() == "." and len(line.get_xdata()) == 150]
    assert len(dots) == 1 and dots[0].get_color() == "black"
    low, high = width.get_ylim()
    assert low < 3.2 and high > 3.4


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_calibration_knows_no_share_below_none(shares):
    alphas = np.linspace(0.05, 0.95, len(shares)).tolist()
    art = drawing({"": shares}, alphas)
    ticks = [float(text) for text in re.findall(r">(-?[\d.e-]+)</text>", art)]
    assert len(ticks) >= 4 and min(ticks) >= 0.0 and max(ticks) == 100.0
    assert all(0.0 <= float(at) <= 320.0 for at in re.findall(r'<path class="mark c0" d="M([\d.-]+) ', art))


def test_methods_in_the_calibration_have_a_legend():
    found = page.page([track(60, "s", m) for m in ("a", "<b>")])
    marks = re.findall(r"<li><svg.*?</svg> (.*?)</li>", found)
    assert marks == ["a", "&lt;b&gt;"] and 'class="legend"' not in page.page([track(60)])


def test_words_about_little():
    one = Track("s", "m", None, [1.0], None, [0.1], [0.0], [2.0])
    none = Track("s", "m", None, [np.nan], None, [0.1], [0.0], [2.0])
    from wane.report.numbers import judged

    assert headline(judged(one, 0, 1), 0.1, 1, 1).startswith(f"100{SPACE}% of 1 outcome was inside; ")
    assert on_target(judged(none, 0, 1), 0.1) == f"target 90{SPACE}%"


@pytest.mark.parametrize(("start", "step"), [(0.0, 1e6), (1e12, 0.0), (-1e9, 300.0)])
def test_narrow_intervals_of_a_long_climb_stay_as_wide_as_they_are(start, step):
    rounds = np.arange(2000)
    y_hat, radius = start + step * rounds, 30.0 + 10.0 * np.sin(rounds / 50)
    made = Track("climb", "m", None, y_hat + 7.0, y_hat, [0.1], y_hat - radius, y_hat + radius)
    (charts,) = embedded(page.page([made]))["tracks"]
    lower, upper = (unpacked(charts["levels"][0][side]) for side in ("lower", "upper"))
    np.testing.assert_allclose((upper - lower) / 2, radius, rtol=1e-3)
    np.testing.assert_allclose(unpacked(charts["y"]) - unpacked(charts["y_hat"]), 7.0, rtol=1e-3)


def test_times_that_are_none_are_not_passed_over_in_silence(tmp_path):
    path, told = tmp_path / "r.csv", []
    path.write_text("ds,y,lower_0.1,upper_0.1\n2024-01-01,1,0,2\nlater,1,0,2\n")
    (made,) = read(path, told=told.append)
    assert made.time is None and any("'ds' is a time" in text and "--time" in text for text in told)
    told.clear()
    path.write_text("ds,y,lower_0.1,upper_0.1\n2024-01-01,1,0,2\n2024-01-02,1,0,2\n")
    assert read(path, told=told.append)[0].time is not None and len(told) == 1


def test_times_with_a_zone_are_universal():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    times = [datetime.datetime(2024, 1, 1 + i, 1, tzinfo=zone) for i in range(2)]
    made = Track("s", "m", times, [1.0, 2.0], None, [0.1], [0.0] * 2, [3.0] * 2)
    assert made.time.astype(str).tolist() == ["2023-12-31T23:00:00.000", "2024-01-01T23:00:00.000"]
    pandas = pytest.importorskip("pandas")
    again = Track("s", "m", pandas.Series(times), [1.0, 2.0], None, [0.1], [0.0] * 2, [3.0] * 2)
    assert (again.time == made.time).all()


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    made = browser.Page(browser.found(), tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def opened(tab, tmp_path):
    """A function that writes tracks as a report and opens it; afterwards there was no complaint."""

    def open_(*tracks):
        tab.events.clear()
        write(tmp_path / "r.html", tracks)
        tab.open(tmp_path / "r.html")
        tab.run("actions.all()")
        tab.settle()
        return tab

    yield open_
    assert tab.complaints() == []


def chart(name):
    return f"charts.find((c) => c.spec.id === '{name}')"


def column(tab, name, at):
    """A column of the file behind a chart."""
    rows = csv.DictReader(io.StringIO(tab.run(f"csvOf('{name}')")))
    return np.array([float(row[at] or "nan") for row in rows])


@needs_browser
@pytest.mark.parametrize("all_of_them", [True, False])
def test_infinite_intervals_are_beyond_the_edges(opened, all_of_them):
    y = np.linspace(0.0, 1000.0, 300)
    lower, upper = np.full(300, -np.inf), np.full(300, np.inf)
    if not all_of_them:
        lower[:50], upper[:50] = y[:50] - 0.1, y[:50] + 0.1  # these tell nothing about where the others end
    tab = opened(Track("s", "m", None, y, y, [0.1], lower, upper))
    low, high = tab.run(f"(({{ min, max }}) => [min, max])({chart('series')}.u.scales.y)")
    drawn = np.array(tab.run(f"{chart('series')}.u.data.slice(1, 3).map((c) => Array.from(c))"), dtype=float)
    assert (drawn[0, 50:] > high).all() and (drawn[1, 50:] < low).all()
    said = f"(({{ u }}) => [1, 2].map((s) => u.series[s].value(u, u.data[s][299])))({chart('series')})"
    assert tab.run(said) == ["∞", "\u2212∞"]  # what the legend says under the cursor
    radius = tab.run(f"{chart('radius')}.u.data.at(-1)[299] > {chart('radius')}.u.scales.y.max")
    assert radius and "infinite" in tab.run(f"{chart('width')}.spec.said")
    assert (": infinite" in tab.run(f"{chart('series')}.holder.getAttribute('aria-label')")) == all_of_them


@needs_browser
@pytest.mark.parametrize(
    ("rounds", "at", "dark"), [(1, [0], [1]), (60, [12, 13, 34, 47], [1, 0, 1, 0]), (100_000, [24_000, 24_500], [1, 0])]
)
def test_an_outcome_without_neighbours_is_seen(opened, rounds, at, dark):
    y = np.where(np.arange(rounds) % (2 if rounds < 100 else 1000), np.nan, 0.37)
    tab = opened(Track("s", "m", None, y, None, [0.1], [-9.0] * rounds, [9.0] * rounds))
    found = tab.run(
        "((u, times) => { const { width, height } = u.ctx.canvas, { data } = u.ctx.getImageData(0, 0, width, height);"
        "  const px = (v, axis) => Math.round(u.valToPos(v, axis, true));"
        "  const at = (x) => 4 * (px(0.37, 'y') * width + px(x, 'x'));"
        "  return times.map(at).map((i) => data[i] + data[i + 1] + data[i + 2] < 200 && data[i + 3] > 200); })"
        f"({chart('series')}.u, {at})"
    )
    assert found == [bool(d) for d in dark]


@needs_browser
@pytest.mark.parametrize("size", [1e-12, 1e-5, 1.0, 1e15])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_the_numbers_of_an_axis_differ_and_are_those_of_its_ticks(opened, size, start):
    y = size * (start + np.sin(np.arange(300.0)))
    tab = opened(Track("s", "m", None, y, y, [0.1], y - size, y + size))
    for name in ("series", "width", "radius", "sum"):
        ticks, texts = tab.run(f"(({{ u }}) => [u.axes[1]._splits, u.axes[1]._values])({chart(name)})")
        assert len(set(texts)) == len(texts) >= 2
        np.testing.assert_allclose([float(t.replace(",", "")) for t in texts], ticks, rtol=1e-6, atol=1e-9 * size)


@needs_browser
def test_a_constant_width_is_a_level_line(opened):
    made = track(500, missing=False)  # whose widths differ in their last digits
    tab = opened(Track("s", "m", None, made.y, None, [0.1], made.y_hat - 1.65, made.y_hat + 1.65))
    for name, size in (("width", 3.3), ("radius", 1.65)):
        low, high = tab.run(f"(({{ min, max }}) => [min, max])({chart(name)}.u.scales.y)")
        assert high - low > 0.05 * size


@needs_browser
@pytest.mark.parametrize("value", [1e-12, 0.1234567890123, 3e15, -7.0])
def test_the_file_has_the_number_at_the_middle_too(opened, value):
    y = np.array([value, value, value, 2 * value, value / 3])
    tab = opened(Track("s", "m", None, y, y, [0.1], y - abs(value), y + abs(value)))
    np.testing.assert_allclose(column(tab, "series", "outcome"), y, rtol=2e-7)
    assert column(tab, "series", "outcome")[:3].tolist() == [value] * 3


@needs_browser
def test_sides_of_an_interval_far_from_zero(opened):
    made = track(300, missing=False)
    far = 1e6 + made.y_hat
    tab = opened(Track("s", "m", None, 1e6 + made.y, far, [0.1], far - 1.0, far + 2.0))
    np.testing.assert_allclose(column(tab, "radius", "above the forecast"), 2.0, rtol=1e-3)
    np.testing.assert_allclose(column(tab, "radius", "below the forecast"), 1.0, rtol=1e-3)
    climb = np.arange(2000) * 1e6
    tab = opened(Track("s", "m", None, climb, climb, [0.1], climb - 5.0, climb + 5.0))
    np.testing.assert_allclose(column(tab, "radius", "radius"), 5.0, rtol=1e-3)


@needs_browser
def test_sides_of_intervals_that_begin_with_nothing(opened):
    made = track(300, missing=False)
    radius = np.minimum(np.maximum(np.arange(300) - 20.0, 0.0), 30.0)  # as a method that knows no scale begins
    tab = opened(Track("s", "m", None, made.y, made.y_hat, [0.1], made.y_hat - radius, made.y_hat + radius))
    np.testing.assert_allclose(column(tab, "radius", "radius"), radius, atol=1e-4)
    tab = opened(Track("s", "m", None, made.y, made.y_hat, [0.1], made.y_hat - radius, made.y_hat + 1.1 * radius))
    np.testing.assert_allclose(column(tab, "radius", "above the forecast"), 1.1 * radius, atol=1e-4)


@needs_browser
def test_the_worst_window_may_be_before_the_charts(opened, monkeypatch):
    monkeypatch.setattr(page, "MOST_ROUNDS", 300)
    y = np.where(np.arange(1000) < 100, 9.0, 0.0)
    tab = opened(Track("s", "m", None, y, None, [0.1], [-1.0] * 1000, [1.0] * 1000))
    assert tab.run(f"{chart('coverage')}.spec.said").startswith(
        f"The worst window, 0{SPACE}%, was before these rounds."
    )


@needs_browser
def test_methods_with_other_rounds_are_drawn_at_their_times_or_named(opened):
    a, b = track(300, "s", "a", dates=True, levels=(0.1,)), track(300, "s", "b", dates=True, levels=(0.1,), spread=0.7)
    late = Track("s", "b", b.time[40:], b.y[40:], b.y_hat[40:], b.levels, b.lower[40:], b.upper[40:])
    tab = opened(a, late)
    sums = column(tab, "sum", "b")
    known = ~np.isnan(b.y)
    want = np.full(300, np.nan)
    want[40:][known[40:]] = np.cumsum((b.covered[40:, 0] == 0.0)[known[40:]] - 0.1)
    np.testing.assert_allclose(sums, want, atol=1e-4)
    assert "Without" not in tab.run(f"{chart('sum')}.spec.said")
    tab = opened(track(300, "s", "a"), track(280, "s", "b"))  # nothing says which rounds b has
    assert tab.run(f"{chart('sum')}.spec.series.map((s) => s.label)") == ["a"]
    assert "Without b: " in tab.run(f"{chart('sum')}.spec.said")


@needs_browser
def test_the_last_choice_is_shown_whichever_is_read_first(opened):
    tab = opened(track(50, "first"), track(60, "slow"), track(50, "fast"))
    tab.run(
        "var quick = loaded; loaded = async (t) => {"
        "  if (t.name === 'slow') await new Promise((done) => setTimeout(done, 100)); return quick(t); };"
        "chosen.name = 'slow'; var slow = show(); chosen.name = 'fast'; Promise.all([slow, show()]).then(() => 1)"
    )
    assert tab.run("charts[0].spec.track.name") == "fast" and len(tab.run("charts.map((c) => c.spec.id)")) == 5


@needs_browser
def test_paper_says_what_its_charts_are_of(opened):
    tab = opened(track(50, "north", "a"), track(50, "south", "a"))
    tab.run("chosen.name = 'south'; chosen.level = 1; show()")
    shown = "getComputedStyle(document.querySelector('.paper')).display"
    assert tab.run(shown) == "none"
    tab.ask("Emulation.setEmulatedMedia", media="print")
    assert tab.run(shown) == "block" and tab.run("getComputedStyle(document.getElementById('bar')).display") == "none"
    assert tab.run("document.querySelector('.paper').textContent") == f"Charts: south, a, 70{SPACE}%."
    tab.ask("Emulation.setEmulatedMedia", media="")


@needs_browser
def test_a_table_of_many_series_is_one_stop_for_the_keyboard(opened):
    tab = opened(*(track(50, f"s{i}") for i in range(30)))
    rows = "document.querySelectorAll('#streams tbody tr')"
    assert tab.run(f"Array.from({rows}, (r) => r.tabIndex)") == [0] + [-1] * 29
    tab.run(f"{rows}[0].focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown", "Enter"):
        tab.ask("Input.dispatchKeyEvent", type="keyDown", key=key)
        tab.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
    tab.until("charts[0].spec.track.name === 's2'")
    assert tab.run("document.activeElement.dataset.row") == "s2"
    assert tab.run("document.querySelector('tr[aria-current=true]').dataset.row") == "s2"
    tab.run("var find = document.getElementById('streams-find'); find.value = '29'; find.oninput()")
    assert tab.run(f"Array.from({rows}).filter((r) => r.tabIndex === 0).map((r) => r.dataset.row)") == ["s29"]
