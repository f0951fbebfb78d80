"""Engines sum rows: ``local`` in this process, the others where the rows are stored.

Every folder of an engine has ``tables`` (converts tables of users to rows) and ``rows`` (a
:class:`~princomp.engines.distributed.DistributedRows`) and, if necessary, ``tasks`` (code that runs
on workers) and ``weights``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
