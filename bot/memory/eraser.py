"""Forgets a person: in the database with its files, in the memory of this process, and in what is being answered now.

Which traces there are, and what becomes of each, is told in `bot.store.erasing`.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from bot.hook_calls import HookCalls
from bot.hooks import Clearing
from bot.memory.recollections import Recollections
from bot.store.database import Database
from bot.store.erasing import Erased, Kind, count_traces, erase_late, erase_person, read_traces
from bot.store.tombstones import erasures, is_scrubbed, note_scrubbed, wanted_erasures
from bot.store.traces import Traces
from bot.tasks import Tasks

log = structlog.get_logger(__name__)

LOOK_EVERY = timedelta(seconds=10)
"""How soon this process lets go of what another one has erased; ours to choose."""
PERSON = "person"
"""What extensions are told has been cleared."""


@dataclass(kw_only=True)
class Eraser:
    """`erase` is the whole of it. `end_turns` stops what is being answered to somebody; `turns_in` are the turns that
    others wait for in some sessions now.
    """

    db: Database
    hooks: HookCalls
    tasks: Tasks
    recollections: Recollections
    end_turns: Callable[[str], Awaitable[None]]
    turns_in: Callable[[Collection[int]], set[asyncio.Task[Any]]]
    refresh: Callable[[], Awaitable[None]]
    """Lets the personas be those of the database."""
    now: Callable[[], datetime]
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    _waiting: set[asyncio.Task[None]] = field(default_factory=set)
    _known: int | None = None
    """How many erasures this process knows of."""

    def code_for(self, key: str) -> str:
        """What somebody says yes with. It is of no use to anybody else, whoever presses the button."""
        return hashlib.blake2b(key.encode(), key=self._secret, digest_size=3).hexdigest()

    async def count(self, key: str) -> Mapping[Kind, int]:
        """What there is of a person, by kind."""
        return await self.db.run(count_traces, key, self.now())

    async def read(self, key: str) -> Mapping[str, Any]:
        """All of it, as JSON has it."""
        return await self.db.read(read_traces, key)

    async def erase(self, key: str) -> Mapping[Kind, int]:
        """Forget a person, for good; what went, by kind."""
        await self.end_turns(key)
        erased = await self.db.run(erase_person, key, self.now())
        self.recollections.let_go(erased.traces)
        if under_way := self.turns_in(erased.traces.groups):
            late = self.tasks.spawn("erase what comes late", self._erase_late(erased, under_way))
            self._waiting.add(late)
            late.add_done_callback(self._waiting.discard)
        self._known = await self.db.read(erasures)
        await self.refresh()
        await self._scrub(self._known)
        log.info("person.erased", counts={kind.value: count for kind, count in erased.counts.items()})
        for session in erased.sessions:
            count = sum(erased.counts.values())
            await self.hooks.on_memory_cleared(Clearing(session=session, what=PERSON, count=count, person_key=key))
        return erased.counts

    async def _erase_late(self, erased: Erased, under_way: set[asyncio.Task[Any]]) -> None:
        """Turns of others had read what is gone by now, and may tell of it."""
        await asyncio.wait(under_way)
        is_any = await self.db.run(erase_late, erased.traces)
        self.recollections.let_go(erased.traces)
        if is_any:
            await self.db.scrub()

    async def idle(self) -> None:
        """Wait until nothing is to be erased any more."""
        while self._waiting:
            await asyncio.wait(self._waiting)

    async def look(self) -> None:
        """Erase whom the operator's command wants erased, let go of what another process has erased meanwhile, and end
        what a crash has cut off.
        """
        for key in await self.db.read(wanted_erasures):
            await self.erase(key)
        count = await self.db.read(erasures)
        if self._known is None and not await self.db.read(is_scrubbed):
            await self._scrub(count)
        elif self._known is not None and count != self._known:
            self.recollections.let_go(Traces(key=""))
            await self.refresh()
            await self._scrub(count)
        self._known = count

    async def _scrub(self, count: int) -> None:
        if await self.db.scrub():
            await self.db.run(note_scrubbed, count)
