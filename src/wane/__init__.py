"""Online learning that forgets gracefully."""

from wane import domains, learners, special, theory, trackers

__all__ = ["compiled", "domains", "learners", "special", "theory", "trackers"]
__version__ = "0.1.0"


def compiled() -> bool:
    """Whether the compiled algorithms are running; the uncompiled ones give the same results, 10-50 times slower.

    >>> compiled() in (True, False)
    True
    """
    return not str(special.__file__).endswith(".py")
