"""Compiled kernels for the inner loops, each with a NumPy implementation, its twin.

``gram``     mean and scatter of a dense block
``wide``     a wide dense block added to a scatter in place, by several threads
``across``   products of its rows with each other
``columns``  sums and squares of its columns
``eigen``    the spectrum of a small scatter
``tridiagonal`` the reduction of a large one to tridiagonal form, by several threads
``dense``    products of dense rows with vectors
``row_images`` products of dense rows with vectors as long as there are rows
``csr``      products and scatter of sparse rows
``csr_pass`` their kernel, shared among threads
``entries``  the parts of a CSR matrix, checked
``scores``   rows on axes
``matmul``   rows times a matrix, each row by itself
``native``   the compiled library, and the instruction sets that this processor can run
``signatures`` functions of the library and sizes of buffers

The twin defines what a kernel does: it takes the same arguments, is always available, and the
kernel is tested against it. ``PRINCOMP_KERNEL=numpy`` chooses the twins.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
