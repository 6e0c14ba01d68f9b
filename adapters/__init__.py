"""The chat platforms."""
