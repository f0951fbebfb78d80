"""The page: text, figures and tables in the template, with style and script included."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
from markupsafe import Markup

from princomp import __version__
from princomp.errors import printable
from princomp.plots import GROUP_COLOURS
from princomp.reports.figures import figure_parts
from princomp.reports.narrative import describe_analysis, describe_briefly, describe_results
from princomp.reports.points import MAX_POINTS, score_points
from princomp.reports.provenance import provenance
from princomp.reports.request import Request
from princomp.reports.tables import eigenvalue_table, row_table, variable_table, verdict_table
from princomp.reports.text import environment
from princomp.reports.trust import assess_reliability


def render_page(request: Request) -> str:
    """Render the page."""
    fitted, rows, texts = request.fitted, request.rows, request.texts
    parts = figure_parts(request)  # before the styles, to which figures add theirs
    page = environment().get_template("page.html")
    html = page.render(
        title=request.title or request.data or texts.words["untitled"],
        version=__version__,
        style=_package_file("page.css"),
        figure_style=request.styles.css,
        colours=GROUP_COLOURS,
        script=_package_file("page.js"),
        texts=texts,
        summary=texts("summary", fitted.n_samples, fitted.p, fitted.k, float(fitted.rates.sum())),
        tiles=_tiles(request),
        brief=describe_briefly(request),
        analysed=describe_analysis(request),
        found=describe_results(request),
        reliability=assess_reliability(request),
        parts=parts,
        verdicts=verdict_table(request),
        eigenvalues=eigenvalue_table(request),
        variables=variable_table(request.model),
        rows=None if rows is None else row_table(fitted, rows),
        points=score_points(fitted, rows) if rows is not None and fitted.k > 1 else None,
        max_points=MAX_POINTS,
        provenance=provenance(request),
    )
    return printable(html)


def _tiles(request: Request) -> list[tuple[str, str]]:
    """Return the numbers of the dashboard with their meanings."""
    fitted, rows, words = request.fitted, request.rows, request.texts.words
    size = f"{fitted.p:,}" if fitted.n_samples is None else f"{fitted.n_samples:,} × {fitted.p:,}"
    kept = f"{fitted.k:,} / {request.max_components:,}"
    tiles = [
        (f"{float(fitted.rates.sum()):.1%}", words["explained"]),
        (kept, words["kept" if fitted.k > 1 else "kept_one"]),
        (size, words["columns_only" if fitted.n_samples is None else "size"]),
    ]
    if rows is not None:
        n_outliers, n = int((rows.exceeded != "").sum()), int(np.isfinite(rows.t2).sum())
        meaning = words["beyond"].replace("95%", f"{100 * request.level:.4g}%")
        tiles.append((f"{n_outliers:,} / {n:,}", f"{words['rows'].lower()} {meaning}"))
    return tiles


def _package_file(name: str) -> Markup:
    """Return a file of the package without escaping."""
    return Markup(files("princomp.reports").joinpath(name).read_text(encoding="utf-8"))
