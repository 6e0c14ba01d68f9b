"""Cards written as JSON, which is what most card editors export."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.personas.card import CardError
from bot.personas.formats.text import as_card_mapping, decode, too_deep
from bot.sentences import sentence

MAX_BYTES = 2 * 1024 * 1024
"""Ours to choose: cards with a large lorebook reach a few hundred KiB."""


def read_json(data: bytes, *, max_bytes: int = MAX_BYTES) -> Mapping[Any, Any]:
    """Read a JSON object.

    Raises:
        CardError: too large, damaged, nested too deeply, or no object.
    """
    text = decode(data, max_bytes=max_bytes)
    try:
        return as_card_mapping(json.loads(text, parse_constant=_no_number))
    except json.JSONDecodeError as error:
        problem = sentence("card-line", line=error.lineno, problem=error.msg)
        raise CardError("card-json-damaged", "card-export-again", problem=problem) from error
    except ValueError as error:
        raise CardError("card-json-number", "card-json-number-remedy") from error
    except RecursionError as error:
        raise too_deep() from error


def _no_number(_: str) -> None:
    """NaN and the infinities are no JSON: no database or other reader would take them back."""
