"""The page: text, figures and tables in the template, with style and script included."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from princomp import __version__
from princomp.errors import printable
from princomp.plots import GROUP_COLOURS
from princomp.reports.figures import Request, figure_parts
from princomp.reports.narrative import describe_analysis, describe_briefly, describe_results
from princomp.reports.points import MAX_POINTS, score_points
from princomp.reports.provenance import provenance
from princomp.reports.tables import eigenvalue_table, row_table, variable_table, verdict_table
from princomp.reports.text import environment
from princomp.reports.trust import assess_reliability


class Tile(NamedTuple):
    """A number of the dashboard, and its meaning."""

    value: str
    meaning: str


def render_page(request: Request, title: str | None, data: str | None) -> str:
    """Render the page."""
    model, fitted, rows, texts = request.model, request.fitted, request.rows, request.texts
    parts = figure_parts(request)
    share = float(fitted.rates.sum())
    page = (
        environment()
        .get_template("page.html")
        .render(
            title=title or data or texts.words["untitled"],
            version=__version__,
            style=_package_file("page.css"),
            figure_style=request.styles.css,
            colours=GROUP_COLOURS,
            script=_package_file("page.js"),
            texts=texts,
            summary=texts("summary", fitted.n_samples, fitted.p, fitted.k, share),
            tiles=_tiles(request),
            brief=describe_briefly(model, request.verdicts, texts),
            analysed=describe_analysis(model, rows, data, texts),
            found=describe_results(model, rows, texts),
            reliability=assess_reliability(
                model, request.bootstrap, request.why_no_bootstrap, texts
            ),
            parts=parts,
            verdicts=verdict_table(model, request.verdicts, texts),
            eigenvalues=eigenvalue_table(model, request.bootstrap, request.verdicts, texts),
            variables=variable_table(model),
            rows=None if rows is None else row_table(fitted, rows),
            points=score_points(fitted, rows) if rows is not None and fitted.k > 1 else None,
            max_points=MAX_POINTS,
            provenance=provenance(request),
        )
    )
    return printable(page)


def _tiles(request: Request) -> list[Tile]:
    fitted, rows, words = request.fitted, request.rows, request.texts.words
    max_components = int(min(fitted.p, fitted.analysed.rank_limit))
    size = f"{fitted.p:,}" if fitted.n_samples is None else f"{fitted.n_samples:,} × {fitted.p:,}"
    tiles = [
        Tile(f"{float(fitted.rates.sum()):.1%}", words["explained"]),
        Tile(f"{fitted.k:,} / {max_components:,}", words["kept" if fitted.k > 1 else "kept_one"]),
        Tile(size, words["columns_only" if fitted.n_samples is None else "size"]),
    ]
    if rows is not None:
        n_outliers, n = int((rows.exceeded != "").sum()), int(np.isfinite(rows.t2).sum())
        level = f"{100 * request.level:.4g}%"
        meaning = words["beyond"].replace("95%", level)
        tiles.append(Tile(f"{n_outliers:,} / {n:,}", f"{words['rows'].lower()} {meaning}"))
    return tiles


def _package_file(name: str) -> Markup:
    """Return a file of the package without escaping."""
    return Markup(files("princomp.reports").joinpath(name).read_text(encoding="utf-8"))
