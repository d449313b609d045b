"""The report in words: the headline, and what compares methods and streams."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import binom

from wane.report.chance import SURE, band, surprise
from wane.report.numbers import Numbers

RARE = 0.01  # the share of infinite intervals up to which a mean of the finite ones is compared
LUCK = 0.975  # the share of panels on target that have no more series outside than is called luck
NONE = "\u2013"  # a dash where there is no number
MOST_DIGITS = 6  # behind the point of a percentage
SPACE = "\u00a0"  # between a number and its unit: no line ends there


@dataclasses.dataclass(frozen=True)
class Words:
    """How a page speaks of intervals, or of label sets."""

    kicker: str
    intervals: bool
    outcome: str
    outcomes: str
    were: str  # inside
    inside: str  # as a head
    mean_width: str


INTERVALS = Words("Prediction intervals", True, "outcome", "outcomes", "inside", "Inside", "Mean width")
SETS = Words("Label sets", False, "label", "labels", "in the set", "In the set", "Mean size")


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage, without a needless .0; one near 0 or 1 has the digits that tell it from these.

    >>> [percent(x).replace(SPACE, " ") for x in (0.896, 0.9, 0.99996, 1.0)]
    ['89.6 %', '90 %', '99.996 %', '100 %']
    """
    if math.isnan(share):
        return NONE
    while digits < MOST_DIGITS and 0.0 < share < 1.0 and round(100.0 * share, digits) in (0.0, 100.0):
        digits += 1
    text = f"{100.0 * share:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + SPACE + "%"


def target(alpha: float) -> str:
    """The share that is to be inside, to the last digit.

    >>> [target(alpha).replace(SPACE, " ") for alpha in (0.1, 0.0027)]
    ['90 %', '99.73 %']
    """
    return percent(1.0 - alpha, 8)


def amount(x: float) -> str:
    """A number in four digits.

    >>> amount(1234567.0), amount(0.00012345), amount(math.inf), amount(12.0)
    ('1,234,567', '0.0001234', '∞', '12')
    """
    if math.isnan(x):
        return NONE
    if math.isinf(x):
        return "∞"
    return f"{x:,.0f}" if 1e4 <= abs(x) < 1e12 else f"{x:.4g}"


def headline(overall: Numbers, alpha: float, k: int, streams: int, words: Words = INTERVALS) -> str:
    """What happened, in two sentences."""
    if not overall.labels:
        return f"No {words.outcome} is known yet, so nothing can be said about coverage."
    where = f" in {streams:,} series" if streams > 1 else ""
    outcomes = f"{words.outcome} was" if overall.labels == 1 else f"{words.outcomes}{where} were"
    said = (
        f"{percent(overall.coverage)} of {overall.labels:,} {outcomes} {words.were}; the target was {target(alpha)}. "
    )
    if not overall.worst_at:
        return said.rstrip()
    where = f" ({overall.name})" if streams > 1 else ""
    return f"{said}In the worst {k} steps in a row{where}, {percent(overall.worst)} were {words.were}."


def on_target(overall: Numbers, alpha: float) -> str:
    """The target, and how far the coverage is from it."""
    said = f"target {target(alpha)}"
    if not overall.labels:
        return said
    points = 100.0 * (overall.coverage - (1.0 - alpha))
    if abs(points) < 0.05:
        return f"{said}: on target"
    far = f"{abs(points):.1f}"
    return f"{said}: {far} point{'' if far == '1.0' else 's'} {'above' if points > 0 else 'below'}"


def on_methods(by_method: Mapping[str, Numbers], alpha: float) -> str:
    """Which method was nearest to the target, and which was narrowest; nothing for one method."""
    known = {name: n for name, n in by_method.items() if n.labels}
    if len(known) < 2:
        return ""
    nearest = min(known, key=lambda name: abs(known[name].coverage - (1.0 - alpha)))
    narrowest = min(known, key=lambda name: (known[name].infinite > RARE, known[name].width))
    best = known[nearest]
    said = f"Of {len(known)} methods, {nearest} came nearest to the target "
    said += f"({percent(best.coverage)}, mean width {amount(best.width)})"
    if narrowest == nearest:
        return f"{said}, and it was also the narrowest."
    other = known[narrowest]
    return f"{said}; {narrowest} was the narrowest ({percent(other.coverage)}, mean width {amount(other.width)})."


@dataclasses.dataclass(frozen=True)
class Strange:
    """How many series chance does not explain.

    Args:
        series: how many have outcomes.
        below, above: how many have fewer inside than chance allows, and how many more.
        worst: the name of the least likely one; "" if there is none.
        worst_said: its coverage in words.
    """

    series: int
    below: int
    above: int
    worst: str
    worst_said: str

    @property
    def outside(self) -> int:
        """Below or above."""
        return self.below + self.above

    @property
    def more_than_luck(self) -> bool:
        """Whether there are several series, and more outside than luck would put there."""
        return self.series > 1 and self.outside > binom.ppf(LUCK, self.series, 1.0 - SURE)


def strange_ones(found: Sequence[Numbers], alpha: float) -> Strange:
    """Which series of one method chance does not explain."""
    known = [n for n in found if n.labels]
    if not known:
        return Strange(0, 0, 0, "", "")
    labels, misses = (np.array([getattr(n, name) for n in known]) for name in ("labels", "misses"))
    low, high = band(alpha, labels)
    shares = np.array([n.coverage for n in known])
    worst = known[int(np.argmax(surprise(alpha, labels, misses)))]
    below, above = int(np.count_nonzero(shares < low)), int(np.count_nonzero(shares > high))
    return Strange(len(known), below, above, worst.name, f"{percent(worst.coverage)} of {worst.labels:,}")


def on_streams(found: Strange) -> str:
    """How many series chance does not explain, beside how many it would put there; nothing for one series."""
    if found.series < 2:
        return ""
    by_luck = (1.0 - SURE) * found.series
    expected = "less than one" if by_luck < 0.5 else f"about {by_luck:.0f}"
    return (
        f"Of {found.series:,} series, {found.below:,} are below what chance allows and {found.above:,} above; by luck "
        f"it would be {expected}. The least likely is {found.worst}: {found.worst_said}."
    )
