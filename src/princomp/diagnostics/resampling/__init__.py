"""Bootstrap of a PCA: intervals and angles of the axes by resampling rows.

resamples  resamples of rows and their PCA
analysis   the bootstrap of a fitted PCA, from rows in memory
intervals  the result: intervals, angles, tables
calls      the function ``bootstrap``
"""
