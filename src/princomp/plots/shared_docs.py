"""Entries of docstrings that several figures share."""

from __future__ import annotations

from princomp.core import fill_docstring
from princomp.diagnostics import DOCSTRING_ENTRIES

# Replaces lines such as %(bootstrap)s in a docstring.
shared_docs = fill_docstring(
    {
        **DOCSTRING_ENTRIES,
        "plane": """\
x, y : int or str
    Components: numbers from 1, or "PC1", ….""",
        "bootstrap": """\
bootstrap : Bootstrap, optional
    Decides which components are marked as unstable. Without it, an approximation is used.""",
        "axes": """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default a new one.
dark : bool, optional
    Colours of a new Axes: light on dark if true, dark on light if false. By default those of
    matplotlib's settings.""",
    }
)
