"""Brings a database to the newest shape, and says how it stands. Alembic is imported only when there is work to do."""

from __future__ import annotations

import os
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DatabaseError
from sqlmodel import SQLModel

import bot.store.cast_tables
import bot.store.ledger_tables
import bot.store.lore_tables
import bot.store.memory_tables
import bot.store.metadata
import bot.store.moods
import bot.store.people_tables
import bot.store.persona_tables
import bot.store.reminder_tables
import bot.store.rounds
import bot.store.tables  # noqa: F401  (all fill SQLModel.metadata)
from bot.store.database import DatabaseUnusable, database_file, open_engine, told_by

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0015"
"""The newest revision in `migrations/versions`; a test holds the two equal, so that a start need not load Alembic."""

MIGRATIONS = Path(__file__).parents[2] / "migrations"


class SchemaState(StrEnum):
    """How a database stands against the code."""

    CURRENT = "current"
    EMPTY = "empty"
    OLDER = "older"
    UNVERSIONED = "unversioned"
    """Tables without a version: made by `create_all`, or by something else."""
    FOREIGN = "foreign"
    """A revision that this code does not know: made by a newer version."""


def upgrade(url: str) -> SchemaState:
    """Bring the database to HEAD in one transaction that holds the write lock; returns how it stood before.

    Raises:
        DatabaseUnusable: it is newer than the code, or its tables are not ours.
    """
    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            state = schema_state(connection)
            if state is SchemaState.CURRENT:
                return state
            if state is SchemaState.FOREIGN:
                raise DatabaseUnusable(
                    "The database was made by a newer version of Familiar. Update Familiar, or restore a backup"
                )
            _upgrade(connection, state)
            return state
    except DatabaseError as error:
        raise told_by(error.orig, database_file(engine.url)) or DatabaseUnusable(
            f"The database cannot be used: {error.orig}. Check who may write to its folder, the free space there, and "
            "whether another program holds it (DATA_DIR, DATABASE_URL)"
        ) from error
    finally:
        engine.dispose()


def upgrade_apart(url: str) -> None:
    """Upgrade when there is need to, in a process of its own: Alembic would keep 11 MB of ours for good.

    Raises:
        DatabaseUnusable: as `upgrade`.
    """
    if check(url) is SchemaState.CURRENT:
        return
    code = "import sys; from bot.store.schema import report_upgrade; sys.exit(report_upgrade(sys.argv[1]))"
    path = os.pathsep.join([str(MIGRATIONS.parent), *sys.path])
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code, url],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DatabaseUnusable(done.stdout.strip() or f"The database could not be upgraded: {done.stderr.strip()}")


def report_upgrade(url: str) -> int:
    """`upgrade` for a process of its own: prints what went wrong, returns the exit code."""
    try:
        upgrade(url)
    except DatabaseUnusable as error:
        print(error)  # noqa: T201 - read by the parent
        return 1
    return 0


def downgrade(url: str) -> None:
    """Take every migration back, for tests of the way down."""
    from alembic import command

    engine = open_engine(url)
    try:
        with engine.begin() as connection:
            config = _config()
            config.attributes["connection"] = connection
            command.downgrade(config, "base")
    finally:
        engine.dispose()


def check(url: str) -> SchemaState:
    """How the database stands; changes nothing, so that a database that is not there yet is none afterwards."""
    engine = open_engine(url, read_only=True)
    path = database_file(engine.url)
    if path is not None and not path.exists():
        return SchemaState.EMPTY
    try:
        with engine.begin() as connection:
            return schema_state(connection)
    except DatabaseError as error:
        raise told_by(error.orig, path) or DatabaseUnusable(
            f"The database cannot be read: {error.orig}. Check DATABASE_URL and DATA_DIR"
        ) from error
    finally:
        engine.dispose()


def schema_state(connection: Connection) -> SchemaState:
    """Compare what is there with HEAD."""
    tables = set(inspect(connection).get_table_names())
    if not tables - {"alembic_version"}:
        return SchemaState.EMPTY
    revision = (
        connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if "alembic_version" in tables
        else None
    )
    if revision is None:
        return SchemaState.UNVERSIONED
    if revision == HEAD:
        return SchemaState.CURRENT
    return SchemaState.OLDER if revision in _revisions() else SchemaState.FOREIGN


def _upgrade(connection: Connection, state: SchemaState) -> None:
    from alembic import command
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    config = _config()
    config.attributes["connection"] = connection
    if state is SchemaState.UNVERSIONED:
        # Such a database may be stamped only if it is exactly what the migrations would have made (S10).
        differences = compare_metadata(MigrationContext.configure(connection), SQLModel.metadata)
        if differences:
            raise DatabaseUnusable(
                f"The database has tables but no version, and differs from ours in {len(differences)} points. "
                "Point DATABASE_URL at another file, or restore a backup"
            )
        command.stamp(config, HEAD)
        return
    command.upgrade(config, HEAD)


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _revisions() -> set[str]:
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
