"""What may be tuned about the Discord adapter, with units and defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscordOptions:
    """Caps and switches. The defaults suit one process that serves a few hundred guilds."""

    image_bytes: int = 8 << 20
    """Of one image; a larger one is mentioned, not read."""
    text_bytes: int = 64 << 10
    """Of one text file; the rest of a longer one is left out, with a note (D30)."""
    audio_bytes: int = 0
    """Of one voice message or other recording; 0 = they are mentioned, not fetched."""
    audio_seconds: int = 300
    """The same of its length."""
    message_bytes: int = 16 << 20
    """Of all files of one message together (X07)."""
    download_seconds: float = 20.0
    """For all files of one message together (X07)."""
    reconnect_seconds: float = 1.0
    """First pause after a failed connection; doubles up to a minute."""
    faces: bool = True
    """Whether personas other than the bot's own speak under their names, by webhooks."""
    load_hash: Callable[[], Awaitable[str | None]] | None = None
    save_hash: Callable[[str], Awaitable[None]] | None = None
    """Where the hash of the registered commands lives between starts; without both, each start registers once (D15)."""
