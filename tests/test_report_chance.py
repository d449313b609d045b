"""What chance allows: the verdict, the ranking of series, coverage by category, the histogram over series."""

import html
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from test_report import cells, embedded

from wane.metrics.verdict import Judged
from wane.report import Track, numbers, page
from wane.report.categories import by_factor
from wane.report.chance import SURE, band, surprise
from wane.report.histogram import counted
from wane.report.verdicts import FEW, GOOD, OFF, state_of

HOUR = np.timedelta64(1, "h")


def plain(text):
    """What a reader reads in the page."""
    body = text.partition("<main>")[2].partition("<script")[0]
    return html.unescape(re.sub(r"<[^>]*>", "", body)).replace("\u00a0", " ")


def normal(rounds, name="s", spread=1.645, seed=0, scale=1.0, start=None, step=HOUR, **more):
    y = np.random.default_rng(seed).normal(size=rounds) * scale
    time = None if start is None else np.datetime64(start, "ms") + step * np.arange(rounds)
    ends = np.full(rounds, spread)
    return Track(name, "auto", time, y, np.zeros(rounds), [0.1], -ends, ends, **more)


@given(st.integers(1, 3000), st.floats(0.01, 0.5))
def test_the_band_holds_what_it_promises(labels, alpha):
    low, high = (round(float(end) * labels) for end in band(alpha, labels))
    inside = binom.cdf(high, labels, 1 - alpha) - binom.cdf(low - 1, labels, 1 - alpha)
    assert inside >= SURE - 1e-9 and 0 <= low <= high <= labels


@given(st.integers(1, 500), st.floats(0.05, 0.5), st.data())
def test_more_misses_than_expected_are_ever_more_surprising(labels, alpha, data):
    expected = int(np.ceil(alpha * labels))
    misses = data.draw(st.integers(expected, labels))
    found = surprise(alpha, [labels] * (labels - misses + 1), np.arange(misses, labels + 1))
    assert (np.diff(found) >= 0.0).all()
    assert -binom.logsf(misses - 1, labels, alpha) >= found[0] - 1e-9  # it never says more than the probability does


def test_the_page_opens_on_the_least_likely_series_not_on_the_farthest_share():
    short = Track("short", "auto", None, [0.0, 0.0, 9.0, 9.0, 0.0], None, [0.1], [-1.0] * 5, [1.0] * 5)  # 60 % of 5
    long = normal(2000, "long", spread=1.2)  # 77 % of 2,000
    text = page.page([short, normal(400, "good"), long])
    assert embedded(text)["names"][0] == "long"
    assert re.search(r"Of 3 series, 1 are below .* The least likely is long", plain(text))
    assert re.findall(r'class="multiple" data-name="(\w+)"', text)[0] == "long"


@pytest.mark.parametrize(
    ("rounds", "spread", "state", "said"),
    [
        (1000, 1.645, GOOD, "On target"),
        (1000, 1.0, OFF, "Off target by more than chance"),
        (1000, 4.0, OFF, "Off target by more than chance"),
        (50, 1.645, FEW, "Too early to judge"),
    ],
)
def test_the_verdict_comes_first_with_a_reason_and_advice(rounds, spread, state, said):
    text = page.page([normal(rounds, spread=spread)], {"file": "my sales.csv"})
    block = re.search(rf'<div class="verdict {state}" id="verdict".*?</div>', text, flags=re.S)[0]
    assert block.index(said) < block.index("headline") < block.index("Why:") < block.index("What to do:")
    assert ("wane compare &#x27;my sales.csv&#x27;" in block) == (state == OFF) == ("role=alert" in block)
    assert text.index('id="verdict"') < text.index('class="cards"')


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_the_verdict_on_the_page_is_that_of_the_metrics(hits, misses):
    judged = Judged(0.1)
    judged.add(np.random.default_rng(0).permutation(np.arange(hits + misses) < hits))
    state = state_of(judged, 1)[0]
    assert (state == OFF) == (judged.verdict(1) is not None) and (state == FEW) == (hits + misses < 200)


def test_a_panel_on_target_as_a_whole_may_hide_series_that_are_not():
    good = [normal(400, f"s{i}", seed=i) for i in range(60)]
    assert "On target as a whole" not in page.page(good)
    bad = [normal(400, f"bad{i}", seed=50 + i, spread=1.2) for i in range(2)]
    said = plain(page.page(good + bad))
    assert "On target as a whole, but not in every series" in said
    assert re.search(r"Look at the 2 series that chance does not explain, bad\d first", said)


