"""Who of a cast a message calls, and which of them have answered it. A session of one persona has no rows here.

A message that calls several is answered once by each; it counts as answered itself when the last of them has.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, bindparam, exists, insert, not_, select, true, union_all, update

from bot.store.cast_tables import callings
from bot.store.database import Tx
from bot.store.tables import Standing, messages, sent_parts

# Statements of the hot path are made once: building one costs more than running it.
_ANSWER = update(callings).where(
    callings.c.message_id.in_(bindparam("burst", expanding=True)),
    callings.c.persona_id == bindparam("persona"),
    callings.c.answered_by.is_(None),
)
_SPEAKER = (
    select(messages.c.persona_id)
    .join(sent_parts, sent_parts.c.message_id == messages.c.id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        sent_parts.c.platform_message_id == bindparam("platform_message_id"),
    )
)


def is_called(*, persona: bool, answered: bool) -> ColumnElement[bool]:
    """Whether a message calls somebody who has, or has not, answered; the parameter `persona` or anybody."""
    its = and_(callings.c.message_id == messages.c.id, callings.c.answered_by.is_not(None) == answered)
    return exists().where(its, callings.c.persona_id == bindparam("persona") if persona else true())


ALL_HAVE_ANSWERED = not_(is_called(persona=False, answered=False))
"""Whether nobody is left whom a message calls."""

IS_ANSWER = exists().where(callings.c.answered_by == messages.c.id)
"""Whether a message is the answer of one whom somebody called."""

_answer = messages.alias()
HAS_LIVE_ANSWER = exists().where(
    callings.c.message_id == messages.c.id,
    callings.c.answered_by == _answer.c.id,
    _answer.c.standing == Standing.LIVE.value,
)
"""Whether one whom a message calls has answered, and the answer still counts."""


def call(tx: Tx, message_id: int, persona_ids: Sequence[str]) -> None:
    """Note whom a message calls, in the order in which they are to answer."""
    for ordinal, persona_id in enumerate(persona_ids):
        tx.execute(insert(callings).values(message_id=message_id, persona_id=persona_id, ordinal=ordinal))


def calls(tx: Tx, message_id: int, persona_id: str) -> bool:
    """Whether a message calls a persona as one of a cast."""
    its = (callings.c.message_id == message_id, callings.c.persona_id == persona_id)
    return tx.execute(select(callings.c.ordinal).where(*its)).first() is not None


def waited_for(tx: Tx, message_id: int) -> tuple[str, ...]:
    """Who of those that a message calls has not answered, in their order."""
    waiting = (callings.c.message_id == message_id, callings.c.answered_by.is_(None))
    rows = tx.execute(select(callings.c.ordinal, callings.c.persona_id).where(*waiting))
    return tuple(persona_id for _, persona_id in sorted(map(tuple, rows)))


def answer(tx: Tx, burst: Sequence[int], persona_id: str, reply_id: int) -> None:
    """Note that a persona has answered."""
    tx.execute(_ANSWER, {"burst": burst, "persona": persona_id, "answered_by": reply_id})


def take_back_answer(tx: Tx, reply_id: int) -> None:
    """Let the persona whose reply this was be waited for again."""
    tx.execute(update(callings).where(callings.c.answered_by == reply_id).values(answered_by=None))


def is_answered_by(reply_id: int) -> ColumnElement[bool]:
    """Whether a message is part of the burst that a reply answers."""
    asked = messages.alias()
    answered = select(asked.c.id).where(asked.c.answered_by == reply_id, asked.c.addressed)
    called = select(callings.c.message_id).where(callings.c.answered_by == reply_id)
    return messages.c.id.in_(union_all(answered, called))


def speaker_of(tx: Tx, session_id: int, platform_message_id: str) -> str | None:
    """Whose message it is that the platform knows by this id; `None` where no persona has said it."""
    facts = {"session_id": session_id, "platform_message_id": platform_message_id}
    return tx.execute(_SPEAKER, facts).scalars().first()
