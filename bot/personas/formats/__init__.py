"""Files of persona cards: bytes in, one mapping out. The content decides the format, never a name or a media type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.personas.formats.json import read_json
from bot.personas.formats.yaml import read_yaml

_BOMS_AND_SPACE = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"


def read_mapping(data: bytes) -> Mapping[Any, Any]:
    """Read a card file of any known format.

    Raises:
        CardError: too large, damaged, nested too deeply, or no mapping.
    """
    is_json = data.lstrip(_BOMS_AND_SPACE).startswith((b"{", b"["))
    return read_json(data) if is_json else read_yaml(data)
