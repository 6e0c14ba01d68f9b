"""Meters every call of a model: what it costs, that no limit is overspent by it, and that places take turns.

Knows no server: what it meters is a `Model` as well.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.llm.model import Attempt, Completion, Model, ModelEvent, ModelRequest
from bot.llm.tariffs import Tariff
from bot.quota import Queue

if TYPE_CHECKING:
    from bot.quota.purse import Purse


class MeteredModel:
    """A `Model` that goes through `queue` and `purse`, where there are any. `tariff_of` tells what a model costs."""

    def __init__(
        self,
        model: Model,
        *,
        tariff_of: Callable[[str], Tariff | None],
        queue: Queue | None = None,
        purse: Purse | None = None,
    ) -> None:
        self._model, self._tariff_of, self._queue, self._purse = model, tariff_of, queue, purse

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request; see `Model.stream`.

        Raises:
            OverBudget: a limit has no room for it.
        """
        async with AsyncExitStack() as stack:
            if self._queue is not None:
                await stack.enter_async_context(self._queue.turn(request))
            spending = await stack.enter_async_context(self._purse.spend(request)) if self._purse is not None else None
            async for event in await stack.enter_async_context(aclosing(self._model.stream(request))):
                priced = self._priced(request.model, event)
                if spending is not None:
                    spending.see(priced)
                yield priced

    async def close(self) -> None:
        """Release connections."""
        await self._model.close()

    def _priced(self, model: str, event: ModelEvent) -> ModelEvent:
        if not isinstance(event, Attempt | Completion) or event.usage is None:
            return event
        tariff = self._tariff_of(event.model or model)
        return event if tariff is None else replace(event, usage=tariff.charged(event.usage))
