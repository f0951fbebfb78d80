"""Reports of a fitted PCA: a self-contained HTML page. Needs ``princomp[report]``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
