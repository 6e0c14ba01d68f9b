"""Keeps the updates of one chat in order while chats do not wait for each other, and joins albums (T16)."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from telegram import Update


class Spawn(Protocol):
    """Starts a background task that somebody holds; the composition root gives it."""

    def __call__(self, name: str, coro: Coroutine[Any, Any, Any], /) -> asyncio.Task[Any]:
        """Start `coro`; an exception that nobody awaits is logged under `name`."""


Handle = Callable[[Sequence[Update]], Awaitable[None]]
"""Takes one update, or all updates of one album."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Taken:
    update: Update
    handled: asyncio.Future[None]


@dataclass(kw_only=True, slots=True)
class _Lane:
    waiting: deque[_Taken] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    worker: asyncio.Task[Any] | None = None


class Lanes:
    """One lane per chat with updates to handle. An update that fails does not stop those behind it."""

    def __init__(self, handle: Handle, *, spawn: Spawn, album_quiet: timedelta) -> None:
        self._handle, self._spawn, self._quiet_s = handle, spawn, album_quiet.total_seconds()
        self._lanes: dict[int, _Lane] = {}
        self._closed = False

    def put(self, update: Update) -> asyncio.Future[None]:
        """Queue an update behind the others of its chat. The future is done once it is handled, well or badly, and
        cancelled if it is dropped before.
        """
        taken = _Taken(update=update, handled=asyncio.get_running_loop().create_future())
        if self._closed:
            taken.handled.cancel()
            return taken.handled
        chat = update.effective_chat
        key = chat.id if chat else 0
        lane = self._lanes.setdefault(key, _Lane())
        lane.waiting.append(taken)
        lane.arrived.set()
        if lane.worker is None:
            self._work_on(key, lane)
        return taken.handled

    async def drain(self) -> None:
        """Wait until everything that was put has been handled."""
        while workers := [lane.worker for lane in self._lanes.values() if lane.worker]:
            await asyncio.wait(workers)

    async def close(self) -> None:
        """Drop what waits and cancel what is being handled."""
        self._closed = True
        for lane in self._lanes.values():
            if lane.worker:
                lane.worker.cancel()
            for taken in lane.waiting:
                taken.handled.cancel()
        await self.drain()

    def _work_on(self, key: int, lane: _Lane) -> None:
        # A task per update: its failure is logged by whoever holds it, and the lane goes on.
        lane.worker = self._spawn(f"telegram.chat.{key}", self._take_next(lane))
        lane.worker.add_done_callback(lambda _: self._go_on(key, lane))

    def _go_on(self, key: int, lane: _Lane) -> None:
        if lane.waiting and not self._closed:
            self._work_on(key, lane)
        else:
            del self._lanes[key]

    async def _take_next(self, lane: _Lane) -> None:
        parts = [lane.waiting.popleft()]
        try:
            await self._join_album(lane, parts)
            await self._handle([part.update for part in parts])
        except asyncio.CancelledError:
            for part in parts:
                part.handled.cancel()
            raise
        finally:
            for part in parts:
                if not part.handled.done():
                    part.handled.set_result(None)  # also one that failed: it would fail again

    async def _join_album(self, lane: _Lane, parts: list[_Taken]) -> None:
        """Add the other parts of an album, once no further one has come for a while; they come one update each."""
        album = _album_of(parts[0])
        if album is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._quiet_s) as quiet:
                while True:
                    lane.arrived.clear()
                    if found := [taken for taken in lane.waiting if _album_of(taken) == album]:
                        parts += found
                        lane.waiting = deque(taken for taken in lane.waiting if taken not in found)
                        quiet.reschedule(asyncio.get_running_loop().time() + self._quiet_s)
                    await lane.arrived.wait()


def _album_of(taken: _Taken) -> str | None:
    message = taken.update.message
    return message.media_group_id if message else None
