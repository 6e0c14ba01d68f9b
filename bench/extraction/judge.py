"""Holds a memory to what a chat says is right. Pure; knows no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.extraction.chats import KEYS, Chat, Topic
from bot.memory.items import Item, ItemKind, Memory

NAMES = {key: name for name, key in KEYS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a memory lacks, and what of it is wrong or made up."""

    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether everything is there, and nothing else."""
        return not (self.missing or self.wrong)


def judge(chat: Chat, memory: Memory) -> Verdict:
    """The verdict about what is remembered after a chat."""
    missing = [
        topic.words for topic in chat.topics if topic.is_needed and not any(_fits(topic, item) for item in memory.items)
    ]
    return Verdict(missing=tuple(missing), wrong=tuple(_wrong(chat, memory)))


def _wrong(chat: Chat, memory: Memory) -> Iterator[str]:
    forbidden = re.compile(chat.forbidden or r"(?!)", re.IGNORECASE)
    for item in memory.items:
        if forbidden.search(item.new.text) or not any(_fits(topic, item) for topic in chat.topics):
            yield show(item)
    if forbidden.search(memory.gist):
        yield f"gist: {memory.gist}"


def _fits(topic: Topic, item: Item) -> bool:
    new = item.new
    is_owned = new.kind in (ItemKind.FACT, ItemKind.FOLLOW_UP)
    who = KEYS[topic.who] if topic.who and is_owned else None
    return (
        new.kind in topic.kinds
        and re.search(topic.words, new.text, re.IGNORECASE) is not None
        and who in (None, new.subject)
        and topic.day in (None, new.day)
    )


def show(item: Item) -> str:
    """An item in a line."""
    new = item.new
    marks = filter(None, (new.kind.value, NAMES.get(new.subject or ""), str(new.day or "")))
    return f"[{' · '.join(marks)}] {new.text}"
