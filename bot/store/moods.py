"""How a persona feels in a conversation, by what was set when. What the values mean only its card knows."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Column, ForeignKey, Integer, Text, and_, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import Field, SQLModel

from bot.store.database import Tx
from bot.store.tables import UtcDateTime, core

STEPS_KEPT = 50
"""Changes that can be taken back; ours to choose. Older ones are kept as one."""

_Step = tuple[int, dict[str, Any]]


class PersonaMood(SQLModel, table=True):
    """What was set of a persona in a conversation: a JSON list of positions, each with values by their names, in the
    order in which they were set. A conversation that begins anew has none; one that several personas share has one for
    each.
    """

    __tablename__: ClassVar[str] = "persona_mood"

    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), primary_key=True))
    persona_id: str = Field(primary_key=True)
    state: str = Field(sa_column=Column(Text, nullable=False))
    changed_at: datetime = Field(sa_column=Column(UtcDateTime, nullable=False))


moods = core(PersonaMood)
_WHOSE = and_(moods.c.conversation_id == bindparam("story"), moods.c.persona_id == bindparam("persona"))
_KEPT = select(moods.c.state).where(_WHOSE)


def read_mood(tx: Tx, conversation_id: int, persona_id: str) -> dict[str, Any]:
    """What counts now of a persona in a conversation."""
    return dict(ChainMap(*(values for _, values in reversed(_read_steps(tx, conversation_id, persona_id)))))


def change_mood(
    tx: Tx, conversation_id: int, persona_id: str, position: int, values: Mapping[str, object], now: datetime
) -> dict[str, Any]:
    """Set some values by the answer that stands at a position, and leave the others; returns all."""
    steps = [*_read_steps(tx, conversation_id, persona_id), (position, dict(values))]
    if len(steps) > STEPS_KEPT:
        (first, older), (_, newer), *rest = steps
        steps = [(first, {**older, **newer}), *rest]
    changed = {"state": json.dumps(steps, ensure_ascii=False), "changed_at": now}
    put = insert(moods).values(conversation_id=conversation_id, persona_id=persona_id, **changed)
    tx.execute(put.on_conflict_do_update(index_elements=["conversation_id", "persona_id"], set_=changed))
    return read_mood(tx, conversation_id, persona_id)


def take_back_mood(tx: Tx, conversation_id: int, persona_id: str, position: int) -> None:
    """Let what was set by a persona's answers from a position on count no more."""
    left = [step for step in _read_steps(tx, conversation_id, persona_id) if step[0] < position]
    changed = update(moods).where(_WHOSE).values(state=json.dumps(left))
    tx.execute(changed, {"story": conversation_id, "persona": persona_id})


def forget_moods(tx: Tx, conversation_ids: Collection[int], goes: Callable[[int, str], bool]) -> None:
    """Let some changes never have been: `goes` judges the position of each, and its values as JSON. The oldest step may
    be made of several.
    """
    for conversation_id in conversation_ids:
        kept = tx.execute(select(moods).where(moods.c.conversation_id == conversation_id)).all()
        for row in kept:
            steps = json.loads(row.state)
            oldest = len(steps) >= STEPS_KEPT
            left = [(position, values) for position, values in steps[oldest:] if not goes(position, json.dumps(values))]
            changed = update(moods).where(_WHOSE).values(state=json.dumps(left, ensure_ascii=False))
            tx.execute(changed, {"story": row.conversation_id, "persona": row.persona_id})


def _read_steps(tx: Tx, conversation_id: int, persona_id: str) -> list[_Step]:
    kept = tx.execute(_KEPT, {"story": conversation_id, "persona": persona_id}).scalar()
    return [(position, values) for position, values in json.loads(kept)] if kept else []
