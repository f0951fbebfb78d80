"""Compiled kernels for the inner loops, each with a NumPy implementation (its twin).

``gram``     mean and scatter of a dense block
``wide``     a wide dense block added to a scatter in place, by several threads
``columns``  column sums and sums of squares of a block
``eigen``    the spectrum of a small scatter
``tridiagonal`` reduction of a large scatter to tridiagonal form, by several threads
``dense``    products of dense rows with vectors, and with each other
``csr``      products and scatter of sparse rows, in passes that are shared among threads
``entries``  the arrays of a CSR matrix, validated
``scores``   projection of dense rows onto the axes
``matmul``   rows times a matrix, each row multiplied separately
``native``   the compiled library, and the instruction sets that this processor can run
``signatures`` argument types of the library's functions, and sizes of buffers

The twin defines what a kernel computes: it takes the same arguments, is always available, and the
kernel is tested against it. ``PRINCOMP_KERNEL=numpy`` selects the twins.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
