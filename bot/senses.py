"""Puts into words what came with a burst and its model cannot take: pictures that it cannot see, and what people said
aloud. Other models are asked once for each; where they fail, the note stands that there is such a thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from bot.dispatch import TurnRequest
from bot.llm.model import ModelError
from bot.opening import TurnOpener
from bot.store import spelled_out
from bot.store.database import Database
from bot.store.images import ImageRow
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
        is_blind = not self.sees(turn.model)
        waiting = [row.id for row in turn.history if row.id in turn.burst and "[" in row.text]
        unseen = await self._find(spelled_out.find_unseen, waiting) if is_blind and self.vision else []
        unheard = await self._find(spelled_out.find_unheard, waiting) if self.transcriber else []
        if unseen or unheard:
            tasks = [*(self._look(turn, one) for one in unseen), *(self._listen(turn, one) for one in unheard)]
            try:
                async with asyncio.timeout(MOST_SECONDS):
                    await asyncio.gather(*tasks)
            except TimeoutError:
                log.warning("turn.files_not_told", seconds=MOST_SECONDS)
            turn = await self.opener.reopen(turn, request)
        return replace(turn, images=()) if is_blind and self.vision else turn

    async def _find(self, find: Callable[..., list[ImageRow]], messages: Sequence[int]) -> list[ImageRow]:
        return (await self.db.read(find, messages))[-AT_ONCE:] if messages else []

    async def _look(self, turn: Turn, picture: ImageRow) -> None:
        assert self.vision is not None
        try:
            if seen := await self.vision.describe(turn, picture):
                await self.db.run(spelled_out.tell_pictures, {picture.id: seen}, self.count)
        except ModelError as error:
            log.warning("vision.failed", model=self.vision.name, problem=str(error))

    async def _listen(self, turn: Turn, recording: ImageRow) -> None:
        assert self.transcriber is not None
        try:
            said = await self.transcriber.transcribe(turn, recording)
        except ModelError as error:
            log.warning("voice.not_transcribed", model=self.transcriber.name, problem=str(error))
            return
        await self.db.run(spelled_out.tell_recording, recording, said, self.count)
