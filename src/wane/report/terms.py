"""The words of the page explained: as a list at its end, and beside the pointer or the focus where they are used."""

from __future__ import annotations

from html import escape

from wane.report.sentences import SPACE

COMMON = {
    "inside": (
        "Inside",
        "The share of outcomes that lie in their interval or set: the coverage. It should equal the target.",
    ),
    "target": ("From target", "Coverage minus target, in percentage points. Below 0 there were too many misses."),
    "worst": ("Worst window", "The lowest coverage of so many outcomes in a row, anywhere in the series."),
    "row": ("Misses in a row", "The longest run of outcomes outside, one after the other."),
    "chance": (
        "Chance allows",
        f"Where the coverage of so many outcomes would lie in 99.7{SPACE}% of cases, if misses were independent and "
        "their probability right.",
    ),
    "alarm": (
        "Alarm",
        "The local coverage left the target by more than three standard deviations. ▼ too few inside, ▲ too many. The "
        "next alarm comes after coverage was back, or if it moves to the other side.",
    ),
}
INTERVALS = {
    "width": (
        "Mean width",
        "Upper end minus lower end, the mean of the finite intervals. Narrower is better at the same coverage.",
    ),
    "infinite": ("Infinite", "The share of intervals that reach to infinity, because the method knew too little."),
    "winkler": (
        "Winkler score",
        "The width of an interval, plus 2/alpha times the distance by which it missed. Smaller is better: it rewards "
        "narrow intervals and punishes misses, so it cannot be improved by being too narrow or too wide.",
    ),
    "pinball": (
        "Pinball loss",
        "A loss that is smallest at a quantile. Here it is that of both ends together, which is alpha/2 times the "
        "Winkler score: a miss costs its distance, and width costs alpha/2 a unit. Smaller is better.",
    ),
}
SETS = {
    "size": ("Mean size", "How many labels are in a set, on average. Smaller is better at the same coverage."),
    "pinball": (
        "Pinball loss",
        "A loss that is smallest at a quantile, here of the scores that decide which labels are in a set. Smaller "
        "is better.",
    ),
}


def glossary(intervals: bool) -> str:
    """The list, from which the tips take their texts."""
    terms = COMMON | (INTERVALS if intervals else SETS)
    lines = "".join(
        f'<dt>{escape(name)}</dt><dd id="term-{key}">{escape(text)}</dd>' for key, (name, text) in terms.items()
    )
    return f'<details class="glossary"><summary>Words on this page</summary><dl>{lines}</dl></details>'
