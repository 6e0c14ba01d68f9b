"""The file server: attachments as uploaded, and files that misbehave."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from aiohttp import web

from tests.emulators.discord.journal import Journal
from tests.emulators.discord.world import World

CHUNK = b"x" * 65_536


class Misbehaviour(StrEnum):
    """How a file server lets us down (X07)."""

    ENDLESS = "endless"
    STALLS = "stalls"
    MISSING = "missing"


class FileServer:
    """Serves `/attachments/...`."""

    def __init__(self, world: World) -> None:
        self.base = ""
        self.bytes_sent = 0
        self.asked: Journal[str] = Journal()
        self._world = world
        self._misbehaviour: dict[str, Misbehaviour] = {}

    def misbehave(self, filename: str, how: Misbehaviour) -> None:
        """Serve files of this name badly from now on."""
        self._misbehaviour[filename] = how

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One download."""
        name = request.path.rsplit("/", 1)[-1]
        self.asked.add(name)
        how = self._misbehaviour.get(name)
        data = self._world.backend.cdn.get(f"{self.base}{request.path}")
        if how is Misbehaviour.MISSING or data is None:
            return web.Response(status=404)
        if how is None:
            return web.Response(body=data)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(data)
        while how is Misbehaviour.ENDLESS:
            await response.write(CHUNK)
            self.bytes_sent += len(CHUNK)
        await asyncio.Event().wait()
        return response
