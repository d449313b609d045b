"""Replays: ``OnlineConformal.run`` plays whole arrays of rounds at native speed.

A replay gives the same bits, and leaves the same state, as calling ``predict`` and ``update`` round by round.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from wane import showing
from wane.checks import discount_factors, listed, whole
from wane.conformal import groups as groups_in
from wane.conformal.foresight import foreseen
from wane.conformal.labels import note
from wane.conformal.notes import room
from wane.conformal.predictions import Alarm, Table
from wane.conformal.rounds import play_rows
from wane.conformal.waiting import Made
from wane.errors import IdError, InputError
from wane.scores import uniforms
from wane.state import data as plain_data
from wane.state.encoding import checked_key, own_kind

if TYPE_CHECKING:
    from wane.conformal.online import OnlineConformal

CHECKED = 100  # how many labels of a batch are used to compare the two functions of a user's score
BEFORE = 1 << 62  # where the uniforms of warm_start begin: predictions never get there


def run(
    oc: OnlineConformal,
    outputs: Any,
    y: Any,
    delay: Any,
    ids: Any,
    discounts: Any,
    late: list[tuple[Any, Any]],
    context: Any = None,
    groups: Any = None,
    progress: bool = False,
) -> tuple[Table, list[Alarm]]:
    """Play all rounds, and return the table and the alarms that the caller has to deliver.

    The arguments are those of ``OnlineConformal.run``, but ``late`` is a list of pairs (id, label), with None as the id
    of a round after which no late label comes. The caller holds the lock. If anything fails, ``oc`` is as before.
    """
    settings, score, waiting = oc.settings, oc.score, oc._waiting

    # Check all input first, while nothing has changed yet and nothing has to be undone.
    outputs, labels, known = aligned(oc, outputs, y)
    rounds = len(known)
    delay = whole("delay", delay, 0)
    if delay >= waiting.most:
        raise InputError(
            f"delay = {delay} needs max_pending > {delay}, got {waiting.most}",
            argument="delay",
            cure="predictions would expire",
        )
    u = uniforms(score.seed, waiting.made, rounds) if score.randomised else None
    scores = settings.scores(outputs, labels, known, u)
    names = checked_ids(oc, ids, rounds)
    grouping = copy(oc.grouping)
    further = groups_in.further_rows(oc, grouping, context, groups, rounds)
    old, old_scores = late_scores(oc, late, delay, rounds)

    # Lay out the rows for the loop: first the n older predictions whose labels come now, one after each of the first
    # rounds, then the rounds themselves. A row at position p gets its label after round p + delay, so that the
    # predictions from p + delay + 1 on have learned from it.
    n = len(old)
    pos = np.concatenate([np.arange(n) - delay, np.arange(rounds)])
    below, above = (np.concatenate([old_scores[:, side], scores[side]]) for side in (0, 1))
    arriving = np.flatnonzero((pos + delay < rounds) & ~np.isnan(below))  # rows whose labels are learned in this call
    d = row_discounts(oc, discounts, n, rounds, arriving)

    # An older prediction is learned at the radius that was played for it, so its row starts with what was kept.
    radii, widths = np.empty((n + rounds, settings.width)), np.zeros((len(oc.alphas), n + rounds))
    ends = np.full(n + rounds, rounds)
    notes, slots = room(oc._levels, pos, ends, delay + 1, below, np.arange(n + rounds) < n)
    for i in np.flatnonzero(~np.isnan(old_scores[:, 0])):
        prediction = waiting.pending[old[i]]
        radii[i], widths[:, i] = prediction.radii, prediction.widths
        if prediction.note:
            notes[slots[i]] = prediction.note
    own, playing = np.empty((n + rounds + 1, settings.width)), np.full(1, n, dtype=np.intp)
    floors = np.concatenate([np.zeros(n), settings.floors(outputs, u)])
    given = foreseen(oc._levels, score, oc._moment() + np.arange(rounds), floors[n:], outputs, further)
    given = np.concatenate([np.zeros((n, given.shape[1])), given]) if len(given) else given

    # From here on trackers and monitors change. Keep what they were, because every step below can still fail.
    changing = (*oc._levels.trackers, *oc.monitors)
    alarmed = dict(oc._alarmed)
    before = [plain_data.snapshot(thing) for thing in changing]
    grouped = oc.grouping
    try:
        oc.grouping = grouping
        if grouping is not None:
            groups_in.add(oc)
        # Play the rounds. If a tracker raises, the error names the round that was being predicted.
        try:
            arrays = [array.data for array in (floors, below, above, d, radii, own, playing, given, notes, slots)]
            with showing.progress(progress, rounds, lambda: int(playing[0]) - n):
                play_rows(oc._levels, n, n + rounds, 0, n, pos.data, rounds, delay + 1, *arrays)
        except BaseException as error:
            plain_data.name_round(error, int(playing[0]) - n)
            raise
        own[n + rounds] = oc._levels.own_radii()
        settings.refuse_unbounded(radii[n:])

        # Turn radii into sets, level by level, and judge them.
        by_level = [settings.radii_of_level(radii[n:], i) for i in range(len(oc.alphas))]
        for width, radius in zip(widths, by_level, strict=True):
            width[n:] = score.width(outputs, radius, u, oc.limits)
        bounds = [score.bounds(outputs, radius, oc.limits) for radius in by_level]
        covered = [settings.covered(below, above, radii.T, i) for i in range(len(oc.alphas))]

        # A user's score has two functions that must agree. Compare them now that the radii are known.
        for t in np.flatnonzero(known)[:CHECKED].tolist() if score.unsure else ():
            score.compare(outputs[t], labels[t], float(below[n + t]), tuple(float(radius[t]) for radius in by_level))
        alarms = watch(oc, lambda row: own_kind(old[row] if row < n else names[row - n]), arriving, d, covered, widths)

        # The table has the rounds of this call only, without the older predictions.
        sides = [below[n:], above[n:]][: score.sides]
        table = Table(
            oc.alpha,
            names,
            None if bounds[0] is None else together(oc, [low for low, _ in bounds]),
            None if bounds[0] is None else together(oc, [high for _, high in bounds]),
            together(oc, [np.stack(radius, axis=1) if score.sides == 2 else radius for radius in by_level]),
            together(oc, [width[n:].copy() for width in widths]),
            sides[0].copy() if score.sides == 1 else np.stack(sides, axis=1),
            together(oc, [np.where(known, inside[n:].astype(float), np.nan) for inside in covered]),
            (lambda: [score.members(outputs, radius, u) for radius in by_level]) if score.finite else None,
            None if bounds[0] is None else np.where(known, np.asarray(labels, dtype=float), math.nan),
            None if bounds[0] is None else np.broadcast_to(score.centre(outputs), rounds).astype(float),
            oc.method,
        )

        # Record, in a copy, which predictions wait and which got their labels.
        after = copy(waiting)
        rows = (radii, widths, own, below, above, covered, notes, slots)
        remember(oc, after, outputs, u, names, old, arriving, delay, *rows)
        oc._waiting = after
    except BaseException:
        oc._alarmed, oc._waiting, oc.grouping = alarmed, waiting, grouped
        if grouped is not None:
            groups_in.drop(oc)
        for thing, taken in zip(changing, before, strict=True):
            plain_data.put_back(thing, taken)
        raise
    return table, alarms


def together(oc: OnlineConformal, columns: list[np.ndarray]) -> np.ndarray:
    """Join the arrays of the levels: side by side if there are several levels, as it is if there is one."""
    return np.stack(columns, axis=1) if isinstance(oc.alpha, tuple) else np.array(columns[0])


def aligned(oc: OnlineConformal, outputs: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Check outputs and labels, and return both with a mask of the labels that are known.

    Rows are matched by position. Two pandas objects whose indexes differ are refused, since position would be wrong.
    """
    one, other = getattr(outputs, "index", None), getattr(y, "index", None)
    if one is not None and hasattr(one, "equals") and hasattr(other, "equals") and not one.equals(other):
        raise InputError(
            "outputs and y have different indexes, and rows meet labels by position",
            argument="y",
            cure="align them first",
        )
    outputs = oc.score.outputs(outputs)
    return outputs, *oc.settings.labels(y, oc.score.rows(outputs))


