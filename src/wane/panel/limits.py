"""What the arrays of a panel may hold. They are checked when a state or rows are read, and errors name the series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import EXTREME
from wane.conformal.rounds import rewrite_streams
from wane.errors import InputError
from wane.learners.coin_betting import CoinBetting
from wane.state.data import subclasses
from wane.state.limits import MOST, limits_of_rows
from wane.state.stateful import Stateful
from wane.trackers.base import Tracker
from wane.trackers.history import History
from wane.trackers.portfolio import Portfolio

if TYPE_CHECKING:
    from wane.panel.panel import Panel

RELATED = (History, CoinBetting, Portfolio)  # checked one by one, which takes microseconds for each series
LARGEST_LOG = 1500.0  # no logarithm of a ratio is larger, and notes of ``pool`` are logarithms but for two of them
UNBACKED = 10**6  # numbers that the trackers of a panel without streams may keep


def refuse_impossible(panel: Panel) -> None:
    """Raise an error about the first stream whose arrays no rounds could have left."""
    n, signed = len(panel.index), panel.settings.score.signed
    seen, labels = panel.seen[:n], panel.labels[:n]
    if n == 0:
        return
    # Each field, and in which of its entries it is possible.
    good = {
        "seen": (seen >= 0) & (seen <= MOST),
        "warm": panel.warm[:n].view(np.uint8) <= 1,
        "outputs": np.isfinite(panel.outputs[:n]),
        "radii": ~(panel.radii[:n] < 0.0) | signed,  # NaN means that nothing was played
        "waiting": panel.waiting[:n].view(np.uint8) <= 1,
        "labels": (labels >= 0) & (labels <= seen),
        "misses": (panel.misses[:n] >= 0) & (panel.misses[:n] <= labels[:, None]),
        "widths": ~np.isnan(panel.widths[:n]),
        "unbounded": (panel.unbounded[:n] >= 0) & (panel.unbounded[:n] <= labels[:, None]),
        "states": possible_states(panel),
        "notes": possible_notes(panel, panel.notes[:n]),
    }
    for name, entries in good.items():
        rows = entries.reshape(n, -1).all(axis=1)
        if not rows.all():
            place = int(np.argmin(rows))
            bad = getattr(panel, name)[place].ravel()[np.argmin(entries[place].ravel())]
            raise impossible(panel, place, name, bad)
    # The labels that are not learned yet.
    tail = panel.tail
    scores = np.stack([tail.below, tail.above], axis=1)
    late = {
        "pos": (tail.pos >= 0) & (tail.pos < panel.seen[tail.place]),
        "below": (np.isnan(scores) | ((scores <= EXTREME) & (scores >= (-EXTREME if signed else 0.0)))).all(axis=1),
        "radii": (~(tail.radii < 0.0) | signed).all(axis=1),
        "notes": possible_notes(panel, tail.notes).all(axis=1),
    }
    for name, rows in late.items():
        if not rows.all():
            row = int(np.argmin(rows))
            raise impossible(panel, int(tail.place[row]), f"{name} of a late label", getattr(tail, name)[row])


def possible_states(panel: Panel) -> np.ndarray:
    """Say which numbers of the states are possible: within the limits of their field, and the same when read."""
    states = panel.states[: len(panel.index)]
    if not panel.flat:
        return np.ones(states.shape, dtype=bool)
    if panel.pools:
        return np.concatenate([pool.possible(states) for pool in panel.pools], axis=1)
    ends = [limits_of_rows(tracker) for tracker in panel.settings.levels.trackers]
    low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
    good = (states >= low) & (states <= high)  # NaN is neither
    # Reading keeps indices within their arrays and numbers in order. A row that this changes was never written.
    again = np.where(good, states, low)
    rewrite_streams(panel.settings.levels, again.data, again.data)
    good &= again == states
    # Few methods have numbers that must also fit together.
    related = [
        part for tracker in panel.settings.levels.trackers for part in parts(tracker) if isinstance(part, RELATED)
    ]
    for i in np.flatnonzero(good.all(axis=1)).tolist() if related else ():
        panel.settings.levels.read(states, i)
        good[i] = all(part.misfit() is None for part in related)
    return good


def possible_notes(panel: Panel, notes: np.ndarray) -> np.ndarray:
    """Say which numbers that were kept with predictions are possible."""
    good = np.isfinite(notes)
    if panel.pools:
        good &= np.abs(notes) <= LARGEST_LOG
    for pool in panel.pools:
        ages, sizes = notes[:, pool.note_at], notes[:, pool.size_at]
        good[:, pool.note_at] = (ages >= -1.0) & (ages <= MOST)  # -1 is a prediction without an interval
        good[:, pool.size_at] = (sizes >= 0.0) & np.isfinite(sizes)
    return good


def parts(thing: Any) -> list[Any]:
    """Return the objects that the state of an object is made of, itself included."""
    inner = [getattr(thing, name) for name in (*thing.memory, *thing.parameters)]
    return [thing, *(part for value in inner if isinstance(value, Stateful) for part in parts(value))]


def impossible(panel: Panel, place: int, name: str, value: Any) -> InputError:
    """Make the error about a stream."""
    problem = f"{name} of the series {panel.ids()[place]!r} cannot be {value}: no rounds could have left this"
    return InputError(problem, argument="state", cure="restore it from a copy")


def refuse_unbacked(hyperparameters: Any, memory: Any) -> None:
    """Raise an error if trackers with these hyperparameters keep more numbers than the memory can hold."""
    held = sum(len(memory[name]["base64"]) for name in ("states", "seen")) + len(str(memory["trackers"]))
    for cls in subclasses(Tracker):
        if (wanted := cls.least_numbers(hyperparameters)) > max(held, UNBACKED):  # type: ignore[attr-defined]
            raise InputError(
                f"the hyperparameters {hyperparameters} take {wanted} numbers for a series, and the state is smaller",
                argument="state",
                cure="restore it from a copy",
            )
