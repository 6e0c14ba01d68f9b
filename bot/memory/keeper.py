"""Decides when a conversation is folded into memory: before an answer without room, or after one, unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from bot.memory.compaction import Compactor, Result, Subject
from bot.memory.snapshot import EVERYTHING, cut_of
from bot.memory.triggers import Fill, Usage, fill_of
from bot.prompt.build import Prompt
from bot.prompt.lines import group_history
from bot.store.compactions import Outcome, Reason
from bot.store.tables import MessageKind
from bot.tasks import Tasks
from bot.turn import Turn

log = structlog.get_logger(__name__)

BLOCKING_SECONDS = 60.0
"""How long an answer waits for room; after that its request is pruned, and the messages stay as they are."""


class Keeper:
    """One compaction at a time in each conversation (M05). `cached_price` is what a cached input token of a model costs
    of an uncached one, `None` where that is unknown.
    """

    def __init__(self, compactor: Compactor, tasks: Tasks, cached_price: Callable[[str], float | None]) -> None:
        self._compactor, self._tasks, self._cached_price = compactor, tasks, cached_price
        self._running: dict[int, asyncio.Task[Result]] = {}

    async def ensure_room(self, turn: Turn, prompt: Prompt) -> bool:
        """Over the hard limit, fold before the answer, within a time limit; whether that made room."""
        if self._fill(turn, prompt) is not Fill.HARD:
            return False
        folding = self.fold(subject_of(turn), Reason.HARD, up_to=turn.position)
        done, _ = await asyncio.wait({folding}, timeout=BLOCKING_SECONDS)
        if not done:
            log.warning("memory.no_room_in_time", session=turn.session.channel.session_key, seconds=BLOCKING_SECONDS)
            return False
        return not (folding.cancelled() or folding.exception()) and folding.result().outcome is Outcome.DONE

    def after_turn(self, turn: Turn, prompt: Prompt) -> None:
        """Over the soft limit, fold in the background."""
        if self._fill(turn, prompt) is not Fill.NORMAL:
            self.fold(subject_of(turn), Reason.SOFT, up_to=EVERYTHING)

    def fold(self, subject: Subject, reason: Reason, *, up_to: int, focus: str = "") -> asyncio.Task[Result]:
        """Start a compaction, or join the one that runs."""
        running = self._running.get(subject.conversation_id)
        if running is None:
            running = self._tasks.spawn("compaction", self._fold(subject, reason, up_to, focus))
            self._running[subject.conversation_id] = running
        return running

    def is_running(self, conversation_id: int) -> bool:
        """Whether a conversation is being folded now."""
        return conversation_id in self._running

    async def idle(self) -> None:
        """Wait until nothing is being folded."""
        while self._running:
            await asyncio.wait(self._running.values())

    async def _fold(self, subject: Subject, reason: Reason, up_to: int, focus: str) -> Result:
        try:
            return await self._compactor.compact(subject, reason, up_to=up_to, focus=focus)
        finally:
            self._running.pop(subject.conversation_id, None)

    def _fill(self, turn: Turn, prompt: Prompt) -> Fill:
        settings = turn.settings.values.summary
        return fill_of(usage_of(turn, prompt), settings, cached_price=self._cached_price(turn.model))


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


def usage_of(turn: Turn, prompt: Prompt) -> Usage:
    """What a turn's prompt would fill if nothing were left out of it."""
    units = group_history(turn.history)
    cut = cut_of(units, turn.settings.values.summary, turn.window)
    tokens = [sum(row.tokens for row in unit) for unit in units]
    asked = sum(row.addressed for unit in units for row in unit if row.kind is MessageKind.SAID)
    return Usage(
        window=turn.window,
        used=prompt.whole + turn.reserve,
        fixed=prompt.fixed + turn.reserve,
        kept=sum(tokens[cut:]),
        messages=len(turn.history),
        compactable=sum(map(len, units[:cut])),
        per_turn=sum(tokens) / max(1, asked),
        was_dropped=prompt.dropped > 0,
    )