def test_coverage_by_weekday_and_hour_counts_every_outcome():
    made = normal(24 * 7 * 30, start="2024-01-01")  # a Monday
    y = np.where((made.time.astype("datetime64[D]").astype(int) + 3) % 7 == 6, 3.0 * made.y, made.y)  # wild Sundays
    made = Track("s", "auto", made.time, y, None, [0.1], made.lower, made.upper)
    found = by_factor([made], 0)
    assert list(found) == ["weekday", "hour"] and len(found["hour"]) == 24
    assert found["weekday"][0].name == "Monday"
    assert [c.name for c in found["weekday"] if c.outside] == ["Sunday"]
    for rows in found.values():
        assert sum(c.labels for c in rows) == len(made) and sum(c.misses for c in rows) == (made.covered == 0).sum()
    three = found["hour"][3]
    at_three = made.time.astype("datetime64[h]").astype(int) % 24 == 3
    assert three.name == "03:00" and three.coverage == pytest.approx(made.covered[at_three, 0].mean())
    text = page.page([made])
    assert "1 of 7 leave the grey band. The clearest is Sunday" in plain(text)
    line = next(line for line in cells(text, "by-0") if line[0] == "Sunday")
    assert float(line[1]) == found["weekday"][6].coverage


@pytest.mark.parametrize(
    ("start", "step", "factors"),
    [
        (None, HOUR, []),
        ("2020-01-01", 24 * HOUR, ["weekday"]),
        ("2020-01-01", 24 * 30 * HOUR, []),  # the weekdays of months say nothing
        ("2020-01-01", HOUR, ["weekday", "hour"]),
    ],
)
def test_only_what_the_times_can_tell_is_shown(start, step, factors):
    assert list(by_factor([normal(700, start=start, step=step)], 0)) == factors


def test_groups_of_the_user_are_judged_each():
    names = np.array(["north", "south"])[np.arange(2000) % 2]
    made = normal(
        2000, scale=np.where(names == "south", 2.0, 1.0), groups={"region": names, "size": np.arange(2000) // 1000}
    )
    found = by_factor([made, normal(100, "other")], 0)
    assert {name: [c.name for c in rows] for name, rows in found.items()} == {
        "region": ["north", "south"],
        "size": ["0", "1"],
    }
    assert [c.outside for c in found["region"]] == [False, True]
    assert found["region"][1].labels == 1000
    sliced = Track.judged("s", "auto", y=made.y, levels=[0.1], groups=made.groups, lower=made.lower, upper=made.upper)
    assert (sliced.groups["region"] == names).all()
    with pytest.raises(ValueError, match=r"groups\['region'\] must have shape \(3,\)"):
        normal(3, groups={"region": ["a"]})
    with pytest.raises(TypeError, match="groups must be a mapping"):
        normal(3, groups=["a"])


def test_of_many_groups_the_most_surprising_are_shown():
    made = normal(3000, scale=np.where(np.arange(3000) % 100 == 77, 5.0, 1.0), groups={"g": np.arange(3000) % 100})
    rows = by_factor([made], 0)["g"]
    assert len(rows) == 40 and rows[0].name == "77"


def test_the_histogram_counts_series_and_expects_as_many():
    found = [numbers.judged(normal(100 + 10 * i, str(i), seed=i), 0, 20) for i in range(80)]
    edges, there, expected = counted(found, 0.1)
    assert there.sum() == 80 and expected.sum() == pytest.approx(80, abs=0.5) and (np.diff(edges) > 0).all()
    share = sum(n.coverage >= edges[-2] for n in found)
    assert there[-1] == share
    # Literally: what chance gives the bar that holds the target.
    bar = int(np.searchsorted(edges, 0.9, side="right")) - 1
    want = sum(
        binom.pmf(h, n.labels, 0.9)
        for n in found
        for h in range(n.labels + 1)
        if edges[bar] <= h / n.labels < edges[bar + 1]
    )
    assert expected[bar] == pytest.approx(want, abs=1e-6)


def test_alarms_are_those_of_a_monitor():
    from wane.conformal.monitor import Monitor

    made = normal(900, scale=np.where(np.arange(900) > 500, 3.0, 1.0))
    monitor, below = Monitor(0.1, window=100), []
    for t in range(900):
        if monitor.add(made.covered[t, 0] == 1.0, 3.29) < 0:
            below.append(t)
    assert numbers.alarms(made, 0, 100)[0] == below and below
    assert embedded(page.page([made]))["tracks"][0]["levels"][0]["alarms"][0] == below
