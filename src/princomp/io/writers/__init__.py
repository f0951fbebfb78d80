"""Write tables to files and streams."""
