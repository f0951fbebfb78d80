"""The few inner loops where the time goes: compiled, each beside a NumPy twin.

``gram``    mean and scatter of a dense block
``csr``     products and scatter of sparse rows
``native``  the compiled library, and what this processor can run of it

The twin says what a kernel means: it has the same signature, is always there, and is what
the kernel is tested against. ``PRINCOMP_KERNEL=numpy`` chooses the twins.
"""
