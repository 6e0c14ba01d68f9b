"""Compactions in the database: each attempt is a row, a success is committed as a whole, and can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import Row, and_, bindparam, exists, insert, not_, or_, select, update

from bot.memory.items import Delta, Memory
from bot.store.database import Tx
from bot.store.memories import (
    BY_ITSELF,
    Count,
    Ground,
    first_said,
    insert_items,
    read_ground,
    retire,
    retire_items,
)
from bot.store.memory_tables import LIVE_ITEM, compactions, memory_items
from bot.store.stale import drop_unsaid, mark_checked
from bot.store.tables import conversations
from bot.store.unchanged import is_memory_unchanged, is_window_unchanged
from bot.store.window import WindowRow, read_rows


class Reason(StrEnum):
    """Why messages move into memory."""

    MANUAL = "manual"
    SOFT = "soft"
    HARD = "hard"
    IDLE = "idle"


class Outcome(StrEnum):
    """How a compaction ended."""

    DONE = "done"
    STALE = "stale"
    """Something it had read was changed meanwhile."""
    FAILED = "failed"
    UNDONE = "undone"
    SEALED = "sealed"
    """Done; what it had read was erased since, so that it cannot be taken back."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a compaction made up its mind by: everything between the watermark and where it cuts, the memory, older
    messages that were read again, and the stale items that were checked by those.
    """

    session_id: int
    rows: tuple[WindowRow, ...]
    memory: Memory
    again: tuple[WindowRow, ...] = ()
    checked: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewCompaction:
    """One compaction for the record; one that folds no `messages` changes the memory alone, and leaves the watermark
    where it is. Tokens are those of the next prompt, before and after.
    """

    ground: Ground
    reason: Reason
    to_position: int
    model: str
    tokens_before: int
    tokens_after: int = 0
    began_at: datetime
    focus: str = ""
    messages: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionRow:
    """A compaction as it is kept."""

    id: int
    reason: Reason
    focus: str
    from_position: int
    to_position: int
    messages: int
    model: str
    tokens_before: int
    tokens_after: int
    outcome: Outcome
    problem: str
    began_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfolded:
    """A compaction that was taken back: its messages are verbatim again, and of its items some `stay`."""

    messages: int
    began_at: datetime
    stay: int


# Statements that every compaction runs are made once: building one costs more than running it.
_INSERT = insert(compactions)
_RAISE = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation"))
    .values(watermark=bindparam("to_position"), generation=conversations.c.generation + 1)
)


def commit(tx: Tx, attempt: NewCompaction, reading: Reading, delta: Delta, count: Count, now: datetime) -> Outcome:
    """Make a delta part of the memory and raise the watermark, unless what it stood on has changed since (R4)."""
    ground = read_ground(tx, attempt.ground.conversation_id)
    if ground is None or not _is_read_so(tx, attempt, reading, ground):
        record_attempt(tx, attempt, Outcome.STALE, now)
        return Outcome.STALE
    made_by = f"compaction:{record_attempt(tx, attempt, Outcome.DONE, now, delta=delta)}"
    _apply(tx, ground, reading, delta, made_by, count, now)
    mark_checked(tx, reading.checked)
    tx.execute(_RAISE, {"conversation": ground.conversation_id, "to_position": attempt.to_position})
    return Outcome.DONE


def is_still_so(tx: Tx, attempt: NewCompaction, reading: Reading) -> bool:
    """Whether a delta could be committed now."""
    ground = read_ground(tx, attempt.ground.conversation_id)
    return ground is not None and _is_read_so(tx, attempt, reading, ground)


def _is_read_so(tx: Tx, attempt: NewCompaction, reading: Reading, now: Ground) -> bool:
    """Whether everything would be read the same now. That is simpler than to know who may change what, and misses
    nothing: edits, deletes, answers taken back or come late, corrections of the memory, undone compactions. What is
    said behind the cut is not read, and changes nothing (M04).
    """
    return (
        now.watermark == attempt.ground.watermark
        and _are_rows_so(tx, attempt, reading)
        and is_memory_unchanged(tx, now.conversation_id, reading.memory)
        and tuple(read_rows(tx, [row.id for row in reading.again])) == reading.again
    )


def _are_rows_so(tx: Tx, attempt: NewCompaction, reading: Reading) -> bool:
    ground, up_to = attempt.ground, attempt.to_position
    if up_to <= ground.watermark:  # no message is folded, so none was read
        return not reading.rows
    return is_window_unchanged(tx, reading.session_id, ground.conversation_id, reading.rows, up_to=up_to)


def _apply(tx: Tx, ground: Ground, reading: Reading, delta: Delta, made_by: str, count: Count, now: datetime) -> None:
    sent_at = {row.id: row.sent_at for row in (*reading.again, *reading.rows)}
    insert_items(tx, ground, delta.adds, made_by, count, now, gist=delta.gist or "", sent_at=sent_at)
    said_at = first_said(tx, [gone.sources for gone in delta.retires], sent_at)
    retire_items(tx, dict(zip((gone.item for gone in delta.retires), said_at, strict=True)), made_by, now)


def record_attempt(
    tx: Tx, attempt: NewCompaction, outcome: Outcome, now: datetime, *, problem: str = "", delta: Delta | None = None
) -> int:
    """Keep how a compaction went; returns the row's id."""
    values = {
        "conversation_id": attempt.ground.conversation_id,
        "reason": attempt.reason.value,
        "focus": attempt.focus,
        "from_position": attempt.ground.watermark + 1,
        "to_position": attempt.to_position,
        "messages": attempt.messages,
        "model": attempt.model,
        "tokens_before": attempt.tokens_before,
        "tokens_after": attempt.tokens_after,
        "delta": to_json(delta).decode() if delta else "",
        "outcome": outcome.value,
        "problem": problem,
        "began_at": attempt.began_at,
        "ended_at": now,
    }
    made = tx.execute(_INSERT, values).inserted_primary_key
    assert made is not None
    return int(made[0])


