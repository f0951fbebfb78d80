"""Cross-validation in which no entry predicts itself.

``CV`` leaves rows out of the axes, and each of their entries out of the scores that predict it.
``BiCV`` leaves out blocks of rows and columns at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import FloatArray
from princomp.rules.decision import Decision, Known, check_whole, minimum_decision

# If the axes leave less than this share of a column, the other columns cannot predict its entry.
_UNPREDICTABLE = 1e-10
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
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.CV(folds=5), scale="unit").fit(load_wine().data).decision_)
    cv: the error of predicting held-out entries is smallest with 3 components: 0.5847
    """

    folds: int = 10
    name = "cv"
    needs = "rows"

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        assert known.table is not None
        rows = known.table()
        n, p = rows.shape
        folds = min(self.folds, n)
        # With as many components as there are dimensions, the other entries of a row would predict
        # exactly an entry that depends on them.
        max_components = min(n - -(-n // folds) - known.centred, known.dimensions - 1)
        if max_components < 1:
            return Decision.none(self.name, f"{n} rows of {p} columns leave nothing to predict")
        order, total = known.generator().permutation(n), np.zeros(max_components + 1)
        for fold in range(folds):
            test = order[fold::folds]
            train = np.delete(rows, test, axis=0)
            mean = train.mean(axis=0) if known.centred else 0.0
            errors = _row_errors(rows[test] - mean, _leading_axes(train - mean, max_components))
            # Axes beyond the rank of the training rows would add nothing.
            total += np.pad(errors, (0, max_components + 1 - len(errors)), mode="edge")
            known.tell(self.name, fold + 1, folds)
        what = "the error of predicting held-out entries"
        return minimum_decision(total / (n * p), self.name, "mean squared error", what)


def _leading_axes(train: FloatArray, max_components: int) -> FloatArray:
    """The first axes of centred rows, at most ``max_components``, above rounding errors."""
    n, p = train.shape
    if n > 2 * p:
        train = np.asarray(np.linalg.qr(train, mode="r"))
    _, singular_values, axes = np.linalg.svd(train, full_matrices=False)
    return np.asarray(axes[: min(max_components, _rank(singular_values))])


def _rank(singular_values: FloatArray) -> int:
    largest = singular_values.max(initial=0.0)
    return int(np.sum(singular_values > _ROUNDING * largest))


def _row_errors(rows: FloatArray, axes: FloatArray) -> FloatArray:
    """Sums (k + 1,) of squared errors of entries predicted from the rest of their row.

    The error without entry j is e_j / (1 − h_j), where e is the residual with all entries and
    h_j the squared length of the projection of unit vector j on the axes.
    """
    residuals, remainders = rows.copy(), np.ones(rows.shape[1])
    errors = [float(np.sum(rows**2))]
    for axis in axes:
        residuals -= np.outer(rows @ axis, axis)
        remainders = remainders - axis**2
        unpredictable = remainders < _UNPREDICTABLE
        entry_errors = np.where(
            unpredictable, rows, residuals / np.where(unpredictable, 1.0, remainders)
        )
        errors.append(float(np.sum(entry_errors**2)))
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
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.BiCV(folds=3), scale="unit").fit(load_wine().data).decision_)
    bi-cv: the error of predicting held-out blocks is smallest with 7 components: 0.5629
    """

    folds: int = 2
    repeats: int = 5
    name = "bi-cv"
    needs = "rows"

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)
        check_whole("repeats", self.repeats, 1)

    def decide(self, known: Known) -> Decision | None:
        """Compare the errors of 0, 1, … components."""
        assert known.table is not None
        rows = known.table()
        n, p = rows.shape
        kept_rows, kept_columns = (size - -(-size // self.folds) for size in (n, p))
        max_components = min(kept_rows - known.centred, kept_columns)
        if max_components < 1:
            return Decision.none(
                self.name, f"{n} rows of {p} columns are too few for {self.folds} folds of each"
            )
        rng, total, completed = known.generator(), np.zeros(max_components + 1), 0
        for _ in range(self.repeats):
            row_order, column_order = rng.permutation(n), rng.permutation(p)
            for i in range(self.folds):
                for j in range(self.folds):
                    test = row_order[i :: self.folds], column_order[j :: self.folds]
                    total += _block_errors(rows, *test, max_components, known.centred)
                    completed += 1
                    known.tell(self.name, completed, self.repeats * self.folds**2)
        errors, what = total / (self.repeats * n * p), "the error of predicting held-out blocks"
        return minimum_decision(errors, self.name, "mean squared error", what)


def _block_errors(
    rows: FloatArray,
    test_rows: FloatArray,
    test_columns: FloatArray,
    max_components: int,
    centred: bool,
) -> FloatArray:
    """‖A − B D̂_q⁺ C‖² for q = 0 … ``max_components``; means are those of the training rows."""
    train = np.delete(rows, test_rows, axis=0)
    mean = train.mean(axis=0) if centred else np.zeros(rows.shape[1])
    train = train - mean
    test = rows[test_rows] - mean
    a, b = test[:, test_columns], np.delete(test, test_columns, axis=1)
    c, d = train[:, test_columns], np.delete(train, test_columns, axis=1)
    left, singular_values, right = np.linalg.svd(d, full_matrices=False)
    q = min(max_components, _rank(singular_values))
    scores, axes = b @ right[:q].T / singular_values[:q], left[:, :q].T @ c
    # ‖A − Σ b_i c_i‖² for a growing number of components, from the products of all.
    linear = np.cumsum(np.einsum("ri,rj,ij->i", scores, a, axes, optimize=True))
    products = (scores.T @ scores) * (axes @ axes.T)
    quadratic = np.diagonal(np.cumsum(np.cumsum(products, axis=0), axis=1))
    errors = np.full(max_components + 1, float(np.sum(a**2)))
    errors[1 : q + 1] += quadratic - 2.0 * linear
    if q:
        errors[q + 1 :] = errors[q]
    return errors
