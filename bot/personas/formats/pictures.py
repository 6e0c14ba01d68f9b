"""What kind of picture some bytes are, and how large: by their first bytes and their header, never by a name."""

from __future__ import annotations

import io

from bot.personas.card import CardError
from bot.personas.formats import png

MAX_PIXELS = 40_000_000
"""Ours to choose: more than any portrait has, and no more than 160 MB decoded."""

_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}


def kind_of(data: bytes) -> str | None:
    """`png`, `jpeg`, `webp`, `gif`, or None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for beginning, kind in _KINDS.items() if data.startswith(beginning)), None)


def demand_a_bearable_picture(data: bytes) -> None:
    """Check the size that the header states, before anybody decodes it.

    Raises:
        CardError: it is no picture, is damaged, or has too many pixels.
    """
    found = png.size(data) if kind_of(data) == "png" else _measured(data)
    if found is None or 0 in found:
        raise CardError("card-picture-damaged", "card-picture-damaged-remedy")
    width, height = found
    if width * height > MAX_PIXELS:
        raise CardError("card-picture-large", "card-picture-large-remedy", width=width, height=height, most=MAX_PIXELS)


def _measured(data: bytes) -> tuple[int, int] | None:
    if kind_of(data) is None:
        return None
    from PIL import Image, UnidentifiedImageError  # 5 MB, for the few cards that are no PNG

    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "WEBP", "GIF")) as image:
            return image.size
    except Image.DecompressionBombError as error:
        raise CardError("card-picture-huge", "card-picture-large-remedy") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return None


def as_png(data: bytes) -> bytes:
    """The picture as PNG; one that is a PNG stays what it is.

    Raises:
        CardError: it is no picture, is damaged, or has too many pixels.
    """
    demand_a_bearable_picture(data)
    if kind_of(data) == "png":
        return data
    from PIL import Image

    written = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "WEBP", "GIF")) as image:
            image.convert("RGBA" if image.has_transparency_data else "RGB").save(written, "PNG")
    except (OSError, ValueError, SyntaxError) as error:
        raise CardError("card-picture-damaged", "card-picture-damaged-remedy") from error
    return written.getvalue()


def as_small_jpeg(data: bytes, side: int) -> bytes:
    """The picture as JPEG with no side longer than `side` pixels; of one that moves the first frame, and white where it
    can be seen through.

    Raises:
        CardError: it is no picture, is damaged, or has too many pixels.
    """
    demand_a_bearable_picture(data)
    from PIL import Image

    written = io.BytesIO()
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
            image.draft("RGB", (side, side))
            image.thumbnail((side, side))
            clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        white.alpha_composite(clear)
        white.convert("RGB").save(written, "JPEG", quality=85)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise CardError("card-picture-damaged", "card-picture-damaged-remedy") from error
    return written.getvalue()


def as_square_jpeg(data: bytes, side: int) -> bytes:
    """The picture as a square JPEG, cut where a portrait's head is not.

    Raises:
        CardError: it is no picture, is damaged, or has too many pixels.
    """
    small = as_small_jpeg(data, 4 * side)
    from PIL import Image, ImageOps

    written = io.BytesIO()
    with Image.open(io.BytesIO(small), formats=("JPEG",)) as image:
        ImageOps.fit(image, (side, side), centering=(0.5, 0.25)).save(written, "JPEG", quality=90)
    return written.getvalue()
