"""The one place where background tasks start: each has a name, is held, and is awaited or cancelled at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from bot.errors import OperatorError

T = TypeVar("T")
log = structlog.get_logger(__name__)


class Tasks:
    """Holds running tasks so that none is garbage collected, fails unseen, or outlives the process's shutdown."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[Any], None] = {}  # in the order of their beginning

    def spawn(self, name: str, coro: Coroutine[Any, Any, T], *, is_awaited: bool = False) -> asyncio.Task[T]:
        """Start `coro` in the background. Its exception is logged under the task's name, unless somebody awaits it."""
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._running[task] = None
        task.add_done_callback(self._running.pop)
        if not is_awaited:
            task.add_done_callback(_log_failure)
        return task

    async def close(self) -> None:
        """Cancel what still runs and wait until all of it has ended."""
        while self._running:
            running = list(self._running)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await asyncio.sleep(0)  # what had ended leaves the dict a step later, for which gather need not wait (3.12)


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        told = None if isinstance(error, OperatorError) else error  # its sentence says all
        log.error("task.failed", task=task.get_name(), error=repr(error), exc_info=told)
