"""Quotes: what a message that replies to another one keeps of it, and what of that may still be shown.

What was heard here is quoted as it stands now: deleted, undone and edited words leave the quotes of others, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, func, select, union_all

from bot.chat import Inbound, Quote
from bot.store.database import Tx
from bot.store.people import wants_privacy
from bot.store.tables import MessageKind, Standing, messages, sent_parts
from bot.store.tombstones import erased_until

QUOTE_CHARS = 300
"""Characters kept of the message that a message replies to."""

_WORDS = (MessageKind.SAID.value, MessageKind.REPLY.value)
_COLUMNS = (
    messages.c.kind,
    messages.c.author_name,
    func.substr(messages.c.text, 1, QUOTE_CHARS + 1).label("text"),
    messages.c.standing,
    messages.c.edited_at,
    messages.c.deleted_at,
    messages.c.is_private,
)
# Statements of the hot path are made once: building one costs more than running it.
_QUOTED = union_all(
    select(messages.c.platform_message_id, *_COLUMNS).where(
        messages.c.session_id == bindparam("session_id"),
        messages.c.platform_message_id.in_(bindparam("ids", expanding=True)),
    ),
    select(sent_parts.c.platform_message_id, *_COLUMNS)
    .join(messages, messages.c.id == sent_parts.c.message_id)
    .where(
        messages.c.session_id == bindparam("session_id"),
        sent_parts.c.platform_message_id.in_(bindparam("ids", expanding=True)),
    ),
)


def first_quote(tx: Tx, session_id: int, inbound: Inbound) -> str:
    """What to store of the message that an inbound replies to, as the platform delivered it."""
    quote = inbound.reply_to
    if quote is None or not quote.text:
        return ""
    if quote.author_key is not None and wants_privacy(tx, quote.author_key):
        return ""
    known = _known(tx, session_id, {quote.message_id})
    if quote.message_id not in known and _is_of_erased(tx, quote):
        return ""
    if quote.is_mine and quote.message_id not in known:
        return ""  # a command's answer, which no prompt may read
    row = known.get(quote.message_id)
    if row is None:
        return _quote(quote.author_name, quote.text)
    said = quote.text.removeprefix(f"{row.author_name}\n")  # one of a cast, where its name stands above what it says
    return _now(row, _quote(row.author_name, said))


def without_private_files(tx: Tx, session_id: int, inbound: Inbound) -> Inbound:
    """The inbound without the files of the message it replies to, where that was said in privacy."""
    quote = inbound.reply_to
    if quote is None or not any(file.quoted for file in inbound.attachments):
        return inbound
    row = _known(tx, session_id, {quote.message_id}).get(quote.message_id)
    by_private = quote.author_key is not None and wants_privacy(tx, quote.author_key)
    is_gone = _is_of_erased(tx, quote) if row is None else row.is_private
    if not (by_private or is_gone):
        return inbound
    return replace(inbound, attachments=tuple(file for file in inbound.attachments if not file.quoted))


def _is_of_erased(tx: Tx, quote: Quote) -> bool:
    """Of a message that has no row: whether that is because its author was forgotten."""
    return quote.author_key is not None and erased_until(tx, quote.author_key) is not None


def current_quotes(tx: Tx, session_id: int, stored: Sequence[tuple[str, str]]) -> list[str]:
    """Quotes as they may be shown now, from the platform's id of the quoted message and what was stored of it. A part
    that was marked stays as it was unless its message was edited; what we never heard stays as it was delivered.
    """
    known = _known(tx, session_id, {quoted for quoted, _ in stored}) if stored else {}
    return [_now(known.get(quoted), quote) for quoted, quote in stored]


def _known(tx: Tx, session_id: int, ids: set[str]) -> dict[str, Any]:
    rows = tx.execute(_QUOTED, {"session_id": session_id, "ids": list(ids)})
    return {row.platform_message_id: row for row in rows}


def _now(row: Any, quote: str) -> str:
    if row is None:
        return quote
    if row.kind not in _WORDS or row.standing != Standing.LIVE.value or row.deleted_at is not None or row.is_private:
        return ""
    return _quote(row.author_name, row.text) if row.edited_at is not None else quote


def _quote(author_name: str, text: str) -> str:
    return f"{author_name}: {text if len(text) <= QUOTE_CHARS else text[:QUOTE_CHARS] + '…'}"
