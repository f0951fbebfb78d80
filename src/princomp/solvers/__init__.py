"""Solvers: compute a Spectrum from a summary or from rows.

A solver is a function such as ``solve_moments(moments, k)`` or ``search_scatter(moments, k)`` that
returns a :class:`Spectrum`. A solver that reads rows also returns the number of passes. A search
returns None instead of a spectrum if it was abandoned because another solver is faster.

Decompositions

dense           eigenpairs of a scatter, singular values of a triangle
row_gram        top k of wide rows, from the n × n inner products of the rows
nystrom         top k of a sketch, with an estimate of the error
device          spectra of summaries on a device, computed there
randomized      randomized SVD with scikit-learn's parameters

Block Lanczos searches for the largest eigenpairs

search          main loop: each step grows a search space, and a rule ends the search
lanczos         the k largest pairs of an operator, each to a given residual
stopping        when to compute residuals, and when to abandon a search
missed          larger eigenvalues that a search may have missed
scatter_search  top k of a scatter in memory
row_search      top k of rows in memory; a forecast and a first block from a sample of them
share_search    pairs that make up a share of the variance, of a scatter or of rows in memory
krylov          top k of rows that are read block by block, in one pass per product

Common to both

spectrum        checked variances and axes; reproducible axes for components without variance
ritz            from a subspace, or from eigenpairs, to a spectrum
bases           orthonormal bases of a few long vectors
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
