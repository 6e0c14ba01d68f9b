"""Decides when a conversation is folded into memory: before an answer without room, or after one, unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bot.memory.compaction import NOTHING, Compactor, Result
from bot.memory.snapshot import EVERYTHING, cut_of, size_of
from bot.memory.summariser import Subject
from bot.memory.triggers import Fill, Usage, fill_of, is_hard
from bot.prompt.build import Prompt
from bot.prompt.lines import group_history
from bot.store.compactions import Outcome, Reason
from bot.store.tables import MessageKind
from bot.store.traces import Traces
from bot.store.window import Measured
from bot.tasks import Tasks
from bot.turn import Turn

log = structlog.get_logger(__name__)

BLOCKING_SECONDS = 60.0
"""How long an answer waits for room; after that its request is pruned, and the messages stay as they are."""


class Keeper:
    """One compaction at a time in each conversation (M05). `cached_price` is what a cached input token of a model costs
    of an uncached one, `None` where that is unknown; `tell_done` is awaited after a compaction that nobody waited for.
    Where no more `may_spend` be spent on a conversation nothing is folded, and its requests are pruned.
    """

    def __init__(
        self,
        compactor: Compactor,
        tasks: Tasks,
        cached_price: Callable[[str], float | None],
        tell_done: Callable[[Turn, Result], Awaitable[None]],
        may_spend: Callable[[Subject], Awaitable[bool]] | None = None,
    ) -> None:
        self._compactor, self._tasks, self._cached_price = compactor, tasks, cached_price
        self._tell_done, self._may_spend = tell_done, may_spend
        self._running: dict[int, asyncio.Task[Result]] = {}
        self._consolidating: set[asyncio.Task[None]] = set()

    def has_room(self, turn: Turn, prompt: Prompt) -> bool:
        """Whether a prompt stays below the hard limit."""
        return not is_hard(prompt.whole + turn.reserve, turn.window, turn.settings.values.summary)

    async def make_room(self, turn: Turn) -> bool:
        """Fold before the answer, within a time limit; whether that made room."""
        folding = self.fold(subject_of(turn), Reason.HARD, up_to=turn.position)
        done, _ = await asyncio.wait({folding}, timeout=BLOCKING_SECONDS)
        if not done:
            log.warning("memory.no_room_in_time", session=turn.session.channel.session_key, seconds=BLOCKING_SECONDS)
            return False
        return not (folding.cancelled() or folding.exception()) and folding.result().outcome is Outcome.DONE

    def after_turn(self, turn: Turn, prompt: Prompt, answer: Sequence[Measured]) -> None:
        """Over the soft limit, fold in the background. `answer` is what the next prompt has of this turn besides."""
        self._compactor.reuse.note(turn, prompt)
        if self._fill(turn, prompt, answer) is not Fill.NORMAL and not self.is_running(turn.conversation_id):
            folding = self.fold(subject_of(turn), Reason.SOFT, up_to=EVERYTHING)
            self._tasks.spawn("compaction notice", self._tell(turn, folding))

    async def _tell(self, turn: Turn, folding: asyncio.Task[Result]) -> None:
        await asyncio.wait({folding})
        if not (folding.cancelled() or folding.exception()) and folding.result().outcome is Outcome.DONE:
            await self._tell_done(turn, folding.result())

    def fold(self, subject: Subject, reason: Reason, *, up_to: int, focus: str = "") -> asyncio.Task[Result]:
        """Start a compaction, or join the one that runs. One by hand comes after that: it folds more."""
        running = self._running.get(subject.conversation_id)
        if running is None or reason is Reason.MANUAL:
            running = self._tasks.spawn("compaction", self._fold(subject, reason, up_to, focus, after=running))
            self._running[subject.conversation_id] = running
        return running

    def drop(self, conversation_id: int) -> bool:
        """Give up what is being folded of a conversation, so that nothing of it is noted; whether anything was."""
        running = self._running.get(conversation_id)
        return running is not None and running.cancel()

    def consolidate(self, subject: Subject, reason: Reason) -> asyncio.Task[None]:
        """Bring a memory into shape that is too large, or has lost its gist."""
        consolidating = self._tasks.spawn("consolidation", self._consolidate(subject, reason))
        self._consolidating.add(consolidating)
        consolidating.add_done_callback(self._consolidating.discard)
        return consolidating

    def forget(self, session_key: str) -> None:
        """Keep nothing in this process of what was sent in a session: something there was erased or changed."""
        self._compactor.reuse.forget(session_key)

    def let_go(self, traces: Traces) -> None:
        """Somebody is forgotten: give up what is being folded of what they said, and keep nothing that was sent."""
        for conversation_id in (*traces.conversations, *traces.group_conversations):
            self.drop(conversation_id)
        self._compactor.forget()
        for session_key in traces.session_keys:
            self.forget(session_key)

    def is_running(self, conversation_id: int) -> bool:
        """Whether a conversation is being folded now."""
        return conversation_id in self._running

    async def idle(self) -> None:
        """Wait until nothing is being folded."""
        while running := {*self._running.values(), *self._consolidating}:
            await asyncio.wait(running)

    async def _fold(
        self, subject: Subject, reason: Reason, up_to: int, focus: str, *, after: asyncio.Task[Result] | None
    ) -> Result:
        try:
            if after is not None:
                await _outlast(after)
            if self._may_spend is not None and not await self._may_spend(subject):
                return NOTHING
            result = await self._compactor.compact(subject, reason, up_to=up_to, focus=focus)
        finally:
            if self._running.get(subject.conversation_id) is asyncio.current_task():
                del self._running[subject.conversation_id]
        if result.outcome is None and after is not None and not (after.cancelled() or after.exception()):
            return after.result()  # it has left nothing to fold
        if result.outcome is Outcome.DONE:  # by itself, so that an answer need not wait for this as well
            self.consolidate(subject, reason)
        return result

    async def _consolidate(self, subject: Subject, reason: Reason) -> None:
        if self._may_spend is None or await self._may_spend(subject):
            await self._compactor.consolidate(subject, reason)

    def _fill(self, turn: Turn, prompt: Prompt, answer: Sequence[Measured]) -> Fill:
        settings = turn.settings.values.summary
        return fill_of(usage_of(turn, prompt, answer), settings, cached_price=self._cached_price(turn.model))


async def _outlast(before: asyncio.Task[Result]) -> None:
    """Wait for a compaction to end; whoever is dropped meanwhile takes it along."""
    try:
        await asyncio.wait({before})
    except asyncio.CancelledError:
        before.cancel()
        raise


def subject_of(turn: Turn) -> Subject:
    """Whose conversation a turn belongs to."""
    return Subject(
        session=turn.session,
        conversation_id=turn.conversation_id,
        persona_name=turn.persona_name,
        settings=turn.settings.values,
        model=turn.model,
        window=turn.window,
    )


def usage_of(turn: Turn, prompt: Prompt, answer: Sequence[Measured]) -> Usage:
    """What the prompt after a turn and its answer would fill if nothing were left out of it."""
    units: list[Sequence[Measured]] = [*group_history(turn.history)]
    units[-1:] = [(*(units[-1] if units else ()), *answer)]
    cut = cut_of(units, turn.settings.values.summary, turn.window)
    tokens = [*map(size_of, units)]
    asked = sum(row.addressed for unit in units for row in unit if row.kind is MessageKind.SAID)
    return Usage(
        window=turn.window,
        used=prompt.whole + int(size_of(answer) * prompt.basis.frame.factor) + turn.reserve,
        fixed=prompt.fixed + turn.reserve,
        kept=sum(tokens[cut:]),
        messages=len(turn.history) + len(answer),
        compactable=sum(map(len, units[:cut])),
        per_turn=sum(tokens) / max(1, asked),
        was_dropped=prompt.dropped > 0 or prompt.cuts.whole_from > 0,
    )
