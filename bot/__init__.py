"""Familiar's core: everything that is not one chat platform. `bot.app` puts it together."""

__version__ = "0.1.0"
"""As in pyproject.toml; a test keeps the two equal."""
