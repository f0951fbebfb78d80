"""How many components: one file a rule, each from the variances alone."""

from princomp.choosing.fraction import for_fraction
from princomp.choosing.minka import minka_mle

__all__ = ["for_fraction", "minka_mle"]
