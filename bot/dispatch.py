"""Who runs the next turn: one at a time per session, in this process, while other sessions go on.

Knows neither platform nor model: `run_turn` comes by constructor. The turn slot is held for the whole turn (R3).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import structlog

from bot.chat import ChannelRef
from bot.tasks import Tasks

T = TypeVar("T")
log = structlog.get_logger(__name__)

MAX_RESTARTS = 2
"""How often further fragments of a burst may restart its turn (DESIGN 4.7)."""


ENDING_SECONDS = 30.0
"""How long an answer that is ended may take to be closed; ours to choose."""


class Interruption(StrEnum):
    """Why a turn must not go on."""

    RESTART = "restart"
    """A further fragment of the burst came before anything was shown."""
    STOP = "stop"
    """Somebody said /stop: what was shown stays, marked as cut."""
    REPOSTED = "reposted"
    """Its message was posted again elsewhere before anything was shown (D08); a turn of its own answers that."""
    RESET = "reset"
    """The conversation was closed: what was shown stays in it."""
    SHUTDOWN = "shutdown"
    """The process ends: what was shown stays; a burst that saw nothing is answered after the restart."""


class Interrupted(Exception):
    """Raised inside `TurnControl.guard` when the turn is interrupted."""

    def __init__(self, why: Interruption) -> None:
        self.why = why
        super().__init__(why.value)


class TurnControl:
    """The reins of one running turn: what it has shown, and how to interrupt it."""

    def __init__(self, tasks: Tasks) -> None:
        self.has_shown = False
        self.is_settling = False
        """Whether the answer is out and only has to be stored."""
        self._tasks = tasks
        self._why: Interruption | None = None
        self._work: asyncio.Task[Any] | None = None
        self._is_over = asyncio.Event()

    async def demand_wanted(self) -> None:
        """Called right before something is shown: from then on the turn cannot be restarted. An interrupted turn waits
        here for its end instead of showing anything; one whose work is done, or failed first, has it to show.
        """
        if self._why is not None and not self.has_shown and self._work is not None:
            await self._is_over.wait()
        self.has_shown = True

    def interrupt(self, why: Interruption) -> None:
        """End the guarded work at its next await; the first reason counts, but a restart gives way to every other."""
        if self._why is None and self._work is not None:
            self._work.cancel()
        if self._why in (None, Interruption.RESTART):
            self._why = why

    def _reason(self) -> Interruption | None:
        """Why the guarded work was cancelled; `None` when the whole turn is."""
        caller = asyncio.current_task()
        return None if caller is not None and caller.cancelling() else self._why

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` as something that `interrupt` can end.

        Raises:
            Interrupted: before or during the work.
        """
        if self._why is not None:
            work.close()
            raise Interrupted(self._why)
        task = self._tasks.spawn("turn work", work, is_awaited=True)
        self._work = task
        try:
            return await task
        except asyncio.CancelledError:
            why = self._reason()
            if why is None:
                task.cancel()
                raise
            raise Interrupted(why) from None
        finally:
            self._work = None
            self._is_over.set()


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRequest:
    """A turn that somebody waits for. Without `message_id` it goes on from the newest reply (/continue), or speaks
    first about the follow-up that it `raises`.
    """

    session_id: int
    author_key: str
    message_id: int | None
    reply_to: str | None = None
    reply_handle: object | None = None
    locale: str | None = None
    author_is_bot: bool = False
    raises: int | None = None
    persona_id: str | None = None
    """Who of a cast is to answer; `None` = whoever has the session when the turn opens."""
    follows: int | None = None
    """The reply of another persona that is answered, by its id."""
    cascade: int = 0
    """How many such answers led to this one."""
    channel: ChannelRef | None = None
    """Where somebody waits; `None` after a restart, when nobody is told that there will be no answer."""
    is_exempt: bool = False
    """Whether the limits per person and place do not count for whoever asks."""


