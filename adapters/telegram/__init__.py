"""Telegram by the Bot API. The library costs 7 MB: only `bot.app` imports this, and only with a token."""

from __future__ import annotations

import sys

UNWANTED = ("click", "cryptography", "pygments", "rich")
"""What the library and its HTTP client load wherever it is installed: to read passports that nobody shows us, and for a
command line of their own. Without it 12 MB stay free (docs/design/memory.md).
"""


def _import_telegram_alone() -> None:
    barred = [name for name in UNWANTED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(barred))  # type: ignore[arg-type]  # how Python marks what is not to be had
    try:
        import telegram  # noqa: F401
    finally:
        for name in barred:
            del sys.modules[name]


_import_telegram_alone()
