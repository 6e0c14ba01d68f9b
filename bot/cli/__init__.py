"""The command line, `familiar`: one module per command group. Faults that an operator can mend end in one sentence."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bot import __version__
from bot.cli import chat, db, doctor, lore, model, persona, privacy, run
from bot.cli.inert import inert
from bot.cli.streams import standard_streams
from bot.errors import OperatorError

app = typer.Typer(
    name="familiar",
    help="A persona bot for Discord and Telegram that remembers people rightly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,  # the command is called by its path, which no shell completes
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Settings come from the environment and from the file .env in the folder where the command is called; "
    "the data lies in DATA_DIR, by default the folder data there. .env.example lists all settings.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"Familiar {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
]


@app.callback()
def _options(version: Version = False) -> None:
    pass


app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("doctor")(doctor.doctor)
app.add_typer(db.app, name="db")
app.add_typer(model.app, name="model")
app.add_typer(persona.app, name="persona")
app.add_typer(lore.app, name="lore")
app.add_typer(privacy.app, name="privacy")


def main() -> None:
    """Run the command line."""
    with standard_streams():
        try:
            app(prog_name="familiar")
        except OperatorError as error:
            print(inert(str(error)), file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(130)
