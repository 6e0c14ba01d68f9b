"""Speech: what people said aloud is written down, and answers are spoken, each by a model for that.

Knows no platform: recordings come as bytes, and what is spoken leaves as a file.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from bot.accounting import side_record
from bot.llm.endpoints import Endpoints, Recording
from bot.llm.model import INTERRUPTED, Finish, ModelError
from bot.settings import VoiceSettings
from bot.store import ledger
from bot.store.database import Database
from bot.store.images import ImageRow
from bot.turn import Turn

MOST_CHARS = 4_000
"""Of a transcript, and of what is spoken at once: speech endpoints take 4,096 (OpenAI, POST /audio/speech)."""

ENDINGS = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/webm": "webm",
    "audio/flac": "flac",
}
"""Servers tell the kind of a recording by its ending; these they take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcriber:
    """Writes down what is said in recordings. `name` is the full name of the model that does."""

    servers: Endpoints
    name: str
    given: VoiceSettings
    db: Database
    now: Callable[[], datetime]

    async def transcribe(self, turn: Turn, recording: ImageRow) -> str:
        """What is said in a recording; "" for silence. The call is in the ledger.

        Raises:
            ModelError: the model could not be asked.
        """
        media_type = recording.media_type.partition(";")[0]
        file = Recording(name=f"voice.{ENDINGS.get(media_type, 'ogg')}", media_type=media_type, data=recording.data)
        async with _entered(self.db, self.now, turn, "transcription", self.name):
            said = await self.servers.transcribe(self.name, file, seconds=self.given.timeout.total_seconds())
        words = " ".join(said.split())
        return words if len(words) <= MOST_CHARS else words[:MOST_CHARS] + "…"


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaking:
    """Speaks answers. `name` is the full name of the model that does."""

    servers: Endpoints
    name: str
    given: VoiceSettings
    db: Database
    now: Callable[[], datetime]

    @property
    def ending(self) -> str:
        """Of the files that it makes."""
        return {"opus": "ogg"}.get(self.given.form, self.given.form)

    async def speak(self, turn: Turn, text: str) -> bytes:
        """An answer as a file of the configured form; nothing where there is nothing to be heard. The call is in the
        ledger.

        Raises:
            ModelError: the model could not be asked.
        """
        words = audible(text)
        if not words:
            return b""
        given = self.given
        async with _entered(self.db, self.now, turn, "speech", self.name):
            return await self.servers.speak(
                self.name, words, voice=given.speaker, form=given.form, seconds=given.timeout.total_seconds()
            )


@asynccontextmanager
async def _entered(
    db: Database, now: Callable[[], datetime], turn: Turn, purpose: str, model: str
) -> AsyncIterator[None]:
    """A call that is in the ledger whatever comes of it. Such endpoints count no tokens."""
    started, outcome = time.monotonic(), INTERRUPTED
    try:
        yield
        outcome = Finish.STOP.value
    except ModelError as error:
        outcome = error.kind
        raise
    finally:
        total_ms = round((time.monotonic() - started) * 1000)
        db.post(ledger.record_call, side_record(turn, purpose, model, outcome, total_ms=total_ms), now())


def audible(text: str) -> str:
    """What of an answer in Markdown can be spoken: no code, no addresses, no marks; whole sentences, if it is long."""
    for pattern, instead in _UNSPOKEN:
        text = pattern.sub(instead, text)
    text = " ".join(text.split())
    if len(text) <= MOST_CHARS:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, MOST_CHARS)]
    return text[: ends[-1] if ends else MOST_CHARS].rstrip()


_UNSPOKEN = (
    (re.compile(r"```.*?(?:```|\Z)", re.DOTALL), " "),
    (re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"https?://\S+"), " "),
    (re.compile(r"^ {0,3}(?:#{1,6}|>|[-*+]|\d+\.) +", re.MULTILINE), ""),
    (re.compile(r"[*~`|#]+|(?<!\w)_+|_+(?!\w)"), ""),
)
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]")
