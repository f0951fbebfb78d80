"""The scikit-learn estimators PCA and IncrementalPCA, robust PCA, and functions around them.

estimator    PCA
incremental  IncrementalPCA
base         TableEstimator: the base class of all estimators here
functions    pca and svd
loading      load and plan
comparison   choose: the number of components by several rules
attributes   fitted attributes
scoring, batches, derived   methods of PCA: scores, rows over time, other models
ranks, notebook   fits over MPI ranks, and models as HTML
robust       RobustPCA and principal component pursuit
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
