"""Transactions, times and the shape of the database."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Text, create_engine, insert, select, text
from sqlmodel import SQLModel

from bot.chat import ChannelRef, Visibility
from bot.store import schema, sessions
from bot.store.database import Database, DatabaseDamaged, DatabaseUnusable, Tx, open_engine
from bot.store.moving import migrate_place
from bot.store.schema import SchemaState
from bot.store.tables import Scope, conversations, messages
from bot.store.tables import sessions as session_table
from bot.store.trial import demand_whole
from bot.testing import NOW, make_channel


async def test_S01_fifty_turns_writing_at_once_lose_nothing(db: Database) -> None:
    session = await db.run(sessions.open_session, make_channel(), NOW)

    def write(tx: Tx, number: int) -> None:
        tx.execute(
            insert(messages).values(
                session_id=session.id, position=number, place_key="p", visibility="dm", author_name="a", kind="said",
                text=str(number), addressed=False, standing="live", cut=False, tokens=0, quote="", sent_at=NOW,
            )
        )  # fmt: skip

    other_process = Database(db.url)
    await asyncio.gather(*((db if number % 2 else other_process).run(write, number) for number in range(50)))
    await other_process.close()
    stored = await db.read(lambda tx: tx.execute(select(messages.c.text)).scalars().all())
    assert sorted(map(int, stored)) == list(range(50))


async def test_S16_what_is_posted_is_written_in_its_turn_also_where_everything_ends(tmp_path: Path) -> None:
    def note(tx: Tx, value: str) -> None:
        free.wait(10)
        tx.execute(text("INSERT INTO remembered (name, value) VALUES (:value, :value)"), {"value": value})

    url, free = f"sqlite:///{tmp_path / 'f.db'}", threading.Event()
    schema.upgrade(url)
    database = Database(url)
    for value in ("first", "second"):
        database.post(note, value)
    closing = asyncio.ensure_future(database.close())
    free.set()
    await closing
    again = Database(url)
    assert await again.read(
        lambda tx: tx.execute(text("SELECT name FROM remembered ORDER BY rowid")).scalars().all()
    ) == [
        "first",
        "second",
    ]
    await again.close()


async def test_what_is_posted_and_fails_is_in_the_log_and_stops_nothing(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(tx: Tx) -> None:
        tx.execute(text("INSERT INTO nowhere VALUES (1)"))

    db.post(fail)
    assert await db.run(lambda _tx: "goes on") == "goes on"
    assert "database.post_failed" in capsys.readouterr().out


async def test_S01_every_connection_has_the_pragmas(db: Database) -> None:
    def pragmas(tx: Tx) -> tuple[object, ...]:
        names = ("journal_mode", "busy_timeout", "foreign_keys", "synchronous")
        return tuple(tx.execute(text(f"PRAGMA {name}")).scalar_one() for name in names)

    assert await db.run(pragmas) == ("wal", 5000, 1, 1)


async def test_S02_a_refused_wal_mode_is_told_and_the_bot_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class RefusesWal(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("journal_mode=WAL", "journal_mode=DELETE"), *args)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3.dbapi2, "connect", lambda *args, **kw: connect(*args, factory=RefusesWal, **kw))
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.begin() as tx:
        tx.execute(text("CREATE TABLE t (x)"))
    engine.dispose()
    assert "database.no_wal" in capsys.readouterr().out


async def test_a_failed_work_leaves_nothing_behind(db: Database) -> None:
    def fail(tx: Tx) -> None:
        sessions.open_session(tx, make_channel(), NOW)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await db.run(fail)
    assert await db.read(sessions.find_session, make_channel()) is None


async def test_an_error_of_the_database_does_not_repeat_what_people_wrote(db: Database) -> None:
    def fail(tx: Tx) -> None:
        tx.execute(insert(messages).values(id=1, session_id=404, position=1, text="secret-sentinel", sent_at=NOW))

    with pytest.raises(Exception, match="constraint failed") as failed:
        await db.run(fail)
    assert "secret-sentinel" not in str(failed.value)


async def test_reading_cannot_write(db: Database) -> None:
    with pytest.raises(Exception, match="readonly"):
        await db.read(sessions.open_session, make_channel(), NOW)


async def test_S04_a_time_with_an_offset_comes_back_aware_and_equal(db: Database) -> None:
    given = datetime(2026, 6, 19, 13, 26, 43, tzinfo=timezone(timedelta(hours=-8)))
    session = await db.run(sessions.open_session, make_channel(), given)
    read = await db.read(
        lambda tx: tx.execute(select(session_table.c.created_at).where(session_table.c.id == session.id)).scalar_one()
    )
    assert read == datetime(2026, 6, 19, 21, 26, 43, tzinfo=UTC)
    assert read.tzinfo is not None


async def test_S04_a_naive_time_is_refused(db: Database) -> None:
    with pytest.raises(Exception, match="naive time"):
        await db.run(sessions.open_session, make_channel(), datetime(2026, 6, 19))


async def test_S05_rows_written_naive_are_read_as_utc(db: Database) -> None:
    await db.run(sessions.open_session, make_channel(), NOW)
    await db.run(lambda tx: tx.execute(text("UPDATE chat_session SET created_at = '2025-01-02 03:04:05.000000'")))
    read = await db.read(lambda tx: tx.execute(select(session_table.c.created_at)).scalar_one())
    assert read == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read < NOW


@pytest.mark.parametrize(
    "number", ["9223372036854775808", "-1002000000001", "9007199254740993", "18446744073709551615"]
)
async def test_extreme_ids_are_kept_exactly(db: Database, number: str) -> None:
    channel = ChannelRef(platform="fake", place=number, channel=number, thread=number, visibility=Visibility.PUBLIC)
    await db.run(sessions.open_session, channel, NOW)
    found = await db.read(sessions.find_session, channel)
    assert found is not None
    assert (found.channel.place, found.channel.channel, found.channel.thread) == (number, number, number)


def test_the_head_that_the_code_knows_is_the_newest_migration() -> None:
    assert ScriptDirectory(str(schema.MIGRATIONS)).get_heads() == [schema.HEAD]


def test_the_migrations_make_exactly_the_tables_of_the_code(migrated_database: Path) -> None:
    engine = create_engine(f"sqlite:///{migrated_database}")
    with engine.begin() as tx:
        assert compare_metadata(MigrationContext.configure(tx), SQLModel.metadata) == []
    engine.dispose()


def test_S09_a_generated_migration_alters_a_table_in_sqlite_and_keeps_its_rows(tmp_path: Path) -> None:
    scripts = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    config = Config()
    config.set_main_option("script_location", str(scripts))
    with engine.begin() as tx:
        config.attributes["connection"] = tx
        command.upgrade(config, "head")
        # As if the code had just gained two columns and a NOT NULL, for which SQLite has no ALTER.
        for column in ("tool_name", "deleted_at"):
            tx.execute(text(f"ALTER TABLE message DROP COLUMN {column}"))
        with Operations(MigrationContext.configure(tx)).batch_alter_table("remembered") as batch:
            batch.alter_column("value", existing_type=Text(), nullable=True)
        tx.execute(text("INSERT INTO remembered (name, value) VALUES ('a', 'b')"))
        script = command.revision(config, "back to the code", autogenerate=True)
        assert isinstance(script, Script)
        command.upgrade(config, "head")
        assert compare_metadata(MigrationContext.configure(tx), SQLModel.metadata) == []
        assert tx.execute(text("SELECT name, value FROM remembered")).all() == [("a", "b")]
    engine.dispose()
    written = Path(script.path).read_text()
    for name in ("batch_alter_table", "sqlmodel.sql.sqltypes.AutoString()", "bot.store.tables.UtcDateTime()"):
        assert name in written


def test_S09_the_way_down_and_up_again_keeps_the_shape(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    schema.upgrade(url)
    schema.downgrade(url)
    assert schema.check(url) is not SchemaState.CURRENT
    schema.upgrade(url)
    assert schema.check(url) is SchemaState.CURRENT


def test_S10_an_empty_file_ends_at_head(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new' / 'x.db'}"
    assert schema.upgrade(url) is SchemaState.EMPTY
    assert schema.check(url) is SchemaState.CURRENT


def test_looking_at_a_database_that_is_not_there_makes_none(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for name in ("here/x.db", "new/x.db"):
        assert schema.check(f"sqlite:///{tmp_path / name}") is SchemaState.EMPTY
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_an_upgrade_apart_does_the_same_and_tells_the_same_faults(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    schema.upgrade_apart(url)
    assert schema.check(url) is SchemaState.CURRENT
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(DatabaseUnusable, match="newer version"):
        schema.upgrade_apart(url)


def test_S10_tables_without_a_version_are_taken_over_when_they_are_ours(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    engine = create_engine(url)
    SQLModel.metadata.create_all(engine)
    engine.dispose()
    assert schema.upgrade(url) is SchemaState.UNVERSIONED
    assert schema.check(url) is SchemaState.CURRENT


def test_S10_tables_without_a_version_that_differ_are_refused_and_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text("CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT)"))
    engine.dispose()
    with pytest.raises(DatabaseUnusable, match="differs from ours"):
        schema.upgrade(url)
    assert schema.check(url) is SchemaState.UNVERSIONED


def test_S10_a_current_database_is_left_alone(migrated_database: Path) -> None:
    before = migrated_database.read_bytes()
    assert schema.upgrade(f"sqlite:///{migrated_database}") is SchemaState.CURRENT
    assert migrated_database.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    schema.upgrade(url)
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(DatabaseUnusable, match="newer version"):
        schema.upgrade(url)


@pytest.mark.parametrize("url", ["nonsense", "postgresql://user:pw-sentinel@host/x"])
def test_other_databases_are_refused_in_words_and_without_the_password(url: str) -> None:
    with pytest.raises(DatabaseUnusable) as refused:
        Database(url)
    assert "sqlite:///" in str(refused.value)
    assert "pw-sentinel" not in str(refused.value)


async def test_T09_migration_moves_everything_of_a_place_at_once(db: Database) -> None:
    old = ChannelRef(platform="telegram", place="-4000000001", visibility=Visibility.PRIVATE)
    new = ChannelRef(platform="telegram", place="-1002000000001", visibility=Visibility.PRIVATE)
    session = await db.run(sessions.open_session, old, NOW)
    await db.run(sessions.set_override, Scope.PLACE, old.place_key, "persona", '"ada"', set_by="telegram:1", now=NOW)
    assert await db.run(migrate_place, old, new)
    moved = await db.read(sessions.find_session, new)
    assert moved is not None
    assert moved.id == session.id
    assert await db.read(sessions.find_session, old) is None
    assert [row.value for row in await db.read(sessions.load_overrides, new)] == ['"ada"']


async def test_T23_a_new_session_that_began_meanwhile_is_merged_and_repeats_change_nothing(db: Database) -> None:
    old = ChannelRef(platform="telegram", place="-4", visibility=Visibility.PRIVATE)
    new = ChannelRef(platform="telegram", place="-100", visibility=Visibility.PRIVATE)
    first = await db.run(sessions.open_session, old, NOW)
    await db.run(sessions.open_session, new, NOW)
    await db.run(migrate_place, old, new)
    assert not await db.run(migrate_place, old, new)
    count = await db.read(lambda tx: len(tx.execute(select(session_table.c.id)).all()))
    found = await db.read(sessions.find_session, new)
    assert (count, found and found.id) == (1, first.id)
    assert await db.read(lambda tx: tx.execute(select(conversations.c.id)).all()) == []


@pytest.mark.parametrize("look", [schema.upgrade, schema.upgrade_apart, schema.check, demand_whole])
def test_a_file_that_is_no_database_is_told_to_be_damaged(tmp_path: Path, look: Callable[[str], object]) -> None:
    (tmp_path / "x.db").write_text("garbage" * 1000)
    with pytest.raises(DatabaseDamaged, match=r"x\.db is damaged: .*Restore a backup"):
        look(f"sqlite:///{tmp_path / 'x.db'}")


async def test_a_database_that_is_damaged_within_is_told_when_it_is_looked_at_and_when_it_is_used(
    migrated_database: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{_damaged_within(migrated_database, tmp_path / 'x.db')}"
    with pytest.raises(DatabaseDamaged, match=r"x\.db is damaged"):
        demand_whole(url)
    database = Database(url)
    try:
        with pytest.raises(DatabaseDamaged, match=r"x\.db is damaged"):
            await database.read(lambda tx: tx.execute(select(session_table)).all())
    finally:
        await database.close()


def _damaged_within(sound: Path, path: Path) -> Path:
    content = sound.read_bytes()
    path.write_bytes(content[:12288] + b"x" * (len(content) - 12288))
    return path
