"""What a turn reads of its conversation: the messages after the watermark, and the burst that it answers with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement, Integer, Select, and_, bindparam, case, exists, false, func, not_, or_, select

from bot.store.database import Tx
from bot.store.quotes import current_quotes
from bot.store.tables import (
    MessageKind,
    ReplyState,
    Standing,
    conversations,
    listenings,
    messages,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowRow:
    """One message of a conversation's history, as prompts need it."""

    id: int
    position: int
    kind: MessageKind
    conversation_id: int | None
    persona_id: str | None
    author_key: str | None
    author_name: str
    text: str
    quote: str
    """Author and words of the message that this one replies to, as they stand now."""
    addressed: bool
    tokens: int
    sent_at: datetime
    tool_calls: tuple[dict[str, str], ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    reply_to: str | None = None
    is_private: bool = False
    """Whether it is to be forgotten once it is answered."""
    is_bot: bool = False
    """Whether another bot said it."""


class Measured(Protocol):
    """What it takes to know of a message where a window is cut."""

    @property
    def position(self) -> int: ...
    @property
    def kind(self) -> MessageKind: ...
    @property
    def author_key(self) -> str | None: ...
    @property
    def addressed(self) -> bool: ...
    @property
    def tokens(self) -> int: ...


class Size(NamedTuple):
    """A message without its words."""

    position: int
    kind: MessageKind
    author_key: str | None
    addressed: bool
    tokens: int


_KINDS = (MessageKind.SAID.value, MessageKind.REPLY.value, MessageKind.TOOL.value)
_IS_TOOL = messages.c.kind == MessageKind.TOOL.value
# At one position: what was said, then each answer, before it the tool rounds that belong to it.
_ANSWER = case((messages.c.kind == MessageKind.SAID.value, 0), (_IS_TOOL, messages.c.answered_by), else_=messages.c.id)
_RANK = case((_IS_TOOL, 0), else_=1)
_COLUMNS = (
    messages.c.id,
    messages.c.position,
    messages.c.kind,
    messages.c.conversation_id,
    messages.c.persona_id,
    messages.c.author_key,
    messages.c.author_name,
    messages.c.text,
    messages.c.quote,
    messages.c.addressed,
    messages.c.tokens,
    messages.c.sent_at,
    messages.c.tool_calls,
    messages.c.tool_call_id,
    messages.c.tool_name,
    messages.c.reply_to,
    messages.c.is_private,
    messages.c.author_is_bot,
)
SHOWN = or_(messages.c.state.is_(None), messages.c.state != ReplyState.FAILED.value)
"""A reply that the platform refused was read by nobody, and must not be taken as said."""
LIVE = and_(messages.c.deleted_at.is_(None), messages.c.standing == Standing.LIVE.value)


LARGEST_ID = 2**63 - 1
"""Behind every message there will be."""
_KIND_OF = {kind.value: kind for kind in MessageKind}
_CONVERSATION = bindparam("conversation_id", type_=Integer)
# Until when an interval reaches goes by the id: what was said later stands at an earlier position where it answers an
# earlier message.
_HEARD = exists(
    select(listenings.c.id).where(
        listenings.c.conversation_id == _CONVERSATION,
        messages.c.position >= listenings.c.from_position,
        or_(listenings.c.to_position.is_(None), messages.c.id <= listenings.c.to_position),
    )
)
_WATERMARK = select(conversations.c.watermark).where(conversations.c.id == _CONVERSATION).scalar_subquery()
_FIRST_HEARD = select(func.min(listenings.c.from_position)).where(listenings.c.conversation_id == _CONVERSATION)
_FIRST_OWN = select(func.min(messages.c.position)).where(messages.c.conversation_id == _CONVERSATION)
_WANTED = func.max(_WATERMARK + 1, bindparam("start", type_=Integer))
# One bound for the index, so that a story which begins late does not walk through all that was said before it.
_LOWEST = func.min(
    bindparam("oldest_asked", type_=Integer),
    func.max(
        _WANTED,
        func.min(
            func.coalesce(_FIRST_HEARD.scalar_subquery(), LARGEST_ID),
            func.coalesce(_FIRST_OWN.scalar_subquery(), LARGEST_ID),
        ),
    ),
)
# Tool rounds of other conversations are their own business; their replies were heard by everybody.
SAID_OR_HEARD = or_(messages.c.conversation_id == _CONVERSATION, and_(not_(_IS_TOOL), _HEARD))
"""What belongs to the conversation that the parameter `conversation_id` means."""
_IN_BURST = messages.c.id.in_(bindparam("burst", expanding=True))


def in_window(burst: ColumnElement[bool]) -> ColumnElement[bool]:
    """What stands after the watermark, and the `burst` wherever it stands; it takes the parameters of `UNBOUNDED`, and
    `session_id` and `conversation_id`.
    """
    return and_(
        messages.c.session_id == bindparam("session_id"),
        messages.c.position >= _LOWEST,
        or_(messages.c.position >= _WANTED, burst),
        or_(not_(messages.c.position.between(bindparam("gap_from"), bindparam("gap_to"))), burst),
        messages.c.kind.in_(_KINDS),
        or_(messages.c.text != "", _IS_TOOL),  # of an answer that a crash cut off nobody knows the text (S16)
        LIVE,
        SHOWN,
        or_(not_(messages.c.is_private), burst),
        or_(SAID_OR_HEARD, burst),
    )


def _newest_of(burst: ColumnElement[bool]) -> Select[Any]:
    return (
        select(*_COLUMNS)
        .where(in_window(burst), messages.c.position <= bindparam("up_to"))
        .order_by(messages.c.position.desc(), _ANSWER.desc(), _RANK.desc(), messages.c.id.desc())
    )


# Made once: building a statement costs more than running it.
_WINDOW, _WITHOUT_BURST = _newest_of(_IN_BURST), _newest_of(false())
_SIZES = (
    select(messages.c.position, messages.c.kind, messages.c.author_key, messages.c.addressed, messages.c.tokens)
    .where(in_window(false()))
    .order_by(messages.c.position.desc())
)
_COUNT = select(func.count()).select_from(messages).where(in_window(false()))


ROWS_AT_ONCE = 50
"""Fetched from the cursor together; one by one takes longer, and how many are wanted shows as they are read."""


def read_window(
    tx: Tx,
    session_id: int,
    conversation_id: int,
    *,
    up_to: int,
    room: int,
    start: int = 0,
    gap: tuple[int, int] | None = None,
    limit: int = 0,
    burst: Sequence[int] = (),
) -> list[WindowRow]:
    """The conversation's history in order, up to a position: its intervals' human lines, its replies and tools, and the
    replies of other personas. Fetched from the newest end until `room` tokens are exceeded or `limit` rows are read
    (0 = no limit); before the position `start` nothing is wanted, nor from the first to the last of a `gap`. The
    `burst` to answer is always in it, also when it was said before this conversation began to listen, or what followed
    it has moved into memory meanwhile.
    """
    rows: list[WindowRow] = []
    used, oldest_wanted = 0, burst[0] if burst else up_to
    bounds = {"start": start, "up_to": up_to, "oldest_asked": oldest_wanted, **_between(gap)}
    facts = {"session_id": session_id, "conversation_id": conversation_id, "burst": burst, **bounds}
    found = tx.execute(_WINDOW if burst else _WITHOUT_BURST, facts)
    for row in map(_window_row, chain.from_iterable(found.partitions(ROWS_AT_ONCE))):
        is_full = used > room or (limit and len(rows) >= limit)
        if is_full and row.position < oldest_wanted:
            break
        used += row.tokens
        rows.append(row)
    rows.reverse()
    return _with_current_quotes(tx, session_id, rows)


def _between(gap: tuple[int, int] | None) -> dict[str, int]:
    first, last = gap or (-1, -1)
    return {"gap_from": first, "gap_to": last}


def _with_current_quotes(tx: Tx, session_id: int, rows: list[WindowRow]) -> list[WindowRow]:
    quoting = [(at, row.reply_to, row.quote) for at, row in enumerate(rows) if row.reply_to and row.quote]
    now = current_quotes(tx, session_id, [(quoted, stored) for _, quoted, stored in quoting])
    for (at, _, stored), quote in zip(quoting, now, strict=True):
        if quote != stored:
            rows[at] = replace(rows[at], quote=quote)
    return rows


UNBOUNDED = {"start": 0, "oldest_asked": LARGEST_ID, "gap_from": -1, "gap_to": -1}
"""Bounds of a window that leave nothing out."""


def count_window(tx: Tx, session_id: int, conversation_id: int) -> int:
    """How many messages of the conversation stand after its watermark."""
    facts = {"session_id": session_id, "conversation_id": conversation_id, **UNBOUNDED}
    return int(tx.execute(_COUNT, facts).scalar_one())


def read_sizes(tx: Tx, session_id: int, conversation_id: int, *, room: int) -> list[Size]:
    """The window without words, in order, from the newest end until `room` tokens are exceeded: all that it takes to
    know whether there is enough to fold, at a third of the cost.
    """
    facts = {"session_id": session_id, "conversation_id": conversation_id, **UNBOUNDED}
    sizes: list[Size] = []
    for position, kind, author_key, addressed, tokens in chain.from_iterable(
        tx.execute(_SIZES, facts).partitions(ROWS_AT_ONCE)
    ):
        if room < 0:
            break
        room -= tokens
        sizes.append(Size(position, _KIND_OF[kind], author_key, addressed, tokens))
    return sizes[::-1]


def _window_row(row: Any) -> WindowRow:
    return WindowRow(
        id=row[0],
        position=row[1],
        kind=_KIND_OF[row[2]],
        conversation_id=row[3],
        persona_id=row[4],
        author_key=row[5],
        author_name=row[6],
        text=row[7],
        quote=row[8],
        addressed=row[9],
        tokens=row[10],
        sent_at=row[11],
        tool_calls=tuple(json.loads(row[12])) if row[12] else (),
        tool_call_id=row[13],
        tool_name=row[14],
        reply_to=row[15],
        is_private=row[16],
        is_bot=row[17],
    )


def read_rows(tx: Tx, ids: Sequence[int]) -> list[WindowRow]:
    """Some messages by id, in order, as they stand now, without what is gone or was said in privacy."""
    if not ids:
        return []
    found = select(*_COLUMNS).where(
        messages.c.id.in_(tuple(ids)), messages.c.text != "", LIVE, SHOWN, not_(messages.c.is_private)
    )
    return [_window_row(row) for row in tx.execute(found.order_by(messages.c.position, messages.c.id))]


_STARTER = select(*_COLUMNS).where(
    messages.c.session_id == bindparam("session_id"),
    messages.c.platform_message_id == bindparam("thread"),
    messages.c.kind == MessageKind.SAID.value,
    messages.c.text != "",
    LIVE,
    not_(messages.c.is_private),
)


def read_starter(tx: Tx, session_id: int, thread: str) -> WindowRow | None:
    """What a thread was opened about, whatever has been folded since; `None` where that is unknown, gone or private."""
    row = tx.execute(_STARTER, {"session_id": session_id, "thread": thread}).first() if thread else None
    return _window_row(row) if row else None
