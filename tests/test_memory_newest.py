"""What was said later holds, in whatever order it is folded."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.memory.items import Add, Delta, Item, ItemKind, Memory, NewItem, Retire
from bot.memory.newest import without_outdated
from bot.memory.request import Material, index_of, notes_of
from bot.store.database import Database
from bot.store.memories import insert_item, read_ground, read_memory
from bot.store.memory_tables import memory_items
from bot.testing import NOW, ScriptedModel, make_row
from tests.conftest import MakeApp
from tests.folding import SMALL, Fold, ideal, rows_of, talk, transcript
from tests.stories import Story
from tests.talking import open_chat

DAY = timedelta(days=1)
OLD, NEW = make_row("I live in Oslo", sent_at=NOW - DAY), make_row("I live in Bergen", sent_at=NOW + DAY)


def item(**changes: Any) -> Item:
    new = NewItem(kind=ItemKind.FACT, text="Alice lives in Bergen", subject="fake:alice", subject_name="Alice")
    return Item(**{"id": 7, "new": new, "tokens": 4, "since": NOW - 30 * DAY, "said_at": NOW, **changes})


def moves(*sources: int, replaces: int | None = 7) -> Delta:
    return Delta(adds=(Add(item=NewItem(kind=ItemKind.FACT, text="Oslo", sources=sources), replaces=replaces),))


def retires(*sources: int) -> Delta:
    return Delta(retires=(Retire(item=7, sources=sources),))


@pytest.mark.parametrize(
    ("delta", "known", "is_kept"),
    [
        (moves(OLD.id), item(), False),
        (moves(NEW.id), item(), True),
        (moves(OLD.id, NEW.id), item(), True),
        (moves(OLD.id), item(said_at=OLD.sent_at), True),
        (moves(OLD.id), item(said_at=None), True),
        (moves(OLD.id), item(stale=True), True),
        (moves(OLD.id, replaces=None), item(), True),
        (moves(), item(), True),
        (retires(OLD.id), item(), False),
        (retires(NEW.id), item(), True),
    ],
)
def test_lines_that_are_all_older_than_a_note_neither_replace_nor_retire_it(
    delta: Delta, known: Item, is_kept: bool
) -> None:
    held = without_outdated(delta, Memory(items=(known,)), (OLD, NEW))
    assert (held == delta) is is_kept
    assert (len(held.adds) + len(held.retires), len(held.refused)) == ((1, 0) if is_kept else (0, 1))


def test_notes_tell_since_when_they_hold_and_behind_a_cached_request_those_that_are_newer_than_its_lines() -> None:
    zone = ZoneInfo("Pacific/Kiritimati")  # 14 hours ahead
    older = item(id=8, said_at=OLD.sent_at)
    memory = Memory(items=(item(since=NOW), older))
    first, second = notes_of(memory, zone).splitlines()[1:3]
    assert first == f"1. [fact, Alice (fake:alice), since {NOW.astimezone(zone).date()}] Alice lives in Bergen"
    assert f"since {(NOW - 30 * DAY).astimezone(zone).date()}" in second
    index = index_of(Material(rows=(OLD,), memory=memory, persona_name="Mira", zone=zone)).splitlines()
    assert index[1] == f"1. Alice lives in Bergen (since {NOW.astimezone(zone).date()})"
    assert index[2] == "2. Alice lives in Bergen"


async def test_what_came_along_is_not_overruled_by_what_was_said_before_and_is_folded_later(make_app: MakeApp) -> None:
    settings = {**SMALL, "persona_switch": "carry", "persona": "bryony"}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=ideal), **settings)
    await chat.say("by the way, I live in Oslo", sent_at=NOW)
    await chat.say("/persona use familiar")
    await chat.say("by the way, I live in Bergen", sent_at=NOW + DAY)
    await talk(chat, 6, sent_at=NOW + DAY)
    await chat.say("/compact")
    await chat.settled()
    await chat.say("/persona use bryony")
    await talk(chat, 6, sent_at=NOW + DAY)
    await chat.say("/compact")
    await chat.settled()
    asked = transcript(chat.model.summaries[-1])
    assert "I live in Oslo" in asked
    assert f"since {(NOW + DAY).date()}] Alice place=Bergen" in asked
    live = [row.text for row in await rows_of(chat, memory_items) if row.retired_at is None and row.kind == "fact"]
    assert live == ["Alice place=Bergen"] * 2  # each persona's own


@pytest.mark.parametrize(
    ("made_by", "last_said"), [("compaction:1", NOW - DAY), ("fake:alice", NOW), ("carry:1", NOW - DAY)]
)
async def test_an_item_was_said_when_its_newest_source_was_or_when_it_was_written_by_hand(
    db: Database, made_by: str, last_said: datetime
) -> None:
    def happens(story: Story) -> Item:
        sources = [story.say("hello", sent_at=NOW - days * DAY) for days in (9, 1, 5)]
        ground = read_ground(story.tx, story.conversation)
        assert ground is not None
        new = NewItem(kind=ItemKind.FACT, text="Alice lives in Oslo", sources=tuple(sources))
        insert_item(story.tx, ground, Add(item=new), made_by, len, NOW)
        (kept,) = read_memory(story.tx, story.conversation).items
        return kept

    kept = await Fold(db).tell(happens)
    assert (kept.since, kept.said_at) == (NOW - 9 * DAY, last_said)
