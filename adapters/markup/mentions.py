"""The mention policy where mentions are found in the text itself: a formatted text whose names and links call nobody.

Knows no Markdown and no client library. Where a platform can be told not to call, that is the better policy.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace

from adapters.markup.formatted import FormattedText, Units

WORD_JOINER = "\u2060"
"""Invisible, and no part of a name: behind an at sign it keeps the server from reading one."""
LOOKALIKE = "＠"
"""Of an at sign; takes no more room than it."""

_NAME = re.compile(r"@([A-Za-z0-9_]+)")
_ADDRESS = re.compile(
    r"(?<!\w)https?://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?::[0-9]+)?[/?#][A-Za-z0-9_\-./?#=&%+~:@]*"
)
"""A web address in which the server looks for no names; one of any other shape could hide a name from us."""


def without_mentions(formatted: FormattedText, *, own_name: str = "", keeps_length: bool = False) -> FormattedText:
    """The text in which nobody is mentioned but `own_name`: links to people lose their address and keep their words,
    names get an invisible sign behind their at sign. Code, e-mail and web addresses stay as they are, since no server
    looks for names there. With `keeps_length` the at sign itself is replaced, for a text that must not grow.
    """
    entities = tuple(it for it in formatted.entities if not (it.url or "").lower().startswith("tg:"))
    formatted = replace(formatted, entities=entities)
    places = list(_find_names(formatted, own_name.lower()))
    if not places:
        return formatted
    if keeps_length:
        chars = list(formatted.text)
        for place in places:
            chars[place] = LOOKALIKE
        return replace(formatted, text="".join(chars))
    return _with_joiners(formatted, places)


def _find_names(formatted: FormattedText, own_name: str) -> Iterator[int]:
    """Where at signs stand that make a name."""
    if "@" not in formatted.text:
        return
    text = _without_code(formatted)
    in_addresses = {at for found in _ADDRESS.finditer(text) for at in range(*found.span()) if text[at] == "@"}
    for found in _NAME.finditer(text):
        before = text[found.start() - 1 : found.start()]
        is_inside_a_word = before.isalpha() or before.isdecimal() or before == "_"  # as in an e-mail address
        if not is_inside_a_word and found[1].lower() != own_name and found.start() not in in_addresses:
            yield found.start()


def _without_code(formatted: FormattedText) -> str:
    """The text in which spaces stand for everything that is code."""
    units, chars = Units(formatted.text), list(formatted.text)
    for it in formatted.entities:
        if it.type in ("code", "pre"):
            start, end = units.index(it.offset), units.index(it.end)
            chars[start:end] = " " * (end - start)
    return "".join(chars)


def _with_joiners(formatted: FormattedText, places: list[int]) -> FormattedText:
    text, units = formatted.text, Units(formatted.text)
    ends = [place + 1 for place in places]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    offsets = [units.offset(end) for end in ends]  # a joiner is one unit, and belongs to what is around the name
    entities = []
    for it in formatted.entities:
        start, end = it.offset + bisect_right(offsets, it.offset), it.end + bisect_left(offsets, it.end)
        entities.append(replace(it, offset=start, length=end - start))
    return FormattedText(text=WORD_JOINER.join(pieces), entities=tuple(entities))
