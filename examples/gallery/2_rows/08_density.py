"""
A hundred thousand rows
=======================

More than 20,000 rows are drawn as a density.
"""

import numpy as np

from princomp import PCA

rng = np.random.default_rng(0)
kinds = rng.choice(3, 100_000, p=[0.6, 0.3, 0.1])
centres = rng.standard_normal((3, 10)) * 3
X = centres[kinds] + rng.standard_normal((100_000, 10))

PCA(2).fit(X).plot.scores(X, label=0).figure
