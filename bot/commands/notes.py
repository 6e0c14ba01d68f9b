"""How remembered items are shown: by kind and person, each with its number, its marks and what it goes back to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from bot.commands.command import Call, Desk, inert
from bot.memory.items import Item, ItemKind
from bot.store.archive import Source, read_sources

LISTED_GIST_CHARS = 500
"""Of the summary above a list."""
SOURCES_SHOWN = 2
"""Links behind an item; the rest are counted."""
PINNED, STALE = "📌", "⚠️"


class Group(StrEnum):
    """Under what an item is listed, in the order of the list."""

    FACT = "fact"
    EVENT = "event"
    CONSENSUS = "consensus"
    FOLLOW_UP = "follow-up"
    CLOSED = "closed"


SUMMARY = "summary"


def group_of(item: Item) -> Group:
    """Where an item stands."""
    if item.new.kind is ItemKind.FOLLOW_UP:
        return Group.FOLLOW_UP if item.is_open else Group.CLOSED
    return Group(item.new.kind.value)


def in_order(items: Iterable[Item]) -> list[Item]:
    """Items as they are listed: by kind; facts by person, events by day, the rest as they came."""
    ranks = {group: rank for rank, group in enumerate(Group)}

    def place(item: Item) -> tuple[int, str, str, int]:
        group = group_of(item)
        person = f"{item.new.subject_name.casefold()}\n{item.new.subject}" if group is Group.FACT else ""
        return ranks[group], person, str(item.new.day or "") if group is Group.EVENT else "", item.id

    return sorted(items, key=place)


def wanted_items(items: Sequence[Item], keyword: str, desk: Desk) -> list[Item]:
    """The items of a kind or about a person, named in any language; else those that have the words in their text."""
    wanted = keyword.strip().casefold()
    if not wanted:
        return [*items]
    groups = {group for group in Group if wanted in _words(group.value, desk)}
    if Group.FOLLOW_UP in groups:
        groups.add(Group.CLOSED)
    if groups:
        return [item for item in items if group_of(item) in groups]
    person = wanted.removeprefix("@")
    about = [item for item in items if person in (item.new.subject_name.casefold(), item.new.subject)]
    return about or [item for item in items if wanted in item.new.text.casefold()]


def is_summary(keyword: str, desk: Desk) -> bool:
    """Whether the summary alone is meant."""
    return keyword.strip().casefold() in _words(SUMMARY, desk)


def kind_words(desk: Desk, locale: str | None) -> list[str]:
    """What the kinds are called in one language."""
    kinds = (SUMMARY, *(group.value for group in Group))
    return [desk.catalogue.text(f"memory-words-{kind}", locale).split()[0] for kind in kinds]


def _words(kind: str, desk: Desk) -> set[str]:
    texts = (desk.catalogue.text(f"memory-words-{kind}", locale) for locale in desk.catalogue.locales)
    return {kind, *(word.casefold() for text in texts for word in text.split())}


async def listing(items: Sequence[Item], call: Call, desk: Desk) -> str:
    """Items in the order of `in_order`, under their headings, each on a line."""
    sources = await desk.db.read(read_sources, [item.id for item in items])
    pieces: dict[str, list[str]] = {}
    for item in items:
        line = f"- {item_line(item, sources, call, desk)}"
        pieces.setdefault(_heading(item, items, call, desk), []).append(line)
    return "\n\n".join("\n".join((f"**{heading}**", *lines)) for heading, lines in pieces.items())


def _heading(item: Item, items: Sequence[Item], call: Call, desk: Desk) -> str:
    """The kind of an item; of a fact its person, by name and where two share that by key."""
    group = group_of(item)
    if group is not Group.FACT:
        return desk.text(f"memory-group-{group.value}", call.locale)
    name = item.new.subject_name
    keys = {other.new.subject for other in items if group_of(other) is group and other.new.subject_name == name}
    return desk.text("memory-group-fact", call.locale, who=name if len(keys) == 1 else f"{name} ({item.new.subject})")


def item_line(item: Item, sources: Mapping[int, Sequence[Source]], call: Call, desk: Desk) -> str:
    """One item: its number, who and when where that is not in its heading, the text as it is, marks and sources."""
    new, group = item.new, group_of(item)
    follows_up = group in (Group.FOLLOW_UP, Group.CLOSED)
    owner = f"**{inert(new.subject_name)}**: " if follows_up and new.subject_name else ""
    day = f"{new.day}: " if group is Group.EVENT and new.day else ""
    due = f" ({desk.text('memory-due', call.locale, day=str(new.day))})" if follows_up and new.day else ""
    state = f" ({desk.text(f'memory-state-{new.state}', call.locale)})" if group is Group.CLOSED else ""
    marks = "".join(f" {mark}" for mark, is_set in ((PINNED, new.pinned), (STALE, item.stale)) if is_set)
    origin = _origin(sources.get(item.id, ()), call, desk)
    return f"`{item.id}` {day}{owner}{inert(new.text)}{due}{state}{marks}{origin}"


def _origin(sources: Sequence[Source], call: Call, desk: Desk) -> str:
    """What an item goes back to: a link where the platform has one, else the day."""
    shown = []
    for source in sources[:SOURCES_SHOWN]:
        day = f"{call.local(source.sent_at):%Y-%m-%d}"
        link = source_link(source, call, desk)
        shown.append(f"[{day}]({link})" if link else day)
    more = f" +{len(sources) - SOURCES_SHOWN}" if len(sources) > SOURCES_SHOWN else ""
    return f" · {', '.join(dict.fromkeys(shown))}{more}" if shown else ""


def source_link(source: Source, call: Call, desk: Desk) -> str | None:
    """Address of a message here."""
    known = source.platform_message_id
    return desk.platforms.link(call.inbound.channel, known) if known else None
