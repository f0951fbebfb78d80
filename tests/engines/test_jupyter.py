"""Figures in notebooks: a real kernel of Jupyter runs the cells."""

from __future__ import annotations

import pytest

from command_line import ARRESTS

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

FIT = f"""
import pandas
import princomp
states = pandas.read_csv({str(ARRESTS)!r}, index_col="State")
model = princomp.PCA(2, scale="unit").fit(states)
"""


def outputs_of(*cells):
    """The types of the data that each cell shows."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [{kind for output in cell.outputs for kind in output.data} for cell in notebook.cells]


def test_a_cell_shows_the_figures_that_it_draws(tmp_path):
    shown = outputs_of(
        FIT,
        "model.plot.biplot(states)",
        "ax = model.plot.scree()\nax.set_title('Arrests')",
        "model.plot.pairs(states);",
        f"path = princomp.report(model, states, {str(tmp_path / 'report.html')!r})",
        "model",
    )
    figure = {"text/plain", "image/png"}
    assert shown == [set(), figure, figure, figure, set(), {"text/plain", "text/html"}]
