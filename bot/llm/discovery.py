"""Notices model servers that run on this machine, so that they can be offered. Knows nothing of what is configured."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

import aiohttp

PORTS: Mapping[str, int] = MappingProxyType({"ollama": 11434, "lmstudio": 1234})
"""Where these programs listen unless told otherwise; the names are those of `PROVIDERS__<NAME>__...`."""

MODEL_LIST_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundServer:
    """An OpenAI-compatible server on this machine and the names of the models that it offers."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(
    ports: Mapping[str, int] = PORTS, *, patience: timedelta = timedelta(milliseconds=300)
) -> list[FoundServer]:
    """Ask all of them at once for their models, for `patience` at most. Never raises: no server, no entry."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=patience.total_seconds())) as session:
        found = await asyncio.gather(*(_ask(session, name, port) for name, port in ports.items()))
    return [server for server in found if server is not None]


async def _ask(session: aiohttp.ClientSession, name: str, port: int) -> FoundServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with session.get(f"{base_url}/models", allow_redirects=False) as response:
            if response.status != 200 or (response.content_length or 0) > MODEL_LIST_BYTES:
                return None
            listing = await response.json(content_type=None)
        models = tuple(str(entry["id"]) for entry in listing["data"] or ())
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError, TypeError):
        return None  # something else listens there, or nothing
    return FoundServer(name=name, base_url=base_url, models=models)
