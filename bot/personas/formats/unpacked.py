"""What every kind of container gives: the card's mapping, the files beside it, and what was odd about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.personas.card import CardWarning


class Container(StrEnum):
    """What a card came in."""

    JSON = "json"
    YAML = "yaml"
    PNG = "png"
    APNG = "apng"
    CHARX = "charx"
    WEBP = "webp"
    JPEG = "jpeg"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unpacked:
    """A container taken apart, its card not yet read."""

    container: Container
    mapping: Mapping[Any, Any]
    picture: bytes | None = None
    """The container itself where it is a picture, or the one that an archive stands behind."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that came along, by a path that is safe to use."""
    warnings: tuple[CardWarning, ...] = ()
