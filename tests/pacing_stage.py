"""A scripted platform for `adapters.pacing`, under a clock that only the tests move."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from adapters.pacing import PacedReply, Refused, Uncertain, Unreachable, Wait
from bot.chat import Outbound, PartState, SentPart
from bot.tasks import Tasks

CURSOR = "▌"


class Clock:
    """Seconds that pass when a test says so; whoever sleeps wakes in order."""

    def __init__(self) -> None:
        self.now = 100.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        end = self.now + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end + 1e-9:
            moment, _, woken = heapq.heappop(self._sleepers)
            self.now = max(self.now, moment)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self.now = end


async def settle() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(30):
        await asyncio.sleep(0)


Fault = Wait | Unreachable | Uncertain | Refused


@dataclass
class Stage:
    """The scripted platform: what was asked of it and when, and what people see. `faults` come before success."""

    clock: Clock
    limit: int = 20
    drafts: bool = False
    faults: dict[str, list[Fault | None]] = field(default_factory=dict)
    delivers_uncertain: bool = True
    gate: asyncio.Event | None = None
    """Requests that show something wait for it."""
    log: list[tuple[float, str, str]] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    draft_text: str = ""

    def render(self, outbound: Outbound, *, final: bool) -> list[str]:
        text = outbound.text.strip() + ("" if final or not outbound.text.strip() else CURSOR)
        return [text[i : i + self.limit] for i in range(0, len(text), self.limit)]

    async def send(self, part: str, ordinal: int) -> str:
        message_id = f"m{len([entry for entry in self.log if entry[1] == 'send'])}"
        await self._carry_out("send", part, lambda: self.messages.__setitem__(message_id, part))
        return message_id

    async def edit(self, message_id: str, part: str, ordinal: int) -> None:
        await self._carry_out("edit", part, lambda: self.messages.__setitem__(message_id, part))

    async def draft(self, part: str) -> None:
        def show() -> None:
            self.draft_text = part

        await self._carry_out("draft", part, show)

    async def delete(self, message_id: str) -> None:
        await self._carry_out("delete", message_id, lambda: self.messages.pop(message_id, None))

    async def typing(self) -> None:
        await self._carry_out("typing", "", lambda: None)

    async def _carry_out(self, verb: str, what: str, effect: Callable[[], object]) -> None:
        self.log.append((round(self.clock.now - 100, 3), verb, what))
        if self.gate and verb != "typing":
            await self.gate.wait()
        script = self.faults.get(verb, [])
        fault = script.pop(0) if script else None
        if fault is None or (isinstance(fault, Uncertain) and self.delivers_uncertain):
            effect()
        if fault is not None:
            raise fault

    def verbs(self, *, without: str = "typing") -> list[str]:
        return [verb for _, verb, _ in self.log if verb != without]

    def times(self, verb: str) -> list[float]:
        return [moment for moment, logged, _ in self.log if logged == verb]

    @property
    def seen(self) -> str:
        return "".join(self.messages.values())


class Play:
    """A stage with its clock, and replies on it; leaving it checks that none has left a task."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.stage = Stage(self.clock)
        self._tasks = Tasks()

    async def __aenter__(self) -> Play:
        return self

    async def __aexit__(self, *_: object) -> None:
        await settle()
        left = [task.get_name() for task in self._tasks._running]
        await self._tasks.close()
        assert left == []

    def open_reply(self, **options: Any) -> PacedReply[str]:
        return PacedReply(self.stage, spawn=self._tasks.spawn, clock=self.clock, sleep=self.clock.sleep, **options)

    async def finish(self, reply: PacedReply[str], text: str) -> tuple[SentPart, ...]:
        return await self.ended(reply.finish(Outbound(text=text)))

    async def ended(self, ending: Coroutine[Any, Any, tuple[SentPart, ...]]) -> tuple[SentPart, ...]:
        """The outcome of an ending, with as much time as it may need."""
        task = asyncio.ensure_future(ending)
        await self.clock.advance(2 * 3600)
        assert task.done()
        return await task


def states(parts: tuple[SentPart, ...]) -> list[PartState]:
    assert [part.ordinal for part in parts] == list(range(len(parts)))
    return [part.state for part in parts]
