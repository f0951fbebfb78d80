"""Dask arrays and frames."""
