"""Jobs on the real APScheduler: each once, on time or soon after, and none left at the end. Nothing here sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from bot.scheduler import Job, Scheduler
from bot.tasks import Tasks
from tests.conftest import MakeApp
from tests.talking import open_chat

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


class Work:
    """Counts its runs; `blocks` keeps each from ending."""

    def __init__(self, *, blocks: bool = False) -> None:
        self.runs = 0
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        if not blocks:
            self.may_end.set()

    async def __call__(self) -> None:
        self.runs += 1
        self.began.set()
        await self.may_end.wait()


@pytest.fixture
async def scheduler() -> AsyncIterator[Scheduler]:
    tasks = Tasks()
    scheduler = Scheduler(tasks)
    yield scheduler
    await scheduler.close()
    await tasks.close()


def late(
    work: Work, by: timedelta, *, name: str = "work", grace: timedelta = 5 * MINUTE, every: timedelta = HOUR
) -> Job:
    """A job that was to run some time ago."""
    return Job(name=name, run=work, every=every, grace=grace, first_at=datetime.now(UTC) - by)


async def run_once(scheduler: Scheduler, *jobs: Job) -> None:
    """Start jobs, and wait until others have run often enough after them that a second run would have begun."""
    scheduler.start(jobs)
    for number in range(10):
        last = Work()
        scheduler.add(late(last, timedelta(0), name=f"last-{number}"))
        async with asyncio.timeout(10):
            await last.began.wait()


async def test_S06_what_slept_over_many_of_its_times_runs_once(scheduler: Scheduler) -> None:
    work = Work()
    await run_once(scheduler, late(work, timedelta(seconds=90), every=timedelta(seconds=30)))
    assert work.runs == 1
    assert not scheduler.missed


async def test_S06_what_is_later_than_its_grace_is_not_run_but_told(scheduler: Scheduler) -> None:
    work = Work()
    job = late(work, 5 * MINUTE, grace=MINUTE)
    with capture_logs() as logs:
        await run_once(scheduler, job)
    assert work.runs == 0
    assert scheduler.missed == {"work": job.first_at}
    assert [entry["job"] for entry in logs if entry["event"] == "job.missed"] == ["work"]


@pytest.mark.parametrize("starts", [1, 3])
async def test_S07_a_job_declared_at_every_start_is_there_once(scheduler: Scheduler, starts: int) -> None:
    work = Work()
    await run_once(scheduler, *(late(work, MINUTE) for _ in range(starts)))
    assert work.runs == 1


@pytest.mark.parametrize("by", [timedelta(seconds=2), 4 * MINUTE])
async def test_S17_the_grace_that_counts_is_the_one_that_the_job_asks_for(scheduler: Scheduler, by: timedelta) -> None:
    work = Work()
    await run_once(scheduler, late(work, by))
    assert work.runs == 1  # APScheduler's own grace is a second


async def test_a_job_that_takes_long_is_not_run_twice_at_once(scheduler: Scheduler) -> None:
    work = Work(blocks=True)
    scheduler.start([late(work, timedelta(0))])
    async with asyncio.timeout(10):
        await work.began.wait()
    again = Work()
    scheduler.add(late(work, timedelta(0)))
    scheduler.add(late(again, timedelta(0), name="again"))
    async with asyncio.timeout(10):
        await again.began.wait()
    assert work.runs == 1


async def test_closing_ends_what_runs_and_leaves_no_task() -> None:
    before, tasks, work = asyncio.all_tasks(), Tasks(), Work(blocks=True)
    scheduler = Scheduler(tasks)
    scheduler.start([late(work, timedelta(0))])
    async with asyncio.timeout(10):
        await work.began.wait()
    await scheduler.close()
    await scheduler.close()
    assert asyncio.all_tasks() == before


async def test_a_job_that_fails_is_told_and_runs_again(scheduler: Scheduler) -> None:
    failed, runs = asyncio.Event(), 0

    async def fail() -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            failed.set()
        raise RuntimeError("broken")

    with capture_logs() as logs:
        scheduler.start([Job(name="failing", run=fail, every=timedelta(milliseconds=1), grace=MINUTE)])
        async with asyncio.timeout(10):
            await failed.wait()
        await scheduler.close()
    assert logs[0]["event"] == "task.failed"
    assert logs[0]["task"] == "failing"


async def test_a_scheduler_that_never_started_closes_quietly() -> None:
    await Scheduler(Tasks()).close()


async def test_S06_status_tells_of_a_job_that_came_too_late(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await run_once(chat.app.scheduler, late(Work(), 5 * MINUTE, grace=MINUTE, name="the-job"))
    [text] = await chat.say("/status")
    assert "the-job" in text


async def test_an_app_runs_its_jobs_until_it_is_stopped(make_app: MakeApp) -> None:
    before, work, stop = asyncio.all_tasks(), Work(blocks=True), asyncio.Event()
    app = await make_app()
    assert [job.name for job in app.jobs] == ["idle-sweep", "due-follow-ups", "erasures", "reminders"]
    app.jobs = [late(work, timedelta(0))]
    running = asyncio.ensure_future(app.run(stop))
    async with asyncio.timeout(10):
        await work.began.wait()
        stop.set()
        assert await running == 0
    assert asyncio.all_tasks() <= before