RunTurn = Callable[[TurnRequest, TurnControl], Coroutine[Any, Any, Sequence[TurnRequest]]]
"""Runs a turn and returns the ones that follow from it."""
TurnAway = Callable[[TurnRequest], Coroutine[Any, Any, None]]
"""Takes back whatever told somebody that an answer is coming."""


@dataclass(slots=True)
class _Slot:
    request: TurnRequest
    control: TurnControl
    started: float
    restarts: int = 0
    restart_with: TurnRequest | None = None
    replaced: list[TurnRequest] = field(default_factory=list)
    """Whose turns gave way to a restart. It answers them too, as a rule; not so when its own message is deleted."""
    turn: asyncio.Task[Sequence[TurnRequest]] | None = None
    waiting: deque[TurnRequest] = field(default_factory=deque)


class Dispatcher:
    """Runs turns as background tasks. All methods are called from the event loop."""

    def __init__(self, run_turn: RunTurn, turn_away: TurnAway, tasks: Tasks, clock: Callable[[], float]) -> None:
        self._run_turn, self._turn_away = run_turn, turn_away
        self._tasks = tasks
        self._clock = clock
        self._slots: dict[int, _Slot] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = False
        self._turned_away: set[asyncio.Task[None]] = set()

    def request_turn(self, request: TurnRequest, *, burst_ms: int) -> None:
        """Start a turn, restart the running one with a further fragment of its burst, or queue."""
        if self._closing:
            self._put_off(request)
            return
        slot = self._slots.get(request.session_id)
        if slot is None:
            self._idle.clear()
            self._slots[request.session_id] = slot = _Slot(request, TurnControl(self._tasks), self._clock())
            self._tasks.spawn("turn slot", self._hold_slot(slot))
        elif self._may_restart(slot, request, burst_ms):
            slot.restarts += 1
            slot.restart_with = request
            slot.control.interrupt(Interruption.RESTART)
        else:
            slot.waiting.append(request)

    def _put_off(self, request: TurnRequest) -> None:
        """There will be no turn in this process; where nobody drops it, one after the restart answers the message."""
        self._turned_away.add(self._tasks.spawn("turn away", self._turn_away(request)))

    def _may_restart(self, slot: _Slot, request: TurnRequest, burst_ms: int) -> bool:
        return (
            slot.request.author_key == request.author_key
            and slot.request.message_id is not None
            and slot.request.reply_handle is None  # a command whose caller waits for this very turn
            and request.message_id is not None
            and all(waiting.author_key == request.author_key for waiting in slot.waiting)
            and slot.request.persona_id == request.persona_id
            and not slot.control.has_shown
            and slot.restarts < MAX_RESTARTS
            and (self._clock() - slot.started) * 1000 < burst_ms
        )

    async def _hold_slot(self, slot: _Slot) -> None:
        session_id = slot.request.session_id
        try:
            while True:
                # A turn that fails is logged by its task; whoever waits is answered all the same.
                slot.turn = self._tasks.spawn("turn", self._run_turn(slot.request, slot.control))
                await asyncio.wait({slot.turn})
                if not slot.turn.cancelled() and slot.turn.exception() is None:
                    slot.waiting.extend(slot.turn.result())
                if slot.restart_with is not None:
                    slot.replaced.append(slot.request)
                    slot.request, slot.restart_with = slot.restart_with, None
                elif (following := self._following(slot)) is not None:
                    slot.request, slot.started, slot.restarts = following, self._clock(), 0
                else:
                    return
                slot.control = TurnControl(self._tasks)
        finally:
            del self._slots[session_id]
            if not self._slots:
                self._idle.set()

    def _following(self, slot: _Slot) -> TurnRequest | None:
        if self._closing:
            return None
        slot.waiting.extendleft(reversed(slot.replaced))
        slot.replaced.clear()
        return slot.waiting.popleft() if slot.waiting else None

    def interrupt(self, session_id: int, why: Interruption) -> bool:
        """Interrupt the running turn of a session; false when none runs. Turns that wait have theirs."""
        slot = self._slots.get(session_id)
        if slot is None:
            return False
        if slot.restart_with is not None:
            slot.waiting.appendleft(slot.restart_with)
            slot.restart_with = None
        slot.control.interrupt(why)
        return True

    def drop_waiting(self, session_id: int, author_key: str) -> list[TurnRequest]:
        """Forget the turns that wait for somebody in a session; who calls must see to their messages."""
        slot = self._slots.get(session_id)
        if slot is None:
            return []
        dropped = [request for request in (*slot.replaced, *slot.waiting) if request.author_key == author_key]
        slot.replaced = [request for request in slot.replaced if request.author_key != author_key]
        slot.waiting = deque(request for request in slot.waiting if request.author_key != author_key)
        for request in dropped:
            self._put_off(request)
        return dropped

    async def end_turns(self, author_key: str) -> None:
        """End what is being answered to somebody anywhere, as /stop does, and forget what waits for them. A platform
        that keeps an answer waiting is waited for so long and no longer.
        """
        ending = set[asyncio.Task[Any]]()
        for session_id, slot in [*self._slots.items()]:
            if slot.restart_with is not None and slot.restart_with.author_key == author_key:
                slot.restart_with = None
            self.drop_waiting(session_id, author_key)
            if slot.request.author_key == author_key and slot.turn is not None:
                slot.control.interrupt(Interruption.STOP)
                ending.add(slot.turn)
        if ending:
            await asyncio.wait(ending, timeout=ENDING_SECONDS)

    def turns_in(self, session_ids: Collection[int]) -> set[asyncio.Task[Any]]:
        """The turns that run in some sessions now."""
        return {slot.turn for number, slot in self._slots.items() if slot.turn is not None and number in session_ids}

    def withdraw(self, session_id: int, message_id: int) -> None:
        """End the turn of a message that now stands elsewhere (D08), unless people have seen some of its answer. Those
        of a cast that wait for it are asked for anew, in their order.
        """
        slot = self._slots.get(session_id)
        if slot is None:
            return
        stale = [request for request in slot.waiting if request.message_id == message_id and request.persona_id]
        slot.waiting = deque(request for request in slot.waiting if request not in stale)
        if slot.request.message_id == message_id and not slot.control.has_shown:
            slot.control.interrupt(Interruption.REPOSTED)

    def is_running(self, session_id: int) -> bool:
        """Whether a turn holds the slot of this session."""
        return session_id in self._slots

    def is_answering(self, session_id: int) -> bool:
        """Whether an answer is being made in this session that is not out yet."""
        slot = self._slots.get(session_id)
        return slot is not None and not slot.control.is_settling

    async def settled(self, session_id: int) -> None:
        """Wait for a turn whose answer is out, so that whoever has read it finds it stored."""
        slot = self._slots.get(session_id)
        if slot is not None and slot.turn is not None and slot.control.is_settling:
            await asyncio.wait({slot.turn})

    def running(self, session_id: int) -> TurnRequest | None:
        """What is being answered in this session now."""
        slot = self._slots.get(session_id)
        return slot.request if slot else None

    def waiting_count(self, session_id: int) -> int:
        """How many turns wait in this session."""
        slot = self._slots.get(session_id)
        return len(slot.waiting) if slot else 0

    async def idle(self) -> None:
        """Wait until no turn runs anywhere."""
        await self._idle.wait()

    async def drain(self, grace_seconds: float) -> None:
        """Start nothing more; let running turns end within the grace, then interrupt them and wait for their end."""
        self._closing = True
        for slot in self._slots.values():
            while slot.waiting:
                self._put_off(slot.waiting.popleft())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), grace_seconds)
        if self._slots:
            log.info("dispatch.interrupting", turns=len(self._slots))
        for slot in self._slots.values():
            slot.restart_with = None
            slot.control.interrupt(Interruption.SHUTDOWN)
        await self._idle.wait()
        if self._turned_away:
            await asyncio.wait(self._turned_away)
