"""Tables to files and streams."""
