"""What is kept, table by table. Queries use the Core tables named at the end; schema changes only through Alembic.

Keys are text and are never parsed. Times are aware UTC in and out.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlmodel import Field, SQLModel


class UtcDateTime(TypeDecorator[datetime]):
    """Aware in, stored as naive UTC, aware UTC out (S04); rows that were written naive are read as UTC (S05)."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To storage.

        Raises:
            ValueError: the time is naive, so that nobody can know what it means.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive time reached the database; pass an aware one")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From storage."""
        return value.replace(tzinfo=UTC) if value is not None else None


class MessageKind(StrEnum):
    """What a row of the message table is. Only SAID, REPLY and TOOL ever reach a prompt."""

    SAID = "said"
    REPLY = "reply"
    COMMAND = "command"
    TOOL = "tool"
    NOTICE = "notice"
    SEPARATOR = "separator"


class ReplyState(StrEnum):
    """How a reply stands on the platform: the worst of its parts."""

    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


class Standing(StrEnum):
    """Whether a message still counts."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    UNDONE = "undone"
    REFUSED = "refused"
    """No model may read it."""


NOTHING_IN_MEMORY = -1
"""Watermark of a conversation that was never compacted; a greeting may stand at position 0."""


class Scope(StrEnum):
    """What an override was changed for. A thread also reads what was changed for its channel's session (D17)."""

    SESSION = "session"
    PLACE = "place"


KNOWN_TO_PLATFORM = text("platform_message_id IS NOT NULL")
# SQLite takes a partial index only for a condition written like the index's own, so it and the queries share these.
ADDRESSED: ColumnElement[bool] = literal_column("addressed")
UNANSWERED = text("addressed AND answered_by IS NULL")
ANSWERED = text("answered_by IS NOT NULL")
SENDING = text("state = 'sending'")
TO_BE_SWEPT = text("sweep_from IS NOT NULL")
IN_PRIVACY = text("is_private AND text != ''")
"""What somebody who wants privacy has said, as long as it is not answered."""


def _time(*, nullable: bool = True) -> Any:
    return Field(default=None, sa_column=Column(UtcDateTime, nullable=nullable))


class ChatSession(SQLModel, table=True):
    """One spot people talk in. The platform's ids stand beside the key, so that a turn can open after a restart."""

    __tablename__: ClassVar[str] = "chat_session"
    __table_args__ = (Index("ix_chat_session_sweep", "sweep_from", sqlite_where=TO_BE_SWEPT),)

    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(unique=True)
    place_key: str = Field(index=True)
    parent_key: str | None = None
    platform: str
    place: str
    channel: str = ""
    thread: str = ""
    visibility: str
    place_name: str = ""
    channel_name: str = ""
    label: str = ""
    conversation_id: int | None = None
    created_at: datetime = _time(nullable=False)
    last_human_at: datetime | None = _time()
    sweep_from: datetime | None = _time()
    """Since when it waits for the idle sweep: the last human message, or later; null = it has been swept since."""
    spoke_first_at: datetime | None = _time()
    """When the bot last spoke there without being asked, about a due follow-up."""


class Conversation(SQLModel, table=True):
    """One persona's story in one session. `watermark` is the position up to which messages are in memory."""

    __tablename__: ClassVar[str] = "conversation"

    id: int | None = Field(default=None, primary_key=True)
    session_id: int = Field(sa_column=Column(Integer, ForeignKey("chat_session.id"), nullable=False, index=True))
    persona_id: str
    opened_at: datetime = _time(nullable=False)
    closed_at: datetime | None = _time()
    watermark: int = NOTHING_IN_MEMORY
    generation: int = 0
    greeted: bool = False


class Listening(SQLModel, table=True):
    """An interval of positions that a conversation heard; open while `to_position` is null."""

    __tablename__: ClassVar[str] = "listening"

    id: int | None = Field(default=None, primary_key=True)
    conversation_id: int = Field(sa_column=Column(Integer, ForeignKey("conversation.id"), nullable=False, index=True))
    from_position: int
    to_position: int | None = None


