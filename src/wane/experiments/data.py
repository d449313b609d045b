"""Where the images of the paper's experiment come from: bundled digits, or files with the outputs of a model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from wane.errors import InputError
from wane.streams import LabelStream, digits, read


class Source(Protocol):
    """Streams of labels by schedule and seed."""

    name: str
    main: str

    def stream(self, schedule: str, seed: int) -> LabelStream | None:
        """The stream, or None where there is none."""


class Digits:
    """Scikit-learn's digits, corrupted along the schedule; the seed makes the model, the order and the corruption."""

    name = "digits"
    main = "sudden"

    def __init__(self, rounds: int | None = None) -> None:
        """``rounds`` are judged; None for as many as in the paper's experiment."""
        self.rounds = rounds

    @functools.cache  # noqa: B019  # a source lives as long as the command
    def stream(self, schedule: str, seed: int) -> LabelStream:
        """Made in some seconds."""
        return digits(schedule, seed=seed) if self.rounds is None else digits(schedule, rounds=self.rounds, seed=seed)


class Files:
    """Files of probabilities and labels; the seed makes the uniforms of the score alone."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Take a file for the sudden schedule and possibly one for the gradual, known by its name."""
        self.paths = {"gradual" if "gradual" in path.name else "sudden": path for path in reversed(paths)}
        if len(self.paths) < len(paths):
            problem = f"two files for one schedule: {', '.join(map(str, paths))}"
            raise InputError(problem, argument="data", cure="the gradual one has 'gradual' in its name")
        first = paths[0]
        for this, other in (("sudden", "gradual"), ("gradual", "sudden")):
            beside = first.with_name(first.name.replace(this, other))
            if other not in self.paths and beside != first and beside.is_file():
                self.paths[other] = beside  # it stands beside the one that was given
        self.main = "gradual" if "gradual" in first.name else "sudden"
        self.name = first.name

    def stream(self, schedule: str, seed: int) -> LabelStream | None:
        """Read the file."""
        path = self.paths.get(schedule)
        if path is None:
            return None
        found = read(path)
        if not isinstance(found, LabelStream):
            cure = "arrays called probs and label are wanted"
            raise InputError(f"{path} holds no probabilities and labels", argument="data", cure=cure)
        return found
