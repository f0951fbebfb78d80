"""What people call: a report of a model."""

from __future__ import annotations

from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from princomp.atomic import atomic_write, check_writable
from princomp.diagnostics.control_limits import checked_level
from princomp.diagnostics.given import state_of
from princomp.diagnostics.row_blocks import without_ids
from princomp.diagnostics.tables import frame_of
from princomp.errors import MissingLibraryError, ParameterError, PrincompError, ShapeError
from princomp.fitted import Fitted
from princomp.parameters import is_a
from princomp.resampling import Bootstrap
from princomp.resampling import bootstrap as resampled

if TYPE_CHECKING:
    from princomp.reports.rows import ReportedRows

__all__ = ["check_libraries", "report"]

_LIBRARIES = ("jinja2", "matplotlib", "textalloc")

# Resamples that are drawn unasked, and the products up to which they are (about a second).
_UNASKED, _QUICK = 200, 2e9


def report(
    model: Any,
    X: Any = None,
    path: Any = None,
    *,
    title: str | None = None,
    data: str | None = None,
    groups: Any = None,
    metadata: Any = None,
    training: bool | None = None,
    bootstrap: int | None = None,
    level: float = 0.95,
    ids: Any = None,
    overwrite: bool = False,
) -> str:
    """One HTML page that says what a PCA found and how far it can be trusted.

    The page holds its figures, tables, style and script: it needs no network and no other
    file. The same model, rows and options give the same bytes.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p), optional
        The rows of the fit, or others; without them parts that are of rows are left out, with
        a sentence. They are read several times.
    path : path, optional
        Where the page is written to, whole or not at all.
    title : str, optional
        Heading of the page.
    data : str, optional
        What the rows are called, such as the name of their file.
    groups : array, series or frame of one column, of shape (n,), optional
        Categories, drawn in colours.
    metadata : frame or mapping of name to values, of n values each, optional
        Columns that took no part in the fit, to be compared with the components.
    training : bool, optional
        Whether X are the rows of the fit, whose limit of T² is lower and who have
        contributions. By default they are taken for them where they are as many and have the
        same means and variances.
    bootstrap : int, optional
        Resamples for intervals of variances and loadings; 0 for none. By default 200 where X
        are dense rows of the fit and that takes about a second at most.
    level : float, default=0.95
        Of the limits of T² and Q.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotNumericError
        For rows, groups or metadata that do not go with the model; options that are of rows
        where none are given; rows that can be read once only.
    OutputExistsError, OutputError
        Where the file cannot be written.
    MissingLibraryError
        Without what ``princomp[report]`` installs.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA, report
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> page = report(PCA(2).fit(X), X, title="Noise")
    >>> print(page[:15], "<h1>Noise</h1>" in page)
    <!doctype html> True
    """
    fitted = state_of(model)
    _check(fitted, X, title, data, bootstrap, training)
    level = checked_level(level)
    given = {"groups": groups, "metadata": metadata, "ids": ids, "training": training}
    if X is None:
        for name, value in {**given, "bootstrap": bootstrap or None}.items():
            if value is not None:
                raise ParameterError(
                    f"{name} is of rows, and none are given",
                    place={"parameter": name},
                    hint=f"report(model, X, {name}=…)",
                )
    if path is not None:
        check_writable([path], force=overwrite)
    check_libraries()
    from princomp.reports.page import page_of
    from princomp.reports.parts import Asked
    from princomp.reports.rows import check_again, reported_rows

    rows = None
    if X is not None:
        check_again(X)
        X, given["ids"] = _apart(model, X, ids)
        rows = reported_rows(model, X, level=level, **given)
    drawn = _resampled(model, fitted, X, rows, bootstrap)
    asked = Asked(model, X, rows, groups, metadata, given["ids"], drawn, level)
    page = page_of(asked, title, data)
    if path is not None:
        with atomic_write(path, force=overwrite) as file:
            file.write(page.encode())
    return page


def _check(fitted: Fitted, X: Any, title: Any, data: Any, bootstrap: Any, training: Any) -> None:
    if not fitted.k:
        raise ShapeError(
            "the model keeps no component: there is nothing to report",
            place={"parameter": "model"},
            hint="keep at least one: model.truncated(1), or n_components=1",
        )
    if not fitted.spectrum.total > 0:
        raise ShapeError("there is no variance to report", hint="the rows of the fit are all alike")
    for name, value in (("title", title), ("data", data)):
        if not isinstance(value, str | None):
            raise ParameterError(
                f"{name}={value!r} is no text", place={"parameter": name}, hint="give a str"
            )
    if bootstrap is not None and not (
        is_a(bootstrap, Integral) and (bootstrap == 0 or bootstrap >= 2)
    ):
        raise ParameterError(
            f"bootstrap={bootstrap!r} is not lawful",
            place={"parameter": "bootstrap"},
            hint="give a number of resamples from 2 on, 0 for none, or None",
        )
    if not isinstance(training, bool | np.bool_ | None):
        raise ParameterError(
            f"training={training!r} is neither true nor false",
            place={"parameter": "training"},
            hint="True, False, or None to look",
        )


def check_libraries() -> None:
    """Say what installs the libraries that a page is made with.

    Raises
    ------
    MissingLibraryError
    """
    for name in _LIBRARIES:
        try:
            import_module(name)
        except ImportError as error:
            raise MissingLibraryError(
                f"a report needs {name}, which is not installed",
                hint="pip install 'princomp[report]'",
            ) from error


def _apart(model: Any, X: Any, ids: Any) -> tuple[Any, Any]:
    """Rows of a frame without the column that names them, and their names."""
    frame = frame_of(X)
    if frame is None:
        return X, ids
    rows, names = without_ids(frame, ids if isinstance(ids, str) else None, model.id_column_)
    return rows, ids if names is None else names


def _resampled(
    model: Any, fitted: Fitted, X: Any, rows: ReportedRows | None, asked: int | None
) -> Bootstrap | None:
    """Intervals, as many resamples as were asked for, or some where it is quick."""
    if rows is None or asked == 0:
        return None
    if asked is not None:
        return resampled(X, model, n=int(asked))
    cost = _UNASKED * len(rows.t) * fitted.p**2
    if not rows.training or cost > _QUICK:
        return None
    try:
        return resampled(X, model, n=_UNASKED)
    except PrincompError:
        return None  # nobody asked, and the page says that there are none
