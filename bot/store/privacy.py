"""Privacy: what somebody who wants it has said is kept for its answer and no longer.

The rows stay where they are, without their words, so that order and answers hold (R1, R2). An answer in a DM goes with
them, since it may repeat what it answers; in a group it stays, because the others there have read it. What tools were
asked nobody has read: it goes in both.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select, update

from bot.chat import Visibility
from bot.store.cast_tables import callings
from bot.store.database import Tx
from bot.store.images import forget_images
from bot.store.tables import IN_PRIVACY, MessageKind, images, messages

_NO_WORDS = {"text": "", "words": 0, "quote": "", "tokens": 0}
_ASKED = messages.c.answered_by == bindparam("reply_id"), messages.c.is_private
# Statements of the hot path are made once: building one costs more than running it.
_FORGET_ASKED = update(messages).where(*_ASKED).values(_NO_WORDS)
_FORGET_IMAGES = delete(images).where(images.c.message_id.in_(select(messages.c.id).where(*_ASKED)))
_ANSWERS = select(callings.c.answered_by).where(
    callings.c.message_id.in_(select(messages.c.id).where(*_ASKED)), callings.c.answered_by.is_not(None)
)
_FORGET_TOOLS = delete(messages).where(
    messages.c.answered_by == bindparam("reply_id"), messages.c.kind == MessageKind.TOOL.value
)
_FORGET_REPLY = (
    update(messages)
    .where(messages.c.id == bindparam("reply_id"), messages.c.visibility == Visibility.DM.value)
    .values(_NO_WORDS)
)


def forget_asked(tx: Tx, reply_id: int) -> None:
    """A reply is settled: forget what was asked in privacy, and what would tell it. What calls several of a cast is
    kept until the last of them has answered, and then all their answers go.
    """
    asked = {"reply_id": reply_id}
    if tx.execute(_FORGET_ASKED, asked).rowcount:
        tx.execute(_FORGET_IMAGES, asked)
        for answer in {reply_id, *tx.execute(_ANSWERS, asked).scalars()}:
            for statement in (_FORGET_TOOLS, _FORGET_REPLY):
                tx.execute(statement, {"reply_id": answer})


def forget_words(tx: Tx, message_id: int) -> None:
    """Forget what a message says, for good: later edits of it are not kept either."""
    tx.execute(update(messages).where(messages.c.id == message_id).values(**_NO_WORDS, is_private=True))
    forget_images(tx, message_id)


def forget_answered(tx: Tx) -> None:
    """At a start: forget what was being answered when the process ended."""
    asked = select(messages.c.answered_by).where(IN_PRIVACY)  # by its own index: few rows, most of them answered
    for reply_id in {*tx.execute(asked).scalars()} - {None}:
        forget_asked(tx, reply_id)
