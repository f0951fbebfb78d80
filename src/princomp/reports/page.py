"""The page: text, figures and tables in the template, with style and script included."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from princomp import __version__
from princomp.errors import printable
from princomp.plots import GROUP_COLOURS
from princomp.reports.narrative import describe_analysis, describe_briefly, describe_results
from princomp.reports.parts import Request, parts_of
from princomp.reports.points import MOST_POINTS, score_points
from princomp.reports.provenance import provenance
from princomp.reports.tables import eigenvalue_table, row_table, variable_table, verdict_table
from princomp.reports.text import environment
from princomp.reports.trust import assess_reliability


class Tile(NamedTuple):
    """A number of the dashboard, and its meaning."""

    value: str
    meaning: str


def page_of(request: Request, title: str | None, data: str | None) -> str:
    """Render the page."""
    model, fitted, rows, say = request.model, request.fitted, request.rows, request.say
    parts = parts_of(request)
    share = float(fitted.rates.sum())
    page = (
        environment()
        .get_template("page.html")
        .render(
            title=title or data or say.words["untitled"],
            version=__version__,
            style=_inside("page.css"),
            figure_style=request.styles.css,
            colours=GROUP_COLOURS,
            script=_inside("page.js"),
            say=say,
            summary=say("summary", fitted.n_samples, fitted.p, fitted.k, share),
            tiles=_tiles(request),
            brief=describe_briefly(model, request.verdicts, say),
            analysed=describe_analysis(model, rows, data, say),
            found=describe_results(model, rows, say),
            reliability=assess_reliability(model, request.bootstrap, request.why, say),
            parts=parts,
            verdicts=verdict_table(model, request.verdicts, say),
            eigenvalues=eigenvalue_table(model, request.bootstrap, request.verdicts, say),
            variables=variable_table(model),
            rows=None if rows is None else row_table(fitted, rows),
            points=score_points(fitted, rows) if rows is not None and fitted.k > 1 else None,
            most=MOST_POINTS,
            provenance=provenance(request),
        )
    )
    return printable(page)


def _tiles(request: Request) -> list[Tile]:
    fitted, rows, words = request.fitted, request.rows, request.say.words
    most = int(min(fitted.p, fitted.analysed.rank_limit))
    size = f"{fitted.p:,}" if fitted.n_samples is None else f"{fitted.n_samples:,} × {fitted.p:,}"
    tiles = [
        Tile(f"{float(fitted.rates.sum()):.1%}", words["explained"]),
        Tile(f"{fitted.k:,} / {most:,}", words["kept" if fitted.k > 1 else "kept_one"]),
        Tile(size, words["columns_only" if fitted.n_samples is None else "size"]),
    ]
    if rows is not None:
        beyond, n = int((rows.beyond != "").sum()), int(np.isfinite(rows.t2).sum())
        level = f"{100 * request.level:.4g}%"
        meaning = words["beyond"].replace("95%", level)
        tiles.append(Tile(f"{beyond:,} / {n:,}", f"{words['rows'].lower()} {meaning}"))
    return tiles


def _inside(name: str) -> Markup:
    """Return a file of the package without escaping."""
    return Markup(files("princomp.reports").joinpath(name).read_text(encoding="utf-8"))
