"""A whole array of rounds through an ``OnlineConformal``: the bits and the state of single steps, at native speed."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import discount_factors, whole
from wane.conformal.predictions import Alarm, Table
from wane.conformal.rounds import play_rows
from wane.errors import IdError, InputError
from wane.scores import uniforms
from wane.state import data as plain_data
from wane.state.encoding import checked_key

if TYPE_CHECKING:
    from wane.conformal.online import OnlineConformal

CHECKED = 100  # labels of a batch with which the two functions of a user's score are compared
BEFORE = 1 << 62  # where the uniforms of warm_start begin: predictions never get there


def run(
    oc: OnlineConformal, outputs: Any, y: Any, delay: Any, ids: Any, discounts: Any, late: list[tuple[Any, Any]]
) -> tuple[Table, list[Alarm]]:
    """The table, and the alarms to give; the lock is held. Nothing changes before all that can fail is done."""
    settings, score, waiting = oc.settings, oc.score, oc._waiting
    # Check everything that was given.
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
    old, old_scores = late_scores(oc, late, delay, rounds)

    # Rows: first the older predictions whose labels come now, one after each of the first rounds, then the rounds. The
    # label of a row is known to the predictions from ``pos + delay + 1`` on.
    n = len(old)
    pos = np.concatenate([np.arange(n) - delay, np.arange(rounds)])
    below, above = (np.concatenate([old_scores[:, side], scores[side]]) for side in (0, 1))
    moments = pos + delay  # the round after which the label of a row comes
    arriving = np.flatnonzero((moments < rounds) & ~np.isnan(below))
    d = row_discounts(oc, discounts, n, rounds, arriving)
    radii, widths = np.empty((n + rounds, settings.width)), np.zeros((len(oc.alphas), n + rounds))
    for i in np.flatnonzero(~np.isnan(old_scores[:, 0])):
        made = waiting.pending[old[i]]
        radii[i], widths[:, i] = made.radii, made.widths
    own, at = np.empty((n + rounds + 1, settings.width)), np.full(1, n, dtype=np.intp)
    floors = np.concatenate([np.zeros(n), settings.floors(outputs, u)])

    # Play: trackers, then monitors. After an error everything is put back.
    things = (*oc._levels.trackers, *oc.monitors)
    alarmed = dict(oc._alarmed)
    before = [plain_data.snapshot(thing) for thing in things]
    try:
        try:
            arrays = (floors, below, above, d, radii, own, at)
            play_rows(oc._levels, n, n + rounds, 0, n, pos.data, rounds, delay + 1, *[array.data for array in arrays])
        except BaseException as error:
            plain_data.name_round(error, int(at[0]) - n)
            raise
        own[n + rounds] = oc._levels.own_radii()
        settings.refuse_unbounded(radii[n:])
        by_level = [settings.at(radii[n:], i) for i in range(len(oc.alphas))]
        for w, r in zip(widths, by_level, strict=True):
            w[n:] = score.width(outputs, r, u, oc.limits)
        bounds = [score.bounds(outputs, r, oc.limits) for r in by_level]
        covered = [settings.covered(below, above, radii.T, i) for i in range(len(oc.alphas))]
        for t in np.flatnonzero(known)[:CHECKED].tolist() if score.unsure else ():
            score.compare(outputs[t], labels[t], float(below[n + t]), tuple(float(r[t]) for r in by_level))
        alarms = watch(oc, lambda row: plain(old[row] if row < n else names[row - n]), arriving, d, covered, widths)
    except BaseException:
        oc._alarmed = alarmed
        for thing, taken in zip(things, before, strict=True):
            plain_data.put_back(thing, taken)
        raise

    # Keep what single steps would have kept, and give the table.
    remember(oc, outputs, u, names, old, arriving, delay, radii, widths, own, below, above, covered)
    judged = [np.where(known, c[n:].astype(float), np.nan) for c in covered]
    sides = [below[n:], above[n:]][: score.sides]
    table = Table(
        oc.alpha,
        names,
        None if bounds[0] is None else together(oc, [b[0] for b in bounds]),
        None if bounds[0] is None else together(oc, [b[1] for b in bounds]),
        together(oc, [np.stack(r, axis=1) if score.sides == 2 else r for r in by_level]),
        together(oc, [w[n:] for w in widths]),
        sides[0].copy() if score.sides == 1 else np.stack(sides, axis=1),
        together(oc, judged),
        (lambda: [score.members(outputs, r, u) for r in by_level]) if score.finite else None,
    )
    return table, alarms


def together(oc: OnlineConformal, columns: list[np.ndarray]) -> np.ndarray:
    """One array for one level; several side by side."""
    return np.stack(columns, axis=1) if isinstance(oc.alpha, tuple) else np.array(columns[0])


def aligned(oc: OnlineConformal, outputs: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Outputs, labels and which of them are known, checked; rows meet labels by position."""
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
    """The ids of the rounds: the user's, or the next whole numbers."""
    if ids is None:
        first, last = oc.next_id, oc.next_id + rounds
        return np.arange(first, last) if last < 1 << 63 else list(range(first, last))
    names = [checked_key(key) for key in ids]
    if len(names) != rounds:
        raise InputError(f"must be one a round, {rounds}, got {len(names)}", about="ids")
    if len(set(names)) < rounds or not oc._waiting.pending.keys().isdisjoint(names):
        raise InputError("must differ from one another and from those that wait for a label", about="ids")
    return names


