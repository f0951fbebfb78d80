"""Cross-validation that predicts no entry from itself.

``CV`` holds rows out of the axes, and each of their entries out of the scores that predict it.
``BiCV`` holds out blocks of rows and columns at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing.decision import Decision, Known
from princomp.choosing.rule import best_of
from princomp.errors import ParameterError

__all__ = ["CV", "BiCV"]

# An entry whose axes hold so much of its column cannot be told from the other columns.
_ALONE = 1e-10
# Singular values under this share of the first are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class CV:
    """The least error in predicting entries of new rows from the other entries of the row.

    Rows are cut into folds at random. Axes come from the other folds; each entry of a row is
    predicted by least squares from the other entries of the row on these axes (Bro et al. 2008
    call the fault of using the entry itself by its name: the error would fall forever).

    Parameters
    ----------
    folds : int, default=10
        At most as many as there are rows.
    """

    folds: int = 10
    name: ClassVar[str] = "cv"
    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        _check_folds(self.folds)

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        assert known.table is not None
        rows = known.table()
        n, p = rows.shape
        folds = min(self.folds, n)
        most = min(n - -(-n // folds) - known.centred, p - 1)
        if most < 1:
            return Decision.none(self.name, f"{n} rows of {p} columns leave nothing to predict")
        order, total = known.generator().permutation(n), np.zeros(most + 1)
        for fold in range(folds):
            test = order[fold::folds]
            train = np.delete(rows, test, axis=0)
            mean = train.mean(axis=0) if known.centred else 0.0
            errors = _errors_of_rows(rows[test] - mean, _axes(train - mean, most))
            # Axes beyond the rank of the training rows would add nothing.
            total += np.pad(errors, (0, most + 1 - len(errors)), mode="edge")
            known.tell(self.name, fold + 1, folds)
        errors = total / (n * p)
        what = "the error of predicting held-out entries"
        return best_of(errors, float(errors[0]), self.name, "mean squared error", what)


def _axes(train: FloatArray, most: int) -> FloatArray:
    """The first axes (≤ most, p) of centred rows, those of rounding left out."""
    n, p = train.shape
    if n > 2 * p:
        train = np.asarray(np.linalg.qr(train, mode="r"))
    _, lengths, axes = np.linalg.svd(train, full_matrices=False)
    sound = int(np.sum(lengths > _ROUNDING * lengths[0])) if lengths.size else 0
    return np.asarray(axes[: min(most, sound)])


def _errors_of_rows(rows: FloatArray, axes: FloatArray) -> FloatArray:
    """Summed squares (k + 1,) of entries less their prediction from the rest of the row.

    Least squares without entry j leaves e_j / (1 − h_j), where e is what it leaves with all
    entries and h_j what the axes hold of unit vector j.
    """
    left, kept = rows.copy(), np.ones(rows.shape[1])
    errors = [float(np.sum(rows**2))]
    for axis in axes:
        left -= np.outer(rows @ axis, axis)
        kept = kept - axis**2
        alone = kept < _ALONE
        each = np.where(alone, rows, left / np.where(alone, 1.0, kept))
        errors.append(float(np.sum(each**2)))
    return np.array(errors)


@dataclass(frozen=True)
class BiCV:
    """The least error in predicting blocks from the other rows and columns (Owen & Perry 2009).

    With the held-out block A, its rows B, its columns C and the rest D, A is predicted by
    B D̂⁺ C, where D̂ has q components. By default half of the rows and half of the columns are
    held out, so it sees at most half of the components that the table could have.

    Parameters
    ----------
    folds : int, default=2
        Of the rows, and of the columns.
    repeats : int, default=5
        Times that rows and columns are cut anew.
    """

    folds: int = 2
    repeats: int = 5
    name: ClassVar[str] = "bi-cv"
    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        _check_folds(self.folds)
        if not isinstance(self.repeats, int | np.integer) or self.repeats < 1:
            raise ParameterError(
                f"repeats={self.repeats!r} is not lawful",
                place={"parameter": "repeats"},
                hint="give a whole number of at least 1",
            )

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        assert known.table is not None
        rows = known.table()
        n, p = rows.shape
        kept_rows, kept_columns = (side - -(-side // self.folds) for side in (n, p))
        most = min(kept_rows - known.centred, kept_columns)
        if most < 1:
            return Decision.none(self.name, f"{n} rows of {p} columns are too few to hold out half")
        rng, total, done = known.generator(), np.zeros(most + 1), 0
        for _ in range(self.repeats):
            row_order, column_order = rng.permutation(n), rng.permutation(p)
            for i in range(self.folds):
                for j in range(self.folds):
                    test = row_order[i :: self.folds], column_order[j :: self.folds]
                    total += _errors_of_block(rows, *test, most, known.centred)
                    done += 1
                    known.tell(self.name, done, self.repeats * self.folds**2)
        errors = total / (self.repeats * n * p)
        what = "the error of predicting held-out blocks"
        return best_of(errors, float(errors[0]), self.name, "mean squared error", what)


def _errors_of_block(
    rows: FloatArray, out_rows: FloatArray, out_columns: FloatArray, most: int, centred: bool
) -> FloatArray:
    """‖A − B D̂_q⁺ C‖² for q = 0 … most; means are those of the rows that are kept."""
    train = np.delete(rows, out_rows, axis=0)
    mean = train.mean(axis=0) if centred else np.zeros(rows.shape[1])
    train = train - mean
    test = rows[out_rows] - mean
    a, b = test[:, out_columns], np.delete(test, out_columns, axis=1)
    c, d = train[:, out_columns], np.delete(train, out_columns, axis=1)
    left, lengths, right = np.linalg.svd(d, full_matrices=False)
    q = min(most, int(np.sum(lengths > _ROUNDING * lengths[0])) if lengths.size else 0)
    scores, axes = b @ right[:q].T / lengths[:q], left[:, :q].T @ c
    # ‖A − Σ b_i c_i‖² grown one component at a time, from products of all.
    along = np.cumsum(np.einsum("ri,rj,ij->i", scores, a, axes, optimize=True))
    across = (scores.T @ scores) * (axes @ axes.T)
    squares = np.diagonal(np.cumsum(np.cumsum(across, axis=0), axis=1))
    errors = np.full(most + 1, float(np.sum(a**2)))
    errors[1 : q + 1] += squares - 2.0 * along
    if q:
        errors[q + 1 :] = errors[q]
    return errors


def _check_folds(folds: int) -> None:
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ParameterError(
            f"folds={folds!r} is not lawful",
            place={"parameter": "folds"},
            hint="give a whole number of at least 2",
        )
