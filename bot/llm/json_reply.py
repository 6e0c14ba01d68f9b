"""Reads the JSON that a model was asked for out of what it said around it. Knows no schema."""

from __future__ import annotations

import json
import re
from typing import Any


class NoJson(ValueError):
    """A reply holds no JSON object that is whole."""


def read_json(text: str) -> dict[str, Any]:
    """The first JSON object of a reply: alone, in a code block, or between sentences (L14).

    Raises:
        NoJson: there is none, or the first one is cut or broken; a whole object inside it is not what was asked for.
    """
    start = re.search(r'\{\s*"', text) or re.search(r"\{\s*\}", text)
    if start is None:
        raise NoJson(f"no JSON object in a reply of {len(text)} characters")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start.start())
    except (ValueError, RecursionError) as error:
        raise NoJson(f"the JSON object in a reply of {len(text)} characters is not whole: {error}") from error
    assert isinstance(found, dict)
    return found
