"""`familiar privacy`: what is kept of a person, for the operator: to hand it out, to erase it. The bot may run."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.inert import inert
from bot.cli.keys import demand_key
from bot.env import load_settings
from bot.exported import exported_files
from bot.settings import TERMINAL
from bot.store import schema
from bot.store.database import read_once, scrub_once, write_once
from bot.store.erasing import Kind, count_traces, erase_person, read_traces
from bot.store.lock import holder_of
from bot.store.schema import SchemaState
from bot.store.tombstones import want_erased, wanted_erasures

app = typer.Typer(help="What is kept of a person: export it, or erase it.", no_args_is_help=True)

PATIENCE_SECONDS, LOOK_EVERY_SECONDS = 60.0, 0.2
"""How long, and how often, a bot that runs is looked at: it looks every 10 s, and ends an answer within 30 s."""

NOTHING = "Nothing is kept of them."

Platform = Annotated[str, typer.Argument(help="discord, telegram, or terminal.")]
UserId = Annotated[
    str,
    typer.Argument(
        help="The platform's number of the person, no name; in the terminal the account that the chat ran under, as "
        "whoami tells it."
    ),
]


@app.command("export")
def export(platform: Platform, user_id: UserId) -> None:
    """Write all that is kept of a person, as JSON."""
    key, url = demand_key(f"{platform}:{user_id}"), load_settings().sqlite_url
    kept = write_once(url, read_traces, key) if _is_there(url) else {}
    if not kept:
        print(NOTHING, file=sys.stderr)
    print(json.dumps(kept, ensure_ascii=False, indent=1))


@app.command("erase")
def erase(
    platform: Platform,
    user_id: UserId,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase all that is kept of a person, for good, as `/privacy forget-me` does. A bot that runs goes on."""
    key, settings, now = demand_key(f"{platform}:{user_id}"), load_settings(), datetime.now(UTC)
    url = settings.sqlite_url
    counts = write_once(url, count_traces, key, now) if _is_there(url) else {}
    lines = settings.typed_lines
    typed = lines if platform == TERMINAL and lines.exists() else None
    for line in _told(counts, typed):
        print(line)
    if platform == TERMINAL and (files := exported_files(settings)):
        print(inert(f"Files that were exported stay in {settings.exports.absolute()}: {', '.join(files)}."))
    if dry_run or not (counts or typed):
        return
    if not yes:
        typer.confirm("Erase this, for good?", abort=True)
    if counts:
        _erase(url, key)
    if typed is not None:
        typed.unlink(missing_ok=True)
    print(f"{key} is forgotten.")


def _erase(url: str, key: str) -> None:
    if holder_of(url) is not None and _is_erased_by_bot(url, key):
        return
    write_once(url, erase_person, key, datetime.now(UTC))
    scrub_once(url)


def _is_erased_by_bot(url: str, key: str) -> bool:
    """A bot that runs has them in mind, and may be answering them: it does it itself, unless it hangs."""
    print("The bot that runs does it, within a minute.")
    write_once(url, want_erased, key)
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        time.sleep(LOOK_EVERY_SECONDS)
        if key not in read_once(url, wanted_erasures, [key]):
            return True
    return False


def _told(counts: Mapping[Kind, int], typed: Path | None) -> list[str]:
    kept = [f"{KINDS[kind]}: {counts[kind]:,}" for kind in Kind if kind in counts]
    kept += [f"what was typed in the terminal, whoever did: {inert(str(typed))}"] if typed else []
    return [f"- {line}" for line in kept] or [NOTHING]


def _is_there(url: str) -> bool:
    """Whether there is a database, which is brought up to date then."""
    if schema.check(url) is SchemaState.EMPTY:
        return False
    schema.upgrade(url)
    return True


KINDS: Mapping[Kind, str] = {
    Kind.MESSAGES: "messages and commands of theirs",
    Kind.ANSWERS: "answers to them or about them, with what was looked up for those",
    Kind.FILES: "pictures",
    Kind.QUOTES: "quotes of them by others",
    Kind.NOTES: "notes about them, by them, or made of their words",
    Kind.SUMMARIES: "summaries that may tell of them (others are written of what the rest said)",
    Kind.REMINDERS: "reminders",
    Kind.LORE: "lore entries of their own or of their private chat",
    Kind.CARDS: "versions of persona cards that they brought to their private chat or have not confirmed",
    Kind.VALUES: "things that extensions keep about them",
    Kind.SETTINGS: "settings of their private chat, or their name behind those elsewhere",
    Kind.CALLS: "their name behind entries of what models were asked and cost",
    Kind.CHOICES: "records of what they chose for themselves, such as /privacy on",
    Kind.NAMES: "names that they are called by",
}
"""What is erased, in an operator's words; people are told the same of themselves by the catalogue."""
