"""Reads attachments within limits on real bytes and real time, whatever their sizes claim (X07).

Knows what a vision model and a prompt can take; knows nothing of messages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import aiohttp
import discord
import structlog

from adapters.discord.inbound import files_of, noted, replied_to
from adapters.discord.options import DiscordOptions
from adapters.incoming import decode, image_type, inert, size_in_words
from bot.chat import QUOTED, Attachment, AttachmentKind
from bot.errors import UserError
from bot.proxies import proxy_for

log = structlog.get_logger(__name__)

CHUNK_BYTES = 64 << 10
AT_ONCE = 0.0
"""A moment of the event loop's clock that has passed."""

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

AUDIO_TYPES = "audio/"

TEXT_TYPE = re.compile(r"text/.+|application/(.+\+)?(json|xml|x?-?yaml|toml|javascript|x-sh|x-python|sql)")
UNKNOWN_TYPE = "application/octet-stream"
"""What Discord says of source code and many other texts; their bytes decide."""


class Files:
    """Fetches what came with messages; one HTTP session for the life of the adapter."""

    def __init__(self, options: DiscordOptions) -> None:
        self._options = options
        self._session: aiohttp.ClientSession | None = None
        self._reading: set[asyncio.Timeout] = set()
        self._is_stopped = False

    async def read(self, files: Sequence[discord.Attachment]) -> tuple[Attachment, ...]:
        """Every file as an attachment, in order; one that cannot be had or used is there with a note saying why."""
        deadline = asyncio.get_running_loop().time() + self._options.download_seconds
        room = self._options.message_bytes
        read: list[Attachment] = []
        for file in files:
            attachment = await self._read(file, room, deadline)
            room -= len(attachment.data) + len(attachment.text)
            read.append(attachment)
        return tuple(read)

    def offer(self, message: discord.Message) -> tuple[Attachment, ...]:
        """The files of a command, to be fetched if it asks for them: its own, else those of the message replied to."""
        if own := files_of(message):
            return tuple(self._offered(noted(file), file.url) for file in own)
        replied = replied_to(message)
        quoted = [] if replied is None else files_of(replied)
        return tuple(replace(self._offered(noted(file, QUOTED), file.url), quoted=True) for file in quoted)

    def offer_uploaded(self, raw: Mapping[str, Any]) -> Attachment:
        """The same of a file in the options of a command, as Discord tells it."""
        name, size = inert(str(raw["filename"])), int(raw["size"])
        file = Attachment(
            kind=AttachmentKind.OTHER,
            name=name,
            media_type=str(raw.get("content_type") or UNKNOWN_TYPE),
            size=size,
            note=f"file, {size_in_words(size)}",
        )
        return self._offered(file, str(raw["url"]))

    def _offered(self, file: Attachment, url: str) -> Attachment:
        return replace(file, fetch=partial(self._fetch_whole, url))

    async def _fetch_whole(self, url: str, limit: int) -> bytes:
        deadline = asyncio.get_running_loop().time() + self._options.download_seconds
        try:
            async with self._until(deadline):
                data = await self._fetch(url, limit + 1)
        except (aiohttp.ClientError, OSError) as error:  # a time-out is an OSError
            log.warning("discord.file_failed", error=type(error).__name__)
            raise UserError("file-not-fetched") from None
        if len(data) > limit:
            raise UserError("file-too-large", limit=f"{limit >> 20} MB")
        return data

    def stop(self) -> None:
        """End every download, so that the messages can be delivered without."""
        self._is_stopped = True
        for timeout in self._reading:
            timeout.reschedule(AT_ONCE)

    async def close(self) -> None:
        """Release the session."""
        if self._session:
            await self._session.close()

    async def _read(self, file: discord.Attachment, room: int, deadline: float) -> Attachment:
        try:
            async with self._until(deadline):
                if self._options.audio_bytes and (file.is_voice_message() or _media_type(file).startswith(AUDIO_TYPES)):
                    return await self._read_recording(file, min(room, self._options.audio_bytes))
                if _media_type(file) in IMAGE_TYPES:
                    return await self._read_image(file, min(room, self._options.image_bytes))
                if _media_type(file) == UNKNOWN_TYPE or TEXT_TYPE.fullmatch(_media_type(file)):
                    return await self._read_text(file, min(room, self._options.text_bytes))
        except (aiohttp.ClientError, OSError) as error:  # a time-out is an OSError
            log.warning("discord.file_failed", error=type(error).__name__, size=file.size)
            return noted(file, "could not be fetched")
        return noted(file)

    @asynccontextmanager
    async def _until(self, deadline: float) -> AsyncIterator[None]:
        """Time for a download, which ends when we stop.

        Raises:
            TimeoutError: it is over.
        """
        timeout = asyncio.timeout_at(AT_ONCE if self._is_stopped else deadline)
        try:
            async with timeout:
                self._reading.add(timeout)
                yield
        finally:
            self._reading.discard(timeout)

    async def _read_recording(self, file: discord.Attachment, limit: int) -> Attachment:
        # Discord tells the length of voice messages alone; other recordings are held to their size.
        if file.size > limit or (file.duration or 0) > self._options.audio_seconds:
            return noted(file, "too long to listen to")
        data = await self._fetch(file.url, limit + 1)
        if len(data) > limit:
            return noted(file, "too long to listen to")
        heard = replace(noted(file), kind=AttachmentKind.AUDIO, media_type=_media_type(file), size=len(data), data=data)
        return heard if file.is_voice_message() else replace(heard, note=f"{heard.name}, {heard.note}")

    async def _read_image(self, file: discord.Attachment, limit: int) -> Attachment:
        if file.size > limit:
            return noted(file, "too large to look at")
        data = await self._fetch(file.url, limit + 1)
        media_type = image_type(data)
        if len(data) > limit or media_type is None:
            return noted(file, "too large to look at" if media_type else "not an image that can be looked at")
        return Attachment(
            kind=AttachmentKind.IMAGE, name=inert(file.filename), media_type=media_type, size=len(data), data=data
        )

    async def _read_text(self, file: discord.Attachment, limit: int) -> Attachment:
        data = await self._fetch(file.url, limit + 1)
        text = decode(data[:limit], strict=_media_type(file) == UNKNOWN_TYPE)
        if text is None:
            return noted(file, "not readable as text")
        return Attachment(
            kind=AttachmentKind.TEXT,
            name=inert(file.filename),
            media_type=_media_type(file),
            size=max(file.size, len(data)),
            text=text,
            note=f"first {limit} of {max(file.size, len(data))} bytes" if len(data) > limit else "",
        )

    async def _fetch(self, url: str, limit: int) -> bytes:
        """At most `limit` bytes from the start of a file; the address is Discord's, redirects are not followed."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), proxy=proxy_for(url))
        data = bytearray()
        async with self._session.get(url, allow_redirects=False, raise_for_status=True) as response:
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                data += chunk
                if len(data) >= limit:
                    response.close()
                    break
        return bytes(data[:limit])


def _media_type(file: discord.Attachment) -> str:
    return (file.content_type or UNKNOWN_TYPE).partition(";")[0].strip().lower()
