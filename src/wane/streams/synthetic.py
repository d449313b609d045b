"""Scores that are made, each to ask one question of a method; the same seed makes the same scores."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import described, positive, share, whole
from wane.errors import InputError, InputTypeError
from wane.streams.types import ScoreStream

PHASES = (1.0, 10.0, 1.0, 0.1)  # scales of the stretches of `scale_shifts`


def iid(rounds: int = 5000, seed: int = 0) -> ScoreStream:
    """Sizes of independent standard normal numbers: nothing changes."""
    return ScoreStream("iid", np.abs(_generator(rounds, seed).normal(size=rounds)))


def scale_shifts(rounds: int = 5000, seed: int = 0) -> ScoreStream:
    """Sizes of normal numbers whose scale jumps tenfold, up and down: 1, 10, 1, 0.1, a quarter of the rounds each."""
    noise = np.abs(_generator(rounds, seed).normal(size=rounds))
    phase = np.arange(rounds) * len(PHASES) // rounds
    shifts = tuple(int(t) + 1 for t in np.flatnonzero(np.diff(phase)))
    return ScoreStream("scale_shifts", noise * np.array(PHASES)[phase], shifts)


def drift(rounds: int = 5000, seed: int = 0, ratio: float = 100.0) -> ScoreStream:
    """Sizes of normal numbers whose scale grows slowly, by the same factor every round, from 1 to ``ratio``."""
    noise = np.abs(_generator(rounds, seed).normal(size=rounds))
    return ScoreStream("drift", noise * np.geomspace(1.0, positive("ratio", ratio), rounds))


def heavy_tails(rounds: int = 5000, seed: int = 0, degrees: float = 2.0) -> ScoreStream:
    """Sizes of Student t numbers, P(score > x) ~ x^-degrees: with 2 degrees of freedom their variance is infinite."""
    draws = _generator(rounds, seed).standard_t(positive("degrees", degrees), size=rounds)
    return ScoreStream("heavy_tails", np.abs(draws))


def seasonal(rounds: int = 5000, seed: int = 0, period: int = 500) -> ScoreStream:
    """Sizes of normal numbers whose scale swings between 1/3 and 3 with a period."""
    noise = np.abs(_generator(rounds, seed).normal(size=rounds))
    phase = np.arange(rounds) % whole("period", period, 2) / period
    return ScoreStream("seasonal", noise * 3.0 ** np.sin(2.0 * np.pi * phase))


def alternation(rounds: int = 5000, seed: int = 0, block: int = 50, high: float = 1.0) -> ScoreStream:
    """Blocks of rounds that score ``high`` and blocks that score 0, in turn, from a round that the seed chooses.

    The period is 2 ``block``. Whoever remembers about a block is wrong at the beginning of each: too narrow when the
    scores are high, too wide when they are 0.
    """
    generator, block = _generator(rounds, seed), whole("block", block, 1)
    turn = (np.arange(rounds) + generator.integers(2 * block)) // block % 2
    shifts = tuple(int(t) + 1 for t in np.flatnonzero(np.diff(turn)))
    return ScoreStream("alternation", positive("high", high) * (1.0 - turn), shifts)


def lower_bound(rounds: int = 5000, seed: int = 0, alpha: float = 0.1, high: float = 1.0) -> ScoreStream:
    r"""The random signs of the paper's lower bound, as scores: ``high`` with probability alpha, otherwise 0.

    A radius r in (0, high] covers a 0 and misses ``high``, so the subgradient of the pinball loss is alpha or alpha - 1
    whatever the radius is: independent noise with mean 0 and variance alpha (1 - alpha); for alpha = 1/2 it is the
    paper's :math:`\pm L` with L = 1/2. On (0, high] the losses are linear, their sum has slope
    :math:`s = \sum_t g_t`, and the better one of the two ends beats the mean of both by high |s| / 2. No method gains
    anything in expectation: against the better end it loses at least high E|s| / 2, which grows like
    :math:`\sqrt{\alpha (1 - \alpha) T / (2 \pi)}` times high.
    """
    hit = _generator(rounds, seed).random(rounds) < share("alpha", alpha)
    return ScoreStream("lower_bound", np.where(hit, positive("high", high), 0.0))


SYNTHETIC: dict[str, Callable[..., ScoreStream]] = {
    made.__name__: made for made in (alternation, drift, heavy_tails, iid, lower_bound, scale_shifts, seasonal)
}


def synthetic_names() -> list[str]:
    """Every name that ``synthetic`` knows, sorted.

    >>> "drift" in synthetic_names()
    True
    """
    return sorted(SYNTHETIC)


def synthetic(name: str, rounds: int = 5000, seed: int = 0, **arguments: Any) -> ScoreStream:
    """Scores that are made, by the name of what they do.

    Args:
        name: one of `synthetic_names`: ``alternation`` (blocks of high and 0; block, high), ``drift`` (the scale grows;
            ratio), ``heavy_tails`` (Student t; degrees), ``iid``, ``lower_bound`` (noise that nobody can learn; alpha,
            high), ``scale_shifts`` (jumps of the scale by 10), ``seasonal`` (the scale swings; period).
        rounds: how many scores.
        seed: of the generator.
        arguments: the further ones named above.

    >>> stream = synthetic("scale_shifts", rounds=1000, seed=7)
    >>> len(stream), stream.shifts
    (1000, (250, 500, 750))
    """
    if not isinstance(name, str) or name not in SYNTHETIC:
        known = f"known are {', '.join(synthetic_names())}"
        raise InputError(f"no synthetic stream is called {described(name)}", argument="name", cure=known)
    takes = list(inspect.signature(SYNTHETIC[name]).parameters)
    for given in arguments:
        if given not in takes[2:]:
            cure = f"it takes {', '.join(takes)}"
            raise InputTypeError(f"{name} has no setting {given!r}", argument=given, cure=cure)
    return SYNTHETIC[name](rounds, seed, **arguments)


def _generator(rounds: Any, seed: Any) -> np.random.Generator:
    whole("rounds", rounds, 1)
    return np.random.default_rng(whole("seed", seed, 0))
