"""The lines of a transcript as a small model is asked about them: what people said, without their questions. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from bot.memory.delta import LONGEST_TEXT, Citable
from bot.memory.request import Material, inert

LEAST_WORDS, LEAST_SIGNS = 3, 4
"""Words, and signs of a script without spaces, below which a line tells nothing by itself."""

_SENTENCE = re.compile(r".+?(?:[.!?]+(?:\s+|$)|[。！？]+\s*|$)")
_SIGN = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_SIGNS = re.compile(rf"[{_SIGN}]+")
_WORD = re.compile(rf"[^\W_{_SIGN}]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """A line that a person said: its number in the transcript, whose it is, and what it says besides its questions."""

    number: int
    author: str
    name: str
    text: str
    statement: str
    day: date
    """On which it was said."""


def spoken_lines(material: Material, citable: Citable) -> tuple[Spoken, ...]:
    """The lines of people, in order."""
    texts = {row.id: row.text for row in (*material.again, *material.rows)}
    return tuple(
        _spoken(number, line.author_key, citable.people[line.author_key], texts[line.message_id], line.day)
        for number, line in citable.lines.items()
        if line.author_key is not None
    )


def _spoken(number: int, author: str, name: str, text: str, day: date) -> Spoken:
    text = inert(text)[:LONGEST_TEXT]
    said = "".join(map(_stated, _SENTENCE.findall(text))).strip(" ,，")
    return Spoken(
        number=number, author=author, name=name, text=text, statement=said if tells_anything(said) else "", day=day
    )


def _stated(sentence: str) -> str:
    """A sentence; of a question only what stands before its last comma: "I eat no nuts, what can I have?"."""
    if not sentence.rstrip().endswith(("?", "？")):
        return sentence
    before = max(sentence.rfind(comma) for comma in ",，")
    return f"{sentence[:before]}{sentence[before]} " if before > 0 else ""


def tells_anything(text: str) -> bool:
    """Whether there is enough of a text to tell anything."""
    return len(_WORD.findall(text)) >= LEAST_WORDS or sum(map(len, _SIGNS.findall(text))) >= LEAST_SIGNS
