"""PCA that a part of the rows, or a few cells, cannot turn.

location   where most numbers lie and how far they spread: the MCD of one column
mcd        the same for rows of few columns: FAST-MCD
projecting how far a row lies outside the others, over many directions
robpca     ROBPCA: from these to components
outliers   distances of rows, and what they are called
asked      parameters, checked
estimator  RobustPCA, in scikit-learn's conventions
using      scores, distances and a file of a fit
contents   a fit as arrays and plain values, and back
pursuit    a table as a sum of a low rank and few large cells
"""

from princomp.robust.estimator import RobustPCA
from princomp.robust.pursuit import Pursuit, principal_component_pursuit

__all__ = ["Pursuit", "RobustPCA", "principal_component_pursuit"]
