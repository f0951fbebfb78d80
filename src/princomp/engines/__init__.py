"""Engines sum rows: ``local`` in this process, the others where the rows are stored.

Every folder of an engine has ``rows``, a :class:`~princomp.engines.distributed.DistributedRows` and
``rows_of``, which converts tables of users to it (``tables`` does this for devices). ``tasks`` is
the code that runs on workers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
