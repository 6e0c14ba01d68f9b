"""The reins of one running turn: what interrupts it, and what it may still show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.dispatch import Interrupted, Interruption, TurnControl
from bot.tasks import Tasks


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.close()


async def test_an_answer_that_is_complete_is_shown_whatever_interrupts_it_then(tasks: Tasks) -> None:
    control = TurnControl(tasks)
    await control.guard(asyncio.sleep(0))
    control.interrupt(Interruption.STOP)
    await asyncio.wait_for(control.demand_wanted(), 1)
    assert control.has_shown


async def test_an_interrupted_turn_shows_nothing_more(tasks: Tasks) -> None:
    control = TurnControl(tasks)

    async def work() -> None:
        control.interrupt(Interruption.STOP)
        await control.demand_wanted()

    with pytest.raises(Interrupted):
        await asyncio.wait_for(control.guard(work()), 1)
    assert not control.has_shown


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        (Interruption.RESTART, Interruption.STOP, Interruption.STOP),
        (Interruption.RESTART, Interruption.RESET, Interruption.RESET),
        (Interruption.STOP, Interruption.SHUTDOWN, Interruption.STOP),
        (Interruption.RESET, Interruption.STOP, Interruption.RESET),
    ],
)
async def test_a_restart_gives_way_to_every_other_reason(
    tasks: Tasks, first: Interruption, second: Interruption, counts: Interruption
) -> None:
    control = TurnControl(tasks)

    async def work() -> None:
        control.interrupt(first)
        control.interrupt(second)
        await asyncio.Event().wait()

    with pytest.raises(Interrupted) as interrupted:
        await asyncio.wait_for(control.guard(work()), 1)
    assert interrupted.value.why is counts


async def test_work_that_was_interrupted_before_it_began_never_begins(tasks: Tasks) -> None:
    control = TurnControl(tasks)
    control.interrupt(Interruption.RESET)
    with pytest.raises(Interrupted):
        await control.guard(asyncio.sleep(0))


async def test_work_that_fails_shows_what_there_is_although_it_was_interrupted_too(tasks: Tasks) -> None:
    """A background task of the platform waits to show something while the work fails and is interrupted at once."""
    control = TurnControl(tasks)
    waiting: list[asyncio.Task[None]] = []

    async def work() -> None:
        control.interrupt(Interruption.RESTART)
        waiting.append(tasks.spawn("growing reply", control.demand_wanted()))
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("the model failed")

    with pytest.raises(ValueError, match="the model failed"):
        await asyncio.wait_for(control.guard(work()), 5)
    await asyncio.wait_for(waiting[0], 5)
    assert control.has_shown


async def test_a_process_that_ends_is_not_taken_for_an_interruption(tasks: Tasks) -> None:
    """Otherwise the slot would go on with the next turn, and the process would never end."""
    control = TurnControl(tasks)
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    caller = tasks.spawn("turn", control.guard(work()))
    await begun.wait()
    control.interrupt(Interruption.RESTART)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
