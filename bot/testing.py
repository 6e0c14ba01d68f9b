"""Fakes for tests, ours and those of people who extend Familiar: a scripted model, a recording adapter, made values.

Everything here keeps the real contracts of `bot.chat` and `bot.llm.model`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bot.chat import (
    Attachment,
    Author,
    BeforeSend,
    ChannelRef,
    CommandCall,
    Deliver,
    Finding,
    Inbound,
    InboundKind,
    Outbound,
    PartState,
    Quote,
    SentPart,
    Visibility,
)
from bot.llm.catalogue import ModelLimits
from bot.llm.model import Completion, Finish, ModelError, ModelEvent, ModelRequest, TextDelta, ToolCall, Usage
from bot.overrides import SessionSettings
from bot.settings import PlaceSettings
from bot.store.sessions import SessionRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Asker, Turn

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
"""The time at which made inbounds are sent unless a test says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a scripted model answers. `hold` is awaited after the first chunk, so that a test can act meanwhile."""

    text: str = "ok"
    finish: Finish = Finish.STOP
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    hold: asyncio.Event | None = None
    error: ModelError | None = None
    """Raised after the text was streamed."""


Script = Callable[[ModelRequest], Reply | str]


class ScriptedModel:
    """Answers from a script: a function of the request, or replies in order with the last one repeated."""

    def __init__(self, script: Script | Iterable[Reply | str] = ("ok",)) -> None:
        self.requests: list[ModelRequest] = []
        self.asked = asyncio.Event()
        self.cancelled = 0
        self._script = script if callable(script) else _in_order(list(script))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream the scripted reply in words."""
        self.requests.append(request)
        self.asked.set()
        reply = self._script(request)
        if isinstance(reply, str):
            reply = Reply(text=reply)
        try:
            for index, word in enumerate(_words(reply.text)):
                yield TextDelta(text=word)
                if index == 0 and reply.hold is not None:
                    await reply.hold.wait()
            if not reply.text and reply.hold is not None:
                await reply.hold.wait()
        except (GeneratorExit, asyncio.CancelledError):
            self.cancelled += 1
            raise
        if reply.error is not None:
            raise reply.error
        finish = Finish.TOOL_CALLS if reply.tool_calls else reply.finish
        yield Completion(text=reply.text, finish=finish, tool_calls=reply.tool_calls, usage=reply.usage)

    async def close(self) -> None:
        """Nothing to release."""

    async def wait_for(self, count: int) -> None:
        """Wait until so many requests have come."""
        async with asyncio.timeout(10):
            while len(self.requests) < count:
                self.asked.clear()
                await self.asked.wait()


def _in_order(replies: Sequence[Reply | str]) -> Script:
    supply = itertools.chain(replies, itertools.repeat(replies[-1]))
    return lambda _request: next(supply)


def _words(text: str) -> list[str]:
    pieces = text.split(" ")
    return [piece + " " for piece in pieces[:-1]] + [pieces[-1]] if text else []


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
        state: PartState = PartState.SENT,
    ) -> None:
        self.platform = platform
        self.replies: list[FakeReply] = []
        self.deleted: list[str] = []
        self.managers = set(managers)
        self.channel_managers = set(channel_managers)
        self.streams = streams
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

    async def open_reply(
        self,
        channel: ChannelRef,
        *,
        reply_to: str | None = None,
        handle: object | None = None,
        before_send: BeforeSend | None = None,
        max_parts: int = 5,
    ) -> _FakeStream:
        """A stream that records."""
        return _FakeStream(self, FakeReply(channel, reply_to, handle), before_send)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        """Record the deletion."""
        self.deleted.extend(message_ids)

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        """Whether the test made this user a manager; one of `channel_managers` manages channels only."""
        return user_id in self.managers or (user_id in self.channel_managers and not whole_place)

    async def check(self) -> Sequence[Finding]:
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
    def __init__(self, adapter: FakeAdapter, reply: FakeReply, before_send: BeforeSend | None) -> None:
        self._adapter, self._reply, self._before_send = adapter, reply, before_send
        self._begun = False

    async def update(self, text: str) -> None:
        if self._adapter.streams:
            await self._begin()
            self._reply.shown.append(text)
            self._adapter.changed.set()

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        if not outbound.text.strip():
            return ()
        await self._begin()
        self._reply.outbound = outbound
        self._adapter.changed.set()
        return (SentPart(ordinal=0, message_id=self._adapter.next_id(), state=self._adapter.state),)

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        self._reply.failed = True
        return await self.finish(outbound)

    async def discard(self) -> bool:
        self._reply.discarded = True
        self._adapter.changed.set()
        return self._begun

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            if self._before_send is not None:
                await self._before_send()
            self._adapter.replies.append(self._reply)


