"""Weights of rows: attached to the rows of engines, matched with an index, checked, summed."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.engines import as_distributed
from princomp.errors import ParameterError, ShapeError, counted, warn
from princomp.linalg import as_floats
from princomp.summaries import WEIGHTS, SampleWeight, Weights, check_frequencies, gives_variance

# Relative difference of two sums of the weights of the same rows, which is due to rounding.
WEIGHT_TOLERANCE = 1e-9
# What lets rows count as their effective number (Kish 1965).
_AS_FREQUENCIES = "w * w.sum() / (w**2).sum()"
# With a sum of s, variances are s / (s − 1) times as large as for a large sum: 1.1 times.
_FEW_ROWS = 11.0
# Largest Σw² / Σw of weights that were divided by this ratio: 1, and a margin for rounding.
_MAX_EFFECTIVE = 1.001


def attach_weights(
    X: object, sample_weight: SampleWeight, *, by_chunks: bool = False
) -> tuple[Any, Any]:
    """Attach weights to a table of an engine; return the table and the weights not attached.

    The rows of an engine carry their weights, which can also be one of their columns. Weights of
    other tables are returned unchanged. So is an array of weights if the engine's rows are brought
    here in chunks (``by_chunks``): the caller then cuts it into chunks as well. A series belongs to
    the rows of a frame by its index, which only the engine can match.

    Raises
    ------
    ParameterError
        If the weights are a series whose index has labels of the table in other places.
    """
    rows = None if sample_weight is None else as_distributed(X)
    if rows is None:
        check_index(X, sample_weight)
        return X, sample_weight
    # ``index`` of lists and tuples is a method.
    labels = getattr(sample_weight, "index", None)
    has_labels = hasattr(X, "index") and labels is not None and not callable(labels)
    by_position = not (has_labels or isinstance(sample_weight, str))
    if by_chunks and by_position and rows.has_chunks:
        return X, sample_weight
    return rows.weighted(sample_weight), None


def check_index(X: object, values: object, name: str = WEIGHTS["parameter"]) -> None:
    """Raise an error if a series of values has labels of the frame ``X`` in other places.

    Values with an index that has no label of ``X`` belong to the rows by position. ``name`` is that
    of the parameter.

    Raises
    ------
    ParameterError
    """
    index: Any = getattr(X, "index", None)
    labels: Any = getattr(values, "index", None)
    if not (hasattr(index, "intersection") and hasattr(labels, "intersection")):
        return
    if index.equals(labels) or len(index) != len(labels):
        return
    common = len(index.intersection(labels))
    if not common:
        return
    if not index.is_unique:  # then labels do not say which value belongs to which row
        problem = f"the index of {name} is not that of X, which has repeated labels"
        hint = "give the values in the order of the rows"
    elif common == len(index):
        problem = f"the index of {name} is that of X in another order"
        hint = f"give {name}.loc[X.index]"
    else:
        problem = f"the index of {name} has {common:,} of the {len(index):,} labels of X"
        hint = "give the values of these rows, such as s.loc[X.index] of a series s for all rows"
    by_position = f"{name}.to_numpy() if only the index is wrong"
    raise ParameterError(problem, place={"parameter": name}, hint=f"{hint}, or {by_position}")


def checked_weights(sample_weight: SampleWeight, n: int | None) -> Weights:
    """Check weights of shape (n,), or of any length if n is None.

    Without weights (None), every row counts once.

    Raises
    ------
    ShapeError, ParameterError
        For an invalid shape or weight; the message names the first invalid weight.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, str):
        raise ParameterError(
            f"sample_weight={sample_weight!r}: weights are named by their column only for tables "
            "of Dask and Spark",
            place=WEIGHTS,
            hint=f"give the column, and leave it out of X; in pandas, w = X.pop({sample_weight!r}) "
            "does both: sample_weight=w",
        )
    weights = as_floats(sample_weight, "sample_weight")
    rows = "" if n is None else f", and there are {n} rows"
    if n is None:
        n = weights.size
        if weights.ndim == 0:
            raise ShapeError(
                "sample_weight is one number, and the number of rows is not known before they "
                "are read",
                place=WEIGHTS,
                hint="give one weight per row, or none: in a fit of these rows alone, equal "
                "weights change only the divisor of variances",
            )
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ShapeError(
            "Sample weights must be 1D array or scalar: sample_weight has shape "
            f"{weights.shape}{rows}",
            place=WEIGHTS,
            hint="pass one weight per row" + (f": an array of shape ({n},)" if rows else ""),
        )
    check_frequencies(weights)
    return weights


