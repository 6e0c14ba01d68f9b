"""What inbounds of all platforms have in common: names made inert, sizes in words, images and texts known by
their bytes.

Pure; knows no platform.
"""

from __future__ import annotations

import codecs
import unicodedata

NAME_LENGTH = 80
"""Characters kept of a name; Discord allows 32 for people and 100 for channels, Telegram 64 and 255 for titles."""
JOINERS = "\u200c\u200d"
"""Invisible, but part of Persian words and of joined emoji."""
BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that show nothing: who wants a blank name takes one of the Hangul fillers or the empty Braille."""
MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def inert(name: str, limit: int = NAME_LENGTH) -> str:
    """A name as one harmless line: no line breaks, control or direction marks, or invisible characters; "" if nothing
    shows.
    """
    line = " ".join("".join(map(_inert_character, name)).split())[:limit].rstrip()
    return line if any(unicodedata.category(char)[0] not in "CMZ" for char in line) else ""


def _inert_character(char: str) -> str:
    if char in BLANKS:
        return " "
    if char.isprintable() or char in JOINERS:
        return char
    category = unicodedata.category(char)
    return " " if category == "Cc" or category.startswith("Z") else ""


def size_in_words(size: int) -> str:
    """A number of bytes for people: "800 B", "12 kB", "1.2 MB"."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def image_type(data: bytes) -> str | None:
    """The media type by the magic bytes, if it is one that vision models take (D20): PNG, JPEG, WEBP or GIF."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in MAGIC if data.startswith(magic)), None)


def decode(data: bytes, *, strict: bool = False) -> str | None:
    """Text in UTF-8, or UTF-16 with its mark; `None` for what is no text. A character cut off at the end is dropped.

    Bytes that fit no character are replaced, unless `strict`: then they prove that this is no text.
    """
    mark, encoding = next(((mark, name) for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        decoder = codecs.getincrementaldecoder(encoding)(errors="strict" if strict else "replace")
        text = decoder.decode(data[len(mark) :])
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
