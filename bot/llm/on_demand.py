"""Loads the embedded model when it is first asked: beside a model server it may never be, and it takes much memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import structlog

from bot.errors import OperatorError
from bot.llm.configured import LOCAL, LocalModel, local_provider
from bot.llm.endpoints import Endpoints
from bot.llm.model import Model, ModelEvent, ModelRequest, ModelUnreachable

log = structlog.get_logger(__name__)


class OnDemand:
    """A `Model` that lets `start` load the embedded one before `servers` are first asked for it."""

    def __init__(self, model: Model, servers: Endpoints, start: Callable[[], LocalModel]) -> None:
        self._model, self._servers, self._start = model, servers, start
        self._loading = asyncio.Lock()
        self._is_loaded = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request; see `Model.stream`."""
        if request.model.partition("/")[0] == LOCAL:
            await self._load_once(request.model)
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Release connections. Whoever made `start` lets go of the model."""
        await self._model.close()

    async def _load_once(self, model: str) -> None:
        async with self._loading:  # who waits finds it loaded
            if self._is_loaded:
                return
            log.info("local.loading", model=model)
            try:
                local = await asyncio.to_thread(self._start)
            except OperatorError as error:
                raise ModelUnreachable(model, str(error), is_of_server=True) from error
            self._servers.put(local_provider(local))
            self._is_loaded = True
