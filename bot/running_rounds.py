"""Keeps the rounds of tools of an answer under way: neither a crash nor a further fragment of what was asked makes a
tool run twice. What was answered has its rounds among the messages.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from bot.llm.model import ToolCall
from bot.prompt.messages import ToolExchange
from bot.store.database import Database
from bot.store.rounds import keep_round, kept_rounds
from bot.turn import Turn


@dataclass(frozen=True, slots=True)
class RunningRounds:
    """The rounds in a database. Of somebody who wants privacy none are kept."""

    db: Database
    _asked: set[int] = field(default_factory=set)
    """Messages for which rounds were kept in this process, and no answer yet."""

    async def keep(self, turn: Turn, exchange: ToolExchange) -> None:
        """Keep a round that has ended."""
        if turn.burst and not any(row.is_private for row in turn.history if row.id in turn.burst):
            self._asked.add(turn.burst[-1])
            await self.db.run(keep_round, turn.conversation_id, turn.burst[-1], asdict(exchange))

    async def resume(self, turn: Turn, *, is_recovered: bool) -> list[ToolExchange]:
        """The rounds that ended for a burst before; they are looked for where there can be some: after a restart, and
        where a turn for one of its messages was broken off.
        """
        if not (is_recovered or self._asked.intersection(turn.burst)):
            return []
        kept = await self.db.read(kept_rounds, turn.conversation_id, turn.burst)
        return [_exchange(one) for one in kept]

    def end(self, turn: Turn) -> None:
        """A burst is answered."""
        self._asked.difference_update(turn.burst)


def _exchange(kept: dict[str, Any]) -> ToolExchange:
    calls = tuple(ToolCall(**call) for call in kept["calls"])
    return ToolExchange(calls=calls, results=tuple(kept["results"]), text=kept["text"], reasoning=kept["reasoning"])
