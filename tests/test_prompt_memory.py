"""A memory as the prompt has it: in one order, under headings of its own language, and shortened by whole items."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from bot.memory.items import Category, FollowUpState, Item, ItemKind, Memory, NewItem
from bot.prompt.memory import write_memory
from tests.prompts import words

GOLDEN = Path(__file__).parent / "golden"
MUCH = 10_000

ENGLISH = {
    "gist": "They plan a trip to the coast.", "alice": "Alice", "bob": "Bob",
    "place": "Alice lives in Bergen", "taste": "Alice hates cilantro", "job": "Bob is a carpenter",
    "game": "Bob plays chess", "fair": "The fair", "moved": "Alice moved", "sold": "Bob sold his boat",
    "noon": "They meet at noon", "bring": "Everybody brings something", "tent": "bring the tent",
    "stay": "find a place to stay", "done": "book the ferry",
}  # fmt: skip
CHINESE = {
    "gist": "他们打算去海边旅行。", "alice": "小明", "bob": "阿宝",
    "place": "小明住在卑尔根", "taste": "小明不吃香菜", "job": "阿宝是木匠", "game": "阿宝会下棋", "fair": "赶集",
    "moved": "小明搬家了", "sold": "阿宝卖了船", "noon": "中午见面", "bring": "每人带一样东西", "tent": "带帐篷",
    "stay": "找住处", "done": "订船票",
}  # fmt: skip


def memory_in(said: dict[str, str]) -> Memory:
    """Every kind of item, as they came: in no order at all."""
    numbers = itertools.count(1)

    def keep(kind: ItemKind, what: str, who: str | None = None, key: str | None = None, **more: Any) -> Item:
        new = NewItem(kind=kind, text=said[what], subject=key, subject_name=said[who] if who else "", **more)
        return Item(id=next(numbers), new=new, tokens=words(new.text))

    fact, event, agreed, open_item = ItemKind.FACT, ItemKind.EVENT, ItemKind.CONSENSUS, ItemKind.FOLLOW_UP
    autumn, waits = date(2026, 10, 12), FollowUpState.OPEN
    return Memory(
        gist=said["gist"],
        items=(
            keep(event, "moved", day=autumn),
            keep(fact, "place", "alice", "fake:alice", category=Category.PLACE),
            keep(open_item, "tent", "alice", "fake:alice", day=date(2026, 11, 3), state=waits),
            keep(fact, "job", "bob", "fake:bob", category=Category.OCCUPATION),
            keep(agreed, "noon", people=("fake:alice", "fake:bob")),
            keep(open_item, "done", "bob", "fake:bob", state=FollowUpState.DONE),
            keep(event, "fair", day=date(2026, 9, 30)),
            keep(fact, "taste", "alice", "fake:alice", category=Category.PREFERENCE),
            keep(event, "sold", day=autumn),
            keep(fact, "game", "bob", "fake:rob"),
            keep(agreed, "bring"),
            keep(open_item, "stay", state=waits),
        ),
    )


@pytest.mark.parametrize(("said", "golden"), [(ENGLISH, "memory_en.md"), (CHINESE, "memory_zh.md")])
def test_M19_a_memory_is_written_under_headings_of_its_language_in_one_order(said: dict[str, str], golden: str) -> None:
    expected = (GOLDEN / golden).read_text(encoding="utf-8").rstrip("\n")
    assert write_memory(memory_in(said), room=MUCH, count=words).text == expected


@pytest.mark.parametrize(
    ("kind", "heading"),
    [
        (None, "## Summary"),
        (ItemKind.FACT, "## About"),
        (ItemKind.EVENT, "## Timeline"),
        (ItemKind.CONSENSUS, "## Agreed"),
        (ItemKind.FOLLOW_UP, "## Open"),
    ],
)
def test_a_heading_with_nothing_below_it_is_left_out(kind: ItemKind | None, heading: str) -> None:
    whole = memory_in(ENGLISH)
    rest = replace(whole, items=tuple(item for item in whole.items if item.new.kind is not kind))
    rest = replace(rest, gist="") if kind is None else rest
    text = write_memory(rest, room=MUCH, count=words).text
    assert heading in write_memory(whole, room=MUCH, count=words).text
    assert heading not in text


def test_where_nothing_is_remembered_nothing_is_written() -> None:
    assert write_memory(Memory(), room=MUCH, count=words).text == ""
    closed = next(item for item in memory_in(ENGLISH).items if item.new.state is FollowUpState.DONE)
    assert write_memory(Memory(items=(closed,)), room=MUCH, count=words).text == ""


def test_in_little_room_whole_items_go_closed_ones_first_then_old_events_and_what_is_pinned_or_open_last() -> None:
    memory = memory_in(ENGLISH)
    pinned = [replace(item, new=replace(item.new, pinned=item.id == 1)) for item in memory.items]
    memory = replace(memory, items=tuple(random.Random(7).sample(pinned, len(pinned))))
    gone: list[str] = []
    for room in range(words(write_memory(memory, room=MUCH, count=words).text), 0, -1):
        written = write_memory(memory, room=room, count=words)
        lines = written.text.splitlines()
        assert all(any(item.new.text in line for line in lines) or item in written.left_out or not is_shown(item)
                   for item in memory.items)  # fmt: skip
        texts = [item.new.text for item in written.left_out]
        assert texts[: len(gone)] == gone
        gone = texts
    order = ["done", "fair", "sold", "noon", "bring", "place", "job", "taste", "game", "tent", "stay", "moved"]
    assert gone == [ENGLISH[what] for what in order]


def is_shown(item: Item) -> bool:
    return item.new.state is not FollowUpState.DONE
