"""Tries, for the doctor, whether a database can be written where it shall lie; leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url

from bot.store.database import (
    BUSY_TIMEOUT_MS,
    DatabaseDamaged,
    DatabaseUnusable,
    DatabaseUnwritable,
    database_file,
    told_by,
)

TRIAL_BYTES = 256 * 1024
"""What is written for a trial; a disk that has no room for it has none for a day of talk."""


def try_writing(url: str) -> str:
    """Write a database beside the real one and begin a change of the real one; returns the journal mode that a
    database gets there (S02).

    Raises:
        DatabaseUnusable: it cannot be written; the sentence says what to do.
    """
    database = database_file(make_url(url))
    if database is None:
        return "memory"
    try:
        mode = _write_beside(_nearest_folder(database.parent))
    except (OSError, sqlite3.Error) as error:
        folder = database.parent.absolute()
        raise DatabaseUnusable(
            f"the folder {folder} cannot be written to: {_told(error)}. Check its owner and the free space there, or "
            "set DATA_DIR to another one"
        ) from error
    try:
        if database.exists():
            _begin_change(database)
    except sqlite3.Error as error:
        raise told_by(error, database) or DatabaseUnwritable(database, error) from error
    return mode


def demand_whole(url: str) -> None:
    """Read a database from end to end: some seconds for each GB.

    Raises:
        DatabaseDamaged: what is in it does not fit together.
    """
    database = database_file(make_url(url))
    if database is None or not database.exists():
        return
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise told_by(error, database) or DatabaseUnusable(f"{database.absolute()} cannot be read: {error}") from error
    if told != "ok":
        raise DatabaseDamaged(database, str(told).splitlines()[-1])


def stored_files(url: str) -> tuple[Path, ...]:
    """The files that hold what a database holds, whether they are there or not."""
    database = database_file(make_url(url))
    return (database, database.with_name(f"{database.name}-wal")) if database else ()


def free_bytes(url: str) -> int | None:
    """Room on the disk of a database; `None` for one in memory, and where nobody knows."""
    database = database_file(make_url(url))
    try:
        return None if database is None else shutil.disk_usage(_nearest_folder(database.parent)).free
    except OSError:
        return None


def _nearest_folder(folder: Path) -> Path:
    """The folder itself, or the one in which it would be made."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _write_beside(folder: Path) -> str:
    with tempfile.TemporaryDirectory(dir=folder, prefix=".familiar-trial-") as trial:
        with closing(sqlite3.connect(Path(trial) / "trial.db", isolation_level=None)) as connection:
            mode = str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
            connection.execute("CREATE TABLE trial (content)")
            connection.execute("INSERT INTO trial VALUES (?)", (os.urandom(TRIAL_BYTES),))
        return mode


def _begin_change(database: Path) -> None:
    address = f"{database.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)) as real:
        real.execute("BEGIN IMMEDIATE")  # which SQLite grants for a file that cannot be written as well
        try:
            real.execute("CREATE TABLE trial (content)")
        finally:
            real.execute("ROLLBACK")


def _told(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
