"""Familiar's core: everything that is not one chat platform. `bot.app` puts it together."""

from __future__ import annotations

import sys

__version__ = "0.1.0"
"""As in pyproject.toml; a test keeps the two equal."""


def _import_structlog_alone() -> None:
    """structlog loads rich and pygments wherever they are installed, to colour tracebacks; ours are written plainly,
    and 6 MB stay free (docs/design/memory.md).
    """
    if "rich" not in sys.modules:
        sys.modules["rich"] = None  # type: ignore[assignment]  # how Python marks what is not to be had
        try:
            import structlog  # noqa: F401
        finally:
            del sys.modules["rich"]


_import_structlog_alone()
