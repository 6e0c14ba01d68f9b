"""The scripted server's ears and tongue: transcripts by what was recorded, and speech that can be told again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

from tests.emulators.openai.script import Refuse

ENDINGS = frozenset(("flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"))
"""What the API takes as the ending of a recording (OpenAI, POST /audio/transcriptions)."""
MOST_CHARS = 4_096
"""Of a text to speak (OpenAI, POST /audio/speech)."""


@dataclass(frozen=True)
class Heard:
    """A recording as it came in."""

    fields: dict[str, str]
    name: str
    media_type: str
    data: bytes


@dataclass
class Audio:
    """Two endpoints. Speech is the bytes of `<form>:<text>`."""

    transcripts: dict[bytes, str | Refuse] = field(default_factory=dict)
    """What is said in a recording; one that is not here is silence."""
    usage: dict[str, Any] | None = None
    """What it says that it has counted with a transcript."""
    speech: Refuse | None = None
    """How speaking fails, if it does."""
    gates: tuple[asyncio.Event, asyncio.Event] | None = None
    """Set when a recording has come, and what its transcript waits for."""
    heard: list[Heard] = field(default_factory=list)
    spoken: list[dict[str, Any]] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        """Where they are."""
        return [
            web.post("/v1/audio/transcriptions", self._transcribe),
            web.post("/v1/audio/speech", self._speak),
        ]

    async def _transcribe(self, http: web.Request) -> web.StreamResponse:
        fields, name, media_type, data = dict[str, str](), "", "", b""
        async for part in await http.multipart():
            assert isinstance(part, BodyPartReader)
            if part.filename is None:
                fields[part.name or ""] = await part.text()
            else:
                name, media_type = part.filename, part.headers.get("Content-Type", "")
                data = bytes(await part.read())
        self.heard.append(Heard(fields, name, media_type, data))
        if name.rpartition(".")[2] not in ENDINGS:
            return _refusal(Refuse(status=400, body={"error": {"message": "Invalid file format."}}))
        if self.gates is not None:
            self.gates[0].set()
            await self.gates[1].wait()
        said = self.transcripts.get(data, "")
        if isinstance(said, Refuse):
            return _refusal(said)
        return web.json_response({"text": said} | ({"usage": self.usage} if self.usage else {}))

    async def _speak(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.spoken.append(body)
        if len(body["input"]) > MOST_CHARS:
            return _refusal(Refuse(status=400, body={"error": {"message": "string too long", "param": "input"}}))
        if self.speech is not None:
            return _refusal(self.speech)
        data = f"{body['response_format']}:{body['input']}".encode()
        return web.Response(body=data, content_type="audio/mpeg")


def _refusal(reply: Refuse) -> web.Response:
    return web.json_response(reply.body, status=reply.status, headers=reply.headers)