def checked_ids(oc: OnlineConformal, ids: Any, rounds: int) -> Any:
    """Return the ids of the rounds: the user's, if no two are equal and none is in use, or the next whole numbers."""
    if ids is None:
        first, last = oc.next_id, oc.next_id + rounds
        return np.arange(first, last) if last < 1 << 63 else list(range(first, last))
    names = [checked_key(key) for key in listed("ids", ids)]
    if len(names) != rounds:
        raise InputError(f"must be one a round, {rounds}, got {len(names)}", about="ids")
    if len(set(names)) < rounds or not oc._waiting.pending.keys().isdisjoint(names):
        raise InputError("must differ from one another and from those that wait for a label", about="ids")
    return names


def late_scores(
    oc: OnlineConformal, late: list[tuple[Any, Any]], delay: int, rounds: int
) -> tuple[list[Hashable | None], np.ndarray]:
    """Score the labels of older predictions.

    Returns the ids and an array of scores with a column for each side. The scores are NaN where no label comes.
    """
    if len(late) > delay:
        raise InputError(
            f"late may hold one label for each of the first delay = {delay} rounds, got {len(late)}",
            argument="late",
            cure="give those of the last predictions, pending()[-delay:], as others wait for labels that never came",
        )
    scores = []
    # Follow which predictions wait, round by round: one that expires before its label comes cannot be learned.
    waiting = OrderedDict.fromkeys(oc._waiting.pending)
    for i, (key, y) in enumerate(late):
        prediction = None if key is None else oc._waiting.find(key)
        if len(waiting) >= oc.max_pending:
            waiting.popitem(last=False)
        waiting[object()] = None  # the prediction of round i
        if prediction is None or not oc.score.labels([y], 1)[1][0]:
            scores.append((math.nan, math.nan))
            continue
        if key not in waiting and i < rounds:
            raise IdError(
                f"prediction {key!r} would expire before round {i}, when its label is revealed, as max_pending is "
                f"{oc.max_pending}",
                argument="late",
                cure="give its label earlier, or expire others first",
            )
        waiting.pop(key, None)
        scores.append(oc.settings.scored(prediction.output, y, prediction.u, prediction.radii))
    return [key for key, _ in late], np.array(scores, dtype=float).reshape(len(late), 2)


