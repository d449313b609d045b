"""Everything that survives a restart: plain data, files, locks and the journal. It knows no class of the package."""

from wane.state.files import load, save
from wane.state.journal import Journal

__all__ = ["Journal", "load", "save"]
