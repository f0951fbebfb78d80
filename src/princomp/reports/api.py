"""Report of a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from princomp import core, diagnostics, errors
from princomp.estimators import PCA, with_signs
from princomp.io import atomic_write, check_writable, read_table

if TYPE_CHECKING:
    from princomp.plots import Ids
    from princomp.reports.request import ReportedRows
    from princomp.summaries import SampleWeight

# Variances of scikit-learn's randomized solver differ by less, as a share.
_VARIANCE_RTOL = 1e-3
_TEXT = core.Constraint(lambda value: isinstance(value, str), ("a text",))
_ZERO = core.Constraint(lambda value: core.is_number(value, Integral) and value == 0, ("0",))


def report(
    model: PCA | Any,
    X: object = None,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    data: str | None = None,
    lang: str = "en",
    sample_weight: SampleWeight = None,
    groups: object = None,
    metadata: object = None,
    training: bool | None = None,
    bootstrap: int | None = None,
    level: float = 0.95,
    ids: Ids = None,
    overwrite: bool = False,
) -> str:
    """Write an HTML page about the results of a PCA and their reliability.

    The page contains its figures, tables, style and script, and needs no network and no other
    files. The same model, rows and options give the same bytes.

    Parameters
    ----------
    model : PCA
        Fitted. Also a PCA or IncrementalPCA of scikit-learn, with the rows of its fit (which are
        fitted again; signs stay the same), or a pipeline that ends in a PCA.
    X : array, sparse array, frame, path or batches, of shape (n, p), optional
        The rows of the fit, or others, read several times. Without them, sections about rows
        are replaced by a sentence. For a pipeline, the rows that go into it.
    path : path, optional
        File for the page, written completely or not at all.
    title : str, optional
        Title of the page; by default the name of the rows.
    data : str, optional
        Name of the rows; by default that of their file, or ``X.attrs["name"]`` of a frame.
    lang : str, default="en"
        Language of the page; so far only English.
    sample_weight : array of shape (n,), optional
        Frequencies of the rows, if the fit used them. Without them, the rows cannot be compared
        with those of a weighted fit.
    groups : str, or array, series or frame of one column, of shape (n,), optional
        Categories, shown by colours.
    metadata : str, list of str, or frame or mapping of name to values (n,), optional
        Columns that did not take part in the fit, to be compared with the components: values, or
        names of columns of X.
    training : bool, optional
        Whether X are the rows of the fit, which have contributions and lower limits of T² and Q.
        By default this is decided by comparing their number, means and variances with those of
        the fit; after ``missing="nipals"``, only complete rows are compared.
    bootstrap : int, optional
        Resamples for intervals of variances and loadings; 0 for none. By default 200, if X are
        dense rows of the fit and this takes no more than about half a second.
    level : float, default=0.95
        Level of the limits of T² and Q.
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
        For rows, groups or metadata that do not match the model, options that need rows
        without X, or rows that can be read only once.
    NotAvailableError
        For a PCA of scikit-learn without the rows of its fit, or a model that has no such results.
    OutputExistsError, OutputError
        Where the file cannot be written.
    MissingLibraryError
        When the libraries of ``princomp[report]`` are not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA, report
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> page = report(PCA(2).fit(X), X, title="Noise")
    >>> print(page[:15], "<h1>Noise</h1>" in page)
    <!doctype html> True
    """
    data = _name_of(X) if data is None else data
    before = [step for _, step in getattr(model, "steps", ())[:-1]]
    steps = tuple(type(step).__name__ for step in before if step not in (None, "passthrough"))
    model, X = _as_princomp_model(model, X)
    _check_arguments(diagnostics.fitted_of(model), title, data, bootstrap, training)
    level = diagnostics.checked_level(level)
    if X is None:
        _refuse_row_options(
            sample_weight=sample_weight,
            groups=groups,
            metadata=metadata,
            ids=ids,
            training=training,
            bootstrap=bootstrap or None,
        )
    if path is not None:
        check_writable([path], force=overwrite)
    check_libraries()
    from princomp.reports.page import render_page
    from princomp.reports.request import Request, reported_rows, warnings_were_given
    from princomp.reports.text import Texts

    texts, rows = Texts(lang), None
    if X is not None:
        diagnostics.check_repeatable(X, "report")
        X, groups, metadata, ids = _separate_columns(model, X, groups, metadata, ids)
        rows = reported_rows(model, X, groups, metadata, ids, training, level, sample_weight)
        core.warn_of_fractional_weights(core.checked_weights(sample_weight, len(rows.scores)))
    with warnings_were_given():
        resamples, why_none = _bootstrap(model, X, rows, bootstrap, sample_weight)
        page = render_page(
            Request(
                model,
                X,
                rows,
                title=title,
                data=data,
                groups=groups,
                metadata=metadata,
                ids=ids,
                sample_weight=sample_weight,
                bootstrap=resamples,
                why_no_bootstrap=why_none,
                level=level,
                steps=steps,
                texts=texts,
            )
        )
    if path is not None:
        with atomic_write(path, force=overwrite) as file:
            file.write(page.encode())
    return page


def _separate_columns(
    model: PCA, X: object, groups: object, metadata: object, ids: Ids
) -> tuple[Any, Any, Any, Ids]:
    """Return the rows without columns that are named as groups, metadata or ids; then these."""
    ids = list(ids) if isinstance(ids, Iterator) else ids
    original = X
    if isinstance(groups, str):
        groups, X = diagnostics.take_named_columns(model, X, groups)
    metadata, X = diagnostics.take_named_columns(model, X, metadata, "metadata", original)
    # Not all figures take ids, so X must do without the column.
    if isinstance(ids, str) and (frame := diagnostics.frame_of(X)) is not None:
        X, ids = diagnostics.split_ids(model, frame, ids, None)
    return X, groups, metadata, ids


def _check_arguments(
    fitted: core.Fitted, title: object, data: object, bootstrap: object, training: object
) -> None:
    if not fitted.k:
        raise errors.ShapeError(
            "the model keeps no component, so there is nothing to report",
            place={"parameter": "model"},
            hint="keep at least one: model.truncated(1), or n_components=1",
        )
    if not fitted.spectrum.total > 0:
        hint = "the rows of the fit are all equal"
        raise errors.ShapeError("there is no variance to report", hint=hint)
    core.check_parameter("title", title, _TEXT | core.one_of(None))
    core.check_parameter("data", data, _TEXT | core.one_of(None))
    core.check_parameter("bootstrap", bootstrap, _ZERO | core.whole_number(2) | core.one_of(None))
    core.check_parameter("training", training, core.FLAG | core.one_of(None))


def _refuse_row_options(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise errors.ParameterError(
                f"{name} needs rows, but X was not given",
                place={"parameter": name},
                hint=f"use report(model, X, {name}=…)",
            )


def check_libraries() -> None:
    """Raise where a library that reports need is not installed.

    Raises
    ------
    MissingLibraryError
    """
    for name in ("jinja2", "matplotlib"):
        try:
            import_module(name)
        except ImportError as error:
            raise errors.MissingLibraryError(
                f"a report needs {name}, which is not installed",
                hint="pip install 'princomp[report]'",
            ) from error


def _name_of(X: object) -> str | None:
    """Return the name of a file or frame of rows, if it has one."""
    if isinstance(X, str | PathLike):
        return Path(X).name
    name = (getattr(X, "attrs", None) or {}).get("name")
    return name if isinstance(name, str) else None


def _as_princomp_model(model: object, X: object) -> tuple[PCA, Any]:
    """Return a model of this package, and the rows that it gets.

    Raises
    ------
    NotAvailableError
        For a PCA of scikit-learn without the rows of its fit.
    """
    converted, rows = diagnostics.convert_model(model, X)
    if not isinstance(converted, PCA) or not np.isnan(converted.var_).any():
        return converted, rows
    if rows is not None:
        names: Any = getattr(converted, "feature_names_in_", None)
        has_names = names is not None and diagnostics.frame_of(rows) is not None
        fit_rows = read_table(rows, columns=names) if has_names else rows
        refitted = PCA(converted.n_components_, whiten=converted.whiten).fit(fit_rows)
        found, expected = refitted.explained_variance_, converted.explained_variance_
        if np.allclose(found, expected, rtol=_VARIANCE_RTOL, atol=0.0):
            return with_signs(refitted, converted.components_), rows
    raise errors.NotAvailableError(
        "scikit-learn's PCA does not keep the variances of the columns, so a report of "
        "it needs the rows of the fit",
        place={"parameter": "X"},
        hint="give these rows, or fit princomp.PCA",
    )


def _bootstrap(
    model: PCA, X: object, rows: ReportedRows | None, n: int | None, sample_weight: SampleWeight
) -> tuple[diagnostics.Bootstrap | None, str]:
    """Compute the requested bootstrap, by default one that is quick; or say why there is none."""
    compute = partial(diagnostics.bootstrap, model, X, sample_weight=sample_weight)
    if rows is None:
        return None, "no rows"
    if n is not None:
        return (None, "asked") if n == 0 else (compute(n=int(n)), "")
    if rows.weights_missing:
        return None, "weights"
    if not rows.training:
        return None, "other rows"
    return diagnostics.quick_bootstrap(core.fitted_model(model), len(rows.scores), compute)
