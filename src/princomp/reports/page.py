"""The page: text, figures and tables in the template, with style and script included."""

from __future__ import annotations

import platform
from importlib.resources import files
from typing import Any

import numpy as np
import scipy
import sklearn
from markupsafe import Markup
from numpy.typing import NDArray

from princomp import __version__
from princomp.core import ADDRESS, Fitted, shown_certificate
from princomp.errors import percent, printable
from princomp.linalg import FloatArray, format_bytes
from princomp.plots import GROUP_COLOURS
from princomp.reports import narrative, tables
from princomp.reports.figures import figure_parts
from princomp.reports.request import ReportedRows, Request
from princomp.reports.text import environment, shorten

# More would be slow to draw, and make the page several megabytes large.
MAX_POINTS = 3000
# This many of the points are the most extreme rows; the others are random.
_N_EXTREME = 500


def render_page(request: Request) -> str:
    """Render the page."""
    fitted, rows, texts = request.fitted, request.rows, request.texts
    parts, figure_style = figure_parts(request)
    size = (fitted.n_samples, fitted.p, fitted.k)
    new_rows = 0 if rows is None or rows.training else len(rows.scores)
    page = environment().get_template("page.html")
    html = page.render(
        title=request.title or request.data or texts.words["untitled"],
        version=__version__,
        style=_package_file("page.css"),
        figure_style=figure_style,
        colours=GROUP_COLOURS,
        script=_package_file("page.js"),
        texts=texts,
        summary=texts("summary", *size, float(fitted.rates.sum()), request.row_total, new_rows),
        tiles=_tiles(request),
        brief=narrative.describe_briefly(request),
        analysed=narrative.describe_analysis(request),
        found=narrative.describe_results(request),
        reliability=narrative.assess_reliability(request),
        parts=parts,
        verdicts=tables.verdict_table(request),
        eigenvalues=tables.eigenvalue_table(request),
        variables=tables.variable_table(request.model),
        rows=None if rows is None else tables.row_table(fitted, rows),
        points=_score_points(fitted, rows) if rows is not None and fitted.k > 1 else None,
        max_points=MAX_POINTS,
        provenance=_provenance(request),
    )
    return printable(html)


def _tiles(request: Request) -> list[tuple[str, str]]:
    """Return the numbers of the dashboard with their meanings."""
    fitted, rows, words = request.fitted, request.rows, request.texts.words
    size = f"{fitted.p:,}" if fitted.n_samples is None else f"{fitted.n_samples:,} × {fitted.p:,}"
    kept = f"{fitted.k:,} / {request.max_components:,}"
    tiles = [
        (percent(float(fitted.rates.sum())), words["explained"]),
        (kept, words["kept" if fitted.k > 1 else "kept_one"]),
        (size, words[_size_label(request)]),
    ]
    if rows is not None and (n := int(rows.tested.sum())):
        n_outliers = int((rows.exceeded != "").sum())
        meaning = words["beyond"].replace("95%", f"{100 * request.level:.10g}%")
        some = n < np.count_nonzero(~np.isnan(rows.t2))
        which = words["tested_rows"] if some else words["rows"].lower()
        tiles.append((f"{n_outliers:,} / {n:,}", f"{which} {meaning}"))
    return tiles


def _size_label(request: Request) -> str:
    """Return the key of the words for the size of the table that was fitted."""
    if request.fitted.n_samples is None:
        return "columns_only"
    return "size" if request.rows is None or request.training else "size_of_fit"


def _package_file(name: str) -> Markup:
    """Return a file of the package without escaping."""
    return Markup(files("princomp.reports").joinpath(name).read_text(encoding="utf-8"))


# ---- data of the interactive score plot --------------------------------------------------