def late_scores(
    oc: OnlineConformal, late: list[tuple[Any, Any]], delay: int, rounds: int
) -> tuple[list[Hashable | None], np.ndarray]:
    """The waiting predictions whose labels are given, and the scores of both sides; NaN where no label comes."""
    if len(late) > delay:
        raise InputError(
            f"late may hold one label for each of the first delay = {delay} rounds, got {len(late)}",
            argument="late",
            cure="give those of the last predictions, pending()[-delay:], as others wait for labels that never came",
        )
    scores = []
    waiting = OrderedDict.fromkeys(oc._waiting.pending)
    for i, (key, y) in enumerate(late):
        made = None if key is None else oc._waiting.find(key)
        if len(waiting) >= oc.max_pending:
            waiting.popitem(last=False)
        waiting[object()] = None  # the round itself
        if made is None or not oc.score.labels([y], 1)[1][0]:
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
        scores.append(oc.settings.scored(made.output, y, made.u, made.radii))
    return [key for key, _ in late], np.array(scores, dtype=float).reshape(len(late), 2)


def row_discounts(oc: OnlineConformal, discounts: Any, n: int, rounds: int, arriving: np.ndarray) -> np.ndarray:
    """One discount a row, the n older rows first; NaN is the method's own."""
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
    """Tell the monitors, in the order in which the labels came."""
    found = []
    for i, monitor in enumerate(oc.monitors):
        first = monitor.rounds
        kept = np.where(np.isnan(d[rows]), monitor.discount, d[rows])
        alarms, local = monitor.run(covered[i][rows], widths[i][rows], kept)
        for t in np.flatnonzero(alarms):
            heard = oc._alarm(monitor, first + int(t), id_of(int(rows[t])), float(alarms[t]), float(local[t]))
            found += [(t, i, alarm) for alarm in heard]
    return [alarm for _, _, alarm in sorted(found, key=lambda a: a[:2])]


def remember(oc, outputs, u, names, old, arriving, delay, radii, widths, own, below, above, covered):
    """Let predictions wait and labels come as in single steps.

    Where so many wait that predictions may expire, every round is gone through. Where none can, a prediction whose
    label has come leaves no trace but in the history, so only the last ``history`` of those are looked at.
    """
    waiting, n, rounds, first = oc._waiting, len(old), len(names), oc._waiting.made
    labelled = np.zeros(n + rounds, dtype=bool)
    labelled[arriving] = True
    left = np.flatnonzero(~labelled[n:])
    expiring = len(waiting.pending) + len(left) + delay >= waiting.most

    def predict(t: int) -> None:
        waiting.made = first + t
        made = tuple(radii[n + t].tolist()), tuple(widths[:, n + t].tolist())
        waiting.add(plain(names[t]), oc.score.row(outputs, t), None if u is None else float(u[t]), *made)

    # What is known of each label that is looked at.
    labels = arriving if expiring else arriving[max(0, len(arriving) - waiting.history) :]
    moments = np.where(labels < n, labels, labels - n + delay)  # the rounds after which these labels come
    said = np.stack([below[labels], above[labels]][: oc.score.sides], axis=1)
    inside = np.stack([c[labels] for c in covered], axis=1)
    parts = (labels, moments, radii[labels], said, inside, own[n + moments], own[n + moments + 1])
    events = zip(*[part.tolist() for part in parts], strict=True)
    if expiring:
        done = 0
        for row, moment, _, *known in events:
            for t in range(done, moment + 1):
                predict(t)
            done = moment + 1
            waiting.label(old[row] if row < n else plain(names[row - n]), *map(tuple, known))
        for t in range(done, rounds):
            predict(t)
    else:
        numbers = {row: waiting.pending.pop(old[row]).number for row in arriving[arriving < n].tolist()}
        for row, moment, *known in events:
            key, number = (old[row], numbers[row]) if row < n else (plain(names[row - n]), first + row - n)
            waiting.close(key, ("labelled", *map(tuple, known), first + moment - number))
        for t in left.tolist():
            predict(t)
    waiting.made = first + rounds
    for key in names[-1:].tolist() if isinstance(names, np.ndarray) else names:
        waiting.reserve(key)


def plain(key: Any) -> Any:
    """A key as Python's own kind of number."""
    return key.item() if isinstance(key, np.generic) else key


def past_scores(oc: OnlineConformal, outputs: Any, y: Any) -> list[np.ndarray]:
    """The scores of labelled rounds of the past, for each side."""
    outputs, labels, known = aligned(oc, outputs, y)
    u = uniforms(oc.score.seed, BEFORE, len(known)) if oc.score.randomised else None
    both = oc.settings.scores(outputs, labels, known, u)
    return [side[known] for side in both[: oc.score.sides]]
