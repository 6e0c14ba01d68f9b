"""PNG and APNG pictures that carry a card in text chunks. Walks chunks and never decodes a pixel.

Chunks after the pixels count as well (P03), and a chunk is chosen by its keyword alone (P25).
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from bot.personas.card import CardError
from bot.personas.formats.paths import is_safe_path
from bot.personas.formats.payload import decode_payload, inflate

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CARD_KEYWORDS = ("ccv3", "chara")
"""Best first: the second is a copy for old readers where both exist (P02)."""

MAX_CHUNKS = 20_000
"""Ours to choose: 20 MB of pixels come in about 2,500 pieces of the usual 8 KiB."""

_ASSET_KEYWORD = "chara-ext-asset_"
_MAX_CARD_CHUNKS = 16
"""Chunks of one keyword that are tried. Tools leave one or two; ours to choose, so that a file of junk costs little."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """One chunk; `raw` is all of it, length and checksum included."""

    kind: bytes
    raw: bytes

    @property
    def body(self) -> bytes:
        """What it holds."""
        return self.raw[8:-4]


def walk(data: bytes) -> Iterator[Chunk]:
    """Every whole chunk up to IEND. What is cut off or follows is left out; checksums are not looked at.

    Raises:
        CardError: there are more than `MAX_CHUNKS`.
    """
    start = len(SIGNATURE)
    for _ in range(MAX_CHUNKS):
        if start + 12 > len(data):
            return
        length, kind = struct.unpack_from(">I4s", data, start)
        end = start + 12 + length
        if end > len(data):
            return
        yield Chunk(kind=kind, raw=data[start:end])
        if kind == b"IEND":
            return
        start = end
    raise CardError("card-picture-pieces", "card-picture-damaged-remedy")


def size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels as the header says, or None without one."""
    header = next(walk(data), None)
    if header is None or header.kind != b"IHDR" or len(header.body) != 13:
        return None
    width, height = struct.unpack_from(">II", header.body)
    return width, height


def is_whole(data: bytes) -> bool:
    """Whether the picture has its end."""
    return any(chunk.kind == b"IEND" for chunk in walk(data))


def is_animated(data: bytes) -> bool:
    """Whether the picture is an APNG."""
    return any(chunk.kind == b"acTL" for chunk in walk(data))


def card_payloads(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The JSON of every chunk that holds a card, with the chunk's keyword, the best first."""
    for keyword in CARD_KEYWORDS:
        chunks = (chunk for chunk in walk(data) if _keyword(chunk).casefold() == keyword)
        for chunk in islice(chunks, _MAX_CARD_CHUNKS):
            text = _text(chunk)
            payload = decode_payload(text) if text else None
            if payload:
                yield keyword, payload


def has_card_chunk(data: bytes) -> bool:
    """Whether a chunk claims to hold a card, readable or not."""
    return any(_keyword(chunk).casefold() in CARD_KEYWORDS for chunk in walk(data))


def asset_files(data: bytes) -> dict[str, bytes]:
    """Files of a card in chunks of their own, by path, where that is safe; some tools leave the keyword's colon out."""
    files: dict[str, bytes] = {}
    for chunk in walk(data):
        if chunk.kind == b"tEXt" and _keyword(chunk).startswith(_ASSET_KEYWORD):
            path = _keyword(chunk).removeprefix(_ASSET_KEYWORD).removeprefix(":")
            if not is_safe_path(path):
                continue
            try:
                files[path] = base64.b64decode(_text(chunk) or b"")
            except binascii.Error:
                continue
    return files


def with_texts(data: bytes, texts: Mapping[str, bytes]) -> bytes:
    """The same picture, chunk for chunk, with the texts right after its header in place of any card it had.

    There the oldest readers, which take the first text whatever it is called, find the first of them.
    """
    header, *chunks = walk(data)
    kept = [chunk.raw for chunk in chunks if _keyword(chunk).casefold() not in CARD_KEYWORDS and chunk.kind != b"IEND"]
    added = [make_chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + text) for keyword, text in texts.items()]
    return b"".join((SIGNATURE, header.raw, *added, *kept, make_chunk(b"IEND", b"")))


def make_chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk with its length and checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def plain_picture(color: tuple[int, int, int], *, side: int) -> bytes:
    """A square of one color, for a card without a picture."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = (b"\0" + bytes(color) * side) * side
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(make_chunk(kind, body) for kind, body in chunks)


def _keyword(chunk: Chunk) -> str:
    """What a text chunk is about; empty for other chunks."""
    if chunk.kind not in (b"tEXt", b"zTXt", b"iTXt"):
        return ""
    return chunk.body.partition(b"\0")[0].decode("latin-1").strip()


def _text(chunk: Chunk) -> bytes | None:
    """The text of a text chunk of any kind (P01), or None if it is damaged."""
    _, _, rest = chunk.body.partition(b"\0")
    if chunk.kind == b"tEXt":
        return rest
    if chunk.kind == b"zTXt":
        return inflate(rest[1:])
    is_packed = rest[:1] == b"\1"
    text = rest[2:].split(b"\0", 2)[-1]  # after the language and the translated keyword
    return inflate(text) if is_packed else text
