"""A model and a platform that behave as a seed decides: slow, quick, silent, broken, or unsure of what they did."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Unpack

from adapters.pacing import PacedReply, Refused, Spawn, Uncertain, Unreachable, Wait
from bot.chat import (
    ChannelRef,
    Deliver,
    Finding,
    Outbound,
    PartState,
    ReplyOptions,
    ReplyStream,
    SentPart,
)
from bot.llm.model import (
    Completion,
    Finish,
    ModelEvent,
    ModelRequest,
    ModelUnreachable,
    TextDelta,
    ToolCall,
)

WORDS = ["one", "two", "three", "four"]


async def pause(rng: random.Random, most: int) -> None:
    """Let others go on for some rounds of the loop."""
    for _ in range(rng.randrange(most)):
        await asyncio.sleep(0)


class PlayedModel:
    """Answers request `n` with a text that begins with `a<n>`, calls a tool, says nothing, or fails."""

    def __init__(self, rng: random.Random) -> None:
        self.requests: list[ModelRequest] = []
        self._rng = rng

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        rng, number = self._rng, len(self.requests)
        self.requests.append(request)
        fate = rng.choices(["answers", "calls", "is silent", "refuses", "breaks"], [70, 10, 5, 8, 7])[0]
        await pause(rng, rng.choice([3, 30, 150]))
        failure = ModelUnreachable(request.model, "played")
        if fate == "refuses":
            raise failure
        if fate == "calls" and request.tools:
            call = ToolCall(id=f"c{number}", name="roll_dice", arguments='{"dice": "d6"}')
            yield Completion(text="", finish=Finish.TOOL_CALLS, tool_calls=(call,))
            return
        words = [] if fate == "is silent" else [f"a{number:03}", *WORDS[: rng.randrange(4)]]
        for word in words:
            yield TextDelta(text=word + " ")
            await pause(rng, 8)
        if fate == "breaks":
            raise failure
        yield Completion(text="".join(word + " " for word in words), finish=Finish.STOP)

    async def close(self) -> None:
        """Nothing to release."""


@dataclass(slots=True)
class ShownReply:
    """One reply on the platform: its messages now, and every text that was ever seen in it."""

    channel: ChannelRef
    is_announced: bool
    """Whether the core wanted to know before it was shown: true for answers and failures, not for commands."""
    messages: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def holds(self, text: str) -> bool:
        """Whether a text can be read in it now; where the platform was unsure, its beginning may stand there, too."""
        return any(shown.startswith(text) for shown in self.messages.values())

    def show(self, message_id: str, text: str) -> None:
        self.messages[message_id] = text
        self.seen.append(text)


class PlayedAdapter:
    """A platform of one adapter; it outlives restarts of the app. `spawn` is given by each app anew."""

    platform = "fake"

    def __init__(self, rng: random.Random) -> None:
        self.replies: list[ShownReply] = []
        self.spawn: Spawn | None = None
        self.rng = rng
        self._kind = rng.choice(["plain", "plain streams", "paced", "paced streams"])
        self._faults = rng.choice([0.0, 0.0, 0.1, 0.4])
        self._count = 0
        self._closed = asyncio.Event()
        self.now = 0.0

    async def run(self, deliver: Deliver) -> None:
        self._closed = asyncio.Event()
        await self._closed.wait()

    async def ready(self) -> None:
        """It always is."""

    async def stop_listening(self) -> None:
        """The story stops by itself."""

    async def close(self) -> None:
        self._closed.set()

    async def open_reply(self, channel: ChannelRef, **options: Unpack[ReplyOptions]) -> ReplyStream:
        reply = ShownReply(channel, options.get("before_send") is not None)
        self.replies.append(reply)
        if not self._kind.startswith("paced"):
            return _PlainStream(self, reply, options, streams="streams" in self._kind)
        assert self.spawn is not None
        return PacedReply(
            _PlayedTransport(self, reply),
            spawn=self.spawn,
            before_send=options.get("before_send"),
            part_shown=options.get("part_shown"),
            quiet=timedelta(0) if "streams" in self._kind else timedelta(days=9999),
            interval=timedelta(0),
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        self.now += min(seconds, 60)
        await pause(self.rng, 20)
        await asyncio.sleep(0)

    async def delete(self, channel: ChannelRef, message_ids: Sequence[str]) -> None:
        for reply in self.replies:
            for message_id in message_ids:
                reply.messages.pop(message_id, None)

    async def may_manage(self, channel: ChannelRef, user_id: str, *, whole_place: bool = False) -> bool:
        return user_id == "alice"

    async def hears_everything(self, channel: ChannelRef) -> bool:
        return True

    def link(self, channel: ChannelRef, message_id: str) -> str | None:
        return None

    async def check(self) -> Sequence[Finding]:
        return ()

    def next_id(self) -> str:
        self._count += 1
        return f"m{self._count}"

    def fault(self) -> str | None:
        """What goes wrong with a request to the platform, if anything does."""
        if self.rng.random() >= self._faults:
            return None
        return self.rng.choice(["wait", "unreachable", "refused", "done unseen", "lost unseen"])


class _PlainStream:
    """A stream that awaits the platform in the turn itself, as a terminal does."""

    def __init__(self, adapter: PlayedAdapter, reply: ShownReply, options: ReplyOptions, *, streams: bool) -> None:
        self._adapter, self._reply, self._streams = adapter, reply, streams
        self._before_send, self._part_shown = options.get("before_send"), options.get("part_shown")
        self._id: str | None = None

    async def update(self, text: str, *, doing: str = "") -> None:
        if self._streams:
            is_new = self._id is None
            await self._show(text)
            if is_new and self._part_shown is not None:
                await self._part_shown(SentPart(ordinal=0, message_id=self._id, state=PartState.SENT))

    async def finish(self, outbound: Outbound) -> tuple[SentPart, ...]:
        if not outbound.text.strip():
            return ()
        fault = self._adapter.fault()
        if fault in ("refused", "unreachable") and self._id is None:
            await self._announce()
            return (SentPart(ordinal=0, message_id=None, state=PartState.FAILED),)
        await self._show(outbound.text)
        state = PartState.UNCERTAIN if fault == "done unseen" else PartState.SENT
        return (SentPart(ordinal=0, message_id=self._id, state=state),)

    async def fail(self, outbound: Outbound) -> tuple[SentPart, ...]:
        if self._id is not None:
            await self._show(f"{self._reply.messages[self._id]}\n{outbound.text}")
            return (SentPart(ordinal=0, message_id=self._id, state=PartState.SENT),)
        return await self.finish(outbound)

    async def discard(self) -> bool:
        return self._id is not None

    async def _show(self, text: str) -> None:
        if self._id is None:
            await self._announce()
        await pause(self._adapter.rng, 10)
        self._id = self._id or self._adapter.next_id()
        self._reply.show(self._id, text)
        await pause(self._adapter.rng, 10)

    async def _announce(self) -> None:
        if self._before_send is not None:
            await self._before_send()


class _PlayedTransport:
    """One message per reply; requests take a while, and some fail in every way that there is."""

    drafts = False

    def __init__(self, adapter: PlayedAdapter, reply: ShownReply) -> None:
        self._adapter, self._reply = adapter, reply

    def render(self, outbound: Outbound, *, final: bool) -> list[str]:
        return [outbound.text] if outbound.text.strip() else []

    async def send(self, part: str, ordinal: int) -> str:
        message_id = self._adapter.next_id()
        await self._request(lambda: self._reply.show(message_id, part))
        return message_id

    async def edit(self, message_id: str, part: str, ordinal: int) -> None:
        await self._request(lambda: self._reply.show(message_id, part))

    async def draft(self, part: str) -> None:
        raise AssertionError("this platform has no drafts")

    async def delete(self, message_id: str) -> None:
        self._reply.messages.pop(message_id, None)

    async def typing(self) -> None:
        await pause(self._adapter.rng, 5)

    async def _request(self, carry_out: Callable[[], None]) -> None:
        fault = self._adapter.fault()
        await pause(self._adapter.rng, 10)
        if fault in (None, "done unseen"):
            carry_out()
        await pause(self._adapter.rng, 10)
        match fault:
            case "wait":
                raise Wait(1)
            case "unreachable":
                raise Unreachable
            case "refused":
                raise Refused
            case "done unseen" | "lost unseen":
                raise Uncertain
