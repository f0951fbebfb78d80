"""A report of a fitted PCA: one HTML page, complete in itself. Needs ``princomp[report]``."""

from princomp.reports.calls import report

__all__ = ["report"]
