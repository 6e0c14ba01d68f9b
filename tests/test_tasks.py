"""Background tasks: named, held, heard of when they fail, and over when the process ends."""

from __future__ import annotations

import asyncio
import gc

import pytest
from structlog.testing import capture_logs

from bot.errors import OperatorError
from bot.tasks import Tasks


async def test_a_task_is_held_until_it_has_ended_and_gives_its_result() -> None:
    tasks, gate = Tasks(), asyncio.Event()

    async def work() -> str:
        await gate.wait()
        return "done"

    task = tasks.spawn("work", work())
    gc.collect()
    gate.set()
    assert (await task, task.get_name()) == ("done", "work")


async def test_a_failure_that_nobody_awaits_is_logged_under_the_tasks_name() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with capture_logs() as logs:
        await asyncio.wait({Tasks().spawn("the work", work())})
        await asyncio.sleep(0)
    (entry,) = logs
    assert (entry["event"], entry["task"], entry["error"]) == ("task.failed", "the work", "ValueError('broken')")
    assert isinstance(entry["exc_info"], ValueError)


async def test_a_failure_that_is_meant_for_the_operator_is_logged_without_the_way_to_it() -> None:
    async def work() -> None:
        raise OperatorError("the disk is full")

    with capture_logs() as logs:
        await asyncio.wait({Tasks().spawn("the work", work())})
        await asyncio.sleep(0)
    assert (logs[0]["error"], logs[0]["exc_info"]) == ("OperatorError('the disk is full')", None)


async def test_a_failure_that_somebody_awaits_is_heard_there_and_not_logged() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with capture_logs() as logs, pytest.raises(ValueError, match="broken"):
        await Tasks().spawn("the work", work(), is_awaited=True)
    assert logs == []


async def test_closing_cancels_what_runs_and_waits_for_its_end() -> None:
    tasks, steps = Tasks(), list[str]()
    begun = asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    tasks.spawn("work", work())
    await begun.wait()
    with capture_logs() as logs:
        await tasks.close()
    assert (steps, logs) == (["cleaned up"], [])


async def test_closing_ends_also_what_begins_meanwhile() -> None:
    tasks, begun = Tasks(), asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            tasks.spawn("late", asyncio.Event().wait())

    tasks.spawn("work", work())
    await begun.wait()
    await asyncio.wait_for(tasks.close(), 5)
    assert [task for task in asyncio.all_tasks() if task.get_name() == "late"] == []


async def test_what_has_just_ended_holds_nothing_up() -> None:
    """Since Python 3.12 nothing yields where all that is waited for has ended, and what is called then never comes."""
    tasks = Tasks()
    tasks.spawn("work", asyncio.sleep(0))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it has ended, and nobody was told
    await tasks.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "work"]


async def test_nothing_to_close_is_fine() -> None:
    await Tasks().close()