def row_discounts(oc: OnlineConformal, discounts: Any, n: int, rounds: int, arriving: np.ndarray) -> np.ndarray:
    """Return a discount for each row, the n older rows first. NaN stands for the method's own discount."""
    d = np.full(n + rounds, np.nan)
    if callable(discounts):
        d[arriving] = [discounts(oc.monitors[0].rounds + i) for i in range(len(arriving))]
        discount_factors(d[arriving], len(arriving))
    elif discounts is not None:
        d[n:] = discount_factors(discounts, rounds)
        if np.ndim(discounts) == 0:
            d[:n] = discount_factors(discounts, n)
    return d


def watch(
    oc: OnlineConformal, id_of: Callable[[int], Any], rows: Any, d: Any, covered: Any, widths: Any
) -> list[Alarm]:
    """Record the given rows in the monitors, and return the alarms in the order in which the labels came."""
    found = []
    for i, monitor in enumerate(oc.monitors):
        first = monitor.rounds
        discounts = np.where(np.isnan(d[rows]), monitor.discount, d[rows])
        alarms, local = monitor.run(covered[i][rows], widths[i][rows], discounts)
        for t in np.flatnonzero(alarms):
            raised: list[tuple[Any, ...]] = []
            note(raised, oc._alarmed, monitor, first + int(t), float(alarms[t]), float(local[t]))
            found += [(t, i, Alarm(round, id_of(int(rows[t])), *rest)) for round, *rest in raised]
    return [alarm for _, _, alarm in sorted(found, key=lambda a: a[:2])]


