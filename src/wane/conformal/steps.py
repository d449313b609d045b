"""One round of an ``OnlineConformal``: all of a prediction and of a label that can fail, without changing anything.

The callers hold the lock of the object. What changes something comes after it: ``Waiting.add`` and ``labels.learn``.
"""

from __future__ import annotations

from typing import Any

from wane.conformal import groups as groups_in
from wane.conformal.labels import Label
from wane.conformal.levels import Levels, covered_in_order, in_order
from wane.conformal.monitor import Monitor
from wane.conformal.predictions import Prediction
from wane.conformal.waiting import Waiting
from wane.scores import uniforms


def moment(waiting: Waiting, levels: Levels, monitor: Monitor) -> int:
    """Return the number of the round that is predicted next, as the trackers count: past labels come first."""
    learned_before = levels.rounds() - monitor.rounds  # in ``warm_start``
    return waiting.made + learned_before


def prepare(oc, output, id, context, groups):
    """Make a prediction of an ``OnlineConformal``. Return it with what ``Waiting.add`` needs."""
    settings, waiting, levels = oc.settings, oc._waiting, oc._levels
    score = settings.score
    output = score.output(output)
    id = waiting.next_id if id is None else waiting.free(id)
    u = float(uniforms(score.seed, waiting.made, 1)[0]) if score.randomised else None
    floor = score.floor(output, u)
    further: tuple[float, ...] = ()
    if context is not None or groups is not None or levels.context > 0:
        further = groups_in.further(oc, context, groups)
    note = ()
    if levels.noted > 0:
        now = moment(waiting, levels, oc.monitors[0])
        levels.foresee(now, floor, score.ceiling(output), score.centre(output), further)
    radii = levels.predict(floor)
    if levels.noted > 0:
        note = levels.note()
    if settings.finite_only and not levels.bounded(radii):
        raise settings.unbounded(radii)
    prediction = drawn(settings, levels, id, output, u, radii)
    widths = tuple([made.width for made in prediction.sets])
    return prediction, id, output, u, radii, widths, note


def drawn(settings, levels, id, output, u, radii):
    """Return the prediction with these radii around an output."""
    score, limits = settings.score, settings.limits
    each = radii
    if len(radii) > 1:
        each = in_order(radii, settings.columns) if settings.one_sided else settings.each(radii)
    sets = tuple([score.set(output, radius, u, limits) for radius in each])
    return Prediction(id, settings.alpha, sets, each if settings.several else each[0], levels.cold())


def checked_label(oc, id, y, discount):
    """Check and score the label of a prediction that waits, and return what ``learn`` needs.

    ``discount`` is how much to keep of what was learned before; NaN stands for the method's own.
    """
    settings, waiting = oc.settings, oc._waiting
    made = waiting.find(id)
    below, above = settings.scored(made.output, y, made.u, made.radii)
    said: Any = (below,)
    if settings.one_sided:
        covered = covered_in_order(below, made.radii, settings.columns, settings.closed)
    else:
        covered, said = settings.covered_each(below, above, made.radii), (below, above)
    return Label(oc._levels, waiting, oc.monitors, oc._alarmed, made, below, above, said, covered, discount)
