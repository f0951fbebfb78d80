"""Engines: who sums the rows. ``local`` is this process; others sum where the rows lie.

Every engine folder has ``tables`` (user tables to rows) and ``rows`` (a
:class:`~princomp.engines.distributed.Distributed`), and where it needs them ``tasks`` (code that
runs on workers) and ``weights``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
