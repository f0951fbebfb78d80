"""How far a PCA is its sample's: intervals by resampling rows, and angles of the axes.

drawn      resamples of rows, solved: counts in place of copies
intervals  what they come to: intervals, angles, tables
calls      what people call
"""

from princomp.resampling.calls import bootstrap
from princomp.resampling.intervals import Bootstrap

__all__ = ["Bootstrap", "bootstrap"]
