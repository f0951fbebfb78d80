"""The page: words, figures and tables into the template, with its style and script inside."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from princomp._version import __version__
from princomp.documents import of_model
from princomp.reports.done import done
from princomp.reports.parts import Asked, parts_of
from princomp.reports.points import MOST_POINTS, score_points
from princomp.reports.tables import eigenvalue_table, row_listing, variable_listing
from princomp.reports.told import analysed, found
from princomp.reports.trust import trusted
from princomp.reports.words import counted

__all__ = ["page_of"]


def page_of(asked: Asked, title: str | None, data: str | None) -> str:
    """The page as text."""
    model, fitted, rows = asked.model, asked.fitted, asked.rows
    heading = title or data or "A fitted model"
    return _template("page.html").render(
        title=heading,
        version=__version__,
        style=_inside("page.css"),
        script=_inside("page.js"),
        summary=_summary(asked, data),
        analysed=analysed(model, rows, data),
        found=found(model, rows),
        trusted=trusted(model, asked.bootstrap),
        parts=parts_of(asked),
        eigenvalues=eigenvalue_table(model, asked.bootstrap),
        variables=variable_listing(model),
        rows=None if rows is None else row_listing(fitted, rows),
        points=score_points(fitted, rows) if rows is not None and fitted.k > 1 else None,
        most=MOST_POINTS,
        done=done(asked),
        rates=of_model(model)["contribution_rate"][: fitted.k],
    )


def _summary(asked: Asked, data: str | None) -> str:
    fitted = asked.fitted
    rows = "" if fitted.n_samples is None else f"{counted(fitted.n_samples, 'row')} × "
    hold = "component holds" if fitted.k == 1 else "components hold"
    return (
        f"{rows}{counted(fitted.p, 'column')}; {fitted.k:,} {hold} "
        f"{float(fitted.rates.sum()):.1%} of the variance"
    )


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("princomp.reports", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _inside(name: str) -> Markup:
    """A file of the package as it stands: our own, so nothing in it is escaped."""
    return Markup(files("princomp.reports").joinpath(name).read_text(encoding="utf-8"))
