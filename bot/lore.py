"""Finds the lore of a turn: looks through its talk for the keys of the card's book, the place's, and the asker's own.

Knows no prompt: what is found goes with the turn. Books are made ready once; that and scanning go on in threads.
"""

from __future__ import annotations

import asyncio
import gc
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

import structlog

from bot.personas.library import Persona
from bot.personas.lorebook.activation import Activation, ScanContext
from bot.personas.lorebook.limits import CARD_ENTRIES, PLACE_ENTRIES
from bot.personas.lorebook.state import LoreState
from bot.personas.macros import Where
from bot.prompt.expansion import expand_lore
from bot.store import lore, lorebooks
from bot.store.database import Database
from bot.store.lore import Talk
from bot.store.lorebooks import BookKey, BookKind, BookVersion
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import Turn

if TYPE_CHECKING:
    from bot.personas.lorebook import LoreIndex
    from bot.personas.lorebook.index import LoreItem

log = structlog.get_logger(__name__)

CARD, PLACE, MINE = "card", "place", "mine"
"""Names of the books; states of conversations refer to entries by them."""
NAME_OF: Mapping[BookKind, str] = {BookKind.PLACE: PLACE, BookKind.PERSON: MINE}

LORE_SHARE = 0.25
"""Of a prompt's budget, what lore may take where that is less than `MEMORY_TOKEN_BUDGET`: SillyTavern's share."""

SCANNED_MESSAGES = 100
"""The newest ones; no book that looks further back has been seen."""

KEPT_ENTRIES = 25_000
"""Entries of books that are kept ready, the latest used: 20,000 take some 30 MB."""

LARGE_BOOK = 1_000
"""Entries through which the collector takes more than 10 ms to look; measured."""
YOUNG = 1
"""The collector's generation of what was made lately."""

NOTHING_COUNTED = Talk(messages=0, replies=0, state=None, greeting=None)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A book that is ready, as it stood at `stamp`."""

    stamp: object
    index: LoreIndex
    counts: bool
    """Whether some entry goes by more than what is said: by how much was said, by what was there before."""


class LoreReader:
    """Brings lore to turns. `budget` are the tokens that lore may take (`MEMORY_TOKEN_BUDGET`)."""

    def __init__(
        self, *, db: Database, count: Callable[[str], int], budget: int, kept_entries: int = KEPT_ENTRIES
    ) -> None:
        self._db, self._count, self._budget, self._kept_entries = db, count, budget, kept_entries
        self._ready: OrderedDict[tuple[str, str], _Ready] = OrderedDict()
        self._making = asyncio.Lock()  # one book at a time, since each takes much memory while it is made

    async def bring(self, turn: Turn) -> Turn:
        """The turn with the entries that join in; as it is where there are no books."""
        ready = await self._books(turn.persona, turn.books)
        if not ready:
            return turn
        talk, before = await self._talk(turn, ready)
        found = await asyncio.to_thread(_scan, _indexes(ready), _said(turn), self._context(turn, talk, before))
        for warning in found.warnings:  # by its kind alone, as keys may be somebody's own; /lore test shows them
            log.warning("lore.not_looked_for", session=turn.session.channel.session_key, why=warning.message.message_id)
        return replace(turn, lore=found, lore_state=_as_kept(found.state, turn) if found.state != before else None)

    async def test(self, turn: Turn, text: str) -> Activation:
        """What would join in if the asker said this and nothing had been said before."""
        ready = await self._books(turn.persona, turn.books)
        talk, before = await self._talk(turn, ready)
        said = [f"{turn.asker.name}: {text}"]
        return await asyncio.to_thread(_scan, _indexes(ready), said, self._context(turn, talk, before))

    async def indexes(self, persona: Persona | None, kept: Sequence[BookVersion]) -> Mapping[str, LoreIndex]:
        """The book of a persona's card and those that are kept, by their names."""
        return {made.index.name: made.index for made in await self._books(persona, kept)}

    def forget(self, owners: Collection[str]) -> None:
        """The books of some cards, places or people are gone."""
        for key in [key for key in self._ready if key[1] in owners]:
            del self._ready[key]

    async def _books(self, persona: Persona | None, kept: Sequence[BookVersion]) -> list[_Ready]:
        books = [await self._card_book(persona)] if persona and persona.card.character_book else []
        return books + [await self._kept_book(version) for version in kept]

    async def _card_book(self, persona: Persona) -> _Ready:
        card = persona.card

        async def load() -> _Ready:
            return await asyncio.to_thread(_make, card.character_book, CARD, card, CARD_ENTRIES)

        return await self._made_ready((CARD, persona.id), card, load)

    async def _kept_book(self, version: BookVersion) -> _Ready:
        name, key = NAME_OF[version.key.kind], version.key

        async def load() -> _Ready:
            kept = await self._db.read(lorebooks.read_book, key)
            data = {**kept.settings, "entries": kept.entries} if kept else {"entries": []}
            stamp = kept.version if kept else version.version
            return await asyncio.to_thread(_make, data, name, stamp, PLACE_ENTRIES)

        return await self._made_ready((name, key.owner), version.version, load)

    async def _made_ready(self, key: tuple[str, str], stamp: object, load: Callable[[], Awaitable[_Ready]]) -> _Ready:
        if (found := self._as_of(key, stamp)) is not None:
            return found
        async with self._making:
            if (found := self._as_of(key, stamp)) is not None:
                return found
            self._ready.pop(key, None)  # the old one need not be there beside the new one
            made = self._ready[key] = await _undisturbed(load)
        while len(self._ready) > 1 and sum(len(kept.index.items) for kept in self._ready.values()) > self._kept_entries:
            self._ready.popitem(last=False)
        return made

    def _as_of(self, key: tuple[str, str], stamp: object) -> _Ready | None:
        found = self._ready.get(key)
        if found is None or not (found.stamp is stamp or found.stamp == stamp):
            return None
        self._ready.move_to_end(key)
        return found

    async def _talk(self, turn: Turn, ready: Sequence[_Ready]) -> tuple[Talk, LoreState]:
        """How far the conversation is, where a book goes by it."""
        if not any(made.counts for made in ready):
            return NOTHING_COUNTED, LoreState()
        talk = await self._db.read(lore.read_talk, turn.session.id, turn.conversation_id, turn.position)
        return talk, _as_seen(LoreState.load(talk.state), turn)

    def _context(self, turn: Turn, talk: Talk, before: LoreState) -> ScanContext:
        def expand(text: str, where: Where) -> str:
            return expand_lore(text, where, turn)

        card = turn.persona.card if turn.persona else None
        return ScanContext(
            message_count=talk.messages,
            assistant_count=talk.replies,
            rng=Random(f"{turn.conversation_id}:{turn.position}"),  # noqa: S311 - no secret; /retry draws the same
            count=self._count,
            state=before,
            budget=min(self._budget, int(turn.budget * LORE_SHARE)),
            expand=expand,
            greeting=_greeting(turn, talk),
            is_full=bool(turn.cuts.whole_from),
            persona_names=frozenset((card.name, card.spoken_name) if card else ()),
            persona_tags=frozenset(card.tags if card else ()),
            # In a prompt's beginning it would change with the speaker.
            visiting=frozenset((MINE,)) if turn.is_group else frozenset(),
        )