_message_ids = itertools.count(1000)


def make_channel(name: str = "room", *, platform: str = "fake", dm: bool = False, thread: str = "") -> ChannelRef:
    """A channel of a made-up community, or a DM."""
    if dm:
        return ChannelRef(platform=platform, place=f"dm-{name}")
    return ChannelRef(platform=platform, place="1", channel=name, thread=thread, visibility=Visibility.PUBLIC)


def make_author(
    name: str = "Alice", *, platform: str = "fake", is_bot: bool = False, locale: str | None = "en"
) -> Author:
    """A person whose id is the name in lower case."""
    return Author(platform=platform, id=name.lower(), name=name, is_bot=is_bot, locale=locale)


def make_inbound(
    text: str = "hello",
    *,
    channel: ChannelRef | None = None,
    author: Author | None = None,
    message_id: str | None = None,
    kind: InboundKind = InboundKind.MESSAGE,
    mentions_me: bool = False,
    reply_to: Quote | None = None,
    attachments: tuple[Attachment, ...] = (),
    command: CommandCall | None = None,
    reply_handle: object | None = None,
    sent_at: datetime = NOW,
) -> Inbound:
    """An inbound with sensible defaults: Alice says hello in a DM."""
    channel = channel or make_channel(dm=True)
    return Inbound(
        kind=kind,
        channel=channel,
        message_id=message_id or str(next(_message_ids)),
        author=author or make_author(platform=channel.platform),
        sent_at=sent_at,
        text=text,
        mentions_me=mentions_me,
        reply_to=reply_to,
        attachments=attachments,
        command=command,
        reply_handle=reply_handle,
    )


_positions = itertools.count(1)


def make_row(text: str = "hello", **changes: Any) -> WindowRow:
    """A line of a history: something that Alice said, unless `changes` say otherwise."""
    number = next(_positions)
    row = WindowRow(
        id=number,
        position=number,
        kind=MessageKind.SAID,
        conversation_id=None,
        persona_id=None,
        author_key="fake:alice",
        author_name="Alice",
        text=text,
        quote="",
        addressed=True,
        tokens=len(text.split()),
        sent_at=NOW,
    )
    return replace(row, **changes)


def make_turn(*history: WindowRow, **changes: Any) -> Turn:
    """A turn that answers the last line of a history, in Alice's DM and without a persona, unless `changes` say
    otherwise.
    """
    rows = history or (make_row(),)
    turn = Turn(
        session=SessionRow(id=1, channel=make_channel(dm=True), conversation_id=1),
        conversation_id=1,
        persona=None,
        persona_id="none",
        persona_name="Familiar",
        settings=SessionSettings(values=PlaceSettings(), chain={}),
        model="test/scripted",
        limits=ModelLimits(context_window=8192),
        window=8192,
        budget=6656,
        reserve=1024,
        asker=Asker(key="fake:alice", name="Alice", locale="en"),
        burst=(rows[-1].id,),
        position=rows[-1].position,
        history=rows,
        images=(),
        continues=False,
        is_greeted=True,
        now=NOW,
    )
    return replace(turn, **changes)
