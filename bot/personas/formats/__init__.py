"""Files of persona cards: bytes in, one mapping out. The content decides the format, never a name or a media type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.personas.card import CardError
from bot.personas.formats.json import read_json
from bot.personas.formats.yaml import read_yaml

_OTHER_KINDS = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"PK\x03\x04": "a ZIP archive, such as CHARX",
}
"""Files that cards also come in, by their first bytes."""

_BOMS_AND_SPACE = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"


def read_mapping(data: bytes) -> Mapping[Any, Any]:
    """Read a card file of any known format.

    Raises:
        CardError: of another kind, too large, damaged, nested too deeply, or no mapping.
    """
    for beginning, kind in _OTHER_KINDS.items():
        if data.startswith(beginning):
            raise CardError(
                f"This is {kind}.", "Cards are read from YAML and JSON files, not yet from pictures or archives."
            )
    is_json = data.lstrip(_BOMS_AND_SPACE).startswith((b"{", b"["))
    return read_json(data) if is_json else read_yaml(data)
