"""What is kept of rows: immutable values with ``empty``, ``of``, ``merge`` and ``rows``.

Moments   mean and scatter              the covariance route
Triangle  mean and a factor of scatter  the SVD route
Columns   mean and column scatter       for routes that never form p × p
Sketch    mean and scatter × directions  rows seen once, p too large for p × p
Extremes  smallest and largest value    for scaling by range

Each obeys: empty is the identity, merge is associative and commutative to
rounding, and the merge of the blocks is the summary of all rows.
"""

from princomp.summaries.blocks import block_rows
from princomp.summaries.columns import Columns
from princomp.summaries.extremes import Extremes
from princomp.summaries.moments import Moments
from princomp.summaries.pair import Pair, PairOf
from princomp.summaries.sketch import Sketch, SketchOf
from princomp.summaries.triangle import Triangle

__all__ = [
    "Columns",
    "Extremes",
    "Moments",
    "Pair",
    "PairOf",
    "Sketch",
    "SketchOf",
    "Triangle",
    "block_rows",
]
