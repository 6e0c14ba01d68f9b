"""Writes a memory as one section of the prompt: whole items under headings in the language of the talk. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.memory.items import Item, ItemKind, Memory, Written
from bot.prompt.language import is_chinese


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """What the section says in one language besides the items."""

    intro: str
    summary: str
    about: str
    timeline: str
    agreed: str
    open: str
    due: str


ENGLISH = Words(
    intro="What you remember of earlier talks here (kept by you; older messages are no longer shown):",
    summary="Summary",
    about="About {name}",
    timeline="Timeline",
    agreed="Agreed",
    open="Open",
    due="due {day}",
)
CHINESE = Words(
    intro="你记得的以前的谈话（由你自己记下；更早的消息不再显示）：",
    summary="概要",
    about="关于{name}",
    timeline="时间线",
    agreed="约定",
    open="未完成",
    due="期限 {day}",
)


def write_memory(memory: Memory, *, room: int, count: Callable[[str], int]) -> Written:
    """The section within `room` tokens. It is shortened by whole items: closed follow-ups go first, then the oldest
    events, agreements and facts; what is pinned and what is open goes last.
    """
    kept, left_out = list(memory.items), list[Item]()
    words = words_of(memory)
    text = _text(memory, kept, words)
    for item in sorted(kept, key=_worth):
        if count(text) <= room:
            break
        kept.remove(item)
        left_out.append(item)
        text = _text(memory, kept, words)
    return Written(text=text, left_out=tuple(left_out))


def words_of(memory: Memory) -> Words:
    """The words for the language that most of a memory is written in."""
    text = memory.gist + "".join(item.new.text for item in memory.items)
    return CHINESE if is_chinese(text) else ENGLISH


def _worth(item: Item) -> tuple[int, int]:
    """What goes first has the least; of equal worth, the oldest."""
    if item.new.pinned:
        return 5, item.id
    match item.new.kind:
        case ItemKind.FOLLOW_UP:
            return (4 if item.is_open else 0), item.id
        case ItemKind.EVENT:
            return 1, item.id
        case ItemKind.CONSENSUS:
            return 2, item.id
        case ItemKind.FACT:
            return 3, item.id


def _text(memory: Memory, items: Sequence[Item], words: Words) -> str:
    parts = [*_parts(memory.gist, items, words)]
    return "\n\n".join((words.intro, *parts)) if parts else ""


def _parts(gist: str, items: Sequence[Item], words: Words) -> Iterator[str]:
    if gist:
        yield f"## {words.summary}\n{gist}"
    for name, facts in _facts_by_person(items).items():
        yield _listed(words.about.format(name=name), facts)
    events = [item for item in items if item.new.kind is ItemKind.EVENT]
    events.sort(key=lambda item: (str(item.new.day or ""), item.id))
    if events:
        yield _listed(words.timeline, (f"{item.new.day}: {item.new.text}" for item in events))
    if agreed := [item.new.text for item in items if item.new.kind is ItemKind.CONSENSUS]:
        yield _listed(words.agreed, agreed)
    if follow_ups := [item for item in items if item.is_open]:
        yield _listed(words.open, (_follow_up(item, words) for item in follow_ups))


def _facts_by_person(items: Iterable[Item]) -> Mapping[str, list[str]]:
    """Facts under the name of whom they are about; two people of one name are told apart by their keys."""
    names: dict[str, set[str | None]] = {}
    facts = [item for item in items if item.new.kind is ItemKind.FACT]
    for item in facts:
        names.setdefault(item.new.subject_name, set()).add(item.new.subject)
    found: dict[str, list[str]] = {}
    for item in facts:
        name = item.new.subject_name
        label = name if len(names[name]) == 1 else f"{name} ({item.new.subject})"
        found.setdefault(label, []).append(item.new.text)
    return found


def _follow_up(item: Item, words: Words) -> str:
    owner = f"{item.new.subject_name}: " if item.new.subject_name else ""
    due = f" ({words.due.format(day=item.new.day)})" if item.new.day else ""
    return f"{owner}{item.new.text}{due}"


def _listed(heading: str, lines: Iterable[str]) -> str:
    return "\n".join((f"## {heading}", *(f"- {line}" for line in lines)))
