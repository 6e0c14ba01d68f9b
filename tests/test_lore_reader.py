"""Books are made ready once, anew when they change, and not all of them are kept."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from bot.lore import LARGE_BOOK, LoreReader
from bot.store import lorebooks
from bot.store.database import Database
from bot.store.lorebooks import BookKey, BookKind
from bot.testing import make_row, make_turn
from bot.turn import Turn
from tests.lore import entry

PLACE = BookKey(BookKind.PLACE, "fake:room")


def reader(db: Database, **more: int) -> LoreReader:
    return LoreReader(db=db, count=lambda text: len(text.split()), budget=1_000, **more)


async def turn_with(db: Database, text: str, *keys: BookKey) -> Turn:
    """A turn as it opens with the books that stand under these keys."""
    found = [await db.read(lorebooks.find_books, key.owner, key.owner) for key in keys]
    return make_turn(make_row(text), books=tuple(version for versions in found for version in versions))


def said(turn: Turn) -> Sequence[str]:
    return [active.content for active in turn.lore.entries]


async def test_without_books_a_turn_stays_as_it_is(db: Database) -> None:
    turn = make_turn(make_row("wyrm"))
    assert await reader(db).bring(turn) is turn


async def test_a_book_is_made_ready_once_for_all_and_anew_when_it_changes(db: Database) -> None:
    await db.run(lorebooks.add_entries, PLACE, [entry("wyrm", content="Sleeps.")])
    looks = reader(db)
    turn = await turn_with(db, "the wyrm", PLACE)
    both = await asyncio.gather(looks.bring(turn), looks.bring(turn))
    assert [said(found) for found in both] == [["Sleeps."], ["Sleeps."]]
    ready = await looks.indexes(None, turn.books)
    assert (await looks.indexes(None, turn.books))["place"] is ready["place"]
    await db.run(lorebooks.change_entry, PLACE, 1, entry("wyrm", content="Wakes."))
    assert said(await looks.bring(await turn_with(db, "the wyrm", PLACE))) == ["Wakes."]
    await db.run(lorebooks.remove_entry, PLACE, 1)
    assert said(await looks.bring(await turn_with(db, "the wyrm", PLACE))) == []


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations through which Python's collector looks, as it does."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()


async def test_nobody_waits_for_the_collector_while_a_large_book_is_made_ready(
    db: Database, collections: list[int]
) -> None:
    await db.run(lorebooks.add_entries, PLACE, [entry(f"wyrm{number}") for number in range(LARGE_BOOK)])
    turn, frozen = await turn_with(db, "wyrm7", PLACE), gc.get_freeze_count()
    collections.clear()
    assert said(await reader(db).bring(turn)) == ["Text."]
    assert collections[0] == 1, "what is garbage is looked for beforehand"
    assert 2 not in collections
    assert gc.get_freeze_count() - frozen > LARGE_BOOK
    assert gc.isenabled()


async def test_numbers_of_entries_are_not_used_again_while_later_ones_stand(db: Database) -> None:
    assert await db.run(lorebooks.add_entries, PLACE, [entry("a"), entry("b"), entry("c")]) == 1
    await db.run(lorebooks.remove_entry, PLACE, 2)
    assert await db.run(lorebooks.add_entries, PLACE, [entry("d")]) == 4


async def test_the_books_used_last_are_kept_within_a_bound(db: Database) -> None:
    looks = reader(db, kept_entries=5)
    keys = [BookKey(BookKind.PLACE, f"fake:{name}") for name in "abc"]
    for key in keys:
        await db.run(lorebooks.add_entries, key, [entry("wyrm"), entry("tide")])
    turns = [await turn_with(db, "wyrm", key) for key in keys]
    first = [(await looks.indexes(None, turn.books))["place"] for turn in turns]
    again = [(await looks.indexes(None, turn.books))["place"] for turn in reversed(turns)]
    assert [index in first for index in again] == [True, True, False]


async def test_who_is_not_the_asker_is_not_scanned_for(db: Database) -> None:
    mine = BookKey(BookKind.PERSON, "fake:alice")
    await db.run(lorebooks.add_entries, mine, [entry("wyrm", content="Mine.")])
    books = await db.read(lorebooks.find_books, "fake:alice", "fake:bob")
    assert books == ()
    turn = replace(make_turn(make_row("wyrm")), books=await db.read(lorebooks.find_books, "elsewhere", "fake:alice"))
    assert said(await reader(db).bring(turn)) == ["Mine."]
