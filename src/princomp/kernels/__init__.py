"""The few inner loops where the time goes: compiled, each beside a NumPy twin.

``gram``     mean and scatter of a dense block
``wide``     a wide dense block added to a scatter in place, by several threads
``across``   products of its rows with each other
``columns``  sums and squares of its columns
``eigen``    the spectrum of a small scatter
``tridiagonal`` what a large one is reduced to, by several threads
``dense``    products of dense rows with vectors
``row_images`` products of dense rows with vectors as long as there are rows
``csr``      products and scatter of sparse rows
``entries``  the parts of a CSR matrix, checked
``scores``   rows on axes
``matmul``   rows times a matrix, each row by itself
``native``   the compiled library, and what this processor can run of it

The twin says what a kernel means: it has the same signature, is always there, and is what
the kernel is tested against. ``PRINCOMP_KERNEL=numpy`` chooses the twins.
"""
