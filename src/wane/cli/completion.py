"""What the shell offers for the names of methods."""

from __future__ import annotations


def method_of(incomplete: str) -> list[str]:
    """The methods whose names begin like this.

    >>> method_of("mag")
    ['magdis', 'magl', 'magl-d']
    """
    from wane import trackers

    return [name for name in trackers.names() if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """The same for the last of several names with commas between, and all.

    >>> method_names("auto,mag"), method_names("al")
    (['auto,magdis', 'auto,magl', 'auto,magl-d'], ['all'])
    """
    before, comma, last = incomplete.rpartition(",")
    found = [f"{before}{comma}{name}" for name in method_of(last)]
    return found if comma or not "all".startswith(incomplete) else ["all", *found]
