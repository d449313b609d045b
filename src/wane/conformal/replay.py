"""A whole array of rounds through an `OnlineConformal`, at native speed and bit for bit as step by step."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import EXTREME, discount_factors, whole
from wane.conformal.levels import play
from wane.conformal.predictions import UNBOUNDED, Alarm, Table, following
from wane.errors import IdError, UnboundedError
from wane.scores import uniforms
from wane.state import data as plain_data
from wane.state.encoding import checked_key

if TYPE_CHECKING:
    from wane.conformal.online import OnlineConformal

INFINITY = math.inf
CHECKED = 100  # labels of a replay with which the two functions of a user's score are compared
BEFORE = 1 << 62  # where the uniforms of warm_start begin: predictions never get there


def replay(
    oc: OnlineConformal, outputs: Any, y: Any, delay: Any, ids: Any, discounts: Any, late: Any
) -> tuple[Table, list[Alarm]]:
    """The table, and the alarms to give; the lock is held. Nothing changes before all that can fail is done."""
    score, levels, width = oc.score, oc._levels, len(oc._levels.trackers)
    refuse_misaligned(outputs, y)
    outputs = score.outputs(outputs)
    rounds = score.rows(outputs)
    delay = whole("delay", delay, 0)
    if delay >= oc.max_pending:
        raise ValueError(f"delay = {delay} needs max_pending > {delay}, got {oc.max_pending}: predictions would expire")
    labels, known = score.labels(y, rounds)
    u = uniforms(score.seed, oc.predictions, rounds) if score.randomised else None  # type: ignore[attr-defined]
    below, above = checked_scores(oc, outputs, labels, known, u)
    names = checked_ids(oc, ids, rounds)
    old, old_below, old_above = late_scores(oc, late, delay, rounds)

    # Rows: first the older predictions whose labels come now, then the rounds. After round t comes the label of row
    # t + len(old) - delay, or of the t-th older one.
    n = len(old)
    arrivals = np.full(rounds, -1, dtype=np.intp)
    soon = np.flatnonzero(~np.isnan(old_below[:rounds]))
    arrivals[soon] = soon
    if rounds > delay:
        arrivals[delay:] = np.where(known[: rounds - delay], np.arange(n, n + rounds - delay), -1)
    moments = np.flatnonzero(arrivals >= 0)
    rows = arrivals[moments]
    below, above = np.concatenate([old_below, below]), np.concatenate([old_above, above])
    d = np.full(n + rounds, np.nan)
    if callable(discounts):
        d[rows] = [discounts(oc.monitors[0].rounds + i) for i in range(len(rows))]
        discount_factors(d[rows], len(rows))
    elif discounts is not None:
        d[n:] = discount_factors(discounts, rounds)
        if np.ndim(discounts) == 0:
            d[:n] = discount_factors(discounts, n)
    floors = np.array(np.broadcast_to(np.asarray(score.floor(outputs, u), dtype=float), (rounds,)))
    radii, own, played = np.empty((n + rounds, width)), np.empty((n + rounds + 1, width)), np.zeros(1)
    old_widths = np.zeros((n, len(oc.alphas)))
    for i in soon:
        radii[i], old_widths[i] = oc._pending[old[i]][3:]

    things = (*levels.trackers, *oc.monitors)
    alarmed = dict(oc._alarmed)
    before = [plain_data.snapshot(thing) for thing in things]
    try:
        rolling = (floors, below, above, arrivals, d, radii, own, played)
        try:
            play(levels, *[array.data for array in rolling])
        except BaseException as error:
            plain_data.name_round(error, int(played[0]))
            raise
        own[n + rounds] = levels.own_radii()
        refuse_unbounded(oc, radii[n:])
        by_level = [at(oc, i, radii[n:]) for i in range(len(oc.alphas))]
        widths = [score.width(outputs, r, u, oc.limits) for r in by_level]
        bounds = [score.bounds(outputs, r, oc.limits) for r in by_level]
        covered = [inside(oc, i, below, above, radii) for i in range(len(oc.alphas))]
        for t in np.flatnonzero(known)[:CHECKED].tolist() if score.unsure else ():
            score.compare(outputs[t], labels[t], float(below[n + t]), tuple(float(r[t]) for r in by_level))
        every = [np.concatenate([old_widths[:, i], w]) for i, w in enumerate(widths)]
        alarms = watch(oc, lambda row: plain(old[row] if row < n else names[row - n]), rows, d, covered, every)
    except BaseException:
        oc._alarmed = alarmed
        for thing, taken in zip(things, before, strict=True):
            plain_data.put_back(thing, taken)
        raise

    book(oc, outputs, names, old, moments, rows, u, radii, own, below, above, covered, widths)
    several = isinstance(oc.alpha, tuple)
    judged = [np.where(known, c[n:].astype(float), np.nan) for c in covered]
    scores = np.where(known, below[n:], np.nan)
    if score.sides == 2:
        scores = np.stack([scores, np.where(known, above[n:], np.nan)], axis=1)
    table = Table(
        oc.alpha,
        names,
        None if bounds[0] is None else together([b[0] for b in bounds], several),
        None if bounds[0] is None else together([b[1] for b in bounds], several),
        together([np.stack(r, axis=1) if score.sides == 2 else r for r in by_level], several),
        together(widths, several),
        scores,
        together(judged, several),
        (lambda: [score.members(outputs, r, u) for r in by_level]) if score.finite else None,  # type: ignore[attr-defined]
    )
    return table, alarms


def at(oc: OnlineConformal, i: int, radii: np.ndarray) -> Any:
    """The radii of the i-th level: an array, or one for each side."""
    c = oc._levels.columns[i]
    return radii[:, c].copy() if oc.score.sides == 1 else (radii[:, c].copy(), radii[:, len(oc.alphas) + c].copy())


def inside(oc: OnlineConformal, i: int, below: np.ndarray, above: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The paper's rule at the i-th level: radius > score, on both sides."""
    c = oc._levels.columns[i]
    covered = below < radii[:, c]
    return covered if oc.score.sides == 1 else covered & (above < radii[:, len(oc.alphas) + c])


