"""Solvers: compute a Spectrum from a summary or from rows.

A solver is a function ``solve(summary, k)`` or ``search(summary, k)`` that returns a
:class:`Spectrum`; one that reads rows also returns the number of passes. A search returns None in
place of a spectrum where it is abandoned, because another solver is quicker.

Decompositions

dense           eigenpairs of a scatter, singular values of a triangle
row_gram        wide rows through the n × n products of the rows
nystrom         the top k of a sketch, with an estimate of its error
device          summaries whose arrays are on a device, solved there
randomized      the randomized SVD, under scikit-learn's name and parameters

Searches by block Lanczos

search          the loop: a step (search_space) grows a space, a rule ends it
search_space    the step: basis, projection and next block
lanczos         rule and search for the k largest pairs of an operator
copies          copies of eigenvalues that a search may have missed
abandon_rule    forecasts: when to look, when a search has stalled or is not worth while
scatter_search  the top k of a scatter in memory
row_search      the top k of rows in memory
share_search    the pairs that make up a share of the variance, of a scatter or of rows
krylov          the top k of rows that are read block by block, one fused pass a product
warm_start      a forecast and a first block from a sample of the rows

Common to both

spectrum        variances and axes, checked; reproducible axes for components without variance
ritz            from a subspace, or from pairs, to a spectrum
bases           orthonormal bases of tall, thin sets of vectors, by products of matrices
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
