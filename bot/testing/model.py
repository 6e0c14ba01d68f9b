"""A model that answers from a script."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.llm.model import (
    Attempt,
    Completion,
    Finish,
    ModelError,
    ModelEvent,
    ModelRefused,
    ModelRequest,
    TextDelta,
    ToolCall,
    Usage,
)


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
    attempts: tuple[Attempt, ...] = ()
    """What was asked in vain before."""


Script = Callable[[ModelRequest], Reply | str]


NO_SUMMARY = Reply(text="", error=ModelRefused("test/scripted", "no summary is scripted."))


class ScriptedModel:
    """Answers from a script: a function of the request, or replies in order with the last one repeated. What is asked
    with a JSON schema, as summaries are, goes by a script of its own; by default it is refused.
    """

    def __init__(
        self, script: Script | Iterable[Reply | str] = ("ok",), summaries: Script | Iterable[Reply | str] = ()
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []
        self.asked = asyncio.Event()
        self.cancelled = 0
        self._script = script if callable(script) else _in_order(list(script))
        self._summary = summaries if callable(summaries) else _in_order(list(summaries) or [NO_SUMMARY])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream the scripted reply in words."""
        (self.requests if request.json_schema is None else self.summaries).append(request)
        self.asked.set()
        reply = (self._script if request.json_schema is None else self._summary)(request)
        if isinstance(reply, str):
            reply = Reply(text=reply)
        for attempt in reply.attempts:
            yield attempt
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
