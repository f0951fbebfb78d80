"""Spark DataFrames."""
