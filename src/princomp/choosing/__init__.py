"""How many components: one file a rule, each from the variances alone."""

from princomp.choosing.fraction import for_fraction
from princomp.choosing.minka import minka_mle
from princomp.choosing.wanted import check_wanted, most_components, resolve

__all__ = ["check_wanted", "for_fraction", "minka_mle", "most_components", "resolve"]
