"""What happened, in order, and a way to wait for the next thing that matches; it takes the place of sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Event:
    """A gateway event as Discord announced it, before intents censor it."""

    name: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A REST request of the bot and how it was answered; `status` 0 means that the connection was cut."""

    method: str
    path: str
    body: Any
    files: tuple[tuple[str, bytes], ...]
    status: int
    at: float
    """Seconds of the event loop's clock when it arrived."""

    def is_for(self, method: str, path: str) -> bool:
        """Whether method and path (with `*` as wildcard) match."""
        return self.method == method and fnmatch(self.path, path)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that the bot sent over the gateway."""

    op: int
    data: Any


@dataclass
class Journal(Generic[T]):
    """An append-only list that can be waited on."""

    entries: list[T] = field(default_factory=list)
    _waiting: list[tuple[Callable[[T], bool], asyncio.Future[T]]] = field(default_factory=list)

    def add(self, entry: T) -> None:
        """Append, and wake who waits for such an entry."""
        self.entries.append(entry)
        for matches, found in self._waiting:
            if not found.done() and matches(entry):
                found.set_result(entry)

    def mark(self) -> int:
        """The present end, to be given as `after`."""
        return len(self.entries)

    def matching(self, matches: Callable[[T], bool], *, after: int = 0) -> list[T]:
        """Every entry from `after` on that matches."""
        return [entry for entry in self.entries[after:] if matches(entry)]

    async def first(self, matches: Callable[[T], bool], *, after: int = 0, within: float = 10.0) -> T:
        """The first matching entry from `after` on, waiting for it at most `within` seconds."""
        for entry in self.entries[after:]:
            if matches(entry):
                return entry
        found: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        waiter = (matches, found)
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(within):
                return await found
        finally:
            self._waiting.remove(waiter)

    def __iter__(self) -> Iterator[T]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
