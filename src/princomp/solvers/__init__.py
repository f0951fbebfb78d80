"""Solvers: compute a Spectrum from a summary or from rows.

dense       all eigenvalues of a scatter, or all singular values of a triangle
search_space  the basis of a block Lanczos search, its projection and the next block
lanczos     the top k by block Lanczos, to a residual: of a scatter or of the rows
row_gram    wide rows through the n × n products of the rows
randomized  the randomized SVD, under scikit-learn's name and parameters
bases       orthonormal bases of tall, thin sets of vectors, by products of matrices
forecast    when a search is looked at, and whether it still comes nearer
ritz        the projection that ends both of these
krylov      the top k of rows that are read block by block, one fused pass a product
nystrom     the top k of a sketch, with an estimate of its error
scatter_search  the top k of a scatter in memory, by block Lanczos
growing     as many components as explain a share of the variance
glimpse     whether a search would pay, and where it starts, from a sample of the rows
device      summaries whose arrays are on a device, solved there
null_space  reproducible axes for components without variance
"""
