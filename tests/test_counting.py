"""Where tokens are counted: never for long while the database waits."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import select

from bot.chat import Attachment, AttachmentKind, Inbound, InboundKind
from bot.store.tables import messages
from bot.testing import make_inbound
from tests.conftest import MakeApp

LIMIT = 100
"""Characters that may be counted in a transaction: as many as are kept of an overheard message."""


FILE = Attachment(kind=AttachmentKind.TEXT, name="notes.txt", text="word " * 1000)


@pytest.mark.parametrize(
    "long",
    [
        make_inbound("look", message_id="2", attachments=(FILE,)),
        make_inbound("word " * 1000, message_id="1", kind=InboundKind.EDIT),
    ],
    ids=["a file", "an edit"],
)
async def test_long_texts_are_counted_before_the_transaction_that_stores_them(make_app: MakeApp, long: Inbound) -> None:
    app = await make_app(persona="none", overheard_chars=LIMIT)
    counted: list[tuple[str, int]] = []

    def count(text: str) -> int:
        counted.append((threading.current_thread().name, len(text)))
        return len(text)

    pipeline = replace(app.pipeline, recorder=replace(app.pipeline.recorder, count=count))
    await pipeline.deliver(make_inbound("short", message_id="1"))
    await pipeline.deliver(long)
    await app.dispatcher.idle()
    assert max(length for _, length in counted) >= 5000
    assert all(length <= LIMIT for thread, length in counted if thread.startswith("database"))
    said = select(messages.c.text, messages.c.tokens).where(messages.c.kind == "said")
    rows = await app.core.db.read(lambda tx: tx.execute(said).all())
    assert [row.tokens for row in rows] == [len(row.text) for row in rows]
