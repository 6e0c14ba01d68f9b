"""What may be tuned about the Telegram adapter, with units and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookOptions:
    """Where Telegram pushes updates to, and where we listen for them."""

    url: str
    """The public https address, path included."""
    listen: str = "127.0.0.1"
    port: int = 8080
    path: str | None = None
    """The path we listen on, when a proxy changes it; otherwise that of `url`."""
    secret_token: str | None = None
    """Sent by Telegram with every update; made at each start when empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BackOff:
    """Waits between attempts: `first`, doubled each time up to `longest`."""

    first: timedelta = timedelta(seconds=0.5)
    longest: timedelta = timedelta(seconds=30)

    def waits(self) -> Iterator[float]:
        """Seconds before the second, third, ... attempt; never ends."""
        seconds = self.first.total_seconds()
        while True:
            yield seconds
            seconds = min(seconds * 2, self.longest.total_seconds())


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """Seconds: to connect, and without a byte from the server until an answer is given up."""

    connect: float = 5.0
    read: float = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLimits:
    """How much of a file is taken: bytes of an image (whole or not at all) and of a text (its beginning)."""

    image_bytes: int = 5 * 1024 * 1024
    text_bytes: int = 64 * 1024
    audio_bytes: int = 0
    """Of a voice message or other recording, whole or not at all; 0 = they are mentioned, not fetched."""
    audio_seconds: int = 300
    """The same of its length."""
    message_bytes: int = 16 * 1024 * 1024
    """Of all files of one inbound together, an album for example."""
    timeout: timedelta = timedelta(seconds=20)
    """For all files of one inbound, which are fetched side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TelegramOptions:
    """The defaults suit one bot on Telegram's own servers."""

    private_pace: timedelta = timedelta(seconds=1)
    """Between two states of an answer in a private chat; Telegram bears one message per second and chat."""
    group_pace: timedelta = timedelta(seconds=3)
    """The same in a group, where Telegram bears 20 messages per minute."""
    album_quiet: timedelta = timedelta(seconds=0.5)
    """An album is complete when no further part came for this long; its parts come one by one (T16)."""
    poll_timeout: timedelta = timedelta(seconds=30)
    """How long the server holds a poll while nothing happens."""
    rights_ttl: timedelta = timedelta(seconds=60)
    """How long we believe that somebody is an administrator."""
    back_off: BackOff = BackOff()
    timeouts: Timeouts = Timeouts()
    files: FileLimits = FileLimits()
