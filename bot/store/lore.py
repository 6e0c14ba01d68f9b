"""What lore goes by of a conversation, and what is remembered of it. Knows no book."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Integer, bindparam, func, select
from sqlalchemy.dialects.sqlite import insert

from bot.store.database import Tx
from bot.store.greetings import chosen_greeting
from bot.store.lore_tables import lore_states
from bot.store.tables import MessageKind, listenings, messages
from bot.store.window import LIVE, SAID_OR_HEARD, SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """What lore goes by of a conversation: its messages up to a position, the persona's among them, what is remembered
    as it was saved, and which greeting was chosen.
    """

    messages: int
    replies: int
    state: Any
    greeting: int | None


_CONVERSATION = bindparam("conversation_id", type_=Integer)
_FIRST_HEARD = select(func.min(listenings.c.from_position)).where(listenings.c.conversation_id == _CONVERSATION)
_FIRST_OWN = select(func.min(messages.c.position)).where(messages.c.conversation_id == _CONVERSATION)
_LARGEST_ID = 2**63 - 1
# So that a story which begins late does not walk through all that was said before it.
_BEGINNING = func.min(
    func.coalesce(_FIRST_HEARD.scalar_subquery(), _LARGEST_ID), func.coalesce(_FIRST_OWN.scalar_subquery(), _LARGEST_ID)
)
_COUNTS = select(
    func.count(),
    func.coalesce(func.sum(messages.c.kind == MessageKind.REPLY.value), 0),
).where(
    messages.c.session_id == bindparam("session_id"),
    messages.c.position >= _BEGINNING,
    messages.c.position <= bindparam("up_to"),
    messages.c.kind.in_((MessageKind.SAID.value, MessageKind.REPLY.value)),
    messages.c.text != "",
    LIVE,
    SHOWN,
    SAID_OR_HEARD,
)
_STATE = select(lore_states.c.state).where(lore_states.c.conversation_id == bindparam("conversation_id"))


def read_talk(tx: Tx, session_id: int, conversation_id: int, up_to: int) -> Talk:
    """How long a conversation is, and what it remembers of lore. Messages that moved into memory count as well."""
    facts = {"session_id": session_id, "conversation_id": conversation_id, "up_to": up_to}
    said, replies = tx.execute(_COUNTS, facts).one()
    state = tx.execute(_STATE, {"conversation_id": conversation_id}).scalar()
    return Talk(
        messages=said,
        replies=int(replies),
        state=json.loads(state) if state else None,
        greeting=chosen_greeting(tx, conversation_id),
    )


def owner_tag(owner: str) -> str:
    """By what the records of somebody's book, or of a persona's card, are told from those of others."""
    return "@" + sha256(owner.encode()).hexdigest()[:12]


def forget_owner(tx: Tx, conversation_ids: Collection[int], owner: str) -> None:
    """Let some conversations remember nothing of somebody's book."""
    mark = f"{owner_tag(owner)}/"
    for conversation_id in conversation_ids:
        state = tx.execute(_STATE, {"conversation_id": conversation_id}).scalar() or ""
        if mark in state:
            left = {ref: record for ref, record in json.loads(state).items() if mark not in ref}
            save_state(tx, conversation_id, left)


def save_state(tx: Tx, conversation_id: int, state: Mapping[str, Sequence[int]]) -> None:
    """Keep what a conversation remembers once an answer is there."""
    written = json.dumps(state)
    put = insert(lore_states).values(conversation_id=conversation_id, state=written)
    tx.execute(put.on_conflict_do_update(index_elements=["conversation_id"], set_={"state": written}))
