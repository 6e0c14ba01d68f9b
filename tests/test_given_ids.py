"""Who comes after somebody who was forgotten meets nothing of them: no id of theirs, and nothing that comes late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from bot.llm.model import Bill, Purpose, Usage
from bot.side_calls import SideCalls
from bot.store.ledger import CallRecord
from bot.store.ledger_tables import budgets, model_calls
from bot.store.sessions import find_session
from bot.testing import NOW
from tests.conftest import MakeApp
from tests.spending import ask, open_limited, quota, settle
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat

LARGE = {"tokens_per_day": 10_000_000}
ALL = quota(person=LARGE, place=LARGE, total=LARGE)
LATER = NOW + timedelta(hours=1)


async def ids(chat: Chat) -> tuple[int, int]:
    session = await chat.app.core.db.read(find_session, DM)
    assert session is not None
    assert session.conversation_id is not None
    return session.id, session.conversation_id


async def calls(chat: Chat) -> list[Row[Any]]:
    return await chat.app.core.db.run(lambda tx: [*tx.execute(select(model_calls).order_by(model_calls.c.id))])


async def test_no_session_and_no_conversation_gets_the_id_of_one_that_was_forgotten(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    seen = set[tuple[int, int]]()
    for hours in range(3):
        await chat.say("hello", sent_at=NOW + timedelta(hours=hours))
        seen.add(await ids(chat))
        await chat.app.desk.eraser.erase(ALICE.key)
    assert seen == {(1, 1), (2, 2), (3, 3)}
    assert {(row.session_id, row.conversation_id, row.author_key) for row in await calls(chat)} == {(None, None, None)}


async def test_the_same_holds_after_a_restart(make_app: MakeApp, tmp_path: Path) -> None:
    first = await open_chat(make_app, persona="none")
    await first.say("hello")
    await first.app.desk.eraser.erase(ALICE.key)
    await first.app.close()
    again = await open_chat(make_app, persona="none")
    await again.say("hello", sent_at=LATER)
    assert await ids(again) == (2, 2)


async def counted(chat: Chat) -> dict[tuple[str, str], int]:
    rows = await chat.app.core.db.run(lambda tx: [*tx.execute(select(budgets))])
    return {
        (row.scope, row.scope_key): row.spent for row in rows if row.scope == "total" or row.scope_key[:5] == "fake:"
    }


async def test_what_ends_after_its_asker_was_forgotten_stands_in_nothing_of_before(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=ALL)
    await ask(chat, 1)
    session, conversation = await ids(chat)
    app = chat.app
    side = SideCalls(db=app.core.db, estimate=app.models.estimate, purse=app.models.purse, now=app.core.now)
    bill = Bill(place_key=DM.place_key, author_key=ALICE.key, purpose=Purpose.SPEECH)
    blank = CallRecord(
        purpose=Purpose.SPEECH,
        model="test/voice",
        outcome="interrupted",
        session_id=session,
        conversation_id=conversation,
        author_key=ALICE.key,
    )
    async with side.counted(bill, blank, Usage(input_tokens=50)):
        await app.desk.eraser.erase(ALICE.key)
        await ask(chat, 1, sent_at=LATER)  # she comes back
        before = await counted(chat)
    await settle(chat)
    *_, late = await calls(chat)
    assert (late.purpose, late.session_id, late.conversation_id, late.author_key) == ("speech", None, None, ALICE.key)
    assert await counted(chat) == {key: amount + 50 for key, amount in before.items()}, "it is still theirs to pay"


async def test_who_does_not_come_back_is_in_no_row_that_comes_late(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=ALL)
    await ask(chat, 1, channel=GROUP)
    await ask(chat, 1, author=BOB, channel=GROUP)
    group = await chat.app.core.db.read(find_session, GROUP)
    assert group is not None
    app = chat.app
    side = SideCalls(db=app.core.db, estimate=app.models.estimate, purse=app.models.purse, now=app.core.now)
    bill = Bill(place_key=GROUP.place_key, author_key=ALICE.key, purpose=Purpose.SPEECH)
    blank = CallRecord(
        purpose=Purpose.SPEECH, model="test/voice", outcome="", session_id=group.id, author_key=ALICE.key
    )
    async with side.counted(bill, blank, Usage(input_tokens=50)):
        await app.desk.eraser.erase(ALICE.key)
    await settle(chat)
    *_, late = await calls(chat)
    assert (late.session_id, late.author_key) == (group.id, None), "the place has paid for it"
    sums = await counted(chat)
    assert ("person", ALICE.key) not in sums, "what they have spent is kept under a hash"
    assert sums["place", GROUP.place_key] == 2_050
