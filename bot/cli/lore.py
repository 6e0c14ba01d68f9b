"""`familiar lore`: lorebooks of places and people into the database and out of it, also while the bot runs on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.cards import read_whole, say
from bot.cli.inert import inert
from bot.cli.keys import demand_key
from bot.env import load_settings
from bot.errors import UserError
from bot.personas.card import CardError
from bot.store import lorebooks, schema
from bot.store.database import read_once, write_once
from bot.store.lorebooks import BookKey, BookKind

if TYPE_CHECKING:
    from bot.commands.lore_books import Owned

app = typer.Typer(no_args_is_help=True, help="Import and export lorebooks.")

Place = Annotated[str, typer.Option(help="Whose book: that of a place, such as discord:1234 or telegram:-1005678.")]
Person = Annotated[str, typer.Option(help="Whose book: that of a person, such as discord:99 or telegram:99.")]


@app.command("import")
def import_lore(
    file: Annotated[Path, typer.Argument(help="A lorebook as JSON, or a card that has one.")],
    place: Place = "",
    person: Person = "",
    replace: Annotated[bool, typer.Option("--replace", help="Take out what is there first.")] = False,
) -> None:
    """Write a lorebook behind what a place or a person has. Shows what had to be mended."""
    from bot.commands.lore_files import keep_lore, read_lore  # the whole bot is behind it

    book = _owned(place, person)
    try:
        brought = read_lore(read_whole(file))
    except CardError as error:
        say(f"{file}: {error}")
        raise typer.Exit(1) from error
    for told in brought.warnings:
        say(f"  {told}")
    url = load_settings().sqlite_url
    schema.upgrade(url)
    try:
        write_once(url, keep_lore, book, brought, replaces=replace)
    except UserError as error:
        say(_in_english(error))
        raise typer.Exit(1) from error
    say(f"{file} is in the book of {book.key.owner} (entries: {len(brought.entries):,}) and counts from now on.")


@app.command("export")
def export_lore(
    place: Place = "",
    person: Person = "",
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")] = Path("lore.json"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write the lorebook of a place or a person to a file that other programs read."""
    from bot.personas.lorebook import PLACE_ENTRIES, read_book, write_book_file

    key = _owned(place, person).key
    kept = read_once(load_settings().sqlite_url, lorebooks.read_book, None, key)
    if kept is None or not kept.entries:
        raise typer.BadParameter(inert(f"{key.owner} has no lorebook."))
    book, _ = read_book({**kept.settings, "entries": kept.entries}, max_entries=PLACE_ENTRIES)
    try:
        with output.open("w" if force else "x", encoding="utf-8") as out:
            json.dump(write_book_file(book), out, ensure_ascii=False, indent=1)
    except FileExistsError:
        raise typer.BadParameter(inert(f"{output} is there already; --force writes over it.")) from None
    except OSError as error:
        raise typer.BadParameter(inert(f"{output} cannot be written: {error.strerror}.")) from error
    say(f"{output} is written (entries: {len(book.entries):,}).")


def _owned(place: str, person: str) -> Owned:
    from bot.commands.lore_books import Owned
    from bot.lore import MINE, PLACE

    owner = place or person
    if bool(place) == bool(person):
        raise typer.BadParameter("Name one place or one person, such as --place discord:1234.")
    kind = BookKind.PLACE if place else BookKind.PERSON
    return Owned(name=PLACE if place else MINE, key=BookKey(kind, demand_key(owner)))


def _in_english(error: UserError) -> str:
    from bot.locale import FALLBACK, Catalogue

    return Catalogue().text(error.message_id, FALLBACK, **error.facts)
