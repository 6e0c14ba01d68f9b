"""A line that somebody types, cut into words: what stands in quotes is one. Knows no command."""

from __future__ import annotations

import re
from dataclasses import dataclass

SLASHES = ("/", "／")
"""What a command begins with; keyboards for Chinese and Japanese write the wide one."""

QUOTES = ('""', "''", "“”", "‘’", "„“", "«»", "「」", "『』")
"""Pairs that hold a word together: those of a shell, and those that phones and keyboards make of them."""

_QUOTED = "|".join(rf"{pair[0]}(?P<q{number}>.*?){pair[1]}" for number, pair in enumerate(QUOTES))
# An apostrophe within a word is no quote: one opens at the beginning of a word and closes at the end of one.
_WORD = re.compile(rf"(?:{_QUOTED})(?!\S)|(?P<flag>[-–—]{{1,2}}[^\W\d][\w-]*)=(?=\S)|\S+", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """A word without its quotes, and where it stands in the line, quotes included. `--for=place` is two words."""

    text: str
    start: int
    end: int
    is_quoted: bool


def cut_words(line: str) -> list[Word]:
    """The words of a line. Text of any kind has words: a quote that is never closed is a character like others."""
    return [_word(found) for found in _WORD.finditer(line)]


def opens_quote(text: str) -> bool:
    """Whether a text begins with a quote that nothing closes. An apostrophe may begin a word by itself."""
    pairs = {pair[0]: pair[1] for pair in QUOTES if pair[0] not in "'‘"}
    return text[:1] in pairs and pairs[text[0]] not in text[1:]


def leaves_quote_open(text: str) -> bool:
    """Whether a quote opens at the beginning of some word and nothing closes it."""
    return any(not word.is_quoted and opens_quote(text[word.start :]) for word in cut_words(text))


def _word(found: re.Match[str]) -> Word:
    group = found.lastgroup
    text = found[0] if group is None else found[group]
    return Word(text=text, start=found.start(), end=found.end(), is_quoted=group is not None and group != "flag")
