"""Lets so many calls of a server run at once as it can take; of those that wait, places take turns, so that one which
is flooded keeps no other waiting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot.llm.model import ModelRequest


@dataclass(slots=True)
class _Counter:
    """One server: how many calls it has, and who waits, by place."""

    free: int
    waiting: dict[str, deque[asyncio.Future[None]]] = field(default_factory=dict)
    """The place that is next stands first: one that was served goes behind those that wait already."""


class Queue:
    """`at_once` are the calls that a server takes at a time, by provider; one that is not there takes any number."""

    def __init__(self, at_once: Mapping[str, int]) -> None:
        self._counters = {provider: _Counter(free=count) for provider, count in at_once.items()}

    @asynccontextmanager
    async def turn(self, request: ModelRequest) -> AsyncGenerator[None, None]:
        """Wait until it is this request's turn, and let the next one in at the end."""
        counter = self._counters.get(request.model.partition("/")[0])
        if counter is None:
            yield
            return
        await self._enter(counter, request.bill.place_key if request.bill else "")
        try:
            yield
        finally:
            self._let_in(counter)

    async def _enter(self, counter: _Counter, place: str) -> None:
        if counter.free and not counter.waiting:
            counter.free -= 1
            return
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        counter.waiting.setdefault(place, deque()).append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self._let_in(counter)  # it was called at the very moment it left
            else:
                _leave(counter, place, ticket)
            raise

    def _let_in(self, counter: _Counter) -> None:
        """Give a place that has become free to whoever is next."""
        while counter.waiting:
            place, tickets = next(iter(counter.waiting.items()))
            ticket = tickets.popleft()
            del counter.waiting[place]
            if tickets:
                counter.waiting[place] = tickets  # behind the others
            if not ticket.done():
                ticket.set_result(None)
                return
        counter.free += 1


def _leave(counter: _Counter, place: str, ticket: asyncio.Future[None]) -> None:
    tickets = counter.waiting.get(place)
    if tickets is None:
        return
    if ticket in tickets:
        tickets.remove(ticket)
    if not tickets:
        del counter.waiting[place]
