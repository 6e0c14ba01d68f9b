"""Sessions: finding the one for a channel, and what is set for it and around it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update

from bot.chat import ChannelRef, Visibility
from bot.overrides import Source, StoredOverride
from bot.store.database import Tx
from bot.store.given_ids import next_id
from bot.store.tables import Scope, messages, overrides, sessions


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionRow:
    """A session as queries return it."""

    id: int
    channel: ChannelRef
    conversation_id: int | None
    label: str = ""
    """What its people call it; empty = by its channel's name."""


# Statements of the hot path are made once: building one costs more than running it.
_BY_KEY = select(sessions).where(sessions.c.key == bindparam("key"))
_BY_ID = select(sessions).where(sessions.c.id == bindparam("id"))
_BY_MESSAGE = (
    select(sessions)
    .join(messages, messages.c.session_id == sessions.c.id)
    .where(messages.c.id == bindparam("message_id"))
)
_TOUCH = update(sessions).where(sessions.c.id == bindparam("touched"))
_OVERRIDES = select(overrides.c.scope, overrides.c.scope_key, overrides.c.name, overrides.c.value).where(
    overrides.c.scope.in_(tuple(Scope)), overrides.c.scope_key.in_(bindparam("keys", expanding=True))
)


def find_session(tx: Tx, channel: ChannelRef) -> SessionRow | None:
    """The session of a channel, if anybody has spoken there."""
    row = tx.execute(_BY_KEY, {"key": channel.session_key}).first()
    return to_session(row) if row else None


def open_session(tx: Tx, channel: ChannelRef, now: datetime) -> SessionRow:
    """The session of a channel, made when it is new. Names are refreshed because people rename channels."""
    row = tx.execute(_BY_KEY, {"key": channel.session_key}).first()
    names = {
        "place_name": channel.place_name,
        "channel_name": channel.channel_name,
        "visibility": channel.visibility.value,
    }
    if row is None:
        new = next_id(tx, sessions)
        values = {
            "id": new,
            "key": channel.session_key,
            "place_key": channel.place_key,
            "parent_key": channel.parent_key,
            "platform": channel.platform,
            "place": channel.place,
            "channel": channel.channel,
            "thread": channel.thread,
            "label": "",
            "created_at": now,
            **names,
        }
        tx.execute(insert(sessions).values(values))
        return SessionRow(id=new, channel=channel, conversation_id=None)
    if any(getattr(row, name) != value for name, value in names.items()):
        tx.execute(update(sessions).where(sessions.c.id == row.id).values(names))
    return SessionRow(id=row.id, channel=channel, conversation_id=row.conversation_id, label=row.label)


def session_by_id(tx: Tx, session_id: int) -> SessionRow:
    """A session that is known to exist."""
    return to_session(tx.execute(_BY_ID, {"id": session_id}).one())


def session_for(tx: Tx, session_id: int, message_id: int | None) -> SessionRow | None:
    """The session that a waiting turn means, also when it has been merged into another one since (T23): a message
    knows where it belongs now. `None` when there is no message to ask.
    """
    if message_id is None:
        row = tx.execute(_BY_ID, {"id": session_id}).first()
    else:
        row = tx.execute(_BY_MESSAGE, {"message_id": message_id}).first()
    return to_session(row) if row else None


def to_session(row: Row[Any]) -> SessionRow:
    """A session from a row of its table."""
    channel = ChannelRef(
        platform=row.platform,
        place=row.place,
        channel=row.channel,
        thread=row.thread,
        visibility=Visibility(row.visibility),
        place_name=row.place_name,
        channel_name=row.channel_name,
    )
    return SessionRow(id=row.id, channel=channel, conversation_id=row.conversation_id, label=row.label)


def set_label(tx: Tx, session_id: int, label: str) -> None:
    """Call a session something; an empty label takes the name away."""
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(label=label))


def touch_session(tx: Tx, session_id: int, now: datetime) -> None:
    """Note when a human last spoke; the idle clock runs from there."""
    tx.execute(_TOUCH, {"touched": session_id, "last_human_at": now, "sweep_from": now})


def load_overrides(tx: Tx, channel: ChannelRef) -> list[StoredOverride]:
    """What was changed for this session, for the channel of a thread, and for its place."""
    places = {
        (Scope.SESSION.value, channel.session_key): Source.SESSION,
        (Scope.SESSION.value, channel.parent_key): Source.PARENT,
        (Scope.PLACE.value, channel.place_key): Source.PLACE,
    }
    rows = tx.execute(_OVERRIDES, {"keys": [channel.session_key, channel.parent_key, channel.place_key]})
    return [
        StoredOverride(scope=places[row.scope, row.scope_key], name=row.name, value=row.value)
        for row in rows
        if (row.scope, row.scope_key) in places
    ]


def who_chose(tx: Tx, channel: ChannelRef, source: Source, name: str) -> tuple[str, datetime] | None:
    """Who gave a key its value there, by their key, and when; `None` where nobody did."""
    scope = Scope.PLACE if source is Source.PLACE else Scope.SESSION
    keys = {Source.SESSION: channel.session_key, Source.PARENT: channel.parent_key, Source.PLACE: channel.place_key}
    wanted = (overrides.c.scope == scope.value, overrides.c.scope_key == keys[source], overrides.c.name == name)
    row = tx.execute(select(overrides.c.set_by, overrides.c.set_at).where(*wanted)).first()
    return (row.set_by, row.set_at) if row else None


def set_override(tx: Tx, scope: Scope, scope_key: str, name: str, value: str, *, set_by: str, now: datetime) -> None:
    """Change a key for a scope; `value` is JSON."""
    unset_override(tx, scope, scope_key, name)
    tx.execute(
        insert(overrides).values(
            scope=scope.value, scope_key=scope_key, name=name, value=value, set_by=set_by, set_at=now
        )
    )


def unset_override(tx: Tx, scope: Scope, scope_key: str, name: str) -> bool:
    """Let a scope inherit a key again; false when nothing was set."""
    where = (overrides.c.scope == scope.value, overrides.c.scope_key == scope_key, overrides.c.name == name)
    return tx.execute(delete(overrides).where(*where)).rowcount > 0
