"""What pictures carry a card in: base64 as tools write it, or bare JSON, compressed or not, within limits."""

from __future__ import annotations

import base64
import binascii
import zlib

from bot.personas.card import CardError
from bot.personas.formats.json import MAX_BYTES

MAX_TEXT_BYTES = 2 * MAX_BYTES
"""The largest card in base64 with line breaks."""

_BOM = b"\xef\xbb\xbf"
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def decode_payload(payload: bytes) -> bytes | None:
    """The JSON in a chunk's text, or None if there is none: padding, alphabet, line breaks and marks may vary (P23).

    Raises:
        CardError: more than `MAX_TEXT_BYTES`.
    """
    if len(payload) > MAX_TEXT_BYTES:
        raise too_much()
    packed = b"".join(payload.replace(b"\0", b"").removeprefix(_BOM).split())
    if packed.startswith(b"{"):
        return payload
    letters = packed.translate(_URL_SAFE).rstrip(b"=")
    try:
        return base64.b64decode(letters + b"=" * (-len(letters) % 4), validate=True) or None
    except binascii.Error:
        return None


def inflate(packed: bytes) -> bytes | None:
    """The text that was packed with zlib, or None if it is damaged. Never more than the limit is unpacked (P16).

    Raises:
        CardError: more than `MAX_TEXT_BYTES`.
    """
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MAX_TEXT_BYTES + 1)
    except zlib.error:
        return None
    if len(text) > MAX_TEXT_BYTES:
        raise too_much()
    return text if unpacker.eof else None


def too_much() -> CardError:
    """The refusal of a card that unpacks to more than any card has."""
    return CardError("card-chunk-large", "card-chunk-large-remedy", most=MAX_TEXT_BYTES)
