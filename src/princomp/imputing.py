"""The part of an estimator that fills missing cells: completed tables, and rows to be scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.attributes import FittedAttributes
from princomp.errors import ParameterError
from princomp.inputs import TableInput, blocks_of
from princomp.missing import METHODS, Filled, with_cells_filled

__all__ = ["FillsCells"]


class FillsCells(FittedAttributes, TableInput):
    """Rows with missing cells, completed by the components of a fit."""

    # Of the estimator.
    missing: Any
    _check_finite: Callable[..., None]

    @property
    def imputed_(self) -> Filled | None:
        """What ``missing="em"`` or ``"nipals"`` filled in the rows of the fit; else None."""
        return self._state.filled

    def impute(self, X: Any) -> FloatArray:
        """Rows with their missing cells filled by the components; all others stay.

        Parameters
        ----------
        X : array, frame or path, of shape (n, p)
            The rows of the fit, or new ones.

        Returns
        -------
        ndarray of shape (n, p)
            In the precision and the units of X. A row without any cell stays empty.

        Raises
        ------
        ParameterError
            For a model that was not fitted with ``missing="em"`` or ``"nipals"``, and for
            sparse rows.
        NotFiniteError
            For an infinite value.
        """
        self._state  # noqa: B018  (raises where nothing is fitted)
        if self.missing not in METHODS:
            raise ParameterError(
                f"missing={self.missing!r} does not fill cells",
                place={"parameter": "missing"},
                hint="fit with missing='em' or missing='nipals' and a number of components",
            )
        data, _, file = self._rows(X, reset=False)
        at, parts = 0, []
        for rows in blocks_of(data):
            if sp.issparse(rows):
                raise ParameterError(
                    "impute takes dense rows", place={"parameter": "X"}, hint="give X.toarray()"
                )
            self._check_finite(rows, data, at, file)
            parts.append(self._with_cells(rows))
            at += rows.shape[0]
        return np.array(parts[0]) if len(parts) == 1 else np.concatenate(parts)

    def _with_cells(self, rows: Any) -> Any:
        """The same rows, or a copy whose missing cells are filled, where that was asked for."""
        if self.missing not in METHODS or sp.issparse(rows):
            return rows
        return with_cells_filled(rows, self._state, self.missing)
