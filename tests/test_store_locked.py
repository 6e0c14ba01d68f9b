"""A database that another program holds: it is waited for, and the operator is told."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs
from structlog.typing import EventDict, Processor

from bot.store import schema
from bot.store.database import WAITS_FOR_LOCK, Database


@pytest.fixture
def other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """One that holds a transaction on the file `f.db`, beside a bot that loses patience sooner than usual."""
    monkeypatch.setattr("bot.store.database.BUSY_TIMEOUT_MS", 20)
    schema.upgrade(f"sqlite:///{tmp_path / 'f.db'}")
    with closing(sqlite3.connect(tmp_path / "f.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def told_of_at(event: threading.Event) -> Processor:
    """Sets the event when something is logged."""

    def note(_logger: object, _name: str, entry: EventDict) -> EventDict:
        event.set()
        return entry

    return note


REMEMBER = text("INSERT INTO remembered (name, value) VALUES ('a', 'b')")


async def test_S01_another_program_that_writes_for_long_is_waited_for_and_told_of(
    tmp_path: Path, other_program: sqlite3.Connection
) -> None:
    database, told = Database(f"sqlite:///{tmp_path / 'f.db'}"), threading.Event()
    with capture_logs(processors=[told_of_at(told)]) as logs:
        writing = asyncio.ensure_future(database.run(lambda tx: tx.execute(REMEMBER).rowcount))
        assert await asyncio.to_thread(told.wait, 10)
        other_program.execute("COMMIT")
        assert await writing == 1
    assert {entry["event"] for entry in logs} == {"database.locked"}
    await database.close()
    assert other_program.execute("SELECT value FROM remembered WHERE name = 'a'").fetchall() == [("b",)]


async def test_one_that_never_ends_fails_the_write_at_last_and_none_after_it(
    tmp_path: Path, other_program: sqlite3.Connection
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'f.db'}")
    with capture_logs() as logs, pytest.raises(OperationalError, match="locked"):
        await database.run(lambda tx: tx.execute(REMEMBER))
    assert len(logs) == WAITS_FOR_LOCK - 1
    other_program.execute("COMMIT")
    assert await database.run(lambda tx: tx.execute(REMEMBER).rowcount) == 1
    await database.close()
