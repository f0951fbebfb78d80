"""
Single cells
============

A single-cell experiment counts molecules of thousands of genes in thousands of cells. Most counts
are zero, so the table is stored as a sparse matrix. PCA is the usual first step: it turns 2,000
genes into some 20 numbers for each cell, with which cells are clustered and drawn.

The counts here are generated, so that we know the truth: four kinds of cells.
"""

# %%
# Counts
# ------
# 3,000 cells, 2,000 genes. Each kind of cell has 60 genes that it makes more of. Cells differ in
# how many molecules were caught.

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(1)
cells, genes, kinds = 3_000, 2_000, 4
kind = rng.choice(kinds, cells, p=[0.5, 0.3, 0.15, 0.05])
base = rng.gamma(0.2, 1.0, genes)
profile = np.tile(base, (kinds, 1))
for one in range(kinds):
    markers = rng.choice(genes, 60, replace=False)
    profile[one, markers] = 5 * profile[one, markers] + 2.0
profile /= profile.sum(axis=1, keepdims=True)
depth = rng.lognormal(7.0, 0.4, cells)
counts = sp.csr_array(rng.poisson(depth[:, None] * profile[kind]))
print(f"{counts.nnz / np.prod(counts.shape):.0%} of the counts are not zero")

# %%
# Normalise
# ---------
# A cell of which twice as many molecules were caught is not another kind of cell. So divide by
# the total of each cell, and take logarithms, so that a gene with large counts does not decide
# everything. Zeros stay zeros.

total = np.asarray(counts.sum(axis=1)).ravel()
X = sp.csr_array(sp.diags_array(1e4 / total) @ counts)
X.data = np.log1p(X.data)

# %%
# Genes that vary more than others of the same mean are the interesting ones. A simple choice is
# the 500 genes of the largest variance:

mean = np.asarray(X.mean(axis=0)).ravel()
variance = np.asarray((X**2).mean(axis=0)).ravel() - mean**2
chosen = np.sort(np.argsort(variance)[-500:])
X = X[:, chosen]

# %%
# Fit
# ---
# The matrix stays sparse: the mean is subtracted inside the products, never from the matrix.

from princomp import PCA

model = PCA(20).fit(X)
print(model.plan_)

# %%
# How many components are more than noise? In the scree plot four stand out. Four kinds of cells
# span three dimensions; what is the fourth component?

model.plot.scree().figure

# %%
# It is how many molecules were caught in the cell. Dividing by the total did not remove that,
# because a cell with few molecules has more zeros. Always compare components with such technical
# quantities:

from princomp import diagnostics

diagnostics.metadata(model, X, {"log total": np.log(total)}, components=[1, 2, 3, 4])

# %%
# Draw the cells
# --------------

names = np.array(["T", "B", "NK", "DC"])[kind].tolist()
model.plot.scores(X, groups=names, label=0).figure

# %%
# The first two components separate the common kinds. The rare kind (5% of the cells) is on the
# third:

model.plot.scores(X, 1, 3, groups=names, label=0).figure

# %%
# Which genes make a component? Contributions are in percent; the dashed line is what each gene
# would contribute if all were alike.

model.plot.contributions(1, top=15).figure

# %%
# Use the scores
# --------------
# Clusters of the first three components are the kinds that we put in:

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

scores = model.transform(X)[:, :3]
found = KMeans(4, n_init=10, random_state=0).fit_predict(scores)
print(f"agreement with the truth: {adjusted_rand_score(kind, found):.2f}")

# %%
# An .h5ad file
# -------------
# Such data often come as ``.h5ad`` files of AnnData. princomp reads their matrix ``X`` block by
# block, without loading it:

import tempfile
from pathlib import Path

import h5py

path = Path(tempfile.mkdtemp()) / "cells.h5ad"
with h5py.File(path, "w") as file:
    group = file.create_group("X")
    group.attrs.update(
        {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": X.shape}
    )
    for name in ("data", "indices", "indptr"):
        group[name] = getattr(X, name)
same = PCA(20).fit(path)
print(np.abs(same.explained_variance_ / model.explained_variance_ - 1).max())

# %%
# scanpy's ``pp.pca`` writes scores to ``adata.obsm["X_pca"]``. Here is the same with princomp:
#
# .. code-block:: python
#
#    adata.obsm["X_pca"] = PCA(50).fit_transform(adata.X)
#
# Two runs give the same bits, on one thread or many. :doc:`/coming-from/scanpy` has the other
# names.

path.unlink()
