"""Lets one process at a time serve a database. Two would answer everything twice, and each know half of it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from bot.store.database import OWNERS_FOLDER, DatabaseUnusable, database_file


class AlreadyServed(DatabaseUnusable):
    """Another process serves this database."""

    def __init__(self, database: Path, process: int) -> None:
        self.database, self.process = database, process
        super().__init__(
            f"Familiar runs already on {database.absolute()}, as process {process}. "
            "Stop that one first, or give this one a DATA_DIR of its own"
        )


@contextmanager
def held_alone(url: str) -> Iterator[None]:
    """Within the block no other process can hold the same database so; a crash of the holder frees it.

    The lock is SQLite's own, on a file beside the database: it works on every system, the operating system takes it
    from a process that ends, and others can still read in it who holds it.

    Raises:
        AlreadyServed: another process holds it.
        DatabaseUnusable: no file can be written there.
    """
    database = _database(url)
    if database is None:
        yield
        return
    try:
        database.parent.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
        connection = sqlite3.connect(_lock_file(database), timeout=0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise DatabaseUnusable(_unwritable(database, error)) from error
    with closing(connection):
        _take(connection, database)
        yield


def holder_of(url: str) -> int | None:
    """The process that serves this database now; takes no lock and leaves nothing. Nobody, where one cannot see it."""
    database = _database(url)
    with suppress(OSError, sqlite3.Error):
        if database is None or not _lock_file(database).exists():
            return None
        address = f"{_lock_file(database).absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as lock:
            try:
                lock.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                return _holder(lock) if _is_held(error) else None
    return None


def _take(connection: sqlite3.Connection, database: Path) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA user_version={os.getpid()}")
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")  # held open: others may read, and nobody else can begin
    except sqlite3.Error as error:
        if _is_held(error):
            raise AlreadyServed(database, _holder(connection)) from None
        raise DatabaseUnusable(_unwritable(database, error)) from error


def _holder(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_held(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _unwritable(database: Path, error: Exception) -> str:
    return (
        f"The data folder {database.parent.absolute()} cannot be written to: {error}. "
        "Check its owner and the free space there, or set DATA_DIR to another one"
    )


def _database(url: str) -> Path | None:
    with suppress(ArgumentError):  # opening it says so
        return database_file(make_url(url))
    return None


def _lock_file(database: Path) -> Path:
    return database.with_name(f"{database.name}.lock")
