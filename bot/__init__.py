"""Familiar's core: everything that is not one chat platform. `bot.app` puts it together."""

from __future__ import annotations

from bot.sparing import barred

__version__ = "0.1.0"
"""As in pyproject.toml; a test keeps the two equal."""

with barred("rich"):  # loaded with pygments to colour tracebacks, wherever it is installed; ours are written plainly
    import structlog  # noqa: F401
