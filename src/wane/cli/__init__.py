"""The command line: ``wane --help``."""
