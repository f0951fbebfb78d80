"""Who does the adding. ``local`` is one machine: this thread, or a few."""
