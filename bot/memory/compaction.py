"""Moves old messages into memory: reads a snapshot, asks the summariser without any lock, commits under one.

What fails changes nothing: every message stays where it was, and the reason is kept for /status.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import structlog

from bot.llm.model import Completion, Finish, Model, ModelError, ModelRequest
from bot.memory.delta import BadDelta, read_delta
from bot.memory.items import Delta, Memory
from bot.memory.request import LONGEST_LINE, Material, ground_of, summary_request
from bot.memory.snapshot import Snapshot, take_snapshot
from bot.prompt.lines import group_history
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.settings import PlaceSettings, Settings
from bot.store import compactions, ledger
from bot.store.compactions import Attempt, Outcome, Reason
from bot.store.database import Database, Tx
from bot.store.ledger import CallRecord
from bot.store.sessions import SessionRow
from bot.store.window import WindowRow

log = structlog.get_logger(__name__)

MARGIN_TOKENS = 1_500
"""Of the summariser's window, what rules, shape and markers take."""
LINE_TOKENS = 24
"""What number, time, name and key of a transcript line take."""
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=6)
"""Between two attempts after failures; the pauses double."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Whose conversation is compacted, and by what rules. `window` is that of the model that answers there."""

    session: SessionRow
    conversation_id: int
    persona_name: str
    settings: PlaceSettings
    model: str
    window: int


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
    """Folds conversations into their memory. `window_of` tells a model's window, `factor` its tokens to one of ours."""

    db: Database
    model: Model
    settings: Settings
    default_model: str
    window_of: Callable[[str], int]
    factor: Callable[[str], float]
    count: Callable[[str], int]
    now: Callable[[], datetime]

    async def compact(self, subject: Subject, reason: Reason, *, up_to: int, focus: str = "") -> Result:
        """Fold what stands between the watermark and what is kept, chunk by chunk where the backlog is long.

        After failures only /compact tries again at once; everything else waits for a pause that doubles.
        """
        total = NOTHING
        while True:
            snapshot = await self.db.read(_snapshot, subject, up_to)
            if snapshot is None or not snapshot.rows:
                return total
            if total.outcome is None and reason is not Reason.MANUAL and self._is_pausing(snapshot):
                return NOTHING
            result = await self._fold(subject, snapshot, reason, focus)
            if result.outcome is not Outcome.DONE:
                return result if total.outcome is None else total
            total = _sum(total, result)

    def _is_pausing(self, snapshot: Snapshot) -> bool:
        failures = 0
        for attempt in snapshot.attempts:
            if attempt.outcome is not Outcome.FAILED:
                break
            failures += 1
        if not failures:
            return False
        pause = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
        return bool(self.now() < snapshot.attempts[0].began_at + pause)

    async def _fold(self, subject: Subject, snapshot: Snapshot, reason: Reason, focus: str) -> Result:
        """One call (two when its reply was bad), one commit."""
        model = self._summary_model(subject)
        material = self._material(subject, snapshot, model, focus)
        began_at = self.now()
        before = sum(row.tokens + MESSAGE_OVERHEAD_TOKENS for row in material.rows)
        attempt = Attempt(
            ground=snapshot.ground,
            reason=reason,
            focus=focus,
            to_position=material.rows[-1].position,
            messages=len(material.rows),
            model=model,
            tokens_before=before,
            tokens_after=0,
            began_at=began_at,
        )
        try:
            delta = await self._ask(subject, material, model)
        except (BadDelta, ModelError) as error:
            log.warning("memory.not_compacted", session=subject.session.channel.session_key, problem=str(error))
            await self.db.run(compactions.record_attempt, attempt, Outcome.FAILED, self.now(), problem=str(error)[:500])
            return Result(outcome=Outcome.FAILED, problem=str(error))
        after = _tokens_after(delta, snapshot.memory, self.count)
        attempt = Attempt(**{**{name: getattr(attempt, name) for name in attempt.__slots__}, "tokens_after": after})
        outcome = await self.db.run(compactions.commit, attempt, delta, self.count, self.now())
        log.info(
            "memory.compacted" if outcome is Outcome.DONE else "memory.compaction_stale",
            session=subject.session.channel.session_key,
            reason=reason.value,
            messages=attempt.messages,
            tokens_before=before,
            tokens_after=after,
            refused=len(delta.refused),
        )
        return Result(outcome=outcome, messages=attempt.messages, tokens_before=before, tokens_after=after)

    def _summary_model(self, subject: Subject) -> str:
        summary = self.settings.summary
        if summary.model_mode == "session":
            return subject.model
        if summary.model_mode == "custom" and summary.model:
            return summary.model
        return self.default_model

    def _material(self, subject: Subject, snapshot: Snapshot, model: str, focus: str) -> Material:
        """As many of the oldest units as the summariser's window takes, at least one."""
        window = self.window_of(model)
        notes = sum(item.tokens + LINE_TOKENS for item in snapshot.memory.items)
        room = int((window - self.settings.summary.max_tokens - MARGIN_TOKENS) / self.factor(model)) - notes
        rows: list[WindowRow] = []
        used = 0
        for unit in group_history(snapshot.rows):
            size = sum(min(row.tokens, LONGEST_LINE) + LINE_TOKENS for row in unit)
            if rows and used + size > room:
                break
            rows += unit
            used += size
        return Material(
            rows=tuple(rows),
            memory=snapshot.memory,
            persona_name=subject.persona_name,
            zone=ZoneInfo(subject.settings.timezone),
            again=snapshot.again,
            focus=focus,
        )

    async def _ask(self, subject: Subject, material: Material, model: str) -> Delta:
        """The delta of a range; a bad reply gets one chance to be corrected.

        Raises:
            BadDelta: the second reply was bad as well.
            ModelError: the model could not be asked.
        """
        correction: tuple[str, str] | None = None
        while True:
            done = await self._call(subject, self._request(material, model, correction))
            try:
                return self._checked(done, material)
            except BadDelta as error:
                if correction is not None:
                    raise
                correction = done.text, str(error)

    def _request(self, material: Material, model: str, correction: tuple[str, str] | None) -> ModelRequest:
        summary = self.settings.summary
        return summary_request(
            material,
            model=model,
            max_output_tokens=summary.max_tokens,
            instruction=summary.prompt if material.memory.is_empty else summary.update_prompt,
            parameters=summary.parameters,
            correction=correction,
        )

    def _checked(self, done: Completion, material: Material) -> Delta:
        if done.finish is not Finish.STOP:
            raise BadDelta(f"the reply was not finished ({done.finish.value})")
        delta = read_delta(done.text, ground_of(material))
        spared = sum(row.tokens + MESSAGE_OVERHEAD_TOKENS for row in material.rows)
        added = _tokens_after(delta, material.memory, self.count) - _tokens_after(Delta(), material.memory, self.count)
        if added > spared:
            raise BadDelta(f"it is larger ({added} tokens) than what it takes the place of ({spared})")
        return delta

    async def _call(self, subject: Subject, request: ModelRequest) -> Completion:
        outcome, done = "failed", None
        try:
            async for event in self.model.stream(request):
                if isinstance(event, Completion):
                    outcome, done = event.finish.value, event
        except ModelError as error:
            outcome = error.kind
            raise
        finally:
            await self.db.run(ledger.record_call, _record(subject, request.model, outcome, done), self.now())
        if done is None:
            raise BadDelta("the model said nothing")
        return done


def _snapshot(tx: Tx, subject: Subject, up_to: int) -> Snapshot | None:
    return take_snapshot(
        tx,
        subject.session.id,
        subject.conversation_id,
        summary=subject.settings.summary,
        window=subject.window,
        up_to=up_to,
    )


def _tokens_after(delta: Delta, memory: Memory, count: Callable[[str], int]) -> int:
    """Tokens of the memory as it will be."""
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


def _record(subject: Subject, model: str, outcome: str, done: Completion | None) -> CallRecord:
    return CallRecord(
        purpose="summary",
        model=model,
        outcome=outcome,
        session_id=subject.session.id,
        conversation_id=subject.conversation_id,
        usage=done.usage if done else None,
        first_token_ms=done.first_token_ms if done else 0,
        total_ms=done.total_ms if done else 0,
    )
