"""The turn slot: who runs, who waits, who restarts whom, and how a process drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from bot.dispatch import MAX_RESTARTS, Dispatcher, Interrupted, Interruption, TurnControl, TurnRequest
from bot.tasks import Tasks


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    tasks = Tasks()
    yield tasks
    await tasks.close()


async def never(request: TurnRequest) -> None:
    """Nobody is turned away here."""
    raise AssertionError(request)


async def test_the_running_turn_is_known_and_without_burst_time_it_is_never_restarted(tasks: Tasks) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    answered: list[int | None] = []

    async def run_turn(request: TurnRequest, control: TurnControl) -> tuple[()]:
        begun.set()
        await gate.wait()
        answered.append(request.message_id)
        return ()

    dispatcher = Dispatcher(run_turn, never, tasks, clock=lambda: 0.0)
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


@dataclass
class Turns:
    """Runs turns that last until they are told to end, and keeps what became of each."""

    tasks: Tasks
    now: float = 0.0
    begun: list[int | None] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    turned_away: list[int | None] = field(default_factory=list)
    shows: bool = False
    work: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set unless an interrupted turn takes a while to end."""

    def __post_init__(self) -> None:
        self.closing.set()
        self.dispatcher = Dispatcher(self._run, self._turn_away, self.tasks, clock=lambda: self.now)

    async def _run(self, request: TurnRequest, control: TurnControl) -> tuple[()]:
        self.begun.append(request.message_id)
        self.changed.set()
        try:
            await control.guard(self._answer(control))
            self.ended.append(f"{request.message_id} answered")
        except Interrupted as interrupted:
            await self.closing.wait()
            self.ended.append(f"{request.message_id} {interrupted.why}")
        return ()

    async def _turn_away(self, request: TurnRequest) -> None:
        await asyncio.sleep(0)
        self.turned_away.append(request.message_id)

    async def _answer(self, control: TurnControl) -> None:
        if self.shows:
            await control.demand_wanted()
        await self.work.wait()

    def ask(self, message_id: int | None, author: str = "a", *, session: int = 1, burst_ms: int = 1000) -> None:
        request = TurnRequest(session_id=session, author_key=author, message_id=message_id)
        self.dispatcher.request_turn(request, burst_ms=burst_ms)

    async def wait_for(self, *begun: int | None) -> None:
        async with asyncio.timeout(5):
            while self.begun != [*begun]:
                self.changed.clear()
                await self.changed.wait()
        await asyncio.sleep(0)

    async def finish(self) -> list[str]:
        self.work.set()
        await asyncio.wait_for(self.dispatcher.idle(), 5)
        return self.ended


@pytest.fixture
def turns(tasks: Tasks) -> Turns:
    return Turns(tasks)


async def test_sessions_do_not_wait_for_each_other_and_authors_of_one_session_do(turns: Turns) -> None:
    turns.ask(1)
    turns.ask(2, "b")
    turns.ask(3, session=2)
    await turns.wait_for(1, 3)
    assert turns.dispatcher.waiting_count(1) == 1
    assert await turns.finish() == ["1 answered", "3 answered", "2 answered"]
    assert not turns.dispatcher.is_running(1)


async def test_fragments_restart_a_turn_at_most_twice_and_the_rest_waits(turns: Turns) -> None:
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)
    await turns.wait_for(1, 2)
    turns.ask(3)
    await turns.wait_for(1, 2, 3)
    turns.ask(4)
    assert turns.dispatcher.waiting_count(1) == 1
    ended = await turns.finish()
    assert [turn for turn in ended if turn[0] not in "12"] == ["3 answered", "4 answered"]
    assert MAX_RESTARTS == 2


async def test_fragments_that_come_together_restart_it_with_the_newest(turns: Turns) -> None:
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)
    turns.ask(3)
    await turns.wait_for(1, 3)
    assert (await turns.finish())[:2] == ["1 restart", "3 answered"]


async def test_what_a_restart_replaced_has_its_turn_after_it(turns: Turns) -> None:
    """The fragment that restarted it may be deleted by then, or belong to another burst."""
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)
    await turns.wait_for(1, 2)
    turns.ask(3)
    await turns.wait_for(1, 2, 3)
    turns.ask(4, "b")
    ended = await turns.finish()
    assert ended == ["1 restart", "2 restart", "3 answered", "1 answered", "2 answered", "4 answered"]


async def test_a_command_that_waits_for_its_turn_is_not_restarted_by_a_message(turns: Turns) -> None:
    request = TurnRequest(session_id=1, author_key="a", message_id=1, reply_handle=object())
    turns.dispatcher.request_turn(request, burst_ms=0)
    await turns.wait_for(1)
    turns.ask(2)
    assert await turns.finish() == ["1 answered", "2 answered"]


@pytest.mark.parametrize(("seconds", "restarts"), [(0.999, True), (1.0, False)])
async def test_fragments_restart_only_within_the_time_of_a_burst(turns: Turns, seconds: float, restarts: bool) -> None:
    turns.ask(1)
    await turns.wait_for(1)
    turns.now = seconds
    turns.ask(2)
    assert turns.dispatcher.waiting_count(1) == (not restarts)
    assert (await turns.finish())[:2] == ["1 restart" if restarts else "1 answered", "2 answered"]


