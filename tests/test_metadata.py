"""What extensions keep: values by namespace and name in a session, moved and erased with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.chat import ChannelRef
from bot.store import metadata, sessions
from bot.store.database import Database
from bot.store.erasing import Kind, erase_person
from bot.store.metadata import Kept
from bot.store.moving import migrate_place
from bot.testing import NOW, make_channel


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


async def put(db: Database, session_id: int, namespace: str, about: str | None = None, **values: str) -> None:
    for name, value in values.items():
        await db.run(metadata.put_value, session_id, namespace, name, value, about=about, now=NOW)


async def kept(db: Database, session_id: int) -> list[tuple[str, str, Any]]:
    return [(row.namespace, row.name, row.value) for row in await db.read(metadata.read_kept, session_id)]


async def erased(db: Database, person_key: str) -> int:
    """How many values went with a person."""
    return (await db.run(erase_person, person_key, NOW)).counts.get(Kind.VALUES, 0)


async def test_each_namespace_of_each_session_has_values_of_its_own(db: Database) -> None:
    here = await db.run(sessions.open_session, make_channel(), NOW)
    there = await db.run(sessions.open_session, make_channel("elsewhere"), NOW)
    await put(db, here.id, "scores", ann="3", bob="[1]")
    await put(db, here.id, "scores", ann='{"points": 4}')
    await put(db, here.id, "moods", ann='"calm"')
    await put(db, there.id, "scores", ann="9")
    assert await db.read(metadata.read_values, here.id, "scores") == {"ann": {"points": 4}, "bob": [1]}
    assert await db.run(metadata.drop_value, here.id, "scores", "ann")
    assert not await db.run(metadata.drop_value, here.id, "scores", "ann")
    assert await kept(db, here.id) == [("moods", "ann", "calm"), ("scores", "bob", [1])]
    assert await kept(db, there.id) == [("scores", "ann", 9)]


async def test_a_session_is_erased_alone(db: Database) -> None:
    here = await db.run(sessions.open_session, make_channel(), NOW)
    there = await db.run(sessions.open_session, make_channel("elsewhere"), NOW)
    await put(db, here.id, "scores", ann="3", bob="1")
    await put(db, there.id, "scores", ann="9")
    assert await db.read(metadata.count_kept, here.id) == 2
    assert await db.run(metadata.erase_kept, here.id) == 2
    assert await kept(db, here.id) == []
    assert await kept(db, there.id) == [("scores", "ann", 9)]


async def test_what_is_kept_of_a_person_is_erased_everywhere_under_their_newest_key(db: Database) -> None:
    here = await db.run(sessions.open_session, make_channel(), NOW)
    there = await db.run(sessions.open_session, make_channel("elsewhere"), NOW)
    await put(db, here.id, "scores", about="fake:1", a="1")
    await put(db, there.id, "moods", about="fake:1", a="2")
    await put(db, there.id, "moods", about="fake:2", b="3")
    await db.run(metadata.move_about, "fake:1", "fake:9")
    assert await erased(db, "fake:1") == 0
    assert await erased(db, "fake:9") == 2
    assert await db.read(metadata.read_kept, there.id) == [Kept(namespace="moods", name="b", value=3, about="fake:2")]


async def test_T23_a_group_that_moves_takes_along_what_extensions_keep_of_it(db: Database) -> None:
    old, new = (ChannelRef(platform="telegram", place=place) for place in ("-1", "-1001"))
    before = await db.run(sessions.open_session, old, NOW)
    after = await db.run(sessions.open_session, new, NOW)
    await put(db, before.id, "scores", about="telegram:-1", ann="3")
    await put(db, before.id, "moods", bob="1")
    await put(db, after.id, "scores", ann="4", bob="5")
    await db.run(migrate_place, old, new)
    assert await kept(db, before.id) == [("moods", "bob", 1), ("scores", "ann", 3), ("scores", "bob", 5)]
    assert {row.about for row in await db.read(metadata.read_kept, before.id)} == {None, "telegram:-1001"}
