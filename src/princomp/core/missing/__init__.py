"""Missing cells: filled by components of the known ones.

filled    the record of what was filled
cells     which cells are missing, and whether enough are known
ridge     shrinkage of regularised components
em        alternating between components and filled cells (Josse & Husson 2012)
nipals    components one by one from the known cells (Wold 1966)
table     fill the cells of a table
new_rows  fill the cells of new rows, given a fit
"""

from princomp.core.missing.filled import Filled
from princomp.core.missing.new_rows import with_cells_filled
from princomp.core.missing.table import METHODS, Completed, completed, room_to_fill

__all__ = ["METHODS", "Completed", "Filled", "completed", "room_to_fill", "with_cells_filled"]
