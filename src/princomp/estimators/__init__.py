"""The scikit-learn estimators PCA and IncrementalPCA, robust PCA, and functions around them.

estimator    PCA
incremental  IncrementalPCA
base         TableEstimator: the base class of all estimators here; fitted attributes
functions    pca and svd
choosing     choose: rules for the number of components, compared
loading      load and plan
batches      methods of PCA that add and remove rows
ranks        fits over MPI ranks
derived      methods of PCA that make models without rows
results      methods of a fitted PCA: rows from scores, likelihoods, filled cells, verification
notebook     models as HTML
robust       RobustPCA and principal component pursuit
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
