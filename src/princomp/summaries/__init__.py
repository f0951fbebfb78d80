"""Summaries of rows: immutable values with ``empty``, ``of``, ``merge`` and ``rows``.

Moments   mean and scatter              the covariance route
Triangle  mean and a factor of scatter  the SVD route
Columns   mean and column scatter       for routes that never form p × p
Sketch    mean and scatter × directions  rows seen once, p too large for p × p
Extremes  smallest and largest value    for scaling by range

Each obeys: empty is the identity, merge is associative and commutative to
rounding, and the merge of the blocks is the summary of all rows.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
