"""Dense linear algebra, and the memory, threads and seeds that it uses.

arrays          decompositions, the sign convention, exact sums
buffers         aligned and reused memory for arrays
threads         several threads for fixed pieces of work, with results in order; BLAS on one
                thread; properties that are computed once, without a lock
memory          memory limits: reading, checking and printing sizes
control_groups  limits of memory and processor time of containers and batch jobs
seeds           random_state and the seeds drawn from it
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
