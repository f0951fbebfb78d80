"""Cross-validation in which no entry predicts itself.

``CV`` leaves rows out of the axes, and each of their entries out of the scores that predict it.
``BiCV`` leaves out blocks of rows and columns at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.linalg import FloatArray
from princomp.rules.decision import Decision, Known
from princomp.rules.rule import check_whole, least_error

# If the axes leave less than this share of a column, the other columns cannot predict its entry.
_ALONE = 1e-10
# Singular values below this share of the first are rounding errors.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class CV:
    """Minimise the error of predicting entries of new rows from the other entries of the row.

    Rows are split into folds at random. Axes come from the other folds; each entry of a row is
    predicted by least squares from the other entries of the row on these axes. If an entry took
    part in its own prediction, the error would decrease forever (Bro et al. 2008).

    Parameters
    ----------
    folds : int, default=10
        Limited to the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.rules import CV
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((60, 6))
    >>> X = 3 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + noise
    >>> print(PCA(CV(folds=5)).fit(X).decision_)
    cv: the error of predicting held-out entries is smallest with 2 components: 1.778
    """

    folds: int = 10
    name: ClassVar[str] = "cv"
    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)

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
        return least_error(errors, self.name, "mean squared error", what)


def _axes(train: FloatArray, most: int) -> FloatArray:
    """The first axes (≤ most, p) of centred rows, without those of rounding errors."""
    n, p = train.shape
    if n > 2 * p:
        train = np.asarray(np.linalg.qr(train, mode="r"))
    _, lengths, axes = np.linalg.svd(train, full_matrices=False)
    sound = int(np.sum(lengths > _ROUNDING * lengths[0])) if lengths.size else 0
    return np.asarray(axes[: min(most, sound)])


def _errors_of_rows(rows: FloatArray, axes: FloatArray) -> FloatArray:
    """Sums (k + 1,) of squared errors of entries predicted from the rest of their row.

    The error without entry j is e_j / (1 − h_j), where e is the residual with all entries and
    h_j the squared length of the projection of unit vector j on the axes.
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
    """Minimise the error of predicting blocks from other rows and columns (Owen & Perry 2009).

    With the held-out block A, its rows B, its columns C and the rest D, A is predicted by
    B D̂⁺ C, where D̂ has q components. By default half of the rows and half of the columns are
    held out, so at most half of the possible components are compared.

    Parameters
    ----------
    folds : int, default=2
        Number of folds of the rows, and of the columns.
    repeats : int, default=5
        Number of random splits.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> from princomp.rules import BiCV
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.standard_normal((60, 6))
    >>> X = 3 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + noise
    >>> print(PCA(BiCV()).fit(X).decision_)
    bi-cv: the error of predicting held-out blocks is smallest with 2 components: 2.952
    """

    folds: int = 2
    repeats: int = 5
    name: ClassVar[str] = "bi-cv"
    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)
        check_whole("repeats", self.repeats, 1)

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        assert known.table is not None
        rows = known.table()
        n, p = rows.shape
        kept_rows, kept_columns = (side - -(-side // self.folds) for side in (n, p))
        most = min(kept_rows - known.centred, kept_columns)
        if most < 1:
            return Decision.none(
                self.name, f"{n} rows of {p} columns are too few for {self.folds} folds of each"
            )
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
        return least_error(errors, self.name, "mean squared error", what)


def _errors_of_block(
    rows: FloatArray, out_rows: FloatArray, out_columns: FloatArray, most: int, centred: bool
) -> FloatArray:
    """‖A − B D̂_q⁺ C‖² for q = 0 … most; means are those of the training rows."""
    train = np.delete(rows, out_rows, axis=0)
    mean = train.mean(axis=0) if centred else np.zeros(rows.shape[1])
    train = train - mean
    test = rows[out_rows] - mean
    a, b = test[:, out_columns], np.delete(test, out_columns, axis=1)
    c, d = train[:, out_columns], np.delete(train, out_columns, axis=1)
    left, lengths, right = np.linalg.svd(d, full_matrices=False)
    q = min(most, int(np.sum(lengths > _ROUNDING * lengths[0])) if lengths.size else 0)
    scores, axes = b @ right[:q].T / lengths[:q], left[:, :q].T @ c
    # ‖A − Σ b_i c_i‖² for a growing number of components, from the products of all.
    along = np.cumsum(np.einsum("ri,rj,ij->i", scores, a, axes, optimize=True))
    across = (scores.T @ scores) * (axes @ axes.T)
    squares = np.diagonal(np.cumsum(np.cumsum(across, axis=0), axis=1))
    errors = np.full(most + 1, float(np.sum(a**2)))
    errors[1 : q + 1] += squares - 2.0 * along
    if q:
        errors[q + 1 :] = errors[q]
    return errors
