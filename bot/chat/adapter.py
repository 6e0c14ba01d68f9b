"""The one interface that an adapter fills, and what it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Unpack

from bot.chat.messages import ChannelRef, Inbound, speaks_to_us
from bot.chat.replies import ReplyOptions, ReplyStream

Deliver = Callable[[Inbound], Awaitable[None]]
"""`Pipeline.deliver`: takes one inbound and never raises."""

WantsFiles = Callable[[Inbound], Awaitable[bool]]
"""Whether the files of a message are worth fetching, asked before they are."""


async def wants_files_for_us(inbound: Inbound) -> bool:
    """Where nobody knows better: those of what is said to us."""
    return speaks_to_us(inbound)


class Severity(StrEnum):
    """How bad a doctor's finding is; FAULT makes `familiar doctor` exit with 1."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of `familiar doctor`: what was looked at, how it is, and what to do about it."""

    severity: Severity
    subject: str
    message: str
    remedy: str = ""


class Adapter(Protocol):
    """One chat platform. Four verbs in, three out; everything else of the platform stays behind it."""

    @property
    def platform(self) -> str:
        """The word that starts every key of this platform: "discord", "telegram"."""

    async def run(self, deliver: Deliver) -> None:
        """Connect and hand every inbound to `deliver` until `close`. Reconnects by itself.

        Raises:
            AdapterError: the platform refuses us for good (bad token, missing intent); the message says the remedy.
        """

    async def ready(self) -> None:
        """Wait until answers can be sent, which may need a login; for ever where the platform refuses us."""

    async def stop_listening(self) -> None:
        """Take no more inbounds, within a few seconds; replies under way can still be finished."""

    async def close(self) -> None:
        """Disconnect and release everything. Safe to call at any time, also before `run` (S18)."""

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        """Begin an answer: shows the typing sign, sends nothing yet."""

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Delete messages of ours where the platform allows it; those already gone are fine."""

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the platform lets this user manage the channel, or all of its place; in a DM everybody may."""

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """Whether all that is said in a group reaches us, or only what is meant for the bot (T18)."""

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """Address that takes people of this channel to one of its messages; `None` where there is none."""

    async def check(self, *, is_served: bool = False) -> Sequence[Finding]:
        """Look at login, rights and platform settings by real calls, for `familiar doctor`. `is_served` says that a
        process of ours runs on the same data, so that nothing may disturb it.
        """
