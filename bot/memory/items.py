"""What a persona knows of its people: facts, dated events, agreements and open items, each with its sources.

Values only; knows no store and no model. An item never changes: what updates it is a new item that replaces it, so that
every compaction can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class ItemKind(StrEnum):
    """What an item is about."""

    FACT = "fact"
    """Something lasting about one person, said by people."""
    EVENT = "event"
    """What happened, or will, on a day."""
    CONSENSUS = "consensus"
    """What people agreed on."""
    FOLLOW_UP = "follow_up"
    """What is still to be done or answered."""


class Category(StrEnum):
    """What a fact about a person is."""

    NAME = "name"
    PLACE = "place"
    OCCUPATION = "occupation"
    PREFERENCE = "preference"
    RELATION = "relation"
    OTHER = "other"


class FollowUpState(StrEnum):
    """How a follow-up stands."""

    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewItem:
    """An item as it is extracted or typed, before the store knows it. `sources` are ids of messages.

    `subject` is the stable key of the person it is about, or who owns a follow-up; `None` for the group as a whole.
    """

    kind: ItemKind
    text: str
    subject: str | None = None
    subject_name: str = ""
    category: Category | None = None
    day: date | None = None
    """When an event takes place, or a follow-up is due, in the session's time zone."""
    people: tuple[str, ...] = ()
    """Stable keys of those who agreed on a consensus."""
    state: FollowUpState | None = None
    sources: tuple[int, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """An item that is kept. A `stale` one has a source that was edited or deleted since."""

    id: int
    new: NewItem
    tokens: int
    """Of its line in the prompt."""
    stale: bool = False
    since: datetime | None = None
    """When it was first said; `None` where that was not read."""
    said_at: datetime | None = None
    """When it was last said, or written down by hand: only what was said later overrules it."""

    @property
    def is_open(self) -> bool:
        """Whether it is a follow-up that waits."""
        return self.new.kind is ItemKind.FOLLOW_UP and self.new.state is FollowUpState.OPEN


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Everything a conversation remembers: the gist of what was said, and the live items in the order they came."""

    gist: str = ""
    items: tuple[Item, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remember."""
        return not (self.gist or self.items)

    def by_id(self) -> Mapping[int, Item]:
        """The items by their ids."""
        return {item.id: item for item in self.items}


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A memory as a prompt has it, and what had to stay out of it."""

    text: str
    left_out: tuple[Item, ...] = ()


NO_MEMORY = Written(text="")


@dataclass(frozen=True, kw_only=True, slots=True)
class Retire:
    """An item that holds no longer."""

    item: int
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    """A new item, in place of another where it `replaces` one."""

    item: NewItem
    replaces: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delta:
    """What changes in a memory. `gist` is the new one as a whole; `None` leaves it as it is."""

    adds: tuple[Add, ...] = ()
    retires: tuple[Retire, ...] = ()
    gist: str | None = None
    refused: tuple[str, ...] = field(default=())
    """Why operations of the summariser were left out, for the record and its correction."""

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not (self.adds or self.retires or self.gist)
