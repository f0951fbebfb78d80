"""Pre-images: rows, in the units of the data, whose images lie near projections.

pre_image                               what methods share: protocol, checks, nearest points
linear, ridge, fixed_point, distances   one method each
methods                                 methods by name, and which kernels they support
"""
