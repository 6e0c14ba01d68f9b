"""What every request to the summary model has in common: its model, its limit, and the chance to correct a bad reply.

Knows nothing of what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.llm.model import ModelMessage, ModelRequest, Role
from bot.prompt.shortening import shorten

LONGEST_CORRECTED = 4_000
"""Characters of a bad reply that the model is shown again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a request to the summary model must keep to; `correction` is a bad reply and what was wrong with it."""

    model: str
    max_output_tokens: int
    correction: tuple[str, str] | None = None

    def request(
        self, *messages: ModelMessage, schema: Mapping[str, Any] | None = None, parameters: Mapping[str, object]
    ) -> ModelRequest:
        """A request of these messages, followed by the bad reply to them and what was wrong with it."""
        return ModelRequest(
            model=self.model,
            messages=(*messages, *self._corrected()),
            max_output_tokens=self.max_output_tokens,
            json_schema=schema,
            parameters={**parameters},
        )

    def json_request(
        self, rules: str, data: str, *, schema: Mapping[str, Any], parameters: Mapping[str, object]
    ) -> ModelRequest:
        """A request in a prompt of its own: the rules, and the data that a JSON object is to be made of."""
        system = ModelMessage(role=Role.SYSTEM, text=rules)
        user = ModelMessage(role=Role.USER, text=f"{data}\n\nThe JSON object:")
        return self.request(system, user, schema=schema, parameters=parameters)

    def _corrected(self) -> tuple[ModelMessage, ...]:
        if self.correction is None:
            return ()
        reply, problem = self.correction
        return (
            ModelMessage(role=Role.ASSISTANT, text=shorten(reply, LONGEST_CORRECTED)),
            ModelMessage(role=Role.USER, text=f"That cannot be used: {problem}. The whole JSON object once more:"),
        )
