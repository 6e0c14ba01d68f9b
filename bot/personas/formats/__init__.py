"""Files of persona cards: bytes in, a card out, and back. The content decides the format, never a name or a media type.

Nothing is fetched, nothing is written to a disk, and every limit is checked before the memory is spent.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.personas.card import CardError, CardWarning, PersonaCard, read_card
from bot.personas.formats import charx, exif, png
from bot.personas.formats.assets import Asset, resolve
from bot.personas.formats.json import read_json
from bot.personas.formats.pictures import demand_a_bearable_picture, kind_of
from bot.personas.formats.portrait import read_portrait
from bot.personas.formats.unpacked import Container, Unpacked
from bot.personas.formats.writing import write_charx, write_json, write_png
from bot.personas.formats.yaml import read_yaml

__all__ = [
    "MAX_FILE_BYTES",
    "Asset",
    "CardFile",
    "Container",
    "read_file",
    "read_mapping",
    "write_charx",
    "write_json",
    "write_png",
]

MAX_FILE_BYTES = 20 * 1024 * 1024
"""Ours to choose: a portrait has a few MB, and both platforms let a bot receive about this much."""

_BOMS_AND_SPACE = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class CardFile:
    """A card as it came. The caller keeps the original bytes; `sha256` is their hash in hexadecimal."""

    card: PersonaCard
    warnings: tuple[CardWarning, ...]
    container: Container
    picture: bytes | None
    """The persona's picture, as it came: PNG, JPEG, WebP or GIF by its bytes. Its header is checked, its pixels not."""
    assets: tuple[Asset, ...]
    """Files that came along, other than the picture."""
    sha256: str


def read_file(data: bytes, *, fallback_name: str = "") -> CardFile:
    """Read a card file of any kind. `fallback_name` serves a card that has no name of its own.

    Raises:
        CardError: it is too large, damaged, or no card.
    """
    if len(data) > MAX_FILE_BYTES:
        raise CardError("card-file-large", "card-file-large-remedy", most=MAX_FILE_BYTES)
    unpacked = _unpack(data)
    card, told = read_card(unpacked.mapping, fallback_name=fallback_name)
    card, picture, assets, missing = resolve(card, unpacked)
    return CardFile(
        card=card,
        warnings=tuple(dict.fromkeys((*unpacked.warnings, *told, *missing))),
        container=unpacked.container,
        picture=picture,
        assets=assets,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _unpack(data: bytes) -> Unpacked:
    kind = kind_of(data)
    if kind == "png" and png.has_card_chunk(data):
        return read_portrait(data)
    if data.startswith(charx.SIGNATURE) or charx.is_archive(data):
        return charx.read_charx(data)
    if kind == "png":
        raise CardError("card-picture-plain", "card-picture-plain-remedy")
    if kind in ("jpeg", "webp"):
        demand_a_bearable_picture(data)
        return Unpacked(container=Container(kind), mapping=read_json(exif.card_payload(data)), picture=data)
    if _is_binary(data):
        raise CardError("card-file-kind", "card-file-kind-remedy")
    return Unpacked(container=Container.JSON if _is_json(data) else Container.YAML, mapping=read_mapping(data))


def read_mapping(data: bytes) -> Mapping[Any, Any]:
    """Read a card that is written as text, JSON or YAML.

    Raises:
        CardError: too large, damaged, nested too deeply, or no mapping.
    """
    return read_json(data) if _is_json(data) else read_yaml(data)


def _is_json(data: bytes) -> bool:
    return data.lstrip(_BOMS_AND_SPACE).startswith((b"{", b"["))


def _is_binary(data: bytes) -> bool:
    """Whether this is no text in any encoding: such a file is called what it is, not damaged YAML."""
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return b"\0" in data[:1024] and not is_utf_16