class Message(SQLModel, table=True):
    """Everything said, answered or run. Heard messages stand at their own id, replies where they had read to (R1)."""

    __tablename__: ClassVar[str] = "message"
    __table_args__ = (
        Index("ix_message_order", "session_id", "position", "id"),
        Index("ix_message_own", "conversation_id", "position", "id"),
        Index(
            "ux_message_platform_id", "session_id", "platform_message_id", unique=True, sqlite_where=KNOWN_TO_PLATFORM
        ),
        Index("ix_message_addressed", "session_id", "id", sqlite_where=ADDRESSED),
        Index("ix_message_unanswered", "session_id", "id", sqlite_where=UNANSWERED),
        Index("ix_message_answered_by", "answered_by", sqlite_where=ANSWERED),
        Index("ix_message_sending", "id", sqlite_where=SENDING),
        Index("ix_message_in_privacy", "id", sqlite_where=IN_PRIVACY),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, primary_key=True)
    session_id: int = Field(sa_column=Column(Integer, ForeignKey("chat_session.id"), nullable=False))
    conversation_id: int | None = Field(default=None, sa_column=Column(Integer, ForeignKey("conversation.id")))
    position: int
    platform_message_id: str | None = None
    place_key: str
    visibility: str
    author_key: str | None = Field(default=None, index=True)
    author_name: str = ""
    author_locale: str | None = None
    author_is_bot: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default="0"))
    persona_id: str | None = None
    kind: str
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    words: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default="0"))
    """How many characters of `text` its author typed; the rest describes files, and outlives an edit."""
    addressed: bool = False
    is_private: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default="0"))
    """Whether its author wanted privacy: its words are kept until they are answered, and only for that answer."""
    answered_by: int | None = None
    told_key: str | None = None
    """To whom it was said unasked: of reminders and of follow-ups that the bot came back to."""
    reply_to: str | None = None
    quote: str = Field(default="", sa_column=Column(Text, nullable=False, server_default=""))
    state: str | None = None
    standing: str = Standing.LIVE.value
    cut: bool = False
    tokens: int = 0
    tool_calls: str | None = Field(default=None, sa_column=Column(Text))
    tool_call_id: str | None = None
    tool_name: str | None = None
    sent_at: datetime = _time(nullable=False)
    edited_at: datetime | None = _time()
    deleted_at: datetime | None = _time()


class SentPart(SQLModel, table=True):
    """One platform message of ours and what is known about it."""

    __tablename__: ClassVar[str] = "sent_part"
    __table_args__ = (UniqueConstraint("message_id", "ordinal"),)

    id: int | None = Field(default=None, primary_key=True)
    message_id: int = Field(sa_column=Column(Integer, ForeignKey("message.id"), nullable=False))
    ordinal: int
    platform_message_id: str | None = Field(default=None, index=True)
    state: str


class StoredImage(SQLModel, table=True):
    """An image that came with a message, kept as bytes because platform links expire (D21)."""

    __tablename__: ClassVar[str] = "image"

    id: int | None = Field(default=None, primary_key=True)
    message_id: int = Field(sa_column=Column(Integer, ForeignKey("message.id"), nullable=False, index=True))
    name: str
    media_type: str
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class Override(SQLModel, table=True):
    """What was changed for a session, a parent channel or a place. `value` is JSON."""

    __tablename__: ClassVar[str] = "override"
    __table_args__ = (UniqueConstraint("scope", "scope_key", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    scope: str
    scope_key: str
    name: str = Field(index=True)
    value: str = Field(sa_column=Column(Text, nullable=False))
    set_by: str
    set_at: datetime = _time(nullable=False)


class LearnedQuirkRow(SQLModel, table=True):
    """What an endpoint refused, learned once."""

    __tablename__: ClassVar[str] = "learned_quirk"
    __table_args__ = (UniqueConstraint("endpoint", "model", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    endpoint: str
    model: str
    name: str
    value: str = ""
    learned_at: datetime = _time(nullable=False)


class Introduction(SQLModel, table=True):
    """A place where the bot has told what it is and does."""

    __tablename__: ClassVar[str] = "introduction"

    place_key: str = Field(primary_key=True)
    said_at: datetime = _time(nullable=False)


class Remembered(SQLModel, table=True):
    """Small facts about ourselves, such as the hash of the command set that was last registered."""

    __tablename__: ClassVar[str] = "remembered"

    name: str = Field(primary_key=True)
    value: str = Field(sa_column=Column(Text, nullable=False))


def core(model: type[SQLModel]) -> Table:
    """The table behind a model, for queries."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


sessions = core(ChatSession)
conversations = core(Conversation)
listenings = core(Listening)
messages = core(Message)
sent_parts = core(SentPart)
images = core(StoredImage)
overrides = core(Override)
learned_quirks = core(LearnedQuirkRow)
introductions = core(Introduction)
remembered = core(Remembered)
