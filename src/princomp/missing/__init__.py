"""Cells that are not there: filled by components of those that are.

filled   what was filled, and how well that went
cells    which cells are missing, and whether enough are left
ridge    how far regularised components are shrunk
em       alternating between components and the cells they tell (Josse & Husson 2012)
nipals   components one by one from the cells that are there (Wold 1966)
table    the way from a table with holes to one without
new_rows the missing cells of any row, given a fit
"""

from princomp.missing.filled import Filled
from princomp.missing.new_rows import with_cells_filled
from princomp.missing.table import METHODS, completed, room_to_fill

__all__ = ["METHODS", "Filled", "completed", "room_to_fill", "with_cells_filled"]
