"""What a deleted or edited message takes from gists: those that may tell of it go, till one is written anew.

A gist has no sources: it may tell of everything that was said until the call that made it had ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Integer, and_, bindparam, cast, exists, func, or_, select, update

from bot.memory.items import Memory
from bot.store.compactions import CompactionRow, newest_compactions
from bot.store.database import Tx
from bot.store.memories import GIST, Ground, read_ground, read_memory, retire
from bot.store.memory_tables import compactions, memory_items
from bot.store.people import private_among
from bot.store.tables import MessageKind, conversations, listenings, messages, sessions
from bot.store.window import SAID_OR_HEARD, WindowRow, read_rows

CLOCKS_DIFFER = timedelta(minutes=10)
"""What was said at least so long after a gist was made cannot be in it; platforms have clocks of their own."""
MOST_READ_AGAIN = 300
"""Messages that a gist is written anew from; items keep what is older."""
ATTEMPTS_LOOKED_AT = 5

_BY = "compaction:"
_MADE_BY = cast(func.substr(memory_items.c.made_by, len(_BY) + 1), Integer)
_GISTS = (
    select(
        memory_items.c.id,
        memory_items.c.stale,
        memory_items.c.retired_at,
        memory_items.c.retired_by,
        compactions.c.to_position,
        compactions.c.ended_at,
    )
    .outerjoin(compactions, and_(memory_items.c.made_by.startswith(_BY), compactions.c.id == _MADE_BY))
    .where(memory_items.c.conversation_id == bindparam("conversation_id"), memory_items.c.kind == GIST)
    .order_by(memory_items.c.id.desc())
)
_HEARD_IT = (
    select(conversations.c.id)
    .join(messages, messages.c.session_id == conversations.c.session_id)
    .where(
        messages.c.id == bindparam("message_id"),
        conversations.c.watermark >= messages.c.position,
        or_(
            messages.c.conversation_id == conversations.c.id,
            exists(listenings.c.id).where(
                listenings.c.conversation_id == conversations.c.id,
                listenings.c.from_position <= messages.c.position,
                or_(listenings.c.to_position.is_(None), listenings.c.to_position >= messages.c.id),
            ),
        ),
    )
)
_STALE_GISTS = (
    select(memory_items.c.conversation_id)
    .where(
        memory_items.c.conversation_id.in_(bindparam("conversation_ids", expanding=True)),
        memory_items.c.kind == GIST,
        memory_items.c.stale,
    )
    .distinct()
)
_SAID = select(messages.c.session_id, messages.c.position, messages.c.sent_at).where(
    messages.c.id == bindparam("message_id")
)
_FOLDED = (
    select(messages.c.id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        messages.c.position.between(bindparam("first"), bindparam("last")),
        messages.c.kind.in_((MessageKind.SAID.value, MessageKind.REPLY.value)),
        SAID_OR_HEARD,
    )
    .order_by(messages.c.position.desc(), messages.c.id.desc())
    .limit(MOST_READ_AGAIN)
)


def forget_gists(tx: Tx, message_id: int, by: str, now: datetime) -> None:
    """What a message said is said no longer: with it goes every gist that may tell of it, and the newest one that
    cannot stands again. The session waits for the idle sweep, which writes another from what is left.
    """
    said = tx.execute(_SAID, {"message_id": message_id}).one()
    is_any = False
    for conversation_id in [*tx.execute(_HEARD_IT, {"message_id": message_id}).scalars()]:
        is_any = _forget_in(tx, conversation_id, said, by, now) or is_any
    if is_any:
        tx.execute(update(sessions).where(sessions.c.id == said.session_id).values(sweep_from=now))


def gists_telling(tx: Tx, first: Mapping[int, int]) -> tuple[int, ...]:
    """The gists, past ones as well, that may tell of what was said in some sessions since a message in each of them."""
    return tuple(
        row.id
        for conversation_id, said in _hearing_since(tx, first)
        for row in tx.execute(_GISTS, {"conversation_id": conversation_id})
        if not _is_older(row, said)
    )


def forget_gists_since(tx: Tx, first: Mapping[int, int], by: str, now: datetime) -> None:
    """As `forget_gists`, of all that was said in some sessions since a message in each of them."""
    for conversation_id, said in _hearing_since(tx, first):
        if _forget_in(tx, conversation_id, said, by, now):
            tx.execute(update(sessions).where(sessions.c.id == said.session_id).values(sweep_from=now))


def _hearing_since(tx: Tx, first: Mapping[int, int]) -> Iterator[tuple[int, Any]]:
    for session_id, message_id in first.items():
        said = tx.execute(_SAID, {"message_id": message_id}).one()
        there = select(conversations.c.id).where(conversations.c.session_id == session_id)
        yield from ((conversation_id, said) for conversation_id in tx.execute(there).scalars().all())


def _forget_in(tx: Tx, conversation_id: int, said: Any, by: str, now: datetime) -> bool:
    """Whether the gist that stood went."""
    rows = tx.execute(_GISTS, {"conversation_id": conversation_id}).all()
    telling = [row.id for row in rows if not _is_older(row, said)]
    if not telling:
        return False
    tx.execute(update(memory_items).where(memory_items.c.id.in_(telling)).values(stale=True))
    if not retire(tx, (memory_items.c.id.in_(telling),), by, now):
        return False
    before = next((row for row in rows if row.id not in telling and not _is_undone(row)), None)
    if before is not None and str(before.retired_by).startswith(_BY):
        back = {"retired_by": None, "retired_at": None, "valid_to": None}
        tx.execute(update(memory_items).where(memory_items.c.id == before.id).values(back))
    return True


def _is_undone(gist: Any) -> bool:
    return bool(gist.stale) or str(gist.retired_by).startswith("undo:")


def _is_older(gist: Any, said: Any) -> bool:
    if gist.to_position is None or gist.ended_at is None:
        return False
    return bool(gist.to_position < said.position and gist.ended_at + CLOCKS_DIFFER < said.sent_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class LostGist:
    """A conversation whose gist had to go, and what one is written from anew: its memory, and the folded messages that
    the gist that stands, if any, does not tell of.
    """

    ground: Ground
    memory: Memory
    rows: tuple[WindowRow, ...]
    attempts: tuple[CompactionRow, ...]
    """The newest first."""


def with_stale_gists(tx: Tx, conversation_ids: Sequence[int]) -> set[int]:
    """Which of these conversations had to let a gist go at some time."""
    found = _STALE_GISTS, {"conversation_ids": tuple(conversation_ids)}
    return {*tx.execute(*found).scalars()} if conversation_ids else set()


def _is_lost(gists: Sequence[Any]) -> bool:
    """Whether the newest gist had to go, and nobody has cleared what stood in its place."""
    newest = gists[0] if gists else None
    if newest is None or not newest.stale or newest.retired_at is None:
        return False
    cleared = (row.retired_at for row in gists if str(row.retired_by).startswith("clear:"))
    return not any(at > newest.retired_at for at in cleared)


def read_lost_gist(tx: Tx, session_id: int, conversation_id: int) -> LostGist | None:
    """What a gist can be written from; `None` where none is lost, or nothing is left that it could tell."""
    ground, gists = read_ground(tx, conversation_id), tx.execute(_GISTS, {"conversation_id": conversation_id}).all()
    if ground is None or not _is_lost(gists):
        return None
    told = next((row.to_position for row in gists if row.retired_at is None), None)
    facts = {"session_id": session_id, "conversation_id": conversation_id, "last": ground.watermark}
    rows = read_rows(tx, [*tx.execute(_FOLDED, {**facts, "first": 0 if told is None else told + 1}).scalars()])
    private = private_among(tx, {row.author_key for row in rows if row.author_key})
    rows = [row for row in rows if row.author_key not in private]
    if not any(row.kind is MessageKind.SAID for row in rows):
        return None
    return LostGist(
        ground=ground,
        memory=read_memory(tx, conversation_id),
        rows=tuple(rows),
        attempts=tuple(newest_compactions(tx, conversation_id, ATTEMPTS_LOOKED_AT)),
    )
