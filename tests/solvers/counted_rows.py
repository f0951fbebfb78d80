"""Rows that count the products with them."""

from __future__ import annotations

from princomp.summaries import Columns
from princomp.summaries.centred_rows import centre_rows


class Counted:
    """Centred rows that count the products with them: each reads all rows once."""

    PRODUCTS = ("matmul", "rmatmul", "add_rmatmul", "images", "row_images", "row_products")

    def __init__(self, X):
        columns = Columns.of(X)
        spread = columns.column_scatter / (X.shape[0] - 1)
        rows = centre_rows(X, columns.mean, columns.mean_low, spread, None, None)
        self.rows, self.columns, self.count = rows, columns, 0

    def __getattr__(self, name):
        value = getattr(self.rows, name)
        if name not in self.PRODUCTS:
            return value

        def counted(*arrays):
            self.count += 1
            return value(*arrays)

        return counted
