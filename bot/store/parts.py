"""The parts of replies: which platform messages of ours carry one, and what is known about each.

A part is `sending` until its reply is settled, then what the platform said. There is no state before that: nothing is
done about a part that is still to come, so it has no row.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or_update

from bot.chat import PartState, SentPart
from bot.store.database import Tx
from bot.store.tables import SENDING, ReplyState, messages, sent_parts
from bot.store.window import LIVE

# Statements of the hot path are made once: building one costs more than running it.
_INSERT = insert(sent_parts)
_PUT = insert_or_update(sent_parts)
_PUT = _PUT.on_conflict_do_update(
    index_elements=["message_id", "ordinal"],
    set_={
        # Where a message could not be replaced, the one that stood there before may still be seen.
        "platform_message_id": func.coalesce(_PUT.excluded.platform_message_id, sent_parts.c.platform_message_id),
        "state": _PUT.excluded.state,
    },
)
_BEYOND = and_(sent_parts.c.message_id == bindparam("reply_id"), sent_parts.c.ordinal >= bindparam("count"))
_FORGET_BEYOND = delete(sent_parts).where(_BEYOND)


def begin_parts(tx: Tx, reply_id: int) -> None:
    """The first part is about to be sent."""
    tx.execute(_INSERT, _row(reply_id, 0, None, ReplyState.SENDING))


def note_part(tx: Tx, reply_id: int, part: SentPart) -> None:
    """Keep where a part stands that people see before the reply is settled: after a crash /retry and /undo find it."""
    tx.execute(_PUT, _row(reply_id, part.ordinal, part.message_id, ReplyState.SENDING))


def settle_parts(tx: Tx, reply_id: int, parts: Sequence[SentPart]) -> ReplyState:
    """Keep what the platform said in the end, and return what that makes of the reply. Parts that the final text needed
    no longer are gone from the platform, unless something failed.
    """
    for part in parts:
        tx.execute(_PUT, _row(reply_id, part.ordinal, part.message_id, part.state))
    state, beyond = worst_state(parts), {"reply_id": reply_id, "count": len(parts)}
    if state is ReplyState.FAILED:
        tx.execute(update(sent_parts).where(_BEYOND).values(state=state.value), beyond)
    else:
        tx.execute(_FORGET_BEYOND, beyond)
    return state


def add_parts(tx: Tx, reply_id: int, parts: Sequence[SentPart]) -> bool:
    """Keep where more of a reply stands that is settled; its state stays what it is. Tells whether the reply stands."""
    if not is_shown(tx, reply_id):
        return False
    for part in parts:
        tx.execute(_PUT, _row(reply_id, part.ordinal, part.message_id, part.state))
    return True


def newest_part(tx: Tx, reply_id: int) -> SentPart | None:
    """The last message of a reply whose id on the platform is known, taken for uncertain; `None` where none is."""
    known = and_(sent_parts.c.message_id == reply_id, sent_parts.c.platform_message_id.is_not(None))
    row = tx.execute(select(sent_parts).where(known).order_by(sent_parts.c.ordinal.desc()).limit(1)).first()
    if row is None:
        return None
    return SentPart(ordinal=row.ordinal, message_id=row.platform_message_id, state=PartState.UNCERTAIN)


def is_shown(tx: Tx, reply_id: int) -> bool:
    """Whether a reply still stands where people see it."""
    found = select(messages.c.id).where(messages.c.id == reply_id, LIVE)
    return tx.execute(found).first() is not None


def worst_state(parts: Sequence[SentPart]) -> ReplyState:
    """A reply is as well as its worst part; one without parts was never shown."""
    states = {part.state for part in parts}
    if PartState.FAILED in states or not states:
        return ReplyState.FAILED
    return ReplyState.UNCERTAIN if PartState.UNCERTAIN in states else ReplyState.SENT


def forget_parts(tx: Tx, reply_id: int) -> None:
    """Of a reply nothing was shown."""
    tx.execute(delete(sent_parts).where(sent_parts.c.message_id == reply_id))


def mark_cut_off_parts(tx: Tx) -> None:
    """After a crash: what a part shows that was being sent is uncertain, also where it is known where it stands."""
    cut_off = sent_parts.c.message_id.in_(select(messages.c.id).where(SENDING))
    sending = sent_parts.c.state == ReplyState.SENDING.value
    tx.execute(update(sent_parts).where(cut_off, sending).values(state=PartState.UNCERTAIN.value))


def _row(
    reply_id: int, ordinal: int, platform_message_id: str | None, state: ReplyState | PartState
) -> dict[str, object]:
    return {
        "message_id": reply_id,
        "ordinal": ordinal,
        "platform_message_id": platform_message_id,
        "state": state.value,
    }
