"""A pytest plugin that puts princomp's PCA where scikit-learn's own tests import theirs."""

import sklearn.decomposition

import princomp

sklearn.decomposition.PCA = princomp.PCA
