"""Cards in the EXIF comment of WebP and JPEG pictures, which some older tools wrote (P09)."""

from __future__ import annotations

import io
import re
import struct

from bot.personas.card import CardError
from bot.personas.formats.payload import decode_payload

_EXIF_FOLDER, _USER_COMMENT = 0x8769, 0x9286
_CHARSET = re.compile(rb"(?:ASCII|UNICODE|JIS)?\0+", re.DOTALL)
_BYTE_VALUES = re.compile(rb"\s*\d{1,3}(?:\s*,\s*\d{1,3})+\s*")


def card_payload(data: bytes) -> bytes:
    """The JSON of the card.

    Raises:
        CardError: the picture has no comment that is a card.
    """
    payload = decode_payload(_bytes(_comment(data)))
    if payload is None:
        raise CardError("card-picture-plain", "card-picture-plain-remedy")
    return payload


def _comment(data: bytes) -> bytes:
    from PIL import Image, UnidentifiedImageError  # 5 MB, for a kind of card that is rare

    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "WEBP")) as image:
            comment = image.getexif().get_ifd(_EXIF_FOLDER).get(_USER_COMMENT, b"")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, KeyError, TypeError, struct.error) as error:
        raise CardError("card-picture-damaged", "card-comment-damaged-remedy") from error
    return comment.encode("utf-8", "replace") if isinstance(comment, str) else bytes(comment)


def _bytes(comment: bytes) -> bytes:
    """The comment without its charset, or the bytes that it lists as numbers."""
    text = comment[found.end() :] if (found := _CHARSET.match(comment)) else comment
    if not _BYTE_VALUES.fullmatch(text):
        return text
    values = [int(number) for number in text.split(b",")]
    return bytes(value for value in values if value < 256)
