"""
Cross-validation
================

How well do k components predict cells that were held out? The error falls while components hold
structure, and rises when they hold noise (Bro et al. 2008).
"""

import numpy as np

from princomp import PCA, choose, plots

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 12)) + rng.standard_normal((80, 12))

model = PCA().fit(X)
plots.scree(model, decision=choose(X, ["cv"])["cv"]).figure
