"""Files of persona cards: bytes in, a card out, and back. The content decides the format, never a name or a media type.

Nothing is fetched, nothing is written to a disk, and every limit is checked before the memory is spent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.personas.card import CardError, CardWarning, PersonaCard, read_card
from bot.personas.formats import charx, exif, png
from bot.personas.formats.assets import Asset, resolve
from bot.personas.formats.json import read_json
from bot.personas.formats.pictures import demand_a_bearable_picture, kind_of
from bot.personas.formats.unpacked import Container, Unpacked
from bot.personas.formats.yaml import read_yaml

__all__ = ["MAX_FILE_BYTES", "Asset", "CardFile", "Container", "read_file", "read_mapping"]

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
        raise CardError(
            f"The file has {len(data):,} bytes, more than the {MAX_FILE_BYTES:,} allowed.",
            "Make the picture smaller, or leave out some files.",
        )
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
        return _unpack_png(data)
    if data.startswith(charx.SIGNATURE) or charx.is_archive(data):
        return charx.read_charx(data)
    if kind == "png":
        raise _no_card("picture")
    if kind in ("jpeg", "webp"):
        demand_a_bearable_picture(data)
        return Unpacked(container=Container(kind), mapping=read_json(exif.card_payload(data)), picture=data)
    if data.startswith(_OTHER_KINDS):
        raise CardError("This is no kind of file that cards come in.", "Cards are PNG, CHARX, JSON or YAML files.")
    return Unpacked(container=Container.JSON if _is_json(data) else Container.YAML, mapping=read_mapping(data))


def _unpack_png(data: bytes) -> Unpacked:
    demand_a_bearable_picture(data)
    mapping, warnings = _first_readable(png.card_payloads(data))
    return Unpacked(
        container=Container.APNG if png.is_animated(data) else Container.PNG,
        mapping=mapping,
        picture=data,
        files=png.asset_files(data),
        warnings=warnings,
    )


def _first_readable(payloads: Iterator[tuple[str, bytes]]) -> tuple[Mapping[Any, Any], tuple[CardWarning, ...]]:
    """The first chunk that decodes; a damaged one before it is told."""
    warnings: list[CardWarning] = []
    for keyword, payload in payloads:
        try:
            return read_json(payload), tuple(warnings)
        except CardError as error:
            warnings.append(CardWarning(field=keyword, message=f"cannot be used. {error.problem}"))
    raise CardError("The card in the picture is damaged.", "Export the card again.")


def _no_card(kind: str) -> CardError:
    return CardError(
        f"The {kind} carries no card.", "Send the original file: chats and picture editors drop what is hidden in one."
    )


def read_mapping(data: bytes) -> Mapping[Any, Any]:
    """Read a card that is written as text, JSON or YAML.

    Raises:
        CardError: too large, damaged, nested too deeply, or no mapping.
    """
    return read_json(data) if _is_json(data) else read_yaml(data)


def _is_json(data: bytes) -> bool:
    return data.lstrip(_BOMS_AND_SPACE).startswith((b"{", b"["))


_OTHER_KINDS = (
    b"GIF8",
    b"PK\x05\x06",
    b"PK\x03\x04",
    b"RIFF",
    b"%PDF",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x7fELF",
)
