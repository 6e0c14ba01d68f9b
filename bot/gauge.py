"""Tells how full a session's window is, without asking a model anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent import Agent
from bot.llm.model import ToolSpec
from bot.opening import TurnOpener
from bot.prompt.build import Prompt, PromptBuilder
from bot.prompt.tokens import ModelTokens
from bot.prompt.usage import PromptUsage
from bot.turn import Asker


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """Builds the prompt that the next turn would send, and reads it."""

    opener: TurnOpener
    builder: PromptBuilder
    agent: Agent
    tokens: ModelTokens

    async def snapshot(self, session_id: int, asker: Asker, persona_id: str | None = None) -> PromptUsage | None:
        """What a request would fill if the asker said something now, to whom `TurnOpener.preview` says: window, max
        tokens, budget, `used`, `ratio`, `bucket`, and `parts` by name (`bot.prompt.usage.PARTS` first, then other
        sections) that sum to `used`. For /context, and after a compaction by hand. `None` where nobody has talked to a
        persona yet.

        Raises:
            NoRoom: persona, rules and tools leave no room for anything.
        """
        built = await self._build(session_id, asker, persona_id)
        return built[1].usage if built else None

    async def tools_left_out(self, session_id: int, asker: Asker, persona_id: str | None = None) -> tuple[str, ...]:
        """The names of tools that are on, and for which that request has no room.

        Raises:
            NoRoom: as `snapshot`.
        """
        built = await self._build(session_id, asker, persona_id)
        tools, offered = (built[0], built[1].basis.tools) if built else ((), ())
        return tuple(tool.name for tool in tools if tool not in offered)

    async def _build(
        self, session_id: int, asker: Asker, persona_id: str | None
    ) -> tuple[Sequence[ToolSpec], Prompt] | None:
        turn = await self.opener.preview(session_id, asker, persona_id)
        if turn is None:
            return None
        tools = [tool.spec for tool in self.agent.tools_for(turn)]
        return tools, await self.builder.build(turn, factor=self.tokens.factor(turn.model), tools=tools)
