"""Reads the JSON that a model was asked for out of what it said around it. Knows no schema."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from bot.llm.answer import sound


class NoJson(ValueError):
    """A reply holds no JSON object that is whole."""


def _counted(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number is expected, and no truth value")
    return value


Number = Annotated[int, BeforeValidator(_counted)]
"""A whole number of a reply. `true` is none, though Python counts it as 1."""


def read_json(text: str) -> dict[str, Any]:
    """The first JSON object of a reply: alone, in a code block, or between sentences (L14). Its texts are such as every
    store takes, also where half a character or none at all was spelled as an escape.

    Raises:
        NoJson: there is none, or the first one is cut or broken; a whole object inside it is not what was asked for.
    """
    start = re.search(r'\{\s*"', text) or re.search(r"\{\s*\}", text)
    if start is None:
        raise NoJson(f"no JSON object in a reply of {len(text)} characters")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start.start())
        assert isinstance(found, dict)
        return {_kept(key): _sound(value) for key, value in found.items()}
    except (ValueError, RecursionError) as error:
        raise NoJson(f"the JSON object in a reply of {len(text)} characters is not whole: {error}") from error


def _sound(value: Any) -> Any:
    match value:
        case str():
            return _kept(value)
        case list():
            return [*map(_sound, value)]
        case dict():
            return {_kept(key): _sound(inner) for key, inner in value.items()}
        case _:
            return value


def _kept(text: str) -> str:
    return sound(text).replace("\0", "")
