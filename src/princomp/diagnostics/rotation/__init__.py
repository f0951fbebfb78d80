"""Rotated components: varimax and promax of the loadings of a fitted model.

criteria  the rotations
rotated   the result: loadings, scores, tables
calls     the function ``rotate``
"""
