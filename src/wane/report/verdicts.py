"""The first lines of the page: on target or not, by how much more than chance, why, and what to do."""

from __future__ import annotations

import shlex
from html import escape

from wane.metrics.verdict import LEAST, Judged
from wane.report.sentences import Strange, Words

GOOD, OFF, FEW, MIXED = "good", "off", "few", "mixed"
STATUS = {
    GOOD: "On target",
    OFF: "Off target by more than chance",
    FEW: "Too early to judge",
    MIXED: "On target as a whole, but not in every series",
}
SET_WORDS = {"intervals": "sets", "outcomes": "labels", "narrower": "smaller", "wider": "larger", "forecast": "model"}
TO_DO = {
    "few labels": "Each series has too few outcomes to learn from alone. The method pool lets series learn from each "
    "other.",
    "cold start": "The later rounds are on target, so nothing has to be repaired. If the beginning matters, give the "
    "method some history first (--warm-up).",
    "jump": "Look at the alarms on the time axis, and at what happened there. If such jumps come again, compare "
    "methods: some recover faster than others.",
    "throughout": "Compare methods on the same table.",
    "too wide": "The intervals can be narrower. Compare methods on the same table.",
}


def state_of(judged: Judged, series: int) -> tuple[str, str, str]:
    """The state, why in words, and what to do about it.

    >>> import numpy as np
    >>> judged = Judged(0.1)
    >>> judged.add(np.arange(1000) % 10 > 0)
    >>> state, why, to_do = state_of(judged, series=1)
    >>> state, why.replace("\\u00a0", " ")
    ('good', 'It is 0.0 points from the target, and chance alone allows 2.8.')
    """
    if judged.labels < LEAST:
        return FEW, f"A verdict needs {LEAST} outcomes; there are {judged.labels:,} so far.", "Wait for more outcomes."
    found = judged.verdict(series)
    away = 100.0 * abs(judged.coverage - (1.0 - judged.alpha))
    if found is None:
        chance = 100.0 * max(judged.chance(), judged.allowed(judged.labels))
        why = f"It is {away:.1f} points from the target, and chance alone allows {chance:.1f}."
        if away > 100.0 * judged.chance():
            why = f"It is {away:.1f} points from the target, which is too little to act on."
        return GOOD, why, "Nothing has to be done. A better forecast would make the intervals narrower."
    too_wide = found.coverage > 1.0 - found.alpha
    why = f"It is {away:.1f} points {'above' if too_wide else 'below'} the target, and chance explains "
    why += f"only {100.0 * found.chance:.1f}. The likely cause is that {found.why}."
    return OFF, why, TO_DO["too wide" if too_wide else found.cause]


def block(judged: Judged, strange: Strange, headline: str, file: str | None, words: Words) -> str:
    """The verdict, the headline, the reason and the advice, in HTML; ``strange`` tells of the series one by one."""
    state, why, to_do = state_of(judged, strange.series)
    if state == GOOD and strange.more_than_luck:
        one = strange.outside == 1
        state = MIXED
        to_do = f"Look at the {strange.outside:,} series that chance does not explain"
        to_do = (
            f"Look at {strange.worst}, which chance does not explain." if one else f"{to_do}, {strange.worst} first."
        )
    if not words.intervals:
        for word, other in SET_WORDS.items():
            why, to_do = why.replace(word, other), to_do.replace(word, other)
    command = ""
    if state == OFF and file is not None and "ompare methods" in to_do:
        command = f" <code>{escape(shlex.join(['wane', 'compare', file]))}</code>"
    return (
        f'<div class="verdict {state}" id="verdict"{" role=alert" if state == OFF else ""}>'
        f'<p class="status">{STATUS[state]}</p><p class="headline" id="headline">{escape(headline)}</p>'
        f'<p class="why"><strong>Why:</strong> {escape(why)}</p>'
        f'<p class="to-do"><strong>What to do:</strong> {escape(to_do)}{command}</p></div>'
    )
