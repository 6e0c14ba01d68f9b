"""Pictures of personas as people are shown them: small, whatever they came as. Knows no platform."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path

import structlog

from bot.personas.card import CardError
from bot.personas.formats.pictures import as_small_jpeg, as_square_jpeg
from bot.personas.library import Persona
from bot.store.database import Database
from bot.store.personas import read_original

log = structlog.get_logger(__name__)

SIDE_PIXELS = 512
"""The longer side at most: as large as a chat shows it."""
MAX_FILE_BYTES = 20 << 20
"""Of a picture beside a shipped card: as large as a card may be."""
FACE_PIXELS = 128
"""Side of a face, as chats show it beside a message."""
KEPT = 32
"""Small pictures kept in mind, of about 40 KB each; ours to choose."""
BESIDE_A_CARD = ("portrait.png", "portrait.jpg", "portrait.webp")
"""Where a card that comes as a folder has its picture."""


class Portraits:
    """Makes and remembers small pictures; one is decoded at a time, as that may take 160 MB."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._small: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._decoding = asyncio.Lock()

    async def small(self, persona: Persona) -> bytes:
        """The picture of a persona as JPEG; b"" where it has none, or none that can be used."""
        key = (persona.id, persona.version)
        async with self._decoding:
            if key not in self._small:
                self._small[key] = await self._make(persona)
                if len(self._small) > KEPT:
                    self._small.popitem(last=False)
        return self._small[key]

    async def face(self, persona: Persona) -> bytes | None:
        """The picture of a persona as a square JPEG of `FACE_PIXELS`, not remembered; `None` where it has none that can
        be used.
        """
        async with self._decoding:
            try:
                data = await self._original(persona)
                return await asyncio.to_thread(as_square_jpeg, data, FACE_PIXELS) if data else None
            except CardError as error:
                log.info("persona.picture_unusable", persona=persona.id, problem=str(error.problem))
                return None

    def forget(self, persona_ids: Collection[str]) -> None:
        """Some cards are gone."""
        for key in [key for key in self._small if key[0] in persona_ids]:
            del self._small[key]

    async def _make(self, persona: Persona) -> bytes:
        data = await self._original(persona)
        if not data:
            return b""
        try:
            return await asyncio.to_thread(as_small_jpeg, data, SIDE_PIXELS)
        except CardError as error:
            log.info("persona.picture_unusable", persona=persona.id, problem=str(error.problem))
            return b""

    async def _original(self, persona: Persona) -> bytes | None:
        if persona.source_path is not None:
            return await asyncio.to_thread(_beside, persona.source_path.parent)
        original = await self._db.read(read_original, persona.id)
        return original.picture if original else None


def _beside(folder: Path) -> bytes | None:
    for path in (folder / name for name in BESIDE_A_CARD):
        try:
            if path.stat().st_size <= MAX_FILE_BYTES:
                return path.read_bytes()
        except OSError:
            continue
    return None
