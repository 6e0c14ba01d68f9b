"""The extraction benchmark judges as it says: everything that is needed, and nothing that nobody said."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from bench.extraction.chats import AGREEMENT, BOT_CLAIM, CHATS, FOLLOW_UP, KEYS, PERSONA, SMALL_TALK_ZH, Chat
from bench.extraction.judge import judge
from bot.memory.items import FollowUpState, Item, ItemKind, Memory, NewItem
from bot.prompt.language import is_chinese

CELLO = {"text": "Max plays the cello", "subject": KEYS["Max"]}
PHOTOS = {"kind": ItemKind.FOLLOW_UP, "text": "Max sends the photos", "subject": KEYS["Max"], "day": date(2026, 3, 12)}


def memory(*found: dict[str, Any], gist: str = "") -> Memory:
    news = [NewItem(**{"kind": ItemKind.FACT, **one}) for one in found]
    return Memory(gist=gist, items=tuple(Item(id=number, new=new, tokens=1) for number, new in enumerate(news, 1)))


@pytest.mark.parametrize(
    ("chat", "found", "is_right"),
    [
        (BOT_CLAIM, memory(CELLO), True),
        (BOT_CLAIM, memory(), False),
        (BOT_CLAIM, memory({**CELLO, "subject": KEYS["Jill"]}), False),
        (BOT_CLAIM, memory(CELLO, {**CELLO, "text": "Max was born in Vienna"}), False),
        (BOT_CLAIM, memory(CELLO, {**CELLO, "text": "Max has a dog"}), False),
        (BOT_CLAIM, memory(CELLO, gist="Max keeps parrots."), False),
        (FOLLOW_UP, memory({**PHOTOS, "state": FollowUpState.OPEN}), True),
        (FOLLOW_UP, memory({**PHOTOS, "day": date(2026, 3, 11)}), False),
        (AGREEMENT, memory({"kind": ItemKind.CONSENSUS, "text": "Film night on Friday"}), True),
        (SMALL_TALK_ZH, memory(gist="They said good morning."), True),
        (SMALL_TALK_ZH, memory({"text": "茶还热着", "subject": KEYS["林"]}), False),
    ],
)
def test_a_memory_is_right_with_all_that_is_needed_and_nothing_else(chat: Chat, found: Memory, is_right: bool) -> None:
    assert judge(chat, found).is_right is is_right


def test_the_ten_chats_are_short_and_in_two_languages() -> None:
    spoken = ["".join(text for _, text in chat.lines) for chat in CHATS]
    assert [is_chinese(text) for text in spoken].count(True) == 4
    assert len(CHATS) == 10
    for chat in CHATS:
        people = {name for name, _ in chat.lines} - {PERSONA}
        assert 8 <= len(chat.lines) <= 16
        assert 2 <= len(people) <= 4
        assert people <= KEYS.keys()
