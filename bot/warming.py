"""Lets an embedded model read the persona ahead of the first message, so that the first answer need not wait."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.llm.local import warm
from bot.llm.model import Model, ModelRequest, Purpose
from bot.opening import TurnOpener
from bot.prompt.build import PromptBuilder
from bot.prompt.tokens import ModelTokens
from bot.turn import Asker


@dataclass(frozen=True, kw_only=True)
class Warmer:
    """Sends what the next turn of a session will begin with."""

    opener: TurnOpener
    builder: PromptBuilder
    model: Model
    tokens: ModelTokens

    async def warm(self, session_id: int, asker: Asker) -> None:
        """Read ahead; may be cancelled, and a failure is only logged."""
        turn = await self.opener.preview(session_id, asker)
        if turn is not None:
            prompt = await self.builder.build(turn, factor=self.tokens.factor(turn.model))
            bill = replace(turn.bill, purpose=Purpose.WARMING)
            request = ModelRequest(model=turn.model, messages=prompt.messages, max_output_tokens=1, bill=bill)
            await warm(self.model, request)
