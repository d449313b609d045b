"""Where the command ``wane`` begins: errors in a line or two, and an exit code.

0: done. 1: it could not be done, and the message says why. 2: the command was not understood. 130: interrupted.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = "interrupted; run it again to go on"
MISSING = 'wane: the command line needs typer and rich: pip install "wane[cli]"'


class Interrupted(SystemExit):
    """Ctrl-C, with what to say about it."""

    def __init__(self, said: str) -> None:
        """Exit code 130."""
        super().__init__(130)
        self.said = said


def main() -> None:
    """Run the command line."""
    try:
        from wane.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(MISSING)
    debug = "--debug" in sys.argv or bool(os.environ.get("WANE_DEBUG"))
    sys.argv = [sys.argv[0], *(word for word in sys.argv[1:] if word != "--debug")]  # wherever it stands
    try:
        app()
    except SystemExit as leaving:
        if leaving.code == 130:  # Ctrl-C: what was finished is written, and the rest is found again
            sys.stderr.write(f"wane: {getattr(leaving, 'said', INTERRUPTED)}\n")
        raise
    except (ValueError, TypeError, OSError, ImportError) as error:
        if debug:
            raise
        sys.stderr.write(f"wane: {error}\n")
        sys.exit(1)
