"""The feature space of a kernel.

matrix     centred kernel matrices, and their products with vectors
solve      their largest eigenpairs, and the rounding errors of these
expansion  axes as sums of the images of points
"""
