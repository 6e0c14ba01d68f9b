"""Moves old messages into memory: reads a snapshot, asks the summariser without any lock, commits under one.

What fails changes nothing: every message stays where it was, and the reason is kept for /status.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import _lru_cache_wrapper, cached_property, lru_cache, partial
from zoneinfo import ZoneInfo

import structlog

from bot.guard import Guard
from bot.hook_calls import HookCalls
from bot.hooks import CompactionNews, Phase
from bot.llm.model import ModelError, ModelRequest
from bot.memory.admission import may_fold
from bot.memory.by_line import note_by_line
from bot.memory.consolidation import Consolidator
from bot.memory.delta import BadDelta, read_delta
from bot.memory.items import Delta, Memory
from bot.memory.newest import without_outdated
from bot.memory.pauses import is_paused
from bot.memory.request import (
    LONGEST_LINE,
    Material,
    citable_of,
    summary_request,
    tokens_of_lines,
    tokens_of_notes,
    units_that_fit,
)
from bot.memory.reuse import Reuse, request_behind
from bot.memory.snapshot import Snapshot, size_of, take_snapshot
from bot.memory.stand_in import ask_stand_in
from bot.memory.summariser import IsStillSo, Outdated, Subject, Summariser, problem_of
from bot.memory.terms import Terms
from bot.memory.triggers import LEAST_GAIN_TOKENS
from bot.settings import Settings
from bot.store import compactions
from bot.store.compactions import NewCompaction, Outcome, Reading, Reason
from bot.store.database import Database, Tx

log = structlog.get_logger(__name__)

SHORTEST_LINE = 200
"""Characters that are read of any message, also by a model with a small window."""
LEAST_GAIN_RATIO = 0.05
"""Of the window, what is worth a call where `LEAST_GAIN_TOKENS` are much."""
COUNTS_KEPT = 128
"""Texts whose count is remembered: those of a delta are asked for until it is committed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a compaction ended; `messages` were folded. `problem` says why nothing was."""

    outcome: Outcome | None
    """`None` where there was nothing to do."""
    messages: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    problem: str = ""


NOTHING = Result(outcome=None)


@dataclass(frozen=True, kw_only=True)
class Compactor:
    """Folds conversations into their memory."""

    db: Database
    summariser: Summariser
    consolidator: Consolidator
    settings: Settings
    count: Callable[[str], int]
    now: Callable[[], datetime]
    reuse: Reuse = field(default_factory=Reuse)
    hooks: HookCalls = field(default_factory=HookCalls)
    recalling: Callable[[], frozenset[str]] = frozenset
    """The names of tools whose results are what was said before."""
    stand_in: Guard | None = None
    """What an extension does in place of the summary model."""

    @cached_property
    def _count(self) -> _lru_cache_wrapper[int]:
        return lru_cache(COUNTS_KEPT)(self.count)

    def forget(self) -> None:
        """Keep in mind nothing of what was folded or sent."""
        self._count.cache_clear()
        self.reuse.forget_all()
        self.consolidator.forget()

    async def compact(self, subject: Subject, reason: Reason, *, up_to: int, focus: str = "") -> Result:
        """Fold what stands between the watermark and what is kept, chunk by chunk where the backlog is long.

        Only /compact folds little, and only it tries again at once after a failure; everything else waits for a pause
        that doubles.
        """
        if not await may_fold(self.hooks, self.db, subject, self.now()):
            return NOTHING
        total, news = NOTHING, None
        while True:
            snapshot = await self.db.read(self._snapshot, subject, reason, up_to)
            if snapshot is None or not snapshot.units:
                break
            is_first = total.outcome is None
            if is_first and reason is not Reason.MANUAL and not self._is_due(subject, snapshot):
                break
            material = self._material(subject, snapshot, focus)
            if news is None and not material.is_silent:
                news = await self._tell_start(subject, snapshot, reason)
            result = await self._fold(subject, snapshot, material, reason)
            if result.outcome is not Outcome.DONE:
                total = result if is_first else total
                break
            total = _sum(total, result)
            if result.messages == len(snapshot.rows):
                break
        if news is not None:
            await self._tell_end(news, total)
        return total

    async def consolidate(self, subject: Subject, reason: Reason) -> None:
        """Make a memory that has outgrown its room shorter."""
        await self.consolidator.consolidate(subject, reason)

    def _snapshot(self, tx: Tx, subject: Subject, reason: Reason, up_to: int) -> Snapshot | None:
        """`None` where nothing is to be folded now; a pause after failures costs no more than to find that out."""
        if reason is not Reason.MANUAL and is_paused(tx, subject.conversation_id, self.now()):
            return None
        return take_snapshot(
            tx,
            _keeping_least(subject) if reason is Reason.MANUAL else subject,
            up_to=up_to,
            waiting_since=self.now() - self.settings.answer_within,
            seen=self.reuse.seen(subject.conversation_id),
        )

    def _is_due(self, subject: Subject, snapshot: Snapshot) -> bool:
        """Whether there is enough to fold. A window that its card alone keeps full must not cost a call for every
        message (M03).
        """
        summary, rows = subject.settings.summary, snapshot.rows
        least = min(LEAST_GAIN_TOKENS, int(subject.window * LEAST_GAIN_RATIO))
        counted = [summary.threshold - summary.keep_recent] if summary.threshold > summary.keep_recent else []
        if summary.trigger.type == "messages_to_refine" and summary.trigger.value:
            counted.append(int(summary.trigger.value))
        return size_of(rows) >= least or any(len(rows) >= messages for messages in counted)

    async def _tell_start(self, subject: Subject, snapshot: Snapshot, reason: Reason) -> CompactionNews:
        news = CompactionNews(
            session=subject.session,
            reason=reason.value,
            phase=Phase.START,
            tokens_before=size_of(snapshot.rows),
        )
        await self.hooks.on_compaction(news)
        return news

    async def _tell_end(self, news: CompactionNews, total: Result) -> None:
        if total.outcome is not Outcome.DONE:
            await self.hooks.on_compaction(replace(news, phase=Phase.ERROR))
            return
        before, after = total.tokens_before, total.tokens_after
        await self.hooks.on_compaction(replace(news, phase=Phase.DONE, tokens_before=before, tokens_after=after))

    async def _fold(self, subject: Subject, snapshot: Snapshot, material: Material, reason: Reason) -> Result:
        """One call (two when its reply was bad), one commit."""
        if material.is_silent and not _is_withheld(material, snapshot):
            return NOTHING
        attempt = NewCompaction(
            ground=snapshot.ground,
            reason=reason,
            focus=material.focus,
            to_position=material.rows[-1].position,
            messages=len(material.rows),
            model="" if material.is_silent or self.stand_in else self.summariser.model_for(subject),
            tokens_before=size_of(material.rows),
            began_at=self.now(),
        )
        if material.is_silent:
            reading = _reading(subject, attempt, snapshot, replace(material, again=()))
            return await self._commit(subject, attempt, reading, Delta())
        return await self._carry_out(subject, attempt, snapshot, material)

    async def _carry_out(
        self, subject: Subject, attempt: NewCompaction, snapshot: Snapshot, material: Material
    ) -> Result:
        reading = _reading(subject, attempt, snapshot, material)
        is_still_so = partial(self.db.read, compactions.is_still_so, attempt, reading)
        try:
            delta = await self._ask(subject, snapshot, material, is_still_so)
            delta = without_outdated(delta, material.memory, (*material.again, *material.rows))
            attempt = replace(attempt, tokens_after=self._after(delta, material))
            return await self._commit(subject, attempt, reading, delta)
        except Outdated:
            log.info("memory.compaction_stale", session=subject.session.channel.session_key, reason=attempt.reason)
            await self.db.run(compactions.record_attempt, attempt, Outcome.STALE, self.now())
            return Result(outcome=Outcome.STALE)
        except (BadDelta, ModelError) as error:
            log.warning("memory.not_compacted", session=subject.session.channel.session_key, problem=str(error))
            return await self._fail(attempt, problem_of(error))
        except Exception as error:
            log.error("memory.broken", session=subject.session.channel.session_key, exc_info=error)
            return await self._fail(attempt, f"model-{ModelError.kind}")

    async def _fail(self, attempt: NewCompaction, problem: str) -> Result:
        await self.db.run(compactions.record_attempt, attempt, Outcome.FAILED, self.now(), problem=problem)
        return Result(outcome=Outcome.FAILED, problem=problem)

    async def _ask(self, subject: Subject, snapshot: Snapshot, material: Material, is_still_so: IsStillSo) -> Delta:
        """The delta, asked for behind the last request where that is cheaper, else in a prompt of its own; an extension
        may stand in for the model.
        """
        if self.stand_in is not None:
            most = self.summariser.cap(subject) // 2
            delta = await ask_stand_in(self.stand_in, subject, material, max_tokens=most)
            return self._demand_smaller(subject, material, delta)
        ask = partial(self.summariser.ask, subject, is_still_so=is_still_so)
        own = self.settings.summary.prompt or self.settings.summary.update_prompt
        if self.summariser.is_small(subject) and not own:
            delta = await note_by_line(material, ask, self.settings.summary.parameters)
            return self._demand_smaller(subject, material, delta)
        read, terms = partial(self._read, subject, material), self.summariser.terms(subject)
        last = self.reuse.last_for(subject, snapshot, material, terms)
        if last is not None:
            behind = partial(request_behind, last, snapshot, material, self.settings.summary)
            is_last_word, ask_behind = not self.summariser.fallbacks(subject), partial(ask, behind, read, is_alone=True)
            told: Delta | None = await self.reuse.try_behind(ask_behind, terms, is_last_word=is_last_word)
            if told is not None:
                return told
        return await ask(partial(self._request, material), read)

    async def _commit(self, subject: Subject, attempt: NewCompaction, reading: Reading, delta: Delta) -> Result:
        outcome = await self.db.run(compactions.commit, attempt, reading, delta, self._count, self.now())
        log.info(
            "memory.compacted" if outcome is Outcome.DONE else "memory.compaction_stale",
            session=subject.session.channel.session_key,
            reason=attempt.reason.value,
            messages=attempt.messages,
            tokens_before=attempt.tokens_before,
            tokens_after=attempt.tokens_after,
            refused=len(delta.refused),
        )
        return Result(
            outcome=outcome,
            messages=attempt.messages,
            tokens_before=attempt.tokens_before,
            tokens_after=attempt.tokens_after,
        )

    def _material(self, subject: Subject, snapshot: Snapshot, focus: str) -> Material:
        """As many of the oldest units as the summariser's window takes, at least one."""
        room = self.summariser.room(subject) - tokens_of_notes(snapshot.memory, self._count)
        longest = max(SHORTEST_LINE, min(LONGEST_LINE, room // 2))
        again = units_that_fit(((row,) for row in snapshot.again), room // 2, longest)
        room -= tokens_of_lines(again, longest)
        rows = units_that_fit(snapshot.units, room, longest) or snapshot.units[0]
        return Material(
            rows=rows,
            memory=snapshot.memory,
            persona_name=subject.persona_name,
            zone=ZoneInfo(subject.settings.timezone),
            again=again,
            private=snapshot.private,
            recalling=self.recalling(),
            longest_line=longest,
            focus=focus,
        )

    def _request(self, material: Material, terms: Terms) -> ModelRequest:
        summary = self.settings.summary
        return summary_request(
            material,
            terms,
            instruction=summary.prompt if material.memory.is_empty else summary.update_prompt,
            parameters=summary.parameters,
        )

    def _read(self, subject: Subject, material: Material, text: str) -> Delta:
        return self._demand_smaller(subject, material, read_delta(text, citable_of(material)))

    def _demand_smaller(self, subject: Subject, material: Material, delta: Delta) -> Delta:
        gist, most = self._count(delta.gist or ""), self.summariser.cap(subject) // 2
        if gist > most:
            raise BadDelta(f"the gist has {gist} tokens, {most} at most")
        spared = size_of(material.rows)
        added = self._after(delta, material) - self._after(Delta(), material)
        if added >= spared:
            raise BadDelta(f"it is not smaller ({added} tokens) than what it takes the place of ({spared})")
        return delta

    def _after(self, delta: Delta, material: Material) -> int:
        return tokens_after(delta, material.memory, self._count)


def _keeping_least(subject: Subject) -> Subject:
    """Whoever asks for notes wants to see some: no more stays verbatim than `KEEP_RECENT` messages."""
    summary = subject.settings.summary.model_copy(update={"keep_tokens": 0})
    return replace(subject, settings=subject.settings.model_copy(update={"summary": summary}))


def _reading(subject: Subject, attempt: NewCompaction, snapshot: Snapshot, material: Material) -> Reading:
    read_again = {row.id for row in material.again}
    return Reading(
        session_id=subject.session.id,
        rows=tuple(row for row in snapshot.read if row.position <= attempt.to_position),
        memory=snapshot.memory,
        again=material.again,
        checked=tuple(item for item, sources in snapshot.stale.items() if read_again.issuperset(sources)),
    )


def _is_withheld(material: Material, snapshot: Snapshot) -> bool:
    """Of material in which nobody says anything that may be noted: whether it will stay so, since it is what people
    said who want privacy, or fills a whole call. Then nobody is asked about it (M02), and nobody waits behind it.
    """
    said = {row.author_key for row in material.rows}
    return not material.private.isdisjoint(said) or len(material.rows) < len(snapshot.rows)


def tokens_after(delta: Delta, memory: Memory, count: Callable[[str], int]) -> int:
    """Tokens of a memory as it will be."""
    gone = {retire.item for retire in delta.retires} | {add.replaces for add in delta.adds if add.replaces}
    left = sum(item.tokens for item in memory.items if item.id not in gone)
    return left + sum(count(add.item.text) for add in delta.adds) + count(delta.gist or memory.gist)


def _sum(one: Result, other: Result) -> Result:
    return Result(
        outcome=other.outcome,
        messages=one.messages + other.messages,
        tokens_before=one.tokens_before + other.tokens_before,
        tokens_after=other.tokens_after,
    )
