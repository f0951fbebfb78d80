"""Missing cells: filled by components of the known ones.

filled    fill the cells of a table, and the record of what was filled
left_out  what a plan says of incomplete rows that a fit left out
methods   regularised EM-PCA and NIPALS, and the cells of new rows
"""

from princomp.core.missing.filled import FILL_METHODS, Filled, fill_table, memory_to_fill
from princomp.core.missing.left_out import note_on_left_out
from princomp.core.missing.methods import fill_new_rows

__all__ = [
    "FILL_METHODS",
    "Filled",
    "fill_new_rows",
    "fill_table",
    "memory_to_fill",
    "note_on_left_out",
]
