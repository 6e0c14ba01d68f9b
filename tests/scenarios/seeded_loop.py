"""An event loop on which one seed makes one run: what belongs in threads runs in the loop itself, some rounds later."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

ROUNDS = 4
"""Work of a thread begins, and its result arrives, up to so many rounds of the loop later."""


class SeededLoop(asyncio.SelectorEventLoop):
    """Runs the work of every executor one by one in order, as a pool of one thread does, at moments that the seed
    decides. Work that was cancelled before it began is never done; the result of later cancelled work is dropped.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = random.Random(seed)
        self._lanes: dict[object, deque[tuple[asyncio.Future[Any], Callable[[], Any]]]] = {}

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Queue work that would run in a thread."""
        future: asyncio.Future[T] = self.create_future()
        lane = self._lanes.setdefault(executor, deque())
        lane.append((future, lambda: func(*args)))
        if len(lane) == 1:
            self._later(self._work, lane)
        return future

    def _work(self, lane: deque[tuple[asyncio.Future[Any], Callable[[], Any]]]) -> None:
        future, work = lane[0]
        if not future.cancelled():
            try:
                self._later(_settle, future, work(), None)
            except Exception as error:
                self._later(_settle, future, None, error)
        lane.popleft()
        if lane:
            self._later(self._work, lane)

    def _later(self, callback: Callable[..., None], *args: Any) -> None:
        self._count_down(self._rng.randrange(ROUNDS), callback, args)

    def _count_down(self, rounds: int, callback: Callable[..., None], args: tuple[Any, ...]) -> None:
        if rounds:
            self.call_soon(self._count_down, rounds - 1, callback, args)
        else:
            self.call_soon(callback, *args)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
