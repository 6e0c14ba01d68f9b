"""One growing answer, shown at a pace the platform bears and always ended in full; shared by adapters that edit messages.

Knows no platform: a `Transport` speaks to one, and reports faults in the four words below.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from bot.chat import Outbound

P = TypeVar("P")


class Wait(Exception):
    """The platform asks to wait (429); the request was not carried out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"wait {seconds} s")


class Unreachable(Exception):
    """The request certainly did not arrive (refused connection, 502, 503); sending it again is safe."""


class Uncertain(Exception):
    """The request may or may not have been carried out (time-out after the body was written); never sent again (T14)."""


class Refused(Exception):
    """The platform will not do this, however often it is asked (forbidden, chat gone, message deleted)."""


class Transport(Protocol[P]):
    """One reply's way to one channel. Methods raise only `Wait`, `Unreachable`, `Uncertain` and `Refused`."""

    drafts: bool
    """Whether intermediate text is shown by `draft` instead of by sending and editing."""

    def render(self, outbound: Outbound, *, final: bool) -> list[P]:
        """The platform messages for a text, in order: each within the limits, none blank; [] for a blank text."""

    async def send(self, part: P, ordinal: int) -> str:
        """Send a new message and return its platform id. Only ordinal 0 carries the reply reference."""

    async def edit(self, message_id: str, part: P, ordinal: int) -> None:
        """Make an earlier message show `part`; a message that already shows it counts as success (T06)."""

    async def draft(self, part: P) -> None:
        """Show an intermediate text that the final `send` replaces."""

    async def delete(self, message_id: str) -> None:
        """Remove a message of this reply that the final text no longer needs."""

    async def typing(self) -> None:
        """Show the typing sign once (platforms keep it for 5 to 10 s)."""
