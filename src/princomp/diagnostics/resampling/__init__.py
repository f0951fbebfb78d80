"""Bootstrap of a PCA: intervals and angles of the axes by resampling rows.

resamples  resamples of rows and their PCA
intervals  the result: intervals, angles, tables
calls      the function ``bootstrap``
"""

from princomp.diagnostics.resampling.calls import bootstrap
from princomp.diagnostics.resampling.intervals import Bootstrap

__all__ = ["Bootstrap", "bootstrap"]
