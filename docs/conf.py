"""Sphinx settings; ``make docs`` builds the pages with src/ uncompiled, so that autodoc sees signatures."""

import re

import wane

project = "wane"
author = "the wane contributors"
copyright = "the wane contributors"
version = release = wane.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx-mathjax-offline"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"wane {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]

napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "FloatArray": "FloatArray"}
default_role = "py:obj"  # `name` in a docstring links to that name where it is public, and is code where it is not


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings write absolute values and norms as |x|, which reStructuredText would take for a substitution."""
    if name.startswith(("wane.theory", "wane.scores")):
        lines[:] = [line if ">>>" in line else re.sub(r"(?<!\\)\|", r"\\|", line) for line in lines]


def keep_colons(app, what, name, obj, options, lines):
    """Napoleon reads "name: text" in the docstring of a property as a type and its text; a semicolon stops it."""
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", "; ")


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon
