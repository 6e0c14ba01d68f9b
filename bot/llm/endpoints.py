"""The model servers by name, and what is asked of them besides answers: what they offer, verdicts, and speech.

Knows no attempts and no quirks, which are those of answers (`bot.llm.client`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.llm.answer import BrokenAnswer
from bot.llm.connection import CONNECT_SECONDS, FAULTS, Connection, read_fault
from bot.llm.model import ModelRefused
from bot.llm.quirks import Kind, ThinkingStyle
from bot.llm.refusals import Refusal, error_for
from bot.llm.transcripts import Transcript, read_transcript
from bot.llm.verdicts import read_verdicts


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """One endpoint as configured. Times in seconds; `first_token_timeout` bounds every later silence too."""

    name: str
    base_url: str
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    first_token_timeout: float = 120.0
    total_timeout: float = 600.0
    fallback_after: float | None = None
    """How long silence is borne where another model can answer; `None` = as long as where none can."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    kind: Kind | None = None
    """What it is, as far as something is known of its kind."""
    api_version: str = ""
    """The date of Azure's API, where deployments stand in the address."""
    thinking: ThinkingStyle | None = None
    """How it switches reasoning; `None` = as is known of its kind."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sent with every request that does not say otherwise."""

    @property
    def endpoint(self) -> str:
        """What quirks are remembered under: name and host, not the port, which changes for the embedded model."""
        return f"{self.name}@{urlsplit(self.base_url).hostname or ''}"

    def patience(self, seconds: float, *, is_last: bool) -> float:
        """How long of so many seconds it may be silent, where it is or is not the last to be asked."""
        return seconds if is_last or self.fallback_after is None else min(seconds, self.fallback_after)

    def fault(self, error: Exception, *, first_token: float) -> Refusal:
        """What a fault on the way to it means; `first_token` is how long it had to begin."""
        limits = f"{first_token:g} s for the first token, {self.total_timeout:g} s for all"
        return read_fault(error, address=self.base_url, limits=limits)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """Speech as a file; `name` tells by its ending what kind, as servers go by that."""

    name: str
    media_type: str
    data: bytes


class Endpoints:
    """Every configured server, with one connection for each. A full name of a model is `provider/model`."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = {**providers}
        self._connections: dict[str, Connection] = {}

    def put(self, provider: Provider) -> None:
        """From now on a server is where this says; nothing was asked of it before."""
        self._providers[provider.name] = provider

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The names of the models that a provider offers, as it says.

        Raises:
            ModelError: it cannot be asked, or does not list models.
        """
        async with self._asking(f"{provider}/", CONNECT_SECONDS) as connection:
            listing = await connection.list_models()
        if self._providers[provider].api_version:
            return ()  # what can be deployed, not what is
        entries = listing.get("data") if isinstance(listing, dict) else listing
        return tuple(
            str(entry["id"]) for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)
        )

    async def moderate(self, model: str, texts: Sequence[str], *, seconds: float) -> tuple[bool, ...]:
        """Which of some texts a model refuses, within `seconds`. It is asked once.

        Raises:
            ModelError: it gives no verdicts.
        """
        async with self._asking(model, seconds) as connection:
            answer = await connection.moderate({"model": _bare(model), "input": list(texts)})
            return read_verdicts(answer, len(texts))

    async def transcribe(self, model: str, recording: Recording, *, seconds: float) -> Transcript:
        """What is said in a recording, within `seconds`. It is asked once.

        Raises:
            ModelError: it cannot be asked, or answers with something else.
        """
        async with self._asking(model, seconds) as connection:
            file = (recording.name, recording.data, recording.media_type)
            return read_transcript(
                await connection.transcribe({"model": _bare(model), "response_format": "json"}, file)
            )

    async def speak(self, model: str, text: str, *, voice: str, form: str, seconds: float) -> bytes:
        """A text as speech: a file of that form (`mp3`, `opus`), within `seconds`. It is asked once.

        Raises:
            ModelError: it cannot be asked, or answers with something else.
        """
        body = {"model": _bare(model), "input": text, "voice": voice, "response_format": form}
        async with self._asking(model, seconds) as connection:
            media_type, data = await connection.speak(body)
            if not data or media_type.startswith(("text/", "application/json")):
                raise BrokenAnswer(f"no speech: {len(data)} bytes of {media_type}")
            return data

    async def close(self) -> None:
        """Release all connections. A later call opens new ones."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await connection.close()

    def provider_of(self, model: str) -> Provider:
        """The server that a model's full name means.

        Raises:
            ModelRefused: there is none of that name, or no model is named.
        """
        name, _, bare = model.partition("/")
        if not bare or name not in self._providers:
            known = ", ".join(self._providers) or "none"
            raise ModelRefused(model, "no such provider is configured.", f"Configured: {known}.")
        return self._providers[name]

    def patience(self, model: str, seconds: float, *, is_last: bool) -> float:
        """How many of so many seconds a model may take, where it is or is not the last to be asked.

        Raises:
            ModelRefused: as `provider_of`.
        """
        return self.provider_of(model).patience(seconds, is_last=is_last)

    def connection(self, provider: Provider) -> Connection:
        """The way to a server."""
        if provider.name not in self._connections:
            self._connections[provider.name] = Connection(
                provider.base_url,
                api_key=provider.api_key.get_secret_value(),
                headers=provider.headers,
                api_version=provider.api_version,
            )
        return self._connections[provider.name]

    @asynccontextmanager
    async def _asking(self, model: str, seconds: float) -> AsyncIterator[Connection]:
        """One question within so much time; its faults are those of models."""
        given = self._providers.get(model.partition("/")[0]) or self.provider_of(model)
        try:
            async with asyncio.timeout(seconds):
                yield self.connection(given)
        except FAULTS as error:
            refusal = read_fault(error, address=given.base_url, limits=f"{seconds:g} s")
            raise error_for(refusal, model, secret=given.api_key.get_secret_value()) from error


def _bare(model: str) -> str:
    """What the server itself calls a model."""
    return model.partition("/")[2]
