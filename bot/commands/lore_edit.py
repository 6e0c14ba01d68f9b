"""/lore add, edit and remove: the entries of a place's book, and of one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, opens_quote
from bot.commands.command import Call, Command, Desk
from bot.commands.lore import shown
from bot.commands.lore_books import FOR, Owned, name_of_book, own_book
from bot.commands.lore_keys import are_set_apart, read_keys
from bot.errors import UserError
from bot.store import lorebooks
from bot.store.database import Tx

if TYPE_CHECKING:
    from bot.personas.lorebook import LoreEntry

ON, OFF = "on", "off"


async def add(call: Call, desk: Desk) -> Outbound:
    """`/lore add KEYS TEXT [--for place|me] [--constant]`: an entry that joins in when one of its keys is mentioned. A
    constant one needs none: what is typed alone is its text, and all that is typed without keys in quotes.
    """
    from bot.personas.lorebook import LoreEntry  # the engine, only where there is a book

    book = await own_book(call, desk)
    keys, text = call.options["keys"], call.options.get(NEW_TEXT.name, "")
    is_constant = CONSTANT.name in call.options
    if not text and not is_constant:
        raise UserError("command-option-missing", option=NEW_TEXT.name, command="lore add")
    if is_constant and not (text and are_set_apart(call)) and not opens_quote(keys):
        entry = LoreEntry(id=0, keys=(), content=f"{keys} {text}".rstrip(), constant=True)
    else:
        entry = LoreEntry(id=0, keys=read_keys(keys), content=text, constant=is_constant)
    _demand_words(entry)
    number = await desk.db.run(_add, book, entry)
    return _changed("lore-added", book, replace(entry, id=number), call, desk)


def _add(tx: Tx, book: Owned, entry: LoreEntry) -> int:
    demand_room(tx, book, (mapping := entry_mapping(entry),))
    return lorebooks.add_entries(tx, book.key, (mapping,))


async def edit(call: Call, desk: Desk) -> Outbound:
    """`/lore edit NUMBER [TEXT] [--keys KEYS] [--constant on|off] [--enabled on|off] [--for place|me]`."""
    book = await own_book(call, desk)
    entry = await desk.db.run(_edit, book, call)
    return _changed("lore-edited", book, entry, call, desk)


def _edit(tx: Tx, book: Owned, call: Call) -> LoreEntry:
    entry = _entry(tx, book, call)
    changed = replace(
        entry,
        content=call.options.get("text", entry.content),
        keys=read_keys(call.options["keys"]) if "keys" in call.options else entry.keys,
        constant=_is_on(call, "constant", entry.constant),
        enabled=_is_on(call, "enabled", entry.enabled),
    )
    if changed == entry:
        raise UserError("lore-edit-how")
    if changed.content != entry.content:
        _demand_words(changed)
    mapping = entry_mapping(changed)
    demand_room(tx, book, (mapping,), instead_of=1)
    lorebooks.change_entry(tx, book.key, int(changed.id), mapping)
    return changed


async def remove(call: Call, desk: Desk) -> Outbound:
    """`/lore remove NUMBER [--for place|me]`; the answer has what is gone, so that it can be written again."""
    book = await own_book(call, desk)
    entry = await desk.db.run(_remove, book, call)
    return _changed("lore-removed", book, entry, call, desk)


def _remove(tx: Tx, book: Owned, call: Call) -> LoreEntry:
    entry = _entry(tx, book, call)
    lorebooks.remove_entry(tx, book.key, int(entry.id))
    return entry


def _entry(tx: Tx, book: Owned, call: Call) -> LoreEntry:
    from bot.personas.lorebook import read_book

    number = int(call.options["number"])
    found = lorebooks.read_entry(tx, book.key, number)
    if found is None:
        raise UserError("lore-no-entry", number=number)
    return read_book({"entries": [found]})[0].entries[0]


def _demand_words(entry: LoreEntry) -> None:
    """Make sure that an entry says something. A decorator takes the whole line, which people who write everything in
    one do not expect.

    Raises:
        UserError: it has decorators alone.
    """
    from bot.personas.lorebook.decorators import split_content

    if entry.content.strip() and not split_content(entry.content)[1].strip():
        raise UserError("lore-decorators-alone")


def demand_room(tx: Tx, book: Owned, entries: tuple[dict[str, object], ...], *, instead_of: int = 0) -> None:
    """Make sure that a book takes these, so many of them in place of others.

    Raises:
        UserError: it would be too large.
    """
    count, chars = lorebooks.size_of(tx, book.key)
    more = sum(len(str(entry)) for entry in entries)
    if count + len(entries) - instead_of > book.max_entries or chars + more > book.max_chars:
        raise no_room(book)


def no_room(book: Owned) -> UserError:
    """That a book takes no more, and how much it takes."""
    return UserError("lore-full", count=book.max_entries, chars=f"{book.max_chars:,}")


def entry_mapping(entry: LoreEntry) -> dict[str, object]:
    """An entry as a file of ours has it."""
    from bot.personas.lorebook import Lorebook, write_book

    (mapping,) = write_book(Lorebook(entries=(entry,)))["entries"]
    return dict(mapping)


def _is_on(call: Call, option: str, before: bool) -> bool:
    return call.options[option] == ON if option in call.options else before


def _changed(message_id: str, book: Owned, entry: LoreEntry, call: Call, desk: Desk) -> Outbound:
    told = desk.text(message_id, call.locale, number=str(entry.id), book=name_of_book(book.name, call, desk))
    entry_shown = shown(book.name, entry, call, desk)
    return replace(entry_shown, text=f"{told}\n\n{entry_shown.text}")


KEYS = OptionSpec(name="keys", required=True)
NEW_TEXT = OptionSpec(name="text", rest=True, about="option-lore-text")
CONSTANT = OptionSpec(name="constant", kind=OptionKind.SWITCH, flag="-c")
NUMBER = OptionSpec(name="number", kind=OptionKind.INTEGER, required=True)
SWITCH = (ON, OFF)

LORE_EDIT_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("lore", "add"),
            options=(KEYS, NEW_TEXT, FOR, CONSTANT),
            ephemeral=True,
            example='lore add "dragon, wyrm" The dragon sleeps under the hill',
        ),
        run=add,
    ),
    Command(
        spec=CommandSpec(
            path=("lore", "edit"),
            options=(
                NUMBER,
                NEW_TEXT,
                OptionSpec(name="keys", flag="-k"),
                OptionSpec(name="constant", kind=OptionKind.CHOICE, flag="-c", choices=SWITCH),
                OptionSpec(name="enabled", kind=OptionKind.CHOICE, flag="-e", choices=SWITCH),
                FOR,
            ),
            ephemeral=True,
            example='lore edit 3 --keys "dragon, wyrm, smoke"',
        ),
        run=edit,
    ),
    Command(
        spec=CommandSpec(path=("lore", "remove"), options=(NUMBER, FOR), ephemeral=True, example="lore remove 3"),
        run=remove,
    ),
)
