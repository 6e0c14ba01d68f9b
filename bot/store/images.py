"""Images and recordings that came with messages: their bytes, because links expire (D21), as long as requests may carry
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from bot.chat import Attachment, AttachmentKind
from bot.store.database import Tx
from bot.store.tables import images, messages

KEPT_IMAGES = 20
"""Newest images kept of a session: two albums of ten, which is more than a request carries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageKey:
    """Which image, and of which message; larger ids are newer."""

    id: int
    message_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRow:
    """An image of a message, or a recording, whose name is what the message tells of it."""

    id: int
    message_id: int
    media_type: str
    data: bytes
    name: str = ""


_OF_SESSION = (
    select(images.c.id)
    .join(messages, messages.c.id == images.c.message_id)
    .where(messages.c.session_id == bindparam("session_id"))
)
_FORGET_OLD = delete(images).where(images.c.id.in_(_OF_SESSION.order_by(images.c.id.desc()).offset(KEPT_IMAGES)))


def record_images(tx: Tx, session_id: int, message_id: int, attachments: Iterable[Attachment]) -> None:
    """Keep the images and recordings among a message's attachments, and let go of those of the session that no request
    will carry.
    """
    found = [
        {"message_id": message_id, "name": name, "media_type": file.media_type, "data": file.data}
        for file in attachments
        if (name := {AttachmentKind.IMAGE: file.name, AttachmentKind.AUDIO: file.note}.get(file.kind)) is not None
    ]
    if found:
        tx.execute(insert(images), found)
        tx.execute(_FORGET_OLD, {"session_id": session_id})


def forget_images(tx: Tx, message_id: int) -> None:
    """Remove the images of a message that was deleted."""
    tx.execute(delete(images).where(images.c.message_id == message_id))


def find_images(tx: Tx, message_ids: Sequence[int]) -> list[ImageKey]:
    """Which images some messages have, in order."""
    wanted = (images.c.message_id.in_(message_ids), images.c.media_type.like("image/%"))
    rows = tx.execute(select(images.c.id, images.c.message_id).where(*wanted).order_by(images.c.id))
    return [ImageKey(id=row.id, message_id=row.message_id) for row in rows]


def read_images(tx: Tx, keys: Sequence[ImageKey]) -> list[ImageRow]:
    """Images with their bytes, in order."""
    wanted = images.c.id.in_([key.id for key in keys])
    rows = tx.execute(select(images).where(wanted).order_by(images.c.id))
    return [ImageRow(id=row.id, message_id=row.message_id, media_type=row.media_type, data=row.data) for row in rows]


def move_images(tx: Tx, message_id: int, to: int) -> None:
    """Let the images of one message be those of another."""
    tx.execute(update(images).where(images.c.message_id == message_id).values(message_id=to))
