"""Which messages one turn answers: unanswered ones of one author, not interrupted by another's (R2)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, func, not_, or_, select

from bot.store.cast import is_called
from bot.store.cast_tables import callings
from bot.store.database import Tx
from bot.store.tables import ADDRESSED, UNANSWERED, messages
from bot.store.window import LARGEST_ID, LIVE

_HERE = messages.c.session_id == bindparam("session_id")
_CALLS_NOBODY = not_(exists(select(callings.c.message_id).where(callings.c.message_id == messages.c.id)))
_IS_ANSWERED = messages.c.answered_by.is_not(None)


def _asked(waits: ColumnElement[bool]) -> Select[Any]:
    return select(messages.c.author_key).where(_HERE, messages.c.id == bindparam("asked"), ADDRESSED, waits)


def _burst(waits: ColumnElement[bool], is_answered: ColumnElement[bool]) -> Select[Any]:
    """Those that wait, between the nearest messages on either side of somebody else, or that were answered; reading
    stops there.
    """
    ends = and_(_HERE, ADDRESSED, or_(messages.c.author_key != bindparam("author_key"), is_answered))
    before = select(func.max(messages.c.id)).where(ends, messages.c.id < bindparam("asked")).scalar_subquery()
    after = select(func.min(messages.c.id)).where(ends, messages.c.id > bindparam("asked")).scalar_subquery()
    within = (messages.c.id > func.coalesce(before, 0), messages.c.id < func.coalesce(after, LARGEST_ID))
    return select(messages.c.id).where(_HERE, UNANSWERED, LIVE, waits, *within).order_by(messages.c.id)


# Made once: building a statement costs more than running it.
_ALONE = (_asked(and_(_CALLS_NOBODY, not_(_IS_ANSWERED))), _burst(_CALLS_NOBODY, _IS_ANSWERED))
_OF_A_CAST = (
    _asked(is_called(persona=True, answered=False)),
    _burst(is_called(persona=True, answered=False), or_(_IS_ANSWERED, is_called(persona=True, answered=True))),
)


def read_burst(tx: Tx, session_id: int, message_id: int, persona_id: str | None = None) -> tuple[int, ...]:
    """The ids of the burst that a message belongs to: unanswered addressed messages of its author, not interrupted by
    another author's addressed message (R2). What was deleted or undone is left out; if that is the message itself, what
    its author said before it still waits for the same answer. Empty when there is nothing left to answer.

    With a `persona_id`, what this one of a cast has to answer: of the messages that call it. What their author said
    meanwhile to others of the cast alone is no part of it, and does not part it.
    """
    asked, burst = _ALONE if persona_id is None else _OF_A_CAST
    facts = {"session_id": session_id, "asked": message_id, "persona": persona_id}
    found = tx.execute(asked, facts).first()
    if found is None:
        return ()
    return tuple(tx.execute(burst, {**facts, "author_key": found.author_key}).scalars())
