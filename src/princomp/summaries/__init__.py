"""Summaries of rows: immutable values with ``empty``, ``of``, ``merge`` and ``rows``.

Moments   mean and scatter                 covariance route
Triangle  mean and a factor of scatter     SVD route
Columns   mean and scatter of each column  routes that never form a p × p matrix
Sketch    mean and scatter × directions    rows read once, p too large for a p × p matrix
Extremes  smallest and largest values      scaling by range

For each of them, up to rounding, ``empty`` is the identity, ``merge`` is associative and
commutative, and merging the summaries of all blocks gives the summary of all rows.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
