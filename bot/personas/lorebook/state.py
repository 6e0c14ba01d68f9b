"""What a conversation remembers of its lorebooks: which entries joined in when. A value that JSON can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_RECORDS = 2_000
"""Entries that are remembered, the newest first; ours to choose."""

_NUMBERS = 3


class LoreRecord(NamedTuple):
    """One entry, in counts of the conversation's messages. What is recorded at a count holds from the next one on, so
    that an answer made anew sees what the first one saw, and an undone message takes its records along.
    """

    at: int
    """When it joined in."""
    sticky_until: int = 0
    """It stays below this count."""
    cooling_until: int = 0
    """Then it stays away below this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoreState:
    """The records by the entries' refs."""

    records: Mapping[str, LoreRecord] = field(default_factory=dict)

    def dump(self) -> dict[str, list[int]]:
        """As a small mapping of lists of numbers."""
        return {ref: list(record) for ref, record in self.records.items()}

    @staticmethod
    def load(data: object) -> LoreState:
        """What `dump` made; of anything else what can be read of it."""
        if not isinstance(data, Mapping):
            return EMPTY_STATE
        found = {str(ref): _record(value) for ref, value in data.items()}
        return LoreState(records={ref: record for ref, record in found.items() if record})

    def renamed(self, names: Mapping[str, str]) -> LoreState:
        """The same with other names for some of the books."""
        parted = ((*ref.partition("/"), record) for ref, record in self.records.items())
        return LoreState(records={names.get(book, book) + mark + entry: record for book, mark, entry, record in parted})

    def record(self, ref: str, count: int) -> LoreRecord | None:
        """What holds of an entry where the conversation has so many messages."""
        record = self.records.get(ref)
        return record if record and record.at < count else None

    def is_sticky(self, ref: str, count: int) -> bool:
        """Whether an entry stays without being mentioned."""
        record = self.record(ref, count)
        return record is not None and count < record.sticky_until

    def is_cooling(self, ref: str, count: int) -> bool:
        """Whether an entry stays away though it is mentioned."""
        record = self.record(ref, count)
        return record is not None and record.sticky_until <= count < record.cooling_until

    def advanced(self, count: int, new: Mapping[str, LoreRecord], lasts: Callable[[str], bool]) -> LoreState:
        """The state after an answer at this count: with what is new, and without what an undo took along and what is
        over; of those that have no end, what `lasts` says of their refs.
        """
        held = {
            ref: record
            for ref, record in self.records.items()
            if record.at < count and (count < max(record.sticky_until, record.cooling_until) or lasts(ref))
        }
        newest = sorted({**held, **new}.items(), key=lambda item: item[1].at)[-MAX_RECORDS:]
        return LoreState(records=dict(newest))


def _record(value: Any) -> LoreRecord | None:
    if not isinstance(value, list | tuple) or len(value) != _NUMBERS:
        return None
    return LoreRecord(*value) if all(type(number) is int and number >= 0 for number in value) else None


EMPTY_STATE = LoreState()
"""Of a conversation that begins."""
