"""Adapters for other libraries; each module imports its own, so take the one you need by name."""
