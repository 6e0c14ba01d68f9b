"""What a compaction reads: the messages after the watermark, and where they are cut. One read, no writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.memory.items import Memory
from bot.memory.summariser import Subject
from bot.prompt.build import Prompt
from bot.prompt.draft import MESSAGE_OVERHEAD_TOKENS
from bot.prompt.lines import group_history
from bot.settings import Summary
from bot.store.database import Tx
from bot.store.memories import Ground, read_ground, read_memory
from bot.store.people import private_among
from bot.store.stale import stale_sources
from bot.store.tables import MessageKind
from bot.store.waiting import open_end
from bot.store.window import Measured, WindowRow, read_rows, read_window
from bot.turn import Turn

EVERYTHING = 2**62
"""Room for all that stands after the watermark."""
MOST_KEPT_RATIO = 0.3
"""Of the window, what stays verbatim at most (DESIGN 5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A conversation as a compaction found it. `rows` are those to fold, in units that are never split."""

    ground: Ground
    memory: Memory
    read: tuple[WindowRow, ...]
    """Everything after the watermark, as it was read."""
    units: tuple[tuple[WindowRow, ...], ...]
    """What is to be folded: each all that stands at one position."""
    again: tuple[WindowRow, ...]
    """Older messages whose items are stale."""
    stale: dict[int, tuple[int, ...]]
    """The stale items, each with the messages that it goes back to."""
    private: frozenset[str]
    """Who wants privacy by now, of those who said any of it."""

    @property
    def rows(self) -> tuple[WindowRow, ...]:
        """The messages to be folded."""
        return tuple(row for unit in self.units for row in unit)


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a turn has read of a conversation: all that stands behind the watermark and before its own burst."""

    rows: tuple[WindowRow, ...]
    before: int
    """The position of the burst."""
    watermark: int
    generation: int

    def holds_for(self, ground: Ground, up_to: int) -> bool:
        """Whether it would be read again as it was. What that misses is found when a compaction is committed."""
        return (self.watermark, self.generation) == (ground.watermark, ground.generation) and self.before <= up_to


def seen_by(turn: Turn, prompt: Prompt) -> Seen | None:
    """What a turn has read; `None` where that was not all."""
    if prompt.dropped or prompt.cuts.whole_from or turn.starter is not None:
        return None
    before = turn.burst[0] if turn.burst else turn.position
    rows = tuple(row for row in turn.history if turn.watermark < row.position < before)
    return Seen(rows=rows, before=before, watermark=turn.watermark, generation=turn.generation)


def take_snapshot(
    tx: Tx, subject: Subject, *, up_to: int, waiting_since: datetime, seen: Seen | None = None
) -> Snapshot | None:
    """What can be folded now; `None` once the conversation is closed. What was asked after `waiting_since` and has no
    answer yet stays, with all that follows it. What a turn has `seen` is not read again.
    """
    session_id, conversation_id = subject.session.id, subject.conversation_id
    ground = read_ground(tx, conversation_id)
    if ground is None:
        return None
    known = seen if seen is not None and seen.holds_for(ground, up_to) else None
    start = known.before if known else 0
    newer = read_window(tx, session_id, conversation_id, up_to=up_to, room=EVERYTHING, start=start)
    rows = [*(known.rows if known else ()), *newer]
    units = group_history(rows)
    cut = cut_of(units, subject.settings.summary, subject.window, before=open_end(tx, session_id, waiting_since))
    memory = read_memory(tx, conversation_id)
    stale = stale_sources(tx, conversation_id) if any(item.stale for item in memory.items) else {}
    sources = {source for cited in stale.values() for source in cited} - {row.id for row in rows}
    again = read_rows(tx, sorted(sources)) if sources else []
    return Snapshot(
        ground=ground,
        memory=memory,
        read=tuple(rows),
        units=tuple(units[:cut]),
        again=tuple(again),
        stale=stale,
        private=private_among(tx, authors((*again, *rows))),
    )


def authors(rows: Iterable[WindowRow]) -> set[str]:
    """The keys of the people who said something."""
    return {row.author_key for row in rows if row.author_key and row.kind is MessageKind.SAID}


def size_of(rows: Iterable[Measured]) -> int:
    """Tokens that messages take in a prompt."""
    return sum(row.tokens + MESSAGE_OVERHEAD_TOKENS for row in rows)


def cut_of(units: Sequence[Sequence[Measured]], summary: Summary, window: int, *, before: int | None = None) -> int:
    """How many of the oldest units are folded: the newest stay until both `KEEP_RECENT` messages and `KEEP_TOKENS` are
    reached, within 30 % of the window, but always the last burst and what follows it. Nothing from the position
    `before` on is folded: it waits for an answer, whose place would then be behind the watermark.
    """
    most = int(window * MOST_KEPT_RATIO)
    cut, messages, tokens = len(units), 0, 0
    must_keep = _last_burst(units)
    while cut:
        unit = units[cut - 1]
        size = size_of(unit)
        is_free = cut - 1 < must_keep
        if is_free and ((messages >= summary.keep_recent and tokens >= summary.keep_tokens) or tokens + size > most):
            break
        cut, messages, tokens = cut - 1, messages + len(unit), tokens + size
    while before is not None and cut and units[cut - 1][0].position >= before:
        cut -= 1
    return cut


def _last_burst(units: Sequence[Sequence[Measured]]) -> int:
    """The first unit of the last burst: the newest addressed messages of one author that no answer parts."""
    first, author = max(0, len(units) - 1), None
    for index in range(len(units) - 1, -1, -1):
        asker = next((row.author_key for row in units[index] if row.addressed), None)
        if asker is None:
            continue
        if author is not None and (asker != author or _is_answered(units[index])):
            break
        first, author = index, asker
    return first


def _is_answered(unit: Sequence[Measured]) -> bool:
    return any(row.kind is MessageKind.REPLY for row in unit)