async def test_the_time_of_a_burst_runs_from_its_first_fragment(turns: Turns) -> None:
    turns.ask(1)
    await turns.wait_for(1)
    turns.now = 0.7
    turns.ask(2)
    await turns.wait_for(1, 2)
    turns.now = 1.4
    turns.ask(3)
    assert turns.dispatcher.waiting_count(1) == 1


async def test_a_turn_that_waited_has_restarts_of_its_own(turns: Turns) -> None:
    turns.ask(1, "b")
    turns.ask(2)
    await turns.wait_for(1)
    turns.now = 50
    first, turns.work = turns.work, asyncio.Event()
    first.set()
    await turns.wait_for(1, 2)
    turns.ask(3)
    assert (await turns.finish())[:3] == ["1 answered", "2 restart", "3 answered"]


async def test_nothing_restarts_what_has_been_shown_what_others_wait_behind_or_what_goes_on(turns: Turns) -> None:
    turns.shows = True
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)
    turns.shows = False
    turns.ask(3, session=2)
    turns.ask(4, "b", session=2)
    turns.ask(5, session=2)
    turns.ask(None, session=3)
    turns.ask(6, session=3)
    turns.ask(7, session=4)
    turns.ask(None, session=4)
    assert [turns.dispatcher.waiting_count(session) for session in (1, 2, 3, 4)] == [1, 2, 1, 1]


@pytest.mark.parametrize("why", [Interruption.STOP, Interruption.RESET])
async def test_an_interruption_ends_the_running_turn_and_whoever_waits_is_next(turns: Turns, why: Interruption) -> None:
    turns.ask(1)
    turns.ask(2, "b")
    await turns.wait_for(1)
    assert turns.dispatcher.interrupt(1, why)
    await turns.wait_for(1, 2)
    assert await turns.finish() == [f"1 {why}", "2 answered"]


async def test_a_fragment_that_would_have_restarted_a_stopped_turn_is_not_lost(turns: Turns) -> None:
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)
    assert turns.dispatcher.interrupt(1, Interruption.STOP)
    assert await turns.finish() == ["1 stop", "2 answered"]


async def test_there_is_nothing_to_interrupt_where_nothing_runs(turns: Turns) -> None:
    assert not turns.dispatcher.interrupt(1, Interruption.STOP)


async def test_a_turn_that_fails_is_logged_and_the_next_one_runs(tasks: Tasks) -> None:
    answered: list[int | None] = []

    async def run_turn(request: TurnRequest, control: TurnControl) -> tuple[()]:
        if request.message_id == 1:
            raise RuntimeError("broken")
        answered.append(request.message_id)
        return ()

    dispatcher = Dispatcher(run_turn, never, tasks, clock=lambda: 0.0)
    with capture_logs() as logs:
        for message_id in (1, 2):
            dispatcher.request_turn(TurnRequest(session_id=1, author_key="a", message_id=message_id), burst_ms=0)
        await asyncio.wait_for(dispatcher.idle(), 5)
    assert answered == [2]
    assert [entry["event"] for entry in logs] == ["task.failed"]


async def test_S13_a_drain_lets_running_turns_end_within_the_grace_and_begins_no_others(turns: Turns) -> None:
    turns.ask(1)
    turns.ask(2, "b")
    await turns.wait_for(1)
    draining = turns.tasks.spawn("drain", turns.dispatcher.drain(60))
    await asyncio.sleep(0)
    turns.ask(3, session=2)
    turns.work.set()
    await asyncio.wait_for(draining, 5)
    assert (turns.begun, turns.ended) == ([1], ["1 answered"])
    assert turns.turned_away == [2, 3]


async def test_S13_after_the_grace_running_turns_are_interrupted(turns: Turns) -> None:
    turns.ask(1)
    turns.ask(2, session=2)
    await turns.wait_for(1, 2)
    await asyncio.wait_for(turns.dispatcher.drain(0), 5)
    assert turns.ended == ["1 shutdown", "2 shutdown"]


async def test_S13_a_fragment_at_the_last_moment_does_not_hold_the_process_up(turns: Turns) -> None:
    turns.closing.clear()
    turns.ask(1)
    await turns.wait_for(1)
    turns.ask(2)  # its restart is under way when the grace ends
    draining = turns.tasks.spawn("drain", turns.dispatcher.drain(0))
    for _ in range(20):  # rounds of the loop, more than the drain needs to interrupt
        await asyncio.sleep(0)
    turns.closing.set()
    await asyncio.wait_for(draining, 5)
    assert turns.begun == [1]


async def test_whoever_has_read_an_answer_finds_it_stored(tasks: Tasks) -> None:
    begun, shown, stored = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run(_request: TurnRequest, control: TurnControl) -> tuple[()]:
        begun.set()
        await shown.wait()
        control.is_settling = True
        await stored.wait()
        return ()

    dispatcher = Dispatcher(run, never, tasks, lambda: 0.0)
    dispatcher.request_turn(TurnRequest(session_id=1, author_key="x:1", message_id=1), burst_ms=0)
    await begun.wait()
    await asyncio.wait_for(dispatcher.settled(1), 1)  # an answer that is being made is nothing to wait for
    assert dispatcher.is_running(1)
    shown.set()
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(dispatcher.settled(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    stored.set()
    await asyncio.wait_for(waiting, 1)
    assert not dispatcher.is_running(1)
