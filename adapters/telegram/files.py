"""Fetches what came with a message: images and texts, within caps on real bytes and one total time-out (X07)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from telegram import Audio, Bot, Document, Message, Voice
from telegram.error import TelegramError

from adapters.incoming import decode, image_type, size_in_words
from adapters.telegram.inbound import quoted_of
from adapters.telegram.notes import Carrier, photo_sizes, seconds_of, unfetched
from adapters.telegram.options import FileLimits
from adapters.telegram.request import TelegramRequest
from bot.chat import QUOTED, Attachment, AttachmentKind
from bot.errors import UserError

log = structlog.get_logger(__name__)

AUDIO_TYPES = "audio/"
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/toml")
TEXT_NAME = re.compile(
    r"\.(txt|md|markdown|rst|log|csv|tsv|jsonl?|ya?ml|toml|ini|cfg|xml|html?|css|sql|tex|diff|patch|py|js|ts|jsx|tsx|java|kt"
    r"|c|h|cpp|hpp|cs|go|rs|rb|php|swift|lua|sh|bat|ps1|srt)$",
    re.IGNORECASE,
)
"""Telegram often calls such files application/octet-stream."""


MAX_DOWNLOAD = 20 << 20
"""Bytes of a file that a bot may get from Telegram's own servers (Bot API, getFile)."""
TOO_BIG = "file is too big"
"""What they say of a larger one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A file worth fetching, and how many bytes of it at most."""

    file_id: str
    limit: int


class Downloads:
    """Turns the files of messages into attachments with content. Never raises for a file that cannot be had."""

    def __init__(self, bot: Bot, request: TelegramRequest, limits: FileLimits) -> None:
        self._bot, self._request, self._limits = bot, request, limits

    async def fetch(self, messages: Sequence[Message], quoted: Carrier | None = None) -> tuple[Attachment, ...]:
        """One attachment per message that has a file; what was not fetched keeps its note. After them comes what is
        worth fetching of the `quoted` message.
        """
        room, fetching = self._limits.message_bytes, []
        carriers = [*messages, *([quoted] if quoted and wanted(quoted, self._limits) else ())]
        for carrier in carriers:
            if file := unfetched(carrier):
                wish = wanted(carrier, self._limits)
                fetching.append(self._fetch_one(file, wish, room))
                room -= wish.limit if wish and wish.limit <= room else 0
        files = await asyncio.gather(*fetching)
        return (*files[:-1], _from_quote(files[-1])) if len(carriers) > len(messages) else tuple(files)

    def offer(self, messages: Sequence[Message]) -> tuple[Attachment, ...]:
        """The files of a command, to be fetched if it asks for them: its own, else that of the message replied to."""
        own = [self._offered(file, message) for message in messages if (file := unfetched(message))]
        quoted = None if own else quoted_of(messages[0])
        file = unfetched(quoted) if quoted else None
        return tuple(own) if quoted is None or file is None else (_from_quote(self._offered(file, quoted)),)

    def _offered(self, file: Attachment, carrier: Carrier) -> Attachment:
        sizes = photo_sizes(carrier)
        file_id = sizes[-1].file_id if sizes else carrier.document.file_id if carrier.document else None
        return replace(file, fetch=partial(self._fetch_whole, file_id)) if file_id else file

    async def _fetch_whole(self, file_id: str, limit: int) -> bytes:
        try:
            async with asyncio.timeout(self._limits.timeout.total_seconds()):
                address = (await self._bot.get_file(file_id)).file_path or ""
                data = await self._request.download(address, limit=limit + 1)
        except (TelegramError, TimeoutError) as error:
            log.warning("telegram.file_not_fetched", error=str(error) or "too slow")
            if TOO_BIG in str(error).lower():
                raise UserError("file-too-large", limit=f"{min(limit, MAX_DOWNLOAD) >> 20} MB") from None
            raise UserError("file-not-fetched") from None
        if len(data) > limit:
            raise UserError("file-too-large", limit=f"{limit >> 20} MB")
        return data

    async def _fetch_one(self, file: Attachment, wish: Wanted | None, room: int) -> Attachment:
        if wish is None:
            return file
        if wish.limit > room:
            return replace(file, note=f"{file.note}, too large beside the others")
        try:
            async with asyncio.timeout(self._limits.timeout.total_seconds()):
                address = (await self._bot.get_file(wish.file_id)).file_path or ""
                data = await self._request.download(address, limit=wish.limit + 1)
        except (TelegramError, TimeoutError) as error:
            log.warning("telegram.file_not_fetched", name=file.name, error=str(error) or "too slow")
            return replace(file, note=f"{file.note}, could not be fetched")
        return opened(file, data, wish.limit)


def _from_quote(file: Attachment) -> Attachment:
    return replace(file, note=", ".join(part for part in (QUOTED, file.note) if part), quoted=True)


def wanted(message: Carrier, limits: FileLimits) -> Wanted | None:
    """What to fetch of a message: the largest photo within the cap, a recording, an image or a text as a document."""
    fitting = [size for size in photo_sizes(message) if (size.file_size or 0) <= limits.image_bytes]
    if fitting:
        return Wanted(file_id=fitting[-1].file_id, limit=fitting[-1].file_size or limits.image_bytes)
    if message.voice and seconds_of(message.voice) > limits.audio_seconds:
        return None
    if recording := message.voice or message.audio:
        return _listened_to(recording, limits)
    document = message.document
    if document is None or message.animation:
        return None
    media_type = document.mime_type or ""
    if media_type.startswith(AUDIO_TYPES):
        return _listened_to(document, limits)
    if media_type.startswith("image/") and (document.file_size or 0) <= limits.image_bytes:
        return Wanted(file_id=document.file_id, limit=document.file_size or limits.image_bytes)
    if media_type.startswith(TEXT_TYPES) or TEXT_NAME.search(document.file_name or ""):
        return Wanted(file_id=document.file_id, limit=limits.text_bytes)
    return None


def _listened_to(recording: Voice | Audio | Document, limits: FileLimits) -> Wanted | None:
    """A recording; one that is no voice message is held to its size alone, as on other platforms."""
    is_wanted = bool(limits.audio_bytes) and (recording.file_size or 0) <= limits.audio_bytes
    return Wanted(file_id=recording.file_id, limit=limits.audio_bytes) if is_wanted else None


def opened(file: Attachment, data: bytes, limit: int) -> Attachment:
    """The attachment with its content: a recording, an image by its magic bytes whatever it calls itself, else text.
    `data` has one byte more than `limit` when the file goes on.
    """
    if file.media_type.startswith(AUDIO_TYPES):
        is_whole = len(data) <= limit
        return replace(file, kind=AttachmentKind.AUDIO, data=data, size=len(data)) if is_whole else file
    looks_like = image_type(data)
    if looks_like and len(data) > limit:
        return replace(file, note=f"{file.note}, larger than {size_in_words(limit)}")
    if looks_like:
        return replace(file, kind=AttachmentKind.IMAGE, media_type=looks_like, data=data, size=len(data), note="")
    text = None if file.media_type.startswith("image/") else decode(data[:limit])
    if text is None:
        return replace(file, note=f"{file.note}, unreadable")
    size = max(file.size, len(data))
    note = f"first {limit} of {size} bytes" if len(data) > limit else ""
    return replace(file, kind=AttachmentKind.TEXT, text=text, size=size, note=note)
