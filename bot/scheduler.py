"""The clock of recurring jobs, on APScheduler, which is loaded when the first job starts.

Knows nothing of what the jobs do. They run in our own tasks, so that closing leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from bot.sparing import put_off
from bot.tasks import Tasks

if TYPE_CHECKING:
    from apscheduler.events import JobExecutionEvent
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Something to do again and again, never twice at once. What could not run for a while runs once afterwards, unless
    it is later than `grace` (S06).
    """

    name: str
    """Its stable id: a job of the same name takes its place (S07)."""
    run: Callable[[], Awaitable[object]]
    every: timedelta
    grace: timedelta
    first_at: datetime | None = None
    """When it was to run first, which may have been before the start; `None` = `every` from now."""


class Scheduler:
    """Runs jobs on their time, in this process. `missed` tells of each job when it last came too late to be run."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._clock: AsyncIOScheduler | None = None
        self._missed: dict[str, datetime] = {}
        self._running: set[asyncio.Task[None]] = set()

    @property
    def missed(self) -> Mapping[str, datetime]:
        """When a job was to run that came too late, by name: the newest time of each."""
        return self._missed

    def start(self, jobs: Sequence[Job]) -> None:
        """Let jobs run from now on. Call it once, inside the loop that they are to run in."""
        from apscheduler.events import EVENT_JOB_MISSED

        with put_off("apscheduler.executors.pool"):  # which loads multiprocessing
            from apscheduler.schedulers.asyncio import AsyncIOScheduler

        logging.getLogger("apscheduler").setLevel(logging.CRITICAL)  # what matters is told by our own events
        # The grace belongs to the jobs: given to the scheduler itself it is ignored, and a second counts (S17).
        self._clock = AsyncIOScheduler(timezone=UTC)
        self._clock.add_listener(self._note_missed, EVENT_JOB_MISSED)
        self._clock.start()
        for job in jobs:
            self.add(job)

    def add(self, job: Job) -> None:
        """Let one more job run, in place of the one of that name."""
        if self._clock is None:
            raise RuntimeError("the scheduler has not been started")
        self._clock.add_job(
            self._run,
            "interval",
            args=(job,),
            id=job.name,
            replace_existing=True,
            seconds=job.every.total_seconds(),
            max_instances=1,
            coalesce=True,
            misfire_grace_time=max(1, int(job.grace.total_seconds())),
            next_run_time=job.first_at or datetime.now(UTC) + job.every,
        )

    async def close(self) -> None:
        """Start nothing more and end what runs."""
        if self._clock is None:
            return
        from apscheduler.events import EVENT_SCHEDULER_SHUTDOWN

        clock, self._clock = self._clock, None
        ended = asyncio.Event()
        clock.add_listener(lambda _event: ended.set(), EVENT_SCHEDULER_SHUTDOWN)
        running = list(self._running)  # APScheduler cancels those of its own and waits for none
        clock.shutdown(wait=False)
        await ended.wait()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(self, job: Job) -> None:
        task = self._tasks.spawn(job.name, _awaited(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait({task})

    def _note_missed(self, event: JobExecutionEvent) -> None:
        at = event.scheduled_run_time.astimezone(UTC)
        self._missed[event.job_id] = at
        log.warning("job.missed", job=event.job_id, due=at.isoformat())


async def _awaited(job: Job) -> None:
    await job.run()
