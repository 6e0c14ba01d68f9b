"""Speech: what people said aloud is written down, and answers are spoken, each by a model for that.

Knows no platform: recordings come as bytes, and what is spoken leaves as a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat import QUOTED
from bot.llm.endpoints import Endpoints, Recording
from bot.llm.model import Purpose, Usage
from bot.llm.router import Router
from bot.llm.transcripts import TOKENS_A_SECOND
from bot.settings import VoiceSettings
from bot.side_calls import SideCalls
from bot.store.images import ImageRow
from bot.turn import Turn

MOST_CHARS = 4_000
"""Of a transcript, and of what is spoken at once: speech endpoints take 4,096 (OpenAI, POST /audio/speech)."""

BYTES_A_SECOND = 4_000
"""Of a sound file that says no length: 32 kbit/s, few for speech, so that it is rather thought too long."""

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
    """Writes down what is said in recordings. `names` are the models that do, by their full names: the first, and who
    stands in for it.
    """

    servers: Endpoints
    router: Router
    names: Sequence[str]
    given: VoiceSettings
    calls: SideCalls

    async def transcribe(self, turn: Turn, recording: ImageRow) -> str:
        """What is said in a recording; "" for silence. The call is in the ledger.

        Raises:
            ModelError: the model could not be asked, or a limit has no room for it.
        """
        media_type = recording.media_type.partition(";")[0]
        file = Recording(name=f"voice.{ENDINGS.get(media_type, 'ogg')}", media_type=media_type, data=recording.data)
        length = Usage(input_tokens=TOKENS_A_SECOND * seconds_of(recording))

        async def listen(name: str, fallbacks: Sequence[str], is_last: bool) -> str:
            seconds = self.servers.patience(name, self.given.timeout.total_seconds(), is_last=is_last)
            async with self.calls.of_turn(turn, Purpose.TRANSCRIPTION, name, length, fallbacks) as call:
                said = await self.servers.transcribe(name, file, seconds=seconds)
                call.usage = said.usage or length
            return said.text

        words = " ".join((await self.router.first_of(self.names, listen)).split())
        return words if len(words) <= MOST_CHARS else words[:MOST_CHARS] + "…"


def seconds_of(recording: ImageRow) -> int:
    """How long a recording is, as its platform says, or by its size."""
    told = _LENGTH.search(recording.name)
    return int(told[1]) + 1 if told else len(recording.data) // BYTES_A_SECOND + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Speaking:
    """Speaks answers. `names` are the models that do, likewise."""

    servers: Endpoints
    router: Router
    names: Sequence[str]
    given: VoiceSettings
    calls: SideCalls

    @property
    def ending(self) -> str:
        """Of the files that it makes."""
        return {"opus": "ogg"}.get(self.given.form, self.given.form)

    async def speak(self, turn: Turn, text: str) -> bytes:
        """An answer as a file of the configured form; nothing where there is nothing to be heard. The call is in the
        ledger, with a token for each character.

        Raises:
            ModelError: the model could not be asked, or a limit has no room for it.
        """
        words = audible(text)
        if not words:
            return b""
        given = self.given

        # It takes as long as what is said, and nobody waits for it.
        async def say(name: str, fallbacks: Sequence[str], _is_last: bool) -> bytes:
            async with self.calls.of_turn(turn, Purpose.SPEECH, name, Usage(input_tokens=len(words)), fallbacks):
                return await self.servers.speak(
                    name, words, voice=given.speaker, form=given.form, seconds=given.timeout.total_seconds()
                )

        return await self.router.first_of(self.names, say)


def audible(text: str) -> str:
    """What of an answer in Markdown can be spoken: no code, no addresses, no marks; whole sentences, if it is long."""
    for pattern, instead in _UNSPOKEN:
        text = pattern.sub(instead, text)
    text = " ".join(text.split())
    if len(text) <= MOST_CHARS:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, MOST_CHARS)]
    return text[: ends[-1] if ends else MOST_CHARS].rstrip()


_LENGTH = re.compile(rf", (\d{{1,6}}) s(?:, {QUOTED})?$")  # how the note of a recording ends: "voice message, 12 s"
_UNSPOKEN = (
    (re.compile(r"```.*?(?:```|\Z)", re.DOTALL), " "),
    (re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"https?://\S+"), " "),
    (re.compile(r"^ {0,3}(?:#{1,6}|>|[-*+]|\d+\.) +", re.MULTILINE), ""),
    (re.compile(r"[*~`|#]+|(?<!\w)_+|_+(?!\w)"), ""),
)
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]")
