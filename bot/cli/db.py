"""`familiar db`: bring the database to the newest shape, or say how it stands."""

from __future__ import annotations

import typer

from bot.env import load_settings
from bot.store import schema
from bot.store.schema import SchemaState
from bot.store.trial import demand_whole

app = typer.Typer(help="The database: upgrade it, or see how it stands.", no_args_is_help=True)

_MEANING = {
    SchemaState.CURRENT: "up to date",
    SchemaState.EMPTY: "empty; run `familiar db upgrade`",
    SchemaState.OLDER: "from an older version; run `familiar db upgrade`",
    SchemaState.UNVERSIONED: "without a version; `familiar db upgrade` takes it over if its tables are exactly ours",
    SchemaState.FOREIGN: "from a newer version of Familiar; update Familiar, or restore a backup",
}


@app.command("upgrade")
def upgrade(quiet: bool = typer.Option(False, "--quiet", help="Say nothing when all is well.")) -> None:
    """Bring the database to the newest shape. Safe to repeat, and safe for two processes at once."""
    settings = load_settings()
    before = schema.upgrade(settings.sqlite_url)
    if not quiet:
        done = "was up to date" if before is SchemaState.CURRENT else "is up to date now"
        print(f"The database {done} (revision {schema.HEAD}).")


@app.command("check")
def check() -> None:
    """Say how the database stands, and whether it is whole; exit code 1 unless it is up to date."""
    settings = load_settings()
    state = schema.check(settings.sqlite_url)
    demand_whole(settings.sqlite_url)
    print(f"The database is {_MEANING[state]}.")
    raise typer.Exit(0 if state is SchemaState.CURRENT else 1)
