"""The command line, `familiar`: one module per command group. Faults that an operator can mend end in one sentence."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from bot import __version__
from bot.cli.inert import inert
from bot.cli.streams import standard_streams
from bot.errors import OperatorError

COMMANDS = ("run", "chat", "doctor")
GROUPS = ("db", "model", "persona", "lore", "privacy")
"""Each name is that of its module here."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"Familiar {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
]


def _options(version: Version = False) -> None:
    pass


def command_line(words: Sequence[str]) -> typer.Typer:
    """What understands these words. The module of the command they begin with is loaded alone, because all of them
    together take most of a second; what is no command is answered by what knows them all.
    """
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
    app.callback()(_options)
    known = (*COMMANDS, *GROUPS)
    for name in [word for word in words[:1] if word in known] or known:
        module = import_module(f"{__name__}.{name}")
        if name in COMMANDS:
            app.command(name)(getattr(module, name))
        else:
            app.add_typer(module.app, name=name)
    return app


def main() -> None:
    """Run the command line."""
    with standard_streams():
        try:
            app = _uncollected(sys.argv[1:])
            app(prog_name="familiar")
        except OperatorError as error:
            print(inert(str(error)), file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(130)


def _uncollected(words: Sequence[str]) -> typer.Typer:
    """The command line, loaded without looking for garbage in what all stays: that takes an eighth of a start, and of
    each full collection later.
    """
    gc.disable()
    try:
        return command_line(words)
    finally:
        gc.freeze()
        gc.enable()
