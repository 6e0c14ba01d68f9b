"""Pictures of faces. Discord takes a picture for a webhook's message only from a public address, which no self-hosted
bot has; but what it uploads as an emoji of its application has one.

Each picture is uploaded once, under a name made of its content. Knows no webhook.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable

import discord
import structlog

from adapters.discord.connection import LoggedIn
from adapters.discord.faults import faults_told
from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from bot.chat import Speaker

log = structlog.get_logger(__name__)

PREFIX = "face_"
"""Of the names of our emojis, so that those which the operator uploads by hand are let alone."""
MOST_EMOJIS = 2_000
"""Of one application (Discord's documentation, Emoji resource)."""
ROOM = 20
"""How many places are made at once where all are taken."""
MOST_BYTES = 256 << 10
"""Of one emoji (the same)."""
UPLOAD_SECONDS = 10.0
"""How long an answer waits for its picture."""
REFUSED_SECONDS = 600.0
"""How long a persona goes without one that could not be had."""


class Avatars:
    """The addresses of personas' pictures. Pictures are loaded when first needed and not kept."""

    def __init__(self, logged_in: LoggedIn, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._logged_in, self._clock = logged_in, clock
        self._addresses: dict[str, str] = {}
        self._given_up: dict[str, float] = {}
        self._emojis: dict[str, discord.Emoji] | None = None
        self._used: set[str] = set()
        self._uploading = asyncio.Lock()

    async def address(self, speaker: Speaker) -> str | None:
        """Where a persona's picture can be had; `None` where it has none, or none can be put there for now."""
        if speaker.picture is None or self._is_given_up(speaker.persona_id):
            return None
        async with self._uploading:
            if speaker.persona_id not in self._addresses and not self._is_given_up(speaker.persona_id):
                await self._put(speaker)
            return self._addresses.get(speaker.persona_id)

    def _is_given_up(self, persona_id: str) -> bool:
        return self._clock() < self._given_up.get(persona_id, float("-inf"))

    async def _put(self, speaker: Speaker) -> None:
        reason = "no picture"
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                picture = await speaker.picture() if speaker.picture else None
                if picture and len(picture) <= MOST_BYTES:
                    self._addresses[speaker.persona_id] = (await self._emoji(picture)).url
                    return
        except (Wait, Refused, Unreachable, Uncertain, TimeoutError) as fault:
            reason = repr(fault)
            self._emojis = None  # what was carried out all the same is found when they are listed again
        log.info("discord.no_avatar", persona=speaker.persona_id, reason=reason)
        self._given_up[speaker.persona_id] = self._clock() + REFUSED_SECONDS

    async def _emoji(self, picture: bytes) -> discord.Emoji:
        name = PREFIX + hashlib.sha256(picture).hexdigest()[:24]
        self._used.add(name)
        client = await self._logged_in()
        if self._emojis is None:
            async with faults_told(repeatable=True):
                self._emojis = {emoji.name: emoji for emoji in await client.fetch_application_emojis()}
        if name not in self._emojis:
            await self._make_room(self._emojis)
            async with faults_told(repeatable=False):
                self._emojis[name] = await client.create_application_emoji(name=name, image=picture)
        return self._emojis[name]

    async def _make_room(self, emojis: dict[str, discord.Emoji]) -> None:
        """Remove our oldest ones that nobody has worn in this run, where no other would find a place."""
        if len(emojis) < MOST_EMOJIS:
            return
        unused = [emoji for name, emoji in emojis.items() if name.startswith(PREFIX) and name not in self._used]
        for emoji in sorted(unused, key=lambda emoji: emoji.id)[:ROOM]:
            async with faults_told(repeatable=True):
                await emoji.delete()
            del emojis[emoji.name]
