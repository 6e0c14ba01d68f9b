"""Writes cards as files that every reader takes, and that read back as the same card."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from bot.personas.card import PersonaCard
from bot.personas.export import Version, as_mapping, as_v2_copy
from bot.personas.formats import charx, png
from bot.personas.formats.assets import MAIN_ICON, THE_PICTURE, USUAL_ICON, Asset, data_in, main_icon
from bot.personas.formats.json import MAX_BYTES
from bot.personas.formats.paths import SCHEME, is_safe_path, path_in
from bot.personas.formats.pictures import as_png, demand_a_bearable_picture, kind_of

_PLAIN_COLOR, _PLAIN_SIDE = (88, 101, 122), 256
"""A calm grey-blue square, large enough for both platforms to show."""


def write_json(card: PersonaCard, version: Version = "v3") -> bytes:
    """The card as JSON in UTF-8."""
    return _json(as_mapping(_with_listed_icon(card), version))


def write_png(card: PersonaCard, picture: bytes | None) -> bytes:
    """The picture with the card in it, for readers of V3 and of V2; its pixels, frames and other chunks stay.

    A JPEG, WebP or GIF becomes a PNG; without a picture there is a plain square.

    Raises:
        CardError: the picture is damaged, or has too many pixels.
    """
    carrier = as_png(picture) if picture else png.plain_picture(_PLAIN_COLOR, side=_PLAIN_SIDE)
    if picture and _icon(card, files={}) not in (None, picture):
        card = _with_icon(card, THE_PICTURE)
    texts = {"chara": as_v2_copy(card), "ccv3": as_mapping(_with_listed_icon(card))}
    return png.with_texts(carrier, {keyword: base64.b64encode(_json(said)) for keyword, said in texts.items()})


def write_charx(card: PersonaCard, picture: bytes | None, assets: Iterable[Asset]) -> bytes:
    """An archive of the card, its picture and the files that came with it.

    Raises:
        CardError: the picture is damaged, or has too many pixels.
    """
    files = {asset.path: asset.data for asset in assets if is_safe_path(asset.path)}
    files.pop(charx.CARD_PATH, None)
    if picture and _icon(card, files) != picture:
        demand_a_bearable_picture(picture)
        path = _free_path(f"{USUAL_ICON}.{kind_of(picture)}", files)
        if not _is_elsewhere(card, files):
            card = _with_icon(card, SCHEME + path)
        files[path] = picture
    return charx.pack({charx.CARD_PATH: _json(as_mapping(_with_listed_icon(card))), **files})


def _icon(card: PersonaCard, files: Mapping[str, bytes]) -> bytes | None:
    """The main icon that the card's list names, as far as it is at hand."""
    uri = str((main_icon(card.assets) or {}).get("uri", ""))
    return files.get(path_in(uri) or "") or data_in(uri)


def _is_elsewhere(card: PersonaCard, files: Mapping[str, bytes]) -> bool:
    """Whether the main icon is somewhere that cannot be looked at, such as the web; the address is kept then."""
    main = main_icon(card.assets)
    return main is not None and main.get("uri") != THE_PICTURE and _icon(card, files) is None


def _with_listed_icon(card: PersonaCard) -> PersonaCard:
    """The card with an icon in its list, which only a list that is absent may lack."""
    return card if not card.assets or main_icon(card.assets) else _with_icon(card, THE_PICTURE)


def _free_path(path: str, taken: Mapping[str, bytes]) -> str:
    while path in taken:
        folder, _, name = path.rpartition("/")
        path = f"{folder}/_{name}"
    return path


def _with_icon(card: PersonaCard, uri: str) -> PersonaCard:
    """The card with its main icon at an address."""
    main = main_icon(card.assets)
    new = {**MAIN_ICON, "ext": uri.rpartition(".")[2]} if "." in uri else MAIN_ICON
    moved = {**(main or new), "uri": uri}
    others = [entry for entry in card.assets if entry is not main]
    place = next((number for number, entry in enumerate(card.assets) if entry is main), 0)
    return card.model_copy(update={"assets": (*others[:place], moved, *others[place:])})


def _json(said: Mapping[str, Any]) -> bytes:
    """JSON for people, or without its spaces and the copies for the oldest readers where it would be too large."""
    text = json.dumps(said, ensure_ascii=False, indent=2)
    if len(text.encode()) > MAX_BYTES:
        needed = {key: said[key] for key in ("spec", "spec_version", "data") if key in said} or said
        text = json.dumps(needed, ensure_ascii=False, separators=(",", ":"))
    return text.encode()
