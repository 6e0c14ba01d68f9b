"""Finds in what a conversation has said and heard since it began, however much of that stands in no prompt any more.

By the words themselves and not by an index: a second copy of what people say would have to be erased with it, and an
index of words knows none in Chinese or Japanese. A year of busy talk is looked through in well under a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Integer, case, func, literal, or_, select

from bot.store.archive import IN_HISTORY, HistoryRow
from bot.store.database import Tx
from bot.store.tables import messages


def search_history(
    tx: Tx, session_id: int, conversation_id: int, words: Sequence[str], *, without: Sequence[int] = (), limit: int
) -> list[HistoryRow]:
    """The messages of a conversation with most of some words in them, of as many the newest; in order. What is in
    `without` is not looked at.
    """
    has = [case((_has(word), 1), else_=0) for word in words]
    count: ColumnElement[int] = sum(has[1:], has[0]) if has else literal(0, Integer)
    found = (
        select(messages.c.position, messages.c.author_name, messages.c.text, messages.c.sent_at)
        .where(IN_HISTORY, count > 0, messages.c.id.not_in(without))
        .order_by(count.desc(), messages.c.position.desc(), messages.c.id.desc())
        .limit(limit)
    )
    rows = tx.execute(found, {"session_id": session_id, "conversation_id": conversation_id})
    return sorted((HistoryRow(**row._mapping) for row in rows), key=lambda row: row.position)


def _has(word: str) -> ColumnElement[bool]:
    """Whether a word is in a text. SQLite knows the capitals of English alone; of other words it gets the forms that
    people write.
    """
    if word.isascii():
        return func.instr(func.lower(messages.c.text), word.lower()) > 0
    forms = sorted({word, word.lower(), word.upper(), word.capitalize()})
    return or_(*(func.instr(messages.c.text, form) > 0 for form in forms))
