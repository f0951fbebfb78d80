"""Rotated components: varimax and promax of the loadings of a fitted model.

criteria  the rotations
rotated   the result: loadings, scores, tables
calls     the function ``rotate``
"""

from princomp.diagnostics.rotation.calls import rotate
from princomp.diagnostics.rotation.rotated import Rotation

__all__ = ["Rotation", "rotate"]
