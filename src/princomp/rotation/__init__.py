"""Rotated components: varimax and promax of the loadings of a fitted model.

turning  the rotations themselves
rotated  what comes out: loadings, scores, tables
calls    what people call
"""

from princomp.rotation.calls import rotate
from princomp.rotation.rotated import Rotation

__all__ = ["Rotation", "rotate"]
