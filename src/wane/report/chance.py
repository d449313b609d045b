"""What chance allows a coverage to be, if misses were independent and their probability right."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

SURE = 0.9973  # of the band: one in 370 is outside by chance, as with three standard deviations


def band(alpha: float, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest coverage of so many outcomes that chance allows; 0 and 1 of none.

    >>> low, high = band(0.1, [0, 100, 10_000])
    >>> low.tolist(), high.tolist()
    ([0.0, 0.8, 0.8909], [1.0, 0.98, 0.9089])
    """
    n = np.asarray(labels, dtype=float)
    low, high = binom.interval(SURE, np.maximum(n, 1.0), 1.0 - alpha)
    return np.where(n > 0, low / np.maximum(n, 1.0), 0.0), np.where(n > 0, high / np.maximum(n, 1.0), 1.0)


def surprise(alpha: float, labels: Any, misses: Any) -> np.ndarray:
    """How unlikely so many misses are: the log-likelihood ratio of their share against alpha, 0 of no outcomes.

    The probability of as many or more on the same side is at most exp of its negative. It ranks series of unequal
    length: 18 misses of 100 are more surprising than 2 of 5.

    >>> surprise(0.1, [100, 5, 0], [18, 2, 0]).round(1).tolist()
    [2.9, 1.6, 0.0]
    """
    n, m = np.asarray(labels, dtype=float), np.asarray(misses, dtype=float)
    return np.maximum(rel_entr(m, alpha * n) + rel_entr(n - m, (1.0 - alpha) * n), 0.0)
