"""Entries of docstrings that several functions of diagnostics and figures share."""

from __future__ import annotations

from princomp.core import fill_docstring

_ENTRIES = {
    "model": """\
model : PCA
    Fitted.""",
    "X": """\
X : array, sparse array, frame, path or batches, of shape (n, p)
    Training rows or other rows, with the columns of the fit.""",
    "sample_weight": """\
sample_weight : array of shape (n,), optional
    Frequencies of the rows.""",
    "categorical": """\
categorical : iterable of str, optional
    Columns of numbers to be used as categories.""",
    "components": """\
components : int, str or sequence of them, optional
    Numbers from 1, or "PC1", …; all by default.""",
    "ids": """\
ids : str or sequence of length n, optional
    Names of the rows; see :func:`princomp.diagnostics.rows`.""",
    "frame": """\
frame : {"pandas", "polars", "pyarrow", "listing"}, optional
    Kind of the table; by default that of X.""",
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
    "example_model": """\
>>> import numpy as np
>>> from princomp import PCA, diagnostics
>>> X = np.array([[1.0, 2, 0], [2, 1, 1], [3, 4, 0], [4, 3, 1], [6, 5, 0], [5, 7, 2]])
>>> model = PCA(2).fit(X)""",
}

# Replaces lines such as %(model)s in a docstring.
shared_docs = fill_docstring(_ENTRIES)
