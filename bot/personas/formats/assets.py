"""The files a card speaks of: found among what came along, never fetched, and named the same whatever they came in.

Inside, a file that came along is at `embeded://path`, and `ccdefault:` is the picture of the card.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bot.personas.card import CardError, CardWarning, PersonaCard
from bot.personas.formats.paths import SCHEME, path_in
from bot.personas.formats.pictures import demand_a_bearable_picture
from bot.personas.formats.unpacked import Container, Unpacked
from bot.sentences import sentence

THE_PICTURE = "ccdefault:"
MAIN_ICON = {"type": "icon", "uri": THE_PICTURE, "name": "main", "ext": "png"}

USUAL_ICON = "assets/icon/images/main"
"""Where an archive has its main icon, with an ending; read there even if the card's list says something else."""
_USUAL_ICON = re.compile(re.escape(USUAL_ICON) + r"\.\w{3,4}")
_DATA_URI = re.compile(r"data:[^,]{0,200};base64,(.*)", re.DOTALL | re.IGNORECASE)
_EXT = re.compile(r"[a-z0-9]{1,10}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file that came with a card. `type` and `name` are the card's words, empty for a file that it does not list."""

    type: str
    name: str
    ext: str
    """Lower case without a dot, or `unknown`. Says nothing about what the bytes are."""
    path: str
    """Where it stands in an archive: safe, and unique among the card's."""
    data: bytes


def resolve(
    card: PersonaCard, unpacked: Unpacked
) -> tuple[PersonaCard, bytes | None, tuple[Asset, ...], list[CardWarning]]:
    """The card with its addresses in one spelling, its picture, its other files, and what is missing."""
    warnings: list[CardWarning] = []
    listed = [_respelt(entry) for entry in card.assets]
    main = main_icon(listed)
    path, picture = _picture(main, unpacked, warnings)
    files = dict(unpacked.files)
    users = [entry for entry in listed if path is not None and path_in(_uri(entry)) == path]
    if path is not None and users in ([], [main]):  # else it is needed as a file, too
        del files[path]
        listed = [{**entry, "uri": THE_PICTURE} if entry in users else entry for entry in listed]
    assets = _listed(listed, files, warnings) + _unlisted(listed, files)
    return card.model_copy(update={"assets": _said(listed)}), picture, assets, warnings


def main_icon(listed: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The icon called “main”, else the first icon."""
    icons = [entry for entry in listed if entry.get("type") == "icon"]
    return next((icon for icon in icons if icon.get("name") == "main"), next(iter(icons), None))


def _uri(entry: Mapping[str, Any]) -> str:
    return str(entry.get("uri", ""))


def _respelt(entry: Mapping[str, Any]) -> dict[str, Any]:
    path = path_in(_uri(entry))
    return dict(entry) if path is None else {**entry, "uri": SCHEME + path}


def _picture(
    main: Mapping[str, Any] | None, unpacked: Unpacked, warnings: list[CardWarning]
) -> tuple[str | None, bytes | None]:
    """The main icon if it came along, with its path if it has one, else the picture that the card came in."""
    uri = _uri(main) if main else THE_PICTURE
    path = path_in(uri)
    if path not in unpacked.files:
        usual = (path for path in unpacked.files if _USUAL_ICON.fullmatch(path))
        path = next(usual, None) if unpacked.container is Container.CHARX else None
    inline = data_in(uri)
    found = inline or unpacked.files.get(path or "")
    try:
        if found is not None:
            demand_a_bearable_picture(found)
            return None if inline else path, found
    except CardError as error:
        warnings.append(CardWarning(field="assets", message=sentence("card-icon-unusable", problem=error.problem)))
    return None, unpacked.picture


def data_in(uri: str) -> bytes | None:
    """The bytes that an address holds by itself, if it is of that kind."""
    found = _DATA_URI.fullmatch(uri.strip())
    try:
        return base64.b64decode(found[1]) if found else None
    except binascii.Error:
        return None


def _said(listed: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The list as the card keeps it: that its picture is its only icon goes without saying."""
    icons = [entry for entry in listed if entry.get("type") == "icon"]
    match icons:
        case [only] if {**only, "ext": ""} == {**MAIN_ICON, "ext": ""}:
            return tuple(entry for entry in listed if entry is not only)
    return tuple(listed)


def _listed(listed: list[dict[str, Any]], files: Mapping[str, bytes], warnings: list[CardWarning]) -> tuple[Asset, ...]:
    found = []
    for entry in listed:
        path = path_in(_uri(entry))
        if path is not None and path in files:
            found.append(_asset(path, files[path], kind=str(entry.get("type", "")), name=str(entry.get("name", ""))))
        elif path is not None:
            warnings.append(CardWarning(field="assets", message=sentence("card-asset-missing", path=path[:100])))
        elif _uri(entry).casefold().startswith(("http:", "https:")):
            warnings.append(CardWarning(field="assets", message=sentence("card-asset-address")))
    return tuple({asset.path: asset for asset in found}.values())


def _unlisted(listed: list[dict[str, Any]], files: Mapping[str, bytes]) -> tuple[Asset, ...]:
    known = {path_in(_uri(entry)) for entry in listed}
    return tuple(_asset(path, data) for path, data in files.items() if path not in known)


def _asset(path: str, data: bytes, *, kind: str = "", name: str = "") -> Asset:
    ext = path.rpartition("/")[2].rpartition(".")[2].casefold()
    return Asset(type=kind, name=name, ext=ext if _EXT.fullmatch(ext) else "unknown", path=path, data=data)