def remember(
    oc, waiting, outputs, u, names, old, arriving, delay, radii, widths, own, below, above, covered, notes, slots
):
    """Bring ``waiting``, a copy of ``oc._waiting``, to the state in which single steps would have left it.

    A prediction that got its label or expired leaves no trace except in the history. So only the last ``history`` of
    them, and the predictions that still wait, are looked at one by one.
    """
    n, rounds, first = len(old), len(names), waiting.made
    key = names.item if isinstance(names, np.ndarray) else names.__getitem__  # of a round
    labelled = np.zeros(n + rounds, dtype=bool)
    labelled[arriving] = True
    moments = np.where(arriving < n, arriving, arriving - n + delay)  # the rounds after which the labels come
    times = expiries(len(waiting.pending), rounds, moments, waiting.most)

    # All older predictions with a label leave. The others wait in order of age, then come the rounds without a label.
    numbers = {row: waiting.pending.pop(old[row]).number for row in arriving[arriving < n].tolist()}
    left = np.flatnonzero(~labelled[n:])
    gone = list(waiting.pending.values())[: len(times)]
    older = len(gone)  # how many of those that expire were made before this batch
    for made in gone:
        del waiting.pending[made.id]

    # What is remembered, in order: the prediction of a round lets the oldest expire, and then labels come. Collect what
    # ``explain`` tells about each label, as Python's own numbers, since the state is plain data.
    most = waiting.history
    told = [np.arange(max(0, len(times) - most), len(times)), np.arange(max(0, len(arriving) - most), len(arriving))]
    when = np.concatenate([times[told[0]], moments[told[1]]])
    order = np.concatenate([told[0], told[1] + len(times)])[np.argsort(when, kind="stable")]  # ties: expiry first
    order = order[max(0, len(order) - most) :]
    labels = order[order >= len(times)] - len(times)
    waiting.expired += len(times) - (len(order) - len(labels))  # those that the history is too short to show
    rows, after = arriving[labels], moments[labels]
    label_scores = np.stack([below[rows], above[rows]][: oc.score.sides], axis=1)
    inside = np.stack([level[rows] for level in covered], axis=1)
    parts = (rows, after, radii[rows], label_scores, inside, own[n + after], own[n + after + 1])
    events = zip(*[part.tolist() for part in parts], strict=True)
    for i in order.tolist():
        if i < older:
            waiting.gave_up(gone[i].id, gone[i].radii)
        elif i < len(times):
            t = int(left[i - older])
            waiting.gave_up(key(t), tuple(radii[n + t].tolist()))
        else:
            row, moment, *known = next(events)
            name, number = (old[row], numbers[row]) if row < n else (key(row - n), first + row - n)
            waiting.made = first + moment + 1
            waiting.labelled(name, number, *map(tuple, known))

    # The other rounds without a label wait.
    left = left[len(times) - older :]
    for t, played in zip(left.tolist(), map(tuple, radii[n + left].tolist()), strict=True):
        waiting.made = first + t
        waiting.add(key(t), None, None, played, ())

    # Few predictions still wait. Only these need the model's output and the widths.
    for id, made in waiting.pending.items():
        if made.number >= first:
            t = made.number - first
            uniform, wide = None if u is None else float(u[t]), tuple(widths[:, n + t].tolist())
            kept = tuple(notes[slots[n + t]].tolist()) if len(slots) else ()
            waiting.pending[id] = Made(id, made.number, oc.score.row(outputs, t), uniform, made.radii, wide, kept)

    # Predictions that were skipped above count too, and their ids stay in use.
    waiting.made = first + rounds
    for id in names[-1:].tolist() if isinstance(names, np.ndarray) else names:
        waiting.reserve(id)


def expiries(waiting: int, rounds: int, moments: np.ndarray, most: int) -> np.ndarray:
    """Return the rounds whose predictions let the oldest one that waits expire.

    A prediction whose label comes in the batch never expires: fewer than ``most`` are newer when it comes.

    Args:
        waiting: how many predictions wait before the batch.
        rounds: how many it makes.
        moments: the rounds after which labels come, in order.
        most: how many may wait.

    >>> expiries(0, 6, np.array([2, 4]), most=2)
    array([2, 4])
    """
    added = np.ones(rounds, dtype=np.intp)
    added[moments[moments < rounds - 1] + 1] = 0
    crowd = waiting + np.cumsum(added)  # how many would wait after each prediction if none expired
    if not rounds or crowd.max() <= most:
        return np.zeros(0, dtype=np.intp)
    peaks = np.maximum.accumulate(crowd)
    return np.searchsorted(peaks, np.arange(most + 1, peaks[-1] + 1))


def past_rounds(oc: OnlineConformal, outputs: Any, y: Any, context: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what ``warm_start`` learns from the past rounds that have a label.

    That is an array of scores for each side, and what was known of each round before it.
    """
    outputs, labels, known = aligned(oc, outputs, y)
    u = uniforms(oc.score.seed, BEFORE, len(known)) if oc.score.randomised else None
    both = oc.settings.scores(outputs, labels, known, u)
    further = groups_in.without_groups(oc, context, len(known))
    moments = oc._moment() + np.cumsum(known) - 1
    given = foreseen(oc._levels, oc.score, moments, oc.settings.floors(outputs, u), outputs, further)
    return [side[known] for side in both[: oc.score.sides]], given[known] if len(given) else given