def _greeting(turn: Turn, talk: Talk) -> int | None:
    """Which greeting the conversation began with; the first one unless another was chosen."""
    return talk.greeting if talk.greeting is not None or not turn.is_greeted else 0


def book_key(name: str, place_key: str, person_key: str) -> BookKey:
    """The key of the place's book, or of the person's own."""
    return BookKey(BookKind.PLACE, place_key) if name == PLACE else BookKey(BookKind.PERSON, person_key)


async def _undisturbed(load: Callable[[], Awaitable[_Ready]]) -> _Ready:
    """A book made while Python's collector rests, which would look through all of it again and again and let everybody
    wait. Nor will it ever look through a large one, which holds no cycles.
    """
    gc.collect(YOUNG)  # what is garbage now must not be frozen with the book
    gc.disable()
    try:
        made = await load()
        if len(made.index.items) >= LARGE_BOOK:
            gc.freeze()
        return made
    finally:
        gc.enable()


def _scan(indexes: Sequence[LoreIndex], said: Sequence[str], context: ScanContext) -> Activation:
    from bot.personas.lorebook import scan  # 2 MB, only where there is a book

    return scan(indexes, said, context)


def _make(data: object, name: str, stamp: object, max_entries: int) -> _Ready:
    from bot.personas.lorebook import LoreIndex, read_book

    index = LoreIndex(read_book(data, max_entries=max_entries)[0], name=name)
    return _Ready(stamp, index, any(map(_counts, index.items)))


def _counts(item: LoreItem) -> bool:
    entry, wishes = item.entry, item.decorators
    by_number = (wishes.activate_only_after, wishes.activate_only_every, wishes.is_greeting)
    by_past = wishes.keep_activate_after_match or wishes.dont_activate_after_match
    waits = entry.delay or entry.sticky or entry.cooldown
    return bool(waits or by_past) or any(number is not None for number in by_number)


def _as_kept(state: LoreState, turn: Turn) -> LoreState:
    """What is remembered of lore, with whose card and whose own book it is about: others that speak or ask in the same
    conversation have entries of the same numbers.
    """
    return state.renamed(_kept_names(turn))


def _as_seen(state: LoreState, turn: Turn) -> LoreState:
    """The same the other way round, for a turn."""
    return state.renamed({kept: name for name, kept in _kept_names(turn).items()})


def _kept_names(turn: Turn) -> Mapping[str, str]:
    owners = {CARD: turn.persona_id, MINE: turn.asker.key}
    return {name: name + lore.owner_tag(owner) for name, owner in owners.items()}


def _indexes(ready: Sequence[_Ready]) -> list[LoreIndex]:
    return [made.index for made in ready]


def _said(turn: Turn) -> list[str]:
    """The newest messages, each behind its speaker's name."""
    rows = [row for row in turn.history if row.kind is not MessageKind.TOOL][-SCANNED_MESSAGES:]
    return [_line(row) for row in rows]


def _line(row: WindowRow) -> str:
    return f"{row.author_name}: {row.text}"
