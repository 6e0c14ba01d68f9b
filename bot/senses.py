"""Puts into words what came with a burst and its model cannot take: pictures that it cannot see, and what people said
aloud. Other models are asked once for each; where they fail, the note stands that there is such a thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.dispatch import TurnRequest
from bot.llm.model import ModelError
from bot.opening import TurnOpener
from bot.store.database import Database, Tx
from bot.store.images import ImageRow
from bot.store.spelled_out import find_unheard, find_unseen, tell_picture, tell_recording
from bot.turn import Turn
from bot.vision import Vision
from bot.voice import Transcriber

log = structlog.get_logger(__name__)

AT_ONCE = 4
"""Pictures and recordings of one burst that are put into words, the newest: as many as go with a request."""

MOST_SECONDS = 90.0
"""How long an answer waits for all of them; ours to choose."""


@dataclass(frozen=True, kw_only=True)
class Senses:
    """Stands before the first request of a turn."""

    db: Database
    opener: TurnOpener
    vision: Vision | None
    transcriber: Transcriber | None
    sees: Callable[[str], bool]
    """Whether a model takes pictures, as far as is known."""
    count: Callable[[str], int]

    async def told(self, turn: Turn, request: TurnRequest) -> Turn:
        """The turn with its burst in words. What was told stays in the history, so that it is told once."""
        waiting = [row.id for row in turn.history if row.id in turn.burst and "[" in row.text]
        is_blind, asking = False, list[Coroutine[Any, Any, None]]()
        if self.vision is not None and not self.sees(turn.model):
            is_blind = True
            asking += [self._look(self.vision, turn, one) for one in await self._find(find_unseen, waiting)]
        if self.transcriber is not None:
            asking += [self._listen(self.transcriber, turn, one) for one in await self._find(find_unheard, waiting)]
        if asking:
            await self._ask(asking)
            turn = await self.opener.reopen(turn, request)
        return replace(turn, images=(), limits=replace(turn.limits, vision=False)) if is_blind else turn

    async def _find(
        self, find: Callable[[Tx, Sequence[int]], list[ImageRow]], messages: Sequence[int]
    ) -> list[ImageRow]:
        return (await self.db.read(find, messages))[-AT_ONCE:] if messages else []

    async def _ask(self, asking: Sequence[Coroutine[Any, Any, None]]) -> None:
        try:
            async with asyncio.timeout(MOST_SECONDS), asyncio.TaskGroup() as group:
                for one in asking:
                    group.create_task(one)
        except TimeoutError:
            log.warning("turn.files_not_told", seconds=MOST_SECONDS)

    async def _look(self, vision: Vision, turn: Turn, picture: ImageRow) -> None:
        try:
            if seen := await vision.describe(turn, picture):
                await self.db.run(tell_picture, picture, seen, self.count)
        except ModelError as error:
            log.warning("vision.failed", model=error.model, problem=str(error))

    async def _listen(self, transcriber: Transcriber, turn: Turn, recording: ImageRow) -> None:
        try:
            said = await transcriber.transcribe(turn, recording)
        except ModelError as error:
            log.warning("voice.not_transcribed", model=error.model, problem=str(error))
            return
        await self.db.run(tell_recording, recording, said, self.count)