def check_total_weight(total: float, n: int) -> None:
    """Raise an error if the weights of n rows are too small to compute a variance.

    Raises
    ------
    ShapeError
    """
    if not gives_variance(total):
        raise ShapeError(
            f"a variance needs a sum of weights above 1, got {total:g} over {n} rows"
            + ("" if total else ": every weight is zero"),
            place={"parameter": "sample_weight"},
            hint=f"weights are frequencies: for relative weights w, give {_AS_FREQUENCIES}",
        )


def warn_of_small_weights(total: float, n: int) -> None:
    """Warn if the weights of n rows, none of them zero, are probably relative weights.

    Then the divisor, the sum minus 1, makes variances noticeably too large.
    """
    if total < min(0.5 * n, _FEW_ROWS):
        warn(
            f"the weights of {n:,} rows sum to {total:g}, and variances are divided by this sum "
            "minus 1, because weights are frequencies: for relative weights w, give "
            f"{_AS_FREQUENCIES}"
        )


# ---- rows that count as many ----------------------------------------------------------


def are_frequencies(weights: Weights) -> bool:
    """Whether weights (n,) are whole, or rows count as no more than their effective number.

    That is (Σw)²/Σw² (Kish 1965). Without weights (None), every row counts once.
    """
    if weights is None or not weights.any():
        return True
    if (np.abs(weights - np.rint(weights)) <= WEIGHT_TOLERANCE * weights).all():
        return True
    # Then Σw² <= Σw. Squares of undivided weights might overflow.
    largest = float(weights.max())
    relative = weights / largest
    return largest * float(relative @ relative) <= _MAX_EFFECTIVE * float(relative.sum())


def warn_of_fractional_weights(weights: Weights) -> None:
    """Warn that weights (n,), which are not whole numbers, make rows count as another number."""
    if weights is not None and not are_frequencies(weights):
        with np.errstate(over="ignore"):
            warn_of_row_total(len(weights), float(weights.sum()))


def warn_of_sum_of_weights(n: int | None, total: float) -> None:
    """Warn as `warn_of_fractional_weights` does, where only the sum of the weights is known.

    Weights that make rows count as their effective number do not sum to more than the number of
    rows.
    """
    if n is not None and total > _MAX_EFFECTIVE * n and total % 1.0:
        warn_of_row_total(n, total)


def warn_of_row_total(n: int, total: float) -> None:
    """Warn that n rows count as ``total``, for results that depend on the number of rows."""
    warn(
        f"the weights are not all whole numbers, and weights are frequencies: {counted(n, 'row')} "
        f"count as {total_in_words(total)}. Rules, tests, intervals and verdicts take this as the "
        f"number of rows. For sampling weights w, give {_AS_FREQUENCIES}: rows then count as their "
        "effective number (Kish)"
    )


def total_in_words(total: float) -> str:
    """Return a sum of weights with commas.

    >>> total_in_words(420000.0), total_in_words(327.4321)
    ('420,000', '327.4')
    """
    return f"{total:,.0f}" if 1e3 <= total < 1e15 else f"{total:,.4g}"


def row_total(total: float, n: int | None) -> str:
    """Return the number that n rows count as, as text; "" if it is n, to the digits shown.

    >>> row_total(428.00000000000006, 428), row_total(327.4321, 300)
    ('', '327.4')
    """
    if n is None:
        return ""
    words = total_in_words(total)
    return "" if words == total_in_words(n) else words
