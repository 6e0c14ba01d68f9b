"""The command line, `familiar`: one module per command group. Faults that an operator can mend end in one sentence."""

from __future__ import annotations

import sys

import typer

from bot.cli import chat, db, doctor, model, persona, run
from bot.errors import OperatorError

app = typer.Typer(
    name="familiar",
    help="A persona bot for Discord and Telegram that remembers people rightly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("doctor")(doctor.doctor)
app.add_typer(db.app, name="db")
app.add_typer(model.app, name="model")
app.add_typer(persona.app, name="persona")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except OperatorError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
