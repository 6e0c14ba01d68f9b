"""The turn slot and the reins of a running turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.dispatch import Dispatcher, Interrupted, Interruption, TurnControl, TurnRequest
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


async def test_the_running_turn_is_known_and_without_burst_time_it_is_never_restarted(tasks: Tasks) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    answered: list[int | None] = []

    async def run_turn(request: TurnRequest, control: TurnControl) -> None:
        begun.set()
        await gate.wait()
        answered.append(request.message_id)

    dispatcher = Dispatcher(run_turn, tasks, clock=lambda: 0.0)
    first, second = (TurnRequest(session_id=1, author_key="a", message_id=number) for number in (1, 2))
    dispatcher.request_turn(first, burst_ms=0)
    await begun.wait()
    dispatcher.request_turn(second, burst_ms=0)
    assert dispatcher.running(1) == first
    assert dispatcher.running(2) is None
    assert dispatcher.waiting_count(1) == 1
    gate.set()
    await dispatcher.idle()
    assert answered == [1, 2]
    assert dispatcher.running(1) is None
