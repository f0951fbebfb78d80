"""MPI ranks, each with its own rows."""
