"""Which language the prompt's own words come in: that of the talk, as far as they are translated. Pure."""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_HAN_SHARE = 0.3
"""A Chinese text with English names in it is still Chinese."""


def is_chinese(text: str) -> bool:
    """Whether most of a text is Chinese."""
    han = len(_HAN.findall(text))
    return han > 0 and han / len(_LETTER.findall(text)) > _HAN_SHARE
