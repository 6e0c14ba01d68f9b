"""Says answers aloud where a place wants that, once their text is shown and stored: nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from bot.chat import Adapter, Outbound, OutFile, SentPart
from bot.hook_calls import HookCalls
from bot.llm.model import ModelError
from bot.settings import TERMINAL
from bot.store.database import Database
from bot.store.parts import add_parts, is_shown
from bot.tasks import Tasks
from bot.turn import Turn
from bot.voice import Speaking

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SpokenAnswers:
    """A recording is one more part of its reply, so that it goes when that goes."""

    speaking: Speaking
    hooks: HookCalls
    adapters: Mapping[str, Adapter]
    db: Database
    tasks: Tasks

    def follow(self, turn: Turn, reply_id: int, text: str, parts: Sequence[SentPart]) -> None:
        """Speak an answer that is shown in these parts, if it is to be spoken where it stands."""
        is_wanted = turn.settings.values.spoken_answers and turn.session.channel.platform != TERMINAL
        if is_wanted and not turn.asker.is_bot:
            self.tasks.spawn("speak an answer", self._speak(turn, reply_id, text, len(parts)))

    async def _speak(self, turn: Turn, reply_id: int, text: str, ordinal: int) -> None:
        channel = turn.session.channel
        wanted = await self.hooks.on_outbound(
            channel, Outbound(text=text)
        )  # of a recording they could not judge a word
        if wanted is None:
            return
        try:
            data = await self.speaking.speak(turn, wanted.text)
        except ModelError as error:
            log.warning("voice.not_spoken", model=error.model, problem=str(error))
            return
        if not data or not await self.db.read(is_shown, reply_id):
            return  # taken back meanwhile
        adapter = self.adapters[channel.platform]
        stream = await adapter.open_reply(channel, speaker=turn.speaker)
        voice = OutFile(name=f"answer.{self.speaking.ending}", text="", data=data)
        sent = await stream.finish(Outbound(text="", voice=voice))
        parts = [replace(part, ordinal=ordinal + part.ordinal) for part in sent]
        if not await self.db.run(add_parts, reply_id, parts):  # taken back while it was sent
            await adapter.delete(channel, [part.message_id for part in parts if part.message_id is not None])
