"""One endpoint over the SDK: asks, streams, and tells every fault as a refusal. Knows no attempts and no quirks.

The only importer of `openai`, of which it uses client, SSE decoder and errors. Chunks stay plain dicts: building the
SDK's typed ones costs 5 ms of processor time per answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import aiohttp

from bot.llm.answer import BrokenAnswer, WebPage
from bot.llm.refusals import Refusal, read_refusal
from bot.llm.transport import AiohttpTransport, Response, Undecodable, leave_out_bearer
from bot.sparing import put_off

with put_off("openai.types", "openai.providers", "openai._module_client"):  # most of it, for what we never call
    import openai
    from openai._streaming import ServerSentEvent, SSEDecoder

CONNECT_SECONDS = 10.0
"""Longest wait for a connection, and for a list of models."""

IDLE_SECONDS = 55.0
"""How long an idle connection is kept for the next message: below the 60 s after which common balancers drop it."""

END = "[DONE]"
"""What the data of a stream's last event begins with."""

READ_OUT_SECONDS = 0.1
"""How long a server may take to end a stream after its last event, as in the SDK."""

FAULTS = (
    openai.APIError,
    aiohttp.ClientError,
    BrokenAnswer,
    Undecodable,
    json.JSONDecodeError,
    UnicodeDecodeError,
    TimeoutError,
)
"""Everything that can go wrong on the wire. The SDK wraps most errors of its transport, not a reply that is no HTTP."""


class _Decoder(SSEDecoder):
    """Also reads lines of bare JSON: whole answers, and errors above all, that servers send as if they were streams."""

    def decode(self, line: str) -> ServerSentEvent | None:
        if line.startswith("{") and line.endswith("}"):
            return ServerSentEvent(data=line)
        return super().decode(line)


class EventStream(openai.AsyncStream[object]):
    """The chunks of an answer. Events without data, which keep a connection alive or set its pace, are none."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._decoder = _Decoder()

    async def _iter_events(self) -> AsyncIterator[Any]:
        events = super()._iter_events()
        async for event in events:
            if event.data.startswith(END):
                await _read_out(events)
                return
            if event.data:
                yield event


async def _read_out(events: AsyncIterator[object]) -> None:
    """Take the end of a stream, without which its connection cannot be kept. The SDK does the same, and loads a library
    for it.
    """
    with suppress(*FAULTS):
        async with asyncio.timeout(READ_OUT_SECONDS):
            async for _ in events:
                pass


class Connection:
    """Requests to one endpoint. Every method raises `FAULTS`."""

    def __init__(self, address: str, *, api_key: str, headers: Mapping[str, str], api_version: str = "") -> None:
        """With an `api_version` it is Azure's: the deployment stands in the address, and the key in a header
        of its own alone."""
        self._is_azure = bool(api_version)
        more = {"api-key": api_key} if api_version else {}
        hooks = {"request": [leave_out_bearer]} if api_version else {}
        transport = AiohttpTransport(address, connect_seconds=CONNECT_SECONDS, idle_seconds=IDLE_SECONDS)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",  # the SDK insists on a key; servers without one ignore it
            base_url=address,
            max_retries=0,
            timeout=None,  # patience is the caller's, and the transport's for connecting
            default_headers={**more, **headers},
            default_query={"api-version": api_version} if api_version else None,
            http_client=openai.DefaultAsyncHttpxClient(transport=transport, event_hooks=hooks),
        )

    async def ask(self, body: Mapping[str, Any]) -> object:
        """A whole answer."""
        return await self._client.post(self._path("/chat/completions", body), body=body, cast_to=object)

    async def open_stream(self, body: Mapping[str, Any]) -> EventStream:
        """An answer to come in chunks, as soon as its headers are there; close it."""
        path = self._path("/chat/completions", body)
        return await self._client.post(path, body=body, cast_to=object, stream=True, stream_cls=EventStream)

    async def moderate(self, body: Mapping[str, Any]) -> object:
        """Verdicts on texts."""
        return await self._client.post("/moderations", body=body, cast_to=object)

    async def transcribe(self, body: Mapping[str, Any], file: tuple[str, bytes, str]) -> object:
        """What is said in a file, given by its name, content and media type."""
        return await self._client.post(
            self._path("/audio/transcriptions", body),
            body=body,
            files={"file": file},
            options={"headers": {"Content-Type": "multipart/form-data"}},
            cast_to=object,
        )

    async def speak(self, body: Mapping[str, Any]) -> tuple[str, bytes]:
        """The media type and the content of a text as speech."""
        answer = await self._client.post(self._path("/audio/speech", body), body=body, cast_to=Response)
        return answer.headers.get("content-type", ""), answer.content

    async def list_models(self) -> object:
        """What the endpoint says it offers."""
        return await self._client.get("/models", cast_to=object)

    def _path(self, path: str, body: Mapping[str, Any]) -> str:
        return f"/deployments/{quote(str(body['model']), safe='')}{path}" if self._is_azure else path

    async def close(self) -> None:
        """Release the connections."""
        await self._client.close()


def read_fault(error: Exception, *, address: str, limits: str) -> Refusal:
    """One of `FAULTS` as a refusal; `limits` tells how long was waited."""
    match error:
        case openai.APIStatusError():
            return replace(read_refusal(error.status_code, error.body), patience=_retry_after(error))
        case openai.APIConnectionError() | aiohttp.ClientError():
            shown = address.rpartition("@")[2]  # without a password in it
            return Refusal(message=f"no connection to {shown}: {_root_of(error)!r}", is_unconnected=True)
        case WebPage():
            return Refusal(message=str(error), is_page=True)
        case openai.APIError() | BrokenAnswer():
            return read_refusal(None, error.body, fallback=str(error))
        case TimeoutError():
            return Refusal(status=408, message=f"no answer in time ({limits}).", is_final=True)
        case _:
            return Refusal(message=f"the server sent a chunk that cannot be read: {error}", is_final=True)


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds that the server asks to wait; `None` when it does not say, or says it as a date."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None


def _root_of(error: BaseException) -> BaseException:
    # The SDK's sentence says only that it failed; the transport below knows why.
    while error.__cause__ is not None:
        error = error.__cause__
    return error