def together(columns: list[np.ndarray], several: bool) -> np.ndarray:
    """One array for one level; several side by side."""
    return np.stack(columns, axis=1) if several else np.array(columns[0])


def checked_scores(oc: OnlineConformal, outputs: Any, labels: Any, known: np.ndarray, u: Any) -> tuple[Any, Any]:
    """The scores of the two sides, or an error that names the first label that cannot be."""
    low, high = oc.limits
    if low > -INFINITY or high < INFINITY:
        refuse("y", known & ~((labels >= low) & (labels <= high)), labels, f"within the limits [{low!r}, {high!r}]")
    s = oc.score.score(outputs, labels, u)
    below, above = (s, np.zeros(len(known))) if oc.score.sides == 1 else s
    below, above = (np.where(known, x, 0.0) for x in (below, above))
    for side in (below, above):
        refuse("the score of round ", ~(np.abs(side) <= EXTREME), side, f"a number within +-{EXTREME:g}")
    if not oc.score.signed:
        refuse("the score of round ", below < 0.0, below, ">= 0: a score that may be negative needs signed=True")
    return below, above


def refuse(name: str, bad: np.ndarray, values: Any, wanted: str) -> None:
    """An error about the first bad entry, if there is one."""
    if bad.any():
        t = int(np.argmax(bad))
        where = f"{name}{t}" if name.endswith(" ") else f"{name}[{t}]"
        raise ValueError(f"{where} must be {wanted}, got {values[t]}; nothing was learned")


def refuse_unbounded(oc: OnlineConformal, radii: np.ndarray) -> None:
    """As in a single step, naming the round."""
    finite = np.isfinite(radii).all(axis=1)
    if oc._finite_only and not finite.all():
        t = int(np.argmin(finite))
        raise UnboundedError(f"in round {t}: " + UNBOUNDED.format(radii=", ".join(map(str, radii[t].tolist()))))


def checked_ids(oc: OnlineConformal, ids: Any, rounds: int) -> Any:
    """The ids of the rounds: the user's, or the next whole numbers."""
    if ids is None:
        first, last = oc.next_id, oc.next_id + rounds
        return np.arange(first, last) if last < 1 << 63 else list(range(first, last))
    names = [checked_key(key) for key in ids]
    if len(names) != rounds:
        raise ValueError(f"ids must be one a round, {rounds}, got {len(names)}")
    if len(set(names)) < rounds or not oc._pending.keys().isdisjoint(names):
        raise ValueError("ids must differ from one another and from those that wait for a label")
    return names


def late_scores(
    oc: OnlineConformal, late: Any, delay: int, rounds: int
) -> tuple[list[Hashable | None], np.ndarray, np.ndarray]:
    """The waiting predictions whose labels are given, and their scores; NaN where no label comes."""
    if len(late) > delay:
        raise ValueError(
            f"late may hold one label for each of the first delay = {delay} rounds, got {len(late)}: give those of "
            "the last predictions, pending()[-delay:], as others wait for labels that never came"
        )
    scores = []
    waiting = OrderedDict.fromkeys(oc._pending)
    for i, (key, y) in enumerate(late):
        if key is not None:
            oc._waiting(key)
        if len(waiting) >= oc.max_pending:
            waiting.popitem(last=False)
        waiting[object()] = None  # the round itself
        if key is None or not oc.score.labels([y], 1)[1][0]:
            scores.append((math.nan, math.nan))
            continue
        if key not in waiting and i < rounds:
            raise IdError(
                f"prediction {key!r} would expire before round {i}, when its label is revealed, as max_pending is "
                f"{oc.max_pending}: give its label earlier, or expire others first"
            )
        waiting.pop(key, None)
        scores.append(oc._scored(key, y))
    both = np.array(scores, dtype=float).reshape(len(late), 2)
    return [key for key, _ in late], both[:, 0].copy(), both[:, 1].copy()


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


