"""What a report on a classifier is made from: labels and sets of labels of one stream by one method."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from wane.checks import described
from wane.errors import InputError
from wane.report.track import groups_of, levels_of, moments_of, table_of

BY_CLASS = "true label"  # the factor by which coverage is judged in every report on label sets


@dataclasses.dataclass(frozen=True, eq=False)
class LabelTrack:
    """Label sets of one stream by one method; several methods on a stream are tracks of the same name.

    Give ``sets`` with ``classes``, or only ``size`` and ``covered`` if the sets themselves were not kept; then the page
    cannot say which labels were taken instead of the true one.

    Args:
        name: of the stream.
        method: what made the sets.
        time: (T,) numbers or dates that do not decrease; None numbers the rounds from 0.
        label: (T,), the true label of each round; None or NaN where it is not known.
        levels: (L,), the share of misses that each set may have, such as 0.1.
        sets: (T, L, C), or (T, C) with one level: whether a class is in the set.
        classes: (C,), the names of the classes; None numbers them from 0.
        size: (T, L), or (T,) with one level: how many labels are in the set.
        covered: the same shape: whether the true label is in the set, and NaN where it is not known.
        groups: what coverage is also judged by, as for ``Track``.

    >>> track = LabelTrack("demo", "auto", None, ["cat", "dog"], [0.1], [[1, 0], [1, 0]], classes=["cat", "dog"])
    >>> track.covered[:, 0], track.size[:, 0]
    (array([1., 0.]), array([1., 1.]))
    """

    name: str
    method: str
    time: Any
    label: Any
    levels: Any
    sets: Any = None
    classes: Any = None
    size: Any = None
    covered: Any = None
    groups: Any = None

    bounds: ClassVar[None] = None
    discount: ClassVar[float] = 1.0
    gradients: ClassVar[None] = None

    def __post_init__(self) -> None:
        """Arrays of the right shapes, or an error."""
        label = np.array([None if _missing(x) else x for x in self.label], dtype=object)
        if not len(label):
            raise self._bad("label", "must have one round or more, got none")
        known = np.array([x is not None for x in label])
        levels = levels_of(self.levels, self.name)
        shape = (len(label), len(levels))
        sets = classes = None
        if self.sets is not None:
            sets = np.asarray(self.sets, dtype=bool)
            sets = sets[:, None, :] if sets.ndim == 2 and len(levels) == 1 else sets
            if sets.ndim != 3 or sets.shape[:2] != shape:
                raise self._bad("sets", f"must have shape {shape} and one number for each class, got {sets.shape}")
            classes = np.array(list(range(sets.shape[2]) if self.classes is None else self.classes), dtype=object)
            if len(classes) != sets.shape[2]:
                raise self._bad(
                    "classes", f"must be the names of {sets.shape[2]} classes, got {described(self.classes)}"
                )
        if sets is None and (self.size is None or self.covered is None):
            raise self._bad("size and covered", "are wanted where there are no sets")
        covered = self._inside(sets, classes, label, known) if self.covered is None else self.covered
        covered = np.where(known[:, None], table_of("covered", covered, shape, self.name), np.nan)
        if not np.isin(covered[known], (0.0, 1.0)).all():
            raise self._bad("covered", "must be 1 or 0 where there is a label")
        size = sets.sum(axis=2) if self.size is None and sets is not None else self.size
        made = {
            "time": moments_of(self.time, len(label), self.name),
            "label": label,
            "levels": levels,
            "sets": sets,
            "classes": classes,
            "size": table_of("size", size, shape, self.name),
            "covered": covered,
            "groups": groups_of(self.groups, len(label), self.name),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Rounds."""
        return len(self.label)

    @property
    def known(self) -> np.ndarray:
        """(T,), whether the label of a round is there."""
        return ~np.isnan(self.covered[:, 0])

    def widths(self, level: int) -> np.ndarray:
        """(T,), how many labels are in each set."""
        return np.asarray(self.size[:, level])

    def interval_score(self, level: int) -> float:
        """There is none of label sets."""
        return math.nan

    def since(self, first: int) -> LabelTrack:
        """The rounds from one on."""
        columns = {name: getattr(self, name) for name in ("time", "label", "sets", "size", "covered")}
        kept: dict[str, Any] = {name: None if column is None else column[first:] for name, column in columns.items()}
        groups = {name: values[first:] for name, values in self.groups.items()}
        return dataclasses.replace(self, **kept, groups=groups)

    def factors(self) -> dict[str, np.ndarray]:
        """What coverage is also judged by: always the true label."""
        return {BY_CLASS: self.label, **self.groups}

    def _inside(self, sets: Any, classes: Any, label: np.ndarray, known: np.ndarray) -> np.ndarray:
        """(T, L), whether the true label is in the set; a label that is no class is an error."""
        place = {str(name): i for i, name in enumerate(classes)}
        unknown = {str(x) for x in label[known]} - set(place)
        if unknown:
            cure = f"the classes are {', '.join(list(place)[:10])}"
            raise self._bad("label", f"{sorted(unknown)[0]!r} is none of the classes", cure)
        at = np.array([place[str(x)] if x is not None else 0 for x in label])
        return sets[np.arange(len(label)), :, at].astype(float)

    def _bad(self, about: str, problem: str, cure: str | None = None) -> InputError:
        """The error about one argument, with the name of the stream."""
        return InputError(problem, about=about, cure=cure, where=self.name)


def _missing(label: Any) -> bool:
    return label is None or bool(label != label)
