"""Work in order: one lane per channel, lanes side by side. Knows nothing of Discord."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import structlog

T = TypeVar("T")
Job = Callable[[], Awaitable[None]]
log = structlog.get_logger(__name__)


class Spawn(Protocol):
    """Starts a named background task and holds it (`bot.tasks.Tasks.spawn`)."""

    def __call__(self, name: str, coro: Coroutine[Any, Any, T], /) -> asyncio.Task[T]: ...


class Lanes:
    """Jobs of one key run one after another, in the order they were put; a lane lives while it has jobs."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._waiting: dict[int, deque[Job]] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    def put(self, key: int, job: Job) -> None:
        """Queue a job. Never waits, so that the caller's order is the lane's order."""
        self._waiting.setdefault(key, deque()).append(job)
        if key not in self._running:
            self._running[key] = self._spawn(f"discord.lane.{key}", self._run(key))

    async def drain(self) -> None:
        """Wait until every lane is empty."""
        while self._running:
            await asyncio.wait(self._running.values())

    async def _run(self, key: int) -> None:
        jobs = self._waiting[key]
        try:
            while jobs:
                try:
                    await jobs.popleft()()
                except Exception:  # the task boundary: one bad message must not silence its channel
                    log.exception("discord.event_failed", channel=key)
        finally:
            del self._waiting[key], self._running[key]