def book(oc, outputs, names, old, moments, rows, u, radii, own, below, above, covered, widths):
    """What single steps would have left: the predictions that wait, those that are over, the counters."""
    n, rounds, waiting = len(old), len(radii) - len(old), len(oc._pending)
    first, sides = oc.predictions, oc.score.sides

    # How many expired by the end of round t: as many as would have made more than max_pending wait.
    arrived = np.zeros(rounds, dtype=np.intp)
    arrived[moments] = 1
    come = np.cumsum(arrived) - arrived  # labels before the prediction of round t
    too_many = waiting + np.arange(1, rounds + 1) - come - oc.max_pending
    gone = np.maximum.accumulate(np.maximum(too_many, 0)) if rounds else np.zeros(0, dtype=np.intp)
    moments_gone = np.repeat(np.arange(rounds), np.diff(gone, prepend=0))

    labelled = np.zeros(n + rounds, dtype=bool)
    labelled[rows] = True
    answered = {key for i, key in enumerate(old) if labelled[i]}
    left: list[tuple[Any, int]] = [(key, -1) for key in oc._pending if key not in answered]
    left += [(names[t], n + int(t)) for t in np.flatnonzero(~labelled[n:])]

    def entry(row):
        t = row - n
        each = tuple([float(w[t]) for w in widths])
        return first + t, oc.score.row(outputs, t), None if u is None else float(u[t]), tuple(radii[row].tolist()), each

    def over(row, t, *parts):
        number = oc._pending[old[row]][0] if row < n else first + row - n
        return "labelled", *map(tuple, parts), first + t - number

    last = oc.history  # only these need to be looked at
    expiries = zip(tail(moments_gone, last), range(len(moments_gone))[-last:] if last else (), strict=True)
    at, which = (array[max(0, len(array) - last) :] for array in (moments, rows))
    said = np.stack([below[which], above[which]][:sides], axis=1)
    judged = np.stack([c[which] for c in covered], axis=1)
    parts = (which, at, radii[which], said, judged, own[n + at], own[n + at + 1])
    labels = list(zip(*[part.tolist() for part in parts], strict=True))
    events = sorted([(t, 0, i) for t, i in expiries] + [(label[1], 1, k) for k, label in enumerate(labels)])
    closed = []
    for _, kind, which in tail(events, last):
        if kind == 0:
            key, row = left[which]
            closed.append((key, ("expired", oc._pending[key][3] if row < n else tuple(radii[row].tolist()))))
        else:
            row = labels[which][0]
            closed.append((old[row] if row < n else names[row - n], over(*labels[which])))
    kept: OrderedDict[Hashable, Any] = OrderedDict()
    for key, row in left[len(moments_gone) :]:
        kept[plain(key)] = oc._pending[key] if row < n else entry(row)
    oc._pending = kept
    for key, what in closed:
        oc._remember(plain(key), what)
    oc.expired += len(moments_gone)
    oc.predictions += rounds
    for key in names[-1:].tolist() if isinstance(names, np.ndarray) else names:
        oc.next_id = following(key, oc.next_id)


def refuse_misaligned(outputs: Any, y: Any) -> None:
    """Rows meet labels by position: an error where both have an index, as in pandas, and these differ."""
    one, other = getattr(outputs, "index", None), getattr(y, "index", None)
    if one is not None and hasattr(one, "equals") and hasattr(other, "equals") and not one.equals(other):
        raise ValueError("outputs and y have different indexes, and rows meet labels by position: align them first")


def tail(values: Any, last: int) -> list[Any]:
    """The last ones as a list, also where ``last`` is 0."""
    values = values[max(0, len(values) - last) :]
    return values.tolist() if isinstance(values, np.ndarray) else values


def plain(key: Any) -> Any:
    """A key as Python's own kind of number."""
    return key.item() if isinstance(key, np.generic) else key


def past_scores(oc: OnlineConformal, outputs: Any, y: Any) -> list[np.ndarray]:
    """The scores of labelled rounds of the past, for each side."""
    refuse_misaligned(outputs, y)
    outputs = oc.score.outputs(outputs)
    labels, known = oc.score.labels(y, oc.score.rows(outputs))
    u = uniforms(oc.score.seed, BEFORE, len(known)) if oc.score.randomised else None  # type: ignore[attr-defined]
    both = checked_scores(oc, outputs, labels, known, u)
    return [side[known] for side in both[: oc.score.sides]]
