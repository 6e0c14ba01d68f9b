"""Runs plain functions in transactions, in threads of their own, so that the event loop never waits for a disk.

SQLite has one writer thread and one read-only thread; no transaction is open while the network is awaited.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import structlog
from sqlalchemy import Connection, Engine, RootTransaction, StaticPool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from bot.errors import OperatorError

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

OWNERS_FOLDER, OWNERS_FILE = 0o700, 0o600
"""Modes: what people said in private is for nobody else on the machine."""

BUSY_TIMEOUT_MS = 5000
"""How long a connection waits for another process's lock before it fails (S01)."""
WAITS_FOR_LOCK = 12
"""How many times the running bot waits so long before a transaction is given up, and what was to be stored is lost."""

Tx = Connection
"""An open transaction, as query functions receive it."""


class DatabaseUnusable(OperatorError):
    """The database cannot be opened, upgraded, read or written; the sentence says what to do."""


class DiskFull(DatabaseUnusable):
    """There is no room for what was to be stored; of that transaction nothing is."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        where = f"below {folder.absolute()} " if folder else ""
        super().__init__(
            f"the disk {where}is full, so nothing can be stored. Free some space; a running bot goes on by itself then"
        )


class DatabaseDamaged(DatabaseUnusable):
    """What the file holds is not, or no longer, a database."""

    def __init__(self, file: Path | None, told: object) -> None:
        self.file = file
        where = file.absolute() if file else "the database"
        super().__init__(f"{where} is damaged: {told}. Restore a backup, or move it away to begin anew")


class DatabaseUnwritable(DatabaseUnusable):
    """The file, or one of those beside it, is not ours to change."""

    def __init__(self, file: Path | None, told: object) -> None:
        self.file = file
        where = file.absolute() if file else "the database"
        also = "also those of the files beside it that begin with its name"
        super().__init__(f"{where} cannot be written to: {told}. Check its owner and mode (chmod u+w), {also}")


class Database:
    """Two threads with one connection each: all writes in order in one, reads beside them in the other."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = open_engine(url)
        self._writer = ThreadPoolExecutor(1, "database-write")
        # A second connection to a database in memory would see another, empty one.
        in_memory = database_file(make_url(url)) is None
        self._read_engine = self._engine if in_memory else open_engine(url, read_only=True)
        self._reader = self._writer if in_memory else ThreadPoolExecutor(1, "database-read")

    async def run(self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work(tx, ...)` in one write transaction: committed when it returns, rolled back when it raises."""
        return await self._in_thread(self._writer, self._engine, work, *args, **kwargs)

    async def read(self, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work(tx, ...)` on one consistent, read-only view of what is committed."""
        return await self._in_thread(self._reader, self._read_engine, work, *args, **kwargs)

    def post(self, work: Callable[Concatenate[Tx, P], None], *args: P.args, **kwargs: P.kwargs) -> None:
        """The same when its turn comes: nobody waits for it, and closing carries it out. A fault is only logged."""
        transaction = _transaction(self._engine, work, *args, **kwargs)
        posted = asyncio.get_running_loop().run_in_executor(self._writer, transaction)
        posted.add_done_callback(partial(_log_failure, work.__name__))

    async def scrub(self) -> bool:
        """Leave nothing in files and buffers of what was deleted. Writes wait meanwhile: 1 s for some 100 MB. False
        where that was not possible.
        """
        in_thread = asyncio.get_running_loop().run_in_executor
        await in_thread(self._reader, _renew, self._read_engine)
        return await in_thread(self._writer, _scrub, self._engine)

    async def _in_thread(
        self,
        pool: ThreadPoolExecutor,
        engine: Engine,
        work: Callable[Concatenate[Tx, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        # A write that has begun is carried out even if its caller is cancelled; cancelling cannot half-do it.
        transaction = _transaction(engine, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(pool, transaction)

    async def close(self) -> None:
        """Wait for what is running and close the files."""
        for pool in {self._writer, self._reader}:
            await asyncio.to_thread(pool.shutdown, wait=True)
        for engine in {self._engine, self._read_engine}:
            engine.dispose()


def _transaction(
    engine: Engine, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
) -> Callable[[], T]:
    def run() -> T:
        try:
            with engine.connect() as tx, _begun(tx):
                return work(tx, *args, **kwargs)
        except DatabaseError as error:
            if told := told_by(error.orig, database_file(engine.url)):
                raise told from error
            raise

    return run


def _begun(tx: Tx) -> RootTransaction:
    """A transaction, for which another program that has its own is waited for, as long as the operator may need."""
    for wait in range(1, WAITS_FOR_LOCK):
        try:
            return tx.begin()
        except OperationalError as error:
            if getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY != sqlite3.SQLITE_BUSY:
                raise
            log.warning("database.locked", seconds=wait * BUSY_TIMEOUT_MS / 1000, remedy=END_THE_OTHER)
    return tx.begin()


END_THE_OTHER = "another program is writing to the database: let it end what it has begun, or end it"


def told_by(error: BaseException | None, file: Path | None) -> DatabaseUnusable | None:
    """What a fault of SQLite means to whoever runs the bot; nothing where it has no such meaning."""
    match getattr(error, "sqlite_errorcode", 0) & _PRIMARY:
        case sqlite3.SQLITE_FULL:
            return DiskFull(file.parent if file else None)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return DatabaseDamaged(file, error)
        case sqlite3.SQLITE_READONLY:
            return DatabaseUnwritable(file, error)
    return None


_PRIMARY = 0xFF
"""The bits of a result code that say what went wrong; those above say where (sqlite.org/rescode.html)."""


def _log_failure(work: str, posted: asyncio.Future[None]) -> None:
    if not posted.cancelled() and (error := posted.exception()) is not None:
        told = None if isinstance(error, OperatorError) else error  # its sentence says all
        log.error("database.post_failed", work=work, error=repr(error), exc_info=told)


def open_engine(url: str, *, read_only: bool = False) -> Engine:
    """One long-lived SQLite connection with our pragmas.

    Raises:
        DatabaseUnusable: the address is no SQLite address, or its folder cannot be made.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DatabaseUnusable("DATABASE_URL is no database address; write sqlite:///data/familiar.db") from None
    if parsed.get_backend_name() != "sqlite":
        raise DatabaseUnusable(
            f"DATABASE_URL names {parsed.get_backend_name()}, and only SQLite is supported; write sqlite:///data/familiar.db"
        )
    if not read_only and (path := database_file(parsed)) is not None:
        try:
            path.parent.mkdir(mode=OWNERS_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnusable(
                f"The folder of {path} cannot be made: {error.strerror}. Set DATA_DIR or DATABASE_URL"
            ) from error
    # An error must not carry into a log what people wrote.
    engine = create_engine(
        parsed, poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
    )
    if not read_only:
        event.listen(engine, "do_connect", lambda *_: _make_for_owner(database_file(parsed)))
    event.listen(engine, "connect", _read_only_connection if read_only else _write_connection)
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"  # a write lock taken late could fail after work was done

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _make_for_owner(database: Path | None) -> None:
    """SQLite would let everybody on the machine read what it makes; the files beside it get the rights of this one."""
    if database is not None and not database.exists():
        with suppress(OSError):  # SQLite itself tells
            database.touch(mode=OWNERS_FILE)


def read_once(url: str, work: Callable[Concatenate[Tx, P], T], otherwise: T, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work(tx, ...)` on a database that nobody here has open; `otherwise` where it is not there, or lacks what is
    asked for.

    Raises:
        DatabaseUnusable: as `open_engine`.
    """
    engine = open_engine(url, read_only=True)
    path = database_file(engine.url)
    try:
        if path is None or not path.exists():
            return otherwise
        with engine.begin() as tx:
            return work(tx, *args, **kwargs)
    except DatabaseError:
        return otherwise
    finally:
        engine.dispose()


def write_once(url: str, work: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work(tx, ...)` in one write transaction on a database that nobody here has open; others may.

    Raises:
        DatabaseUnusable: as `open_engine`.
    """
    engine = open_engine(url)
    try:
        return _transaction(engine, work, *args, **kwargs)()
    finally:
        engine.dispose()


def scrub_once(url: str) -> None:
    """As `Database.scrub`, of a database that nobody here has open; others may.

    Raises:
        DatabaseUnusable: as `open_engine`.
    """
    engine = open_engine(url)
    try:
        _scrub(engine)
    finally:
        engine.dispose()


def _scrub(engine: Engine) -> bool:
    """What was deleted before `secure_delete` was on may still stand between the rows: the file is written anew. And
    the log holds pages as they were.
    """
    with closing(engine.raw_connection()) as connection:
        try:
            connection.cursor().execute("VACUUM")
            is_busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            log.warning("database.not_scrubbed", error=str(error), remedy="free some space on the disk, and restart")
            return False
    if is_busy:
        log.warning("database.log_not_emptied", remedy="restart Familiar, which empties it")
    _renew(engine)
    return not is_busy


def _renew(engine: Engine) -> None:
    """Let go of what a connection has read and of the values that statements were last run with; the next use opens a
    new one.
    """
    engine.clear_compiled_cache()
    if database_file(engine.url) is not None:  # one in memory would be gone
        engine.dispose()


def database_file(url: URL) -> Path | None:
    """The file that an address names; `None` for a database in memory."""
    return None if url.database in (None, "", ":memory:") else Path(url.database)


def _write_connection(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode not in ("wal", "memory"):
        # Network and some virtual file systems refuse WAL (S02); everything works, but readers wait for writers.
        log.warning("database.no_wal", journal_mode=mode, remedy="keep the data folder on a local disk")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten; not every SQLite does by default


def _read_only_connection(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA query_only=ON")
