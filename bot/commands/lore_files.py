"""/lore import and export: lorebooks as files that other programs read and write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, OutFile
from bot.commands.command import Call, Command, Desk, inert
from bot.commands.lore_books import BOOK, FOR, ME, Owned, may_change, name_of_book, own_book, visible_books
from bot.commands.lore_edit import demand_room, entry_mapping, no_room
from bot.commands.members import OF
from bot.errors import UserError
from bot.lore import CARD, MINE, PLACE
from bot.personas.card import CardError, CardWarning
from bot.personas.formats import MAX_FILE_BYTES, read_file
from bot.personas.formats.json import read_json
from bot.personas.lorebook.limits import PLACE_ENTRIES
from bot.sentences import Say
from bot.store import lorebooks
from bot.store.database import Tx

if TYPE_CHECKING:
    from bot.personas.lorebook import Lorebook

SHOWN_WARNINGS = 10
"""So many can be read."""


async def import_lore(call: Call, desk: Desk) -> Outbound:
    """`/lore import [file] [--for place|me] [--replace]`: a book, or the book of a card, behind what is there."""
    book = await own_book(call, desk)
    file = next((file for file in call.inbound.attachments if file.fetch is not None), None)
    if file is None or file.fetch is None:
        raise UserError("lore-import-how")
    if file.size > MAX_FILE_BYTES:
        raise UserError("file-too-large", limit=f"{MAX_FILE_BYTES >> 20} MB")
    data = await file.fetch(MAX_FILE_BYTES)
    if _is_text(data) and len(data) > book.max_bytes:
        raise no_room(book)
    try:
        brought = await asyncio.to_thread(read_lore, data)
    except CardError as error:
        problem, remedy = error.problem.told(desk.words(call)), error.remedy.told(desk.words(call))
        raise UserError("lore-import-refused", file=file.name, problem=problem, remedy=remedy) from error
    await desk.db.run(keep_lore, book, brought, replaces="replace" in call.options)
    told = desk.text("lore-imported", call.locale, count=len(brought.entries), book=name_of_book(book.name, call, desk))
    return Outbound(text="\n\n".join(filter(None, (told, _listed(brought.warnings, desk.words(call))))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Brought:
    """A book from a file: what it says of all its entries, and these as they are kept."""

    book: Lorebook
    entries: tuple[dict[str, object], ...]
    warnings: Sequence[CardWarning]


def read_lore(data: bytes) -> Brought:
    """Read a lorebook, or that of a card; it may take a second.

    Raises:
        CardError: there is none, or it is damaged.
    """
    from bot.personas.lorebook import LoreIndex, find_book, read_book

    whole = read_json(data, max_bytes=MAX_FILE_BYTES) if _is_text(data) else _book_of_card(data)
    found = find_book(whole)
    if found is None:
        raise CardError("card-without-book", "card-without-book-remedy")
    book, warnings = read_book(found, max_entries=PLACE_ENTRIES)
    useless = LoreIndex(book, name="").warnings
    return Brought(book=book, entries=tuple(map(entry_mapping, book.entries)), warnings=(*warnings, *useless))


def _book_of_card(data: bytes) -> object:
    try:
        return read_file(data).card.character_book
    except CardError as error:
        if error.problem.message_id == "card-file-kind":
            raise CardError("lore-file-kind", "card-without-book-remedy") from error
        raise


def _is_text(data: bytes) -> bool:
    return data.lstrip(BOMS_AND_SPACE).startswith((b"{", b"["))


def keep_lore(tx: Tx, book: Owned, brought: Brought, *, replaces: bool) -> None:
    """Write what was brought behind what a book has, or in place of that.

    Raises:
        UserError: it would be too large.
    """
    from bot.personas.lorebook import Lorebook, write_book

    is_new = replaces or not lorebooks.size_of(tx, book.key)[0]
    if replaces:
        lorebooks.clear_book(tx, book.key)
    demand_room(tx, book, brought.entries)
    lorebooks.add_entries(tx, book.key, brought.entries)
    if is_new:  # what a file says of all of its entries must not change those that were there before
        settings = write_book(Lorebook(**{name: getattr(brought.book, name) for name in BOOK_SETTINGS}))
        settings.pop("entries")
        lorebooks.set_settings(tx, book.key, settings)


def _listed(warnings: Sequence[CardWarning], say: Say) -> str:
    lines = [f"- {inert(warning.told(say))}" for warning in warnings[:SHOWN_WARNINGS]]
    if len(warnings) > SHOWN_WARNINGS:
        lines.append(f"- … +{len(warnings) - SHOWN_WARNINGS}")
    return "\n".join(lines)


async def export_lore(call: Call, desk: Desk) -> Outbound:
    """`/lore export [--for card|place|me] [-o persona]`: a book as a file; else the one that `/lore add` means."""
    from bot.personas.lorebook import write_book_file

    wanted = call.options.get(BOOK.name)
    name = (await own_book(call, desk)).name if wanted is None else MINE if wanted == ME else wanted
    if not await may_change(name, call, desk):
        raise UserError("command-needs-rights")
    books, _ = await visible_books(call, desk)
    if name not in books or not books[name].items:
        raise UserError("lore-empty")
    text = json.dumps(write_book_file(books[name].book), ensure_ascii=False, indent=1)
    told = desk.text("lore-exported", call.locale, count=len(books[name].items), book=name_of_book(name, call, desk))
    return Outbound(text=told, file=OutFile(name=f"{FILE_NAMES[name]}.json", text=text))


BOMS_AND_SPACE = b"\xef\xbb\xbf \t\r\n"
BOOK_SETTINGS = ("name", "description", "scan_depth", "token_budget", "recursive_scanning", "extensions", "unknown")
FILE_NAMES = {CARD: "card-lore", PLACE: "lore", MINE: "my-lore"}

FILE = OptionSpec(name="file", kind=OptionKind.FILE, about="option-lore-file")
REPLACE = OptionSpec(name="replace", kind=OptionKind.SWITCH, flag="-r")

LORE_FILE_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("lore", "import"), options=(FILE, FOR, REPLACE), ephemeral=True, example="lore import --for me"
        ),
        run=import_lore,
    ),
    Command(
        spec=CommandSpec(path=("lore", "export"), options=(BOOK, OF), ephemeral=True, example="lore export"),
        run=export_lore,
    ),
)
