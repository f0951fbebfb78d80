"""Arrays on a device: torch, CuPy."""