_NEWEST = (
    select(*(compactions.c[name] for name in CompactionRow.__slots__))
    .where(compactions.c.conversation_id == bindparam("conversation_id"))
    .order_by(compactions.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_NEWEST_FOLDS = _NEWEST.where(compactions.c.messages > 0)


def newest_compactions(tx: Tx, conversation_id: int, limit: int, offset: int = 0) -> list[CompactionRow]:
    """The newest attempts first, also those that failed."""
    rows = tx.execute(_NEWEST, {"conversation_id": conversation_id, "limit": limit, "offset": offset})
    return [_compaction(row) for row in rows]


def newest_folds(tx: Tx, conversation_id: int, limit: int) -> list[CompactionRow]:
    """The newest attempts to fold messages, without those that change the memory itself."""
    rows = tx.execute(_NEWEST_FOLDS, {"conversation_id": conversation_id, "limit": limit, "offset": 0})
    return [_compaction(row) for row in rows]


def refusals_of(tx: Tx, compaction_id: int) -> tuple[str, ...]:
    """Why operations of the summariser were left out of a compaction; none once its memory was erased."""
    delta = tx.execute(select(compactions.c.delta).where(compactions.c.id == compaction_id)).scalar_one()
    return tuple(from_json(delta)["refused"]) if delta else ()


def _compaction(row: Row[Any]) -> CompactionRow:
    kept = {name: getattr(row, name) for name in CompactionRow.__slots__}
    return CompactionRow(**{**kept, "reason": Reason(row.reason), "outcome": Outcome(row.outcome)})


def undo_compaction(tx: Tx, conversation_id: int, now: datetime) -> Unfolded | None:
    """Take back the newest compaction that counts: its items go, those it retired return, its messages are verbatim
    again. What made the memory shorter since then is taken back with it. `None` where there is none. What people
    changed by hand since then stays, and so does what they pinned.
    """
    stay = 0
    while (row := _newest_done(tx, conversation_id)) is not None:
        stay += _undo(tx, row, now)
        if row.messages:
            return Unfolded(messages=row.messages, began_at=row.began_at, stay=stay)
    return None


def _newest_done(tx: Tx, conversation_id: int) -> Row[Any] | None:
    return tx.execute(
        select(compactions)
        .where(compactions.c.conversation_id == conversation_id, compactions.c.outcome == Outcome.DONE.value)
        .order_by(compactions.c.id.desc())
        .limit(1)
    ).first()


def _undo(tx: Tx, row: Row[Any], now: datetime) -> int:
    """Take one back; how many of its items stay."""
    made_by = f"compaction:{row.id}"
    staying = _staying(tx, row.conversation_id, made_by)
    retire(tx, (memory_items.c.made_by == made_by, memory_items.c.id.not_in(staying)), f"undo:{row.id}", now)
    replaced = tuple(filter(None, staying.values()))
    tx.execute(
        update(memory_items)
        .where(memory_items.c.conversation_id == row.conversation_id, memory_items.c.retired_by == made_by)
        .where(memory_items.c.id.not_in(replaced))  # two of them would contradict each other
        .values(retired_by=None, retired_at=None, valid_to=None)
    )
    drop_unsaid(tx, row.conversation_id, now)
    tx.execute(update(compactions).where(compactions.c.id == row.id).values(outcome=Outcome.UNDONE.value))
    tx.execute(
        update(conversations)
        .where(conversations.c.id == row.conversation_id)
        .values(watermark=row.from_position - 1, generation=conversations.c.generation + 1)
    )
    return len(staying)


def _staying(tx: Tx, conversation_id: int, made_by: str) -> dict[int, int | None]:
    """The items of a compaction that people pinned or edited since, each with the one that it took the place of."""
    newer = memory_items.alias()
    by_hand = not_(or_(*(newer.c.made_by.startswith(other) for other in BY_ITSELF)))
    edited = exists().where(newer.c.conversation_id == conversation_id, newer.c.replaces == memory_items.c.id, by_hand)
    found = select(memory_items.c.id, memory_items.c.replaces).where(
        memory_items.c.conversation_id == conversation_id,
        memory_items.c.made_by == made_by,
        or_(and_(memory_items.c.pinned, LIVE_ITEM), edited),
    )
    return {row.id: row.replaces for row in tx.execute(found)}
