"""Where the command ``wane`` begins: an error becomes one line and an exit code.

0: done. 1: it could not be done, and the message says why. 2: the command was not understood. 130: interrupted.
"""

from __future__ import annotations

import os
import sys

from wane.errors import installing

INTERRUPTED = "interrupted"
MISSING = f"wane: the command line needs typer and rich: {installing('cli')}"


class Interrupted(SystemExit):
    """Ctrl-C, with what to tell the user."""

    def __init__(self, said: str) -> None:
        """Exit code 130."""
        super().__init__(130)
        self.said = said


def main() -> None:
    """Run the command line."""
    debug = "--debug" in sys.argv or bool(os.environ.get("WANE_DEBUG"))
    while "--debug" in sys.argv:  # wherever it stands
        sys.argv.remove("--debug")
    try:
        run()
    except SystemExit as leaving:
        if leaving.code == 130:  # Ctrl-C
            sys.stderr.write(f"wane: {getattr(leaving, 'said', INTERRUPTED)}\n")
        raise
    except KeyboardInterrupt:  # before a command has begun
        sys.stderr.write(f"wane: {INTERRUPTED}\n")
        sys.exit(130)
    except (ValueError, TypeError, OSError, ImportError) as error:
        if debug:
            raise
        sys.stderr.write(f"wane: {error}\n")
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"wane: {type(error).__name__}: {error} (not foreseen: --debug shows where)\n")
        sys.exit(1)


def run() -> None:
    """Run the command that was given, or say what must be installed first."""
    try:
        from wane.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(MISSING)
    if os.environ.get("NO_COLOR"):
        from typer import rich_utils

        rich_utils.COLOR_SYSTEM = None  # help and usage, too, without any escape sequence
    app()
