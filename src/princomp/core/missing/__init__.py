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
from princomp.core.missing.new_rows import fill_new_rows
from princomp.core.missing.table import FILL_METHODS, FilledTable, fill_table, memory_to_fill

__all__ = ["FILL_METHODS", "Filled", "FilledTable", "fill_new_rows", "fill_table", "memory_to_fill"]
