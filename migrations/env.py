"""Alembic's entry: runs migrations on the connection that `bot.store.schema` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel

import bot.store.tables  # noqa: F401  (fills the metadata that autogenerate compares with)


def run() -> None:
    """Run the migrations that the caller asked for."""
    connection: Connection = context.config.attributes["connection"]
    # Batch mode rebuilds a table where SQLite has no ALTER for the change (S09).
    context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True, compare_type=True)
    context.run_migrations()


run()
