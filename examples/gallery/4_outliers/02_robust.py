"""
Outlier map of a robust PCA
===========================

Outliers turn the axes of a PCA and hide. ROBPCA follows most of the rows, so they show: here a
tenth of the rows is wrong.
"""

import numpy as np

from princomp import RobustPCA, plots

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 6)) * [10, 5, 0.5, 0.5, 0.5, 0.5]
X[:20] += [0, 0, 8, 8, 0, 0]
robust = RobustPCA(2).fit(X)
plots.outliers(robust, X).figure
