"""An adapter that keeps what it is told to show."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from bot.chat import (
    ChannelRef,
    Deliver,
    Finding,
    Outbound,
    PartState,
    ReplyOptions,
    SentPart,
    Speaker,
)


@dataclass(slots=True)
class FakeReply:
    """One reply as a platform would have shown it."""

    channel: ChannelRef
    reply_to: str | None
    handle: object | None
    shown: list[str] = field(default_factory=list)
    outbound: Outbound | None = None
    failed: bool = False
    discarded: bool = False
    speaker: Speaker | None = None

    @property
    def text(self) -> str:
        """The final text."""
        return self.outbound.text if self.outbound else ""


class FakeAdapter:
    """An adapter that keeps what it is told. `streams` shows every update at once, as a slow answer would appear."""

    def __init__(
        self,
        platform: str = "fake",
        *,
        managers: Iterable[str] = (),
        channel_managers: Iterable[str] = (),
        streams: bool = False,
        hears_all: bool = True,
        state: PartState = PartState.SENT,
    ) -> None:
        self.platform = platform
        self.replies: list[FakeReply] = []
        self.deleted: list[str] = []
        self.managers = set(managers)
        self.channel_managers = set(channel_managers)
        self.streams = streams
        self.hears_all = hears_all
        self.state = state
        self.changed = asyncio.Event()
        self._ids = itertools.count(1)
        self._closed = asyncio.Event()

    async def run(self, deliver: Deliver) -> None:
        """Wait for `close`; tests deliver by themselves."""
        await self._closed.wait()

    async def ready(self) -> None:
        """It always is."""

    async def stop_listening(self) -> None:
        """Nothing to stop."""

    async def close(self) -> None:
        """End `run`."""
        self._closed.set()

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> _FakeStream:
        """A stream that records."""
        reply_to, handle, speaker = options.get("reply_to"), options.get("handle"), options.get("speaker")
        return _FakeStream(self, FakeReply(channel, reply_to, handle, speaker=speaker), options)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Record the deletion."""
        self.deleted.extend(message_ids)

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the test made this user a manager; one of `channel_managers` manages channels only."""
        return user_id in self.managers or (user_id in self.channel_managers and not whole_place)

    async def hears_everything(self, channel: ChannelRef) -> bool:
        """What the test says."""
        return self.hears_all

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        """An address in channels; DMs have none."""
        return None if channel.is_dm else f"https://fake.example/{channel.place}/{channel.channel}/{message_id}"

    async def check(self, *, is_served: bool = False) -> Sequence[Finding]:
        """Nothing to find."""
        return ()

    @property
    def texts(self) -> list[str]:
        """Final texts in the order in which they were shown."""
        return [reply.text for reply in self.replies if reply.outbound]

    async def wait_for(self, count: int) -> list[str]:
        """Wait until so many replies have ended, and return their texts."""
        async with asyncio.timeout(10):
            while len(self.texts) < count:
                self.changed.clear()
                await self.changed.wait()
        return self.texts

    async def wait_shown(self) -> None:
        """Wait until something of a reply is shown."""
        async with asyncio.timeout(10):
            while not self.replies:
                self.changed.clear()
                await self.changed.wait()

    def next_id(self) -> str:
        """A platform message id for a part of ours."""
        return f"m{next(self._ids)}"


class _FakeStream:
    def __init__(self, adapter: FakeAdapter, reply: FakeReply, options: ReplyOptions) -> None:
        self._adapter, self._reply = adapter, reply
        self._before_send, self._part_shown = options.get("before_send"), options.get("part_shown")
        self._message_id: str | None = None

    async def update(self, text: str, *, doing: str = "") -> None:
        if self._adapter.streams:
            message_id, is_first = await self._begin(), not self._reply.shown
            self._reply.shown.append("\n\n".join(filter(None, (text, doing))))
            if is_first and self._part_shown is not None:
                await self._part_shown(SentPart(ordinal=0, message_id=message_id, state=PartState.SENT))
            self._adapter.changed.set()

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        if not outbound.text.strip() and outbound.voice is None:
            return ()
        message_id = await self._begin()
        self._reply.outbound = outbound
        self._adapter.changed.set()
        return (SentPart(ordinal=0, message_id=message_id, state=self._adapter.state),)

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        self._reply.failed = True
        return await self.finish(outbound)

    async def discard(self) -> bool:
        self._reply.discarded = True
        self._adapter.changed.set()
        return self._message_id is not None

    async def _begin(self) -> str:
        if self._message_id is None:
            if self._before_send is not None:
                await self._before_send()
            self._message_id = self._adapter.next_id()
            self._adapter.replies.append(self._reply)
        return self._message_id
