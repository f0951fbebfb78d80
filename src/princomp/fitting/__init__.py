"""From rows to a finished fit: plan, fold, solve, and a fallback where precision asks for it.

fit      the way of a fit from its rows, or from a summary of them
small    the shortest way, for a table of one block
job      what a fit works on, and what a route answers
scatter  routes through a kept scatter: Moments and Triangle
components   how many are kept, once the variances are known
rows     routes that multiply rows in memory
blocks   routes that read rows block by block: Krylov and sketch
tiles    the route through a scatter in tiles that an engine holds
against_rows  residuals of a finished fit, measured with its rows
"""

from princomp.fitting.against_rows import checked_against_rows
from princomp.fitting.fit import fit_rows, fit_summary, truncated_to
from princomp.fitting.job import check_rows, check_shape

__all__ = [
    "check_rows",
    "check_shape",
    "checked_against_rows",
    "fit_rows",
    "fit_summary",
    "truncated_to",
]
