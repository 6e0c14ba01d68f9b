"""How a persona feels in a conversation, as it was last set. What the values mean only its card knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Column, ForeignKey, Integer, Text, bindparam, select
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import Field, SQLModel

from bot.store.database import Tx
from bot.store.tables import UtcDateTime, core


class PersonaMood(SQLModel, table=True):
    """The values of a conversation's persona by their names, as JSON. A conversation that begins anew has none."""

    __tablename__: ClassVar[str] = "persona_mood"

    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), primary_key=True))
    state: str = Field(sa_column=Column(Text, nullable=False))
    changed_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


moods = core(PersonaMood)
_KEPT = select(moods.c.state).where(moods.c.conversation_id == bindparam("conversation_id"))


def read_mood(tx: Tx, conversation_id: int) -> dict[str, Any]:
    """What was set in a conversation."""
    kept = tx.execute(_KEPT, {"conversation_id": conversation_id}).scalar()
    return dict(json.loads(kept)) if kept else {}


def change_mood(tx: Tx, conversation_id: int, values: Mapping[str, object], now: datetime) -> dict[str, Any]:
    """Set some values and leave the others; returns all."""
    state = {**read_mood(tx, conversation_id), **values}
    changed = {"state": json.dumps(state, ensure_ascii=False), "changed_at": now}
    put = insert(moods).values(conversation_id=conversation_id, **changed)
    tx.execute(put.on_conflict_do_update(index_elements=["conversation_id"], set_=changed))
    return state
