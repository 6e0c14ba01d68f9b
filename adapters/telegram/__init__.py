"""Telegram by the Bot API. The library costs 10 MB: only `bot.app` imports this, and only with a token."""

from __future__ import annotations

import sys


def _import_telegram_alone() -> None:
    """The library loads cryptography wherever it is installed, to read passports that nobody shows us; without it 8 MB
    stay free (docs/design/memory.md).
    """
    if "cryptography" not in sys.modules:
        sys.modules["cryptography"] = None  # type: ignore[assignment]  # how Python marks what is not to be had
        try:
            import telegram  # noqa: F401
        finally:
            del sys.modules["cryptography"]


_import_telegram_alone()
