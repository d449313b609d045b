"""What a stream is: scores, forecasts with outcomes, or probabilities with labels, round after round."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from wane.checks import described, real_array, whole
from wane.errors import InputError, InputTypeError

SLACK = (
    2e-2  # how far the probabilities of a row may add up from 1 before they are scaled: half precision, many classes
)


@dataclasses.dataclass(frozen=True)
class About:
    """Where a stream comes from, who may use it, and what there is to see."""

    what: str
    source: str
    licence: str
    rounds: int
    shift: str


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreStream:
    """Scores, one a round.

    Args:
        name: of the stream.
        scores: (T,), finite.
        shifts: the rounds at which the law of the scores changes.
        warm_up: how many first rounds warm a method up and are not judged.
    """

    name: str
    scores: np.ndarray
    shifts: tuple[int, ...] = ()
    warm_up: int = 0

    def __post_init__(self) -> None:
        """Check and freeze."""
        freeze(self, scores=column("scores", self.scores))
        _marks(self, len(self.scores))

    def __len__(self) -> int:
        """How many rounds."""
        return len(self.scores)


@dataclasses.dataclass(frozen=True, eq=False)
class ForecastStream:
    """Forecasts and outcomes; the forecast of a round was made from the rounds before it.

    Args:
        name: of the stream.
        y: (T,), the outcomes.
        y_hat: (T,), the forecasts.
        scale: (T,), how far off the forecast expects to be, > 0; or None.
        time: (T,), anything that orders the rounds, for figures; or None.
        shifts: the rounds at which the law changes, where it is known.
        warm_up: how many first rounds warm a method up and are not judged.
        about: source and licence, of a bundled stream.
    """

    name: str
    y: np.ndarray
    y_hat: np.ndarray
    scale: np.ndarray | None = None
    time: np.ndarray | None = None
    shifts: tuple[int, ...] = ()
    warm_up: int = 0
    about: About | None = None

    def __post_init__(self) -> None:
        """Check and freeze."""
        y = column("y", self.y)
        y_hat = column("y_hat", self.y_hat, len(y))
        freeze(self, y=y, y_hat=y_hat)
        if self.scale is not None:
            scale = column("scale", self.scale, len(y))
            if not (scale > 0.0).all():
                raise InputError(f"{self.name}: every scale must be > 0, got {scale.min()}", argument="scale")
            freeze(self, scale=scale)
        if self.time is not None:
            time = np.asarray(self.time)
            if time.shape != y.shape:
                problem = f"{self.name}: time must have the shape of y, {y.shape}, got {time.shape}"
                raise InputError(problem, argument="time")
            freeze(self, time=time)
        _marks(self, len(y))

    def __len__(self) -> int:
        """How many rounds."""
        return len(self.y)

    @property
    def scores(self) -> np.ndarray:
        """How far off each forecast was."""
        return np.abs(self.y - self.y_hat)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelStream:
    """The probabilities that a classifier gives, and the labels.

    Args:
        name: of the stream.
        probabilities: (T, K); rows that add up to nearly 1 are scaled to it.
        labels: (T,), indices of classes.
        severity: (T,), 0 where the image is clean; None for zeros.
        corruption: (T,), an index into ``kinds``, -1 where the image is clean; None for -1 everywhere.
        kinds: the names of the corruptions.
        warm_up: how many first rounds warm a method up and are not judged.
    """

    name: str
    probabilities: np.ndarray
    labels: np.ndarray
    severity: np.ndarray | None = None
    corruption: np.ndarray | None = None
    kinds: tuple[str, ...] = ()
    warm_up: int = 0

    def __post_init__(self) -> None:
        """Check, scale and freeze."""
        p = np.array(real_array("probabilities", self.probabilities))
        if p.ndim != 2 or p.shape[1] < 2:
            cure = "stack 1 - p and p" if p.ndim == 1 or p.shape[-1:] == (1,) else None
            problem = f"{self.name}: probabilities must be (rounds, at least 2 classes), got {p.shape}"
            raise InputError(problem, argument="probabilities", cure=cure)
        if (bad := ~(np.isfinite(p) & (p >= 0.0))).any():
            t, k = (int(i) for i in np.argwhere(bad)[0])
            cure = "of logits take the softmax" if np.isfinite(p[t, k]) else "leave such rounds out"
            problem = f"{self.name}: the probability of class {k} in round {t} is {p[t, k]}"
            raise InputError(problem, argument="probabilities", cure=cure)
        sums = p.sum(axis=1, keepdims=True)
        if (off := np.abs(sums - 1.0) > SLACK).any():
            t = int(np.argmax(off))
            problem = f"{self.name}: probabilities of round {t} add up to {sums[t, 0]:.4g}, wanted 1"
            raise InputError(problem, argument="probabilities")
        freeze(self, probabilities=p / sums, labels=self._indices("labels", self.labels, 0, p.shape[1]))
        rounds = len(p)
        severity = np.zeros(rounds, dtype=np.int64) if self.severity is None else self.severity
        kinds = np.full(rounds, -1) if self.corruption is None else self.corruption
        freeze(
            self,
            severity=self._indices("severity", severity, 0, 2**31),
            corruption=self._indices("corruption", kinds, -1, len(self.kinds) or 2**31),
            kinds=tuple(map(str, self.kinds)),
        )
        whole("warm_up", self.warm_up, 0, rounds + 1)

    def _indices(self, name: str, values: Any, least: int, below: int) -> np.ndarray:
        given = np.asarray(values)
        if given.dtype.kind == "f" and (given == np.round(given)).all():
            given = given.astype(np.int64)
        if given.shape != (len(self.probabilities),) or given.dtype.kind not in "iu":
            raise InputError(
                f"{self.name}: {name} must be whole numbers, one a round ({len(self.probabilities)}), "
                f"got {given.dtype} of shape {given.shape}",
                argument=name,
                cure="a label is the column of its class in the probabilities",
            )
        if given.size and not (given.min() >= least and given.max() < below):
            problem = f"{self.name}: {name} must lie in [{least}, {below}), got {given.min()} to {given.max()}"
            raise InputError(problem, argument=name)
        return given.astype(np.int64)

    def __len__(self) -> int:
        """How many rounds."""
        return len(self.labels)


Stream = ScoreStream | ForecastStream | LabelStream


def column(name: str, values: Any, rounds: int | None = None) -> np.ndarray:
    """Finite numbers, one a round."""
    array = real_array(name, values)
    if array.ndim != 1 or (rounds is not None and len(array) != rounds):
        wanted = "(rounds,)" if rounds is None else f"({rounds},)"
        raise InputError(f"must have shape {wanted}, got {array.shape}", about=name)
    if not np.isfinite(array).all():
        t = int(np.argmin(np.isfinite(array)))
        cure = "drop the rounds that have no number"
        raise InputError(f"must be finite, got {array[t]}", about=name, row=t, cure=cure)
    return array


def freeze(stream: Any, **values: Any) -> None:
    """Set fields of a frozen stream; arrays become copies that cannot be written to."""
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.setflags(write=False)
        object.__setattr__(stream, name, value)


def _marks(stream: Any, rounds: int) -> None:
    whole("warm_up", stream.warm_up, 0, rounds + 1)
    try:
        shifts = tuple(whole("shift", s, 0, rounds) for s in stream.shifts)
    except TypeError:
        raise InputTypeError(f"must be rounds, got {described(stream.shifts)}", about="shifts") from None
    freeze(stream, shifts=shifts)
