"""Which lorebook a command means, who may see it, and who may change it: one's own anybody, a place's its managers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.chat import OptionKind, OptionSpec
from bot.commands.command import Call, Desk
from bot.commands.persona_rights import demand_rights
from bot.errors import UserError
from bot.lore import CARD, MINE, PLACE, book_key
from bot.personas.library import Persona
from bot.personas.lorebook.limits import PLACE_ENTRIES
from bot.store import lorebooks
from bot.store.lorebooks import BookKey

if TYPE_CHECKING:
    from bot.personas.lorebook import LoreIndex

ME = "me"
"""How people call MINE."""

OWN_ENTRIES = 200
PLACE_CHARS, OWN_CHARS = 16_000_000, 200_000
"""What a book may hold, in characters as it is kept; ours to choose, so that nobody fills the memory of all."""

FOR = OptionSpec(name="for", kind=OptionKind.CHOICE, flag="-f", choices=(PLACE, ME), about="option-book")
BOOK = OptionSpec(name="for", kind=OptionKind.CHOICE, flag="-f", choices=(CARD, PLACE, ME), about="option-book")


@dataclass(frozen=True, kw_only=True, slots=True)
class Owned:
    """A book that the caller may change."""

    name: str
    key: BookKey

    @property
    def max_entries(self) -> int:
        """How many it may have."""
        return PLACE_ENTRIES if self.name == PLACE else OWN_ENTRIES

    @property
    def max_chars(self) -> int:
        """How long all of them may be together, as they are kept."""
        return PLACE_CHARS if self.name == PLACE else OWN_CHARS

    @property
    def max_bytes(self) -> int:
        """Of a file's text: what is longer has no room here, and reading it would take many times its size in memory.
        A character may have six bytes, and what programs write beside the texts some more.
        """
        return 10 * self.max_chars


async def own_book(call: Call, desk: Desk) -> Owned:
    """The book that the option FOR names. Without it, who manages a group means the group's, everybody else their own.

    Raises:
        UserError: it is the place's, and not theirs to change.
    """
    wanted = call.options.get(FOR.name)
    if wanted is None:
        name = PLACE if not call.inbound.channel.is_dm and await may_change(PLACE, call, desk) else MINE
    else:
        name = MINE if wanted == ME else PLACE
        if not await may_change(name, call, desk):
            raise UserError("command-needs-rights")
    return Owned(name=name, key=book_key(name, call.inbound.channel.place_key, call.inbound.author.key))


async def may_change(name: str, call: Call, desk: Desk) -> bool:
    """Whether the caller may change a book, and so see what is in it."""
    if name == MINE:
        return True
    persona = _speaker(call, desk)
    if name == CARD and (persona is None or not persona.is_imported):
        return persona is not None  # a shipped card is open to everybody, as with /persona export
    try:
        await demand_rights(persona.place_key if name == CARD and persona else _place(call), call, desk)
    except UserError:
        return False
    return True


async def books_here(call: Call, desk: Desk) -> Mapping[str, LoreIndex]:
    """The books that count for the caller here, by their names: the card's, the place's, their own."""
    versions = await desk.db.read(lorebooks.find_books, _place(call), call.inbound.author.key)
    return await desk.lore.indexes(_speaker(call, desk), versions)


async def visible_books(call: Call, desk: Desk) -> tuple[Mapping[str, LoreIndex], int]:
    """Those of them that the caller may see, and how many entries the others have: lore is for finding out."""
    books = await books_here(call, desk)
    seen = {name: index for name, index in books.items() if await may_change(name, call, desk)}
    return seen, sum(len(index.items) for name, index in books.items() if name not in seen)


def name_of_ref(ref: str) -> str:
    """The name of the book that an entry is in."""
    return ref.partition("/")[0]


def name_of_book(name: str, call: Call, desk: Desk) -> str:
    """How a book is called in an answer."""
    persona = _speaker(call, desk)
    return desk.text(f"lore-of-{name}", call.locale, persona=persona.name if persona else "")


def _speaker(call: Call, desk: Desk) -> Persona | None:
    return desk.library.get(call.persona_id)


def _place(call: Call) -> str:
    return call.inbound.channel.place_key
