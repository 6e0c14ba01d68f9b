"""Makers of card files, good and bad, byte by byte: nothing here is the product's own writer."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

from PIL import Image

from bot.personas.card import PersonaCard

V1 = {
    "name": "Luna",
    "description": "A clockmaker.",
    "personality": "Patient.",
    "scenario": "Her shop.",
    "first_mes": "Come in!",
    "mes_example": "<START>\n{{user}}: hi\n{{char}}: Mind the pendulum.",
}
LUNA = PersonaCard(
    name="Luna",
    description="A clockmaker.",
    personality="Patient.",
    scenario="Her shop.",
    first_message="Come in!",
    example_messages="<START>\n{{user}}: hi\n{{char}}: Mind the pendulum.",
)
"""What every well-meant file here says."""

BOOK = {"entries": [{"keys": ["clock"], "content": "It is late.", "extensions": {}, "enabled": True}]}

EXIF_FOLDER, USER_COMMENT = 0x8769, 0x9286
SYMBOLIC_LINK = 0o120777 << 16


def luna(**changes: object) -> PersonaCard:
    return LUNA.model_copy(update=changes)


def v2(**data: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**V1, **data}}


def v3(**data: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**V1, "group_only_greetings": [], **data}}


def as_json(card: object) -> bytes:
    return json.dumps(card, ensure_ascii=False).encode()


def as_base64(card: object) -> bytes:
    return base64.b64encode(as_json(card))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def text(keyword: str, value: bytes) -> bytes:
    return chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + value)


def packed_text(keyword: str, value: bytes) -> bytes:
    return chunk(b"zTXt", keyword.encode("latin-1") + b"\0\0" + zlib.compress(value))


def international_text(keyword: str, value: bytes, *, packed: bool) -> bytes:
    body = zlib.compress(value) if packed else value
    return chunk(b"iTXt", keyword.encode("latin-1") + (b"\0\1\0" if packed else b"\0\0\0") + b"en\0Figur\0" + body)


def header(width: int = 2, height: int = 2) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


PIXELS = chunk(b"IDAT", zlib.compress((b"\0" + bytes(range(6))) * 2))
END = chunk(b"IEND", b"")


def png(*before: bytes, after: tuple[bytes, ...] = (), first: bytes = header(), end: bytes = END) -> bytes:
    """A picture of 2 × 2 pixels with chunks before and after them."""
    return b"".join((b"\x89PNG\r\n\x1a\n", first, *before, PIXELS, *after, end))


PLAIN_PNG = png()


def apng(*before: bytes) -> bytes:
    """Two frames."""
    frame = struct.pack(">IIIIIHHBB", 0, 2, 2, 0, 0, 1, 10, 0, 0)
    later = struct.pack(">I", 1) + frame[4:]
    pixels = struct.pack(">I", 2) + zlib.compress((b"\0" + bytes(range(6, 12))) * 2)
    return png(
        *before,
        chunk(b"acTL", struct.pack(">II", 2, 0)),
        chunk(b"fcTL", frame),
        after=(chunk(b"fcTL", later), chunk(b"fdAT", pixels)),
    )


def archive(files: Mapping[str, bytes], *, links: tuple[str, ...] = (), method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive whose members have exactly these names."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as writer:
        for name, data in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            entry.external_attr = SYMBOLIC_LINK if name in links else 0
            writer.writestr(entry, data, method)
    return made.getvalue()


def charx(card: object = None, **files: bytes) -> bytes:
    return archive({"card.json": as_json(card or v3()), **files})


def encrypted(packed: bytes) -> bytes:
    """The same archive with the flag of encryption on its first member."""
    changed = bytearray(packed)
    changed[6] |= 1
    changed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


def picture(kind: str, comment: bytes | None = None, *, side: int = 2) -> bytes:
    """A real JPEG, WebP or GIF, perhaps with an EXIF comment."""
    made = io.BytesIO()
    image = Image.new("RGB", (side, side), (9, 99, 199))
    if comment is None:
        image.save(made, kind)
    else:
        exif = Image.Exif()
        exif.get_ifd(EXIF_FOLDER)[USER_COMMENT] = comment
        image.save(made, kind, exif=exif)
    return made.getvalue()


def bomb(megabytes: int = 1_024) -> bytes:
    """A zlib stream of so many MiB of zeros, made without unpacking them."""
    packer = zlib.compressobj(9)
    start = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * (megabytes - 1)


def asset(kind: str, uri: str, name: str = "main", ext: str = "png") -> dict[str, str]:
    return {"type": kind, "uri": uri, "name": name, "ext": ext}
