"""Asks a model for a whole answer, and notes what came of that, also where it failed or nobody waited for its end."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field

from bot.llm.model import (
    INTERRUPTED,
    Attempt,
    Completion,
    Handover,
    Model,
    ModelError,
    ModelRequest,
    TextDelta,
)


@dataclass(slots=True)
class WholeAnswer:
    """One request whose answer nobody reads while it grows."""

    request: ModelRequest
    attempts: list[Attempt] = field(default_factory=list)
    """What was asked in vain."""
    completion: Completion | None = None
    outcome: str = INTERRUPTED
    model: str = ""
    """Who is asked, where it is another model than the request's."""
    written: str = ""
    """What has come of the answer."""

    async def ask(self, model: Model) -> str:
        """What a model says, all at once.

        Raises:
            ModelError: as `Model.stream`.
        """
        try:
            async with aclosing(model.stream(self.request)) as events:
                async for event in events:
                    match event:
                        case Attempt():
                            self.attempts.append(event)
                        case Handover(model=name):
                            self.model = name
                        case TextDelta(text=text):
                            self.written += text
                        case Completion():
                            self.completion, self.outcome = event, event.finish.value
        except ModelError as error:
            self.model, self.outcome = error.model, error.kind
            raise
        return self.completion.text if self.completion is not None else ""
