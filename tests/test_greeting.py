"""The persona's first words: said once per conversation, and never lost by a fault on the way."""

from __future__ import annotations

import pytest

from bot.store import conversations, sessions
from bot.store.database import Tx
from bot.store.sessions import SessionRow
from bot.testing import NOW, FakeAdapter
from tests.conftest import MakeApp
from tests.talking import DM


async def test_a_greeting_that_could_not_be_stored_is_said_the_next_time_and_then_no_more(make_app: MakeApp) -> None:
    adapter = FakeAdapter()
    app = await make_app(adapter=adapter)
    persona = app.core.library.default
    assert persona is not None

    def open_conversation(tx: Tx) -> tuple[SessionRow, int]:
        session = sessions.open_session(tx, DM, NOW)
        return session, conversations.ensure_conversation(tx, session, persona.id, NOW)

    session, conversation_id = await app.core.db.run(open_conversation)

    async def greet(position: int) -> bool:
        return await app.desk.greeter.greet(session, conversation_id, persona, user="Alice", position=position)

    with pytest.raises(OverflowError):
        await greet(2**63)  # more than the database can hold: its transaction breaks
    assert adapter.texts == []
    assert [await greet(0), await greet(0)] == [True, False]
    assert len(adapter.texts) == 1