def _score_points(fitted: Fitted, rows: ReportedRows) -> dict[str, Any]:
    """Return plain values for the script: components, rows, groups and the number of rows.

    With more than :data:`MAX_POINTS` rows, the most extreme rows and a random sample of the others
    are used.
    """
    with_scores = np.flatnonzero(np.isfinite(rows.scores).all(axis=1))
    shown = _sample(rows, with_scores)
    groups, rates = rows.groups, fitted.rates[: rows.scores.shape[1]]
    return {
        "components": [f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(rates)],
        "names": [shorten(name) if rows.named else f"row {name}" for name in rows.names[shown]],
        "named": rows.named,
        "scores": [_rounded(line) for line in rows.scores[shown]],
        "cos2": [_rounded(line, 3) for line in rows.cos2[shown]],
        "t2": _rounded(rows.t2[shown]),
        "q": _rounded(rows.q[shown]),
        "beyond": rows.exceeded[shown].tolist(),
        "groups": None if groups is None else groups.codes[shown].tolist(),
        "labels": [] if groups is None else [shorten(label) for label in groups.labels],
        "rows": len(with_scores),
    }


def _sample(rows: ReportedRows, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(candidates) <= MAX_POINTS:
        return candidates
    order, rng = rows.order[: len(candidates)], np.random.default_rng(0)
    others = rng.choice(order[_N_EXTREME:], MAX_POINTS - _N_EXTREME, replace=False)
    return np.sort(np.concatenate([order[:_N_EXTREME], others]))


def _rounded(values: FloatArray, digits: int = 5) -> list[float | None]:
    """Return rounded numbers; None for NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]


# ---- how the model was computed: plan, certificate, parameters and versions --------------


def _provenance(request: Request) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of each topic."""
    model, fitted, bootstrap = request.model, request.fitted, request.bootstrap
    defaults, scale = type(model)(), None if fitted.scale is None else model.scale
    plan = fitted.plan
    certificate = shown_certificate(fitted.certificate, fitted.spectrum, fitted.k)
    known = certificate.residuals[~np.isnan(certificate.residuals)]
    worst = f"{known.max():.1e}" if known.size else "not measured"
    passes = "until the residual was small enough" if plan.passes is None else f"{plan.passes}"
    pairs = ", ".join(f"PC{a + 1} and PC{b + 1}" for a, b in certificate.inseparable[:8])
    unfaded = " (no row has faded yet)" if fitted.faded_by is None else ""
    noise = ", ".join(f"PC{i + 1}" for i in np.flatnonzero(certificate.below_resolution)[:8])
    return {
        "Plan": [
            ("summary of the rows", plan.summary),
            ("solver", plan.solver),
            *[("why" if i == 0 else "then", reason) for i, reason in enumerate(plan.reasons)],
            ("passes over the rows", passes),
            ("memory beyond the data", format_bytes(plan.memory)),
        ],
        "Certificate": [
            ("largest residual, relative to the first variance", worst),
            ("loss of orthogonality", f"{certificate.orthogonality:.1e}"),
            ("components below resolution", noise or "none"),
            ("components that cannot be separated", pairs or "none"),
            ("a larger component may be missing", certificate.missed_in_words),
            ("bytes read", f"{certificate.bytes_read:,}"),
        ],
        "Parameters": [
            ("n_components", str(fitted.problem.n_components)),
            ("scale", str(scale) if isinstance(scale, str | None) else "given divisors"),
            *[
                (name, _in_words(value) + unfaded * (name == "decay"))
                for name, value in model.get_params(deep=False).items()
                if name not in ("n_components", "scale") and value != getattr(defaults, name)
            ],
            ("precision of the rows", str(fitted.dtype)),
            ("level of the limits of T² and Q", f"{request.level:.10g}"),
            ("bootstrap", "none" if bootstrap is None else f"{bootstrap.n:,} resamples, seed 0"),
        ],
        "Versions": [
            ("princomp", __version__),
            ("NumPy", np.__version__),
            ("SciPy", scipy.__version__),
            ("scikit-learn", sklearn.__version__),
            ("Python", platform.python_version()),
        ],
    }


def _in_words(value: object) -> str:
    """Return the repr of a parameter, or its type if the repr has an address, which varies."""
    words = repr(value)
    return type(value).__name__ if ADDRESS.search(words) else words
