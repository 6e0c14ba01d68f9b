"""One file per step, oldest first by number."""
