"""The previous name of :mod:`princomp.rules`; it will be removed in version 0.3."""

import warnings

from princomp.rules import *  # noqa: F403

warnings.warn(
    "princomp.choosing is now princomp.rules; the old name will be removed in version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
