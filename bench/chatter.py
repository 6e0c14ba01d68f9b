"""What the memory benchmark says: 1,000 texts of one person with planted codes, replies of one length, a persona.

Made from word lists by a fixed seed, or read from a LoCoMo file, whose licence lets it be measured with and not copied.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import tiktoken

from bot.prompt.o200k import FOLDER, Vocabulary

PLANT_EVERY, PLANT_AT = 20, 9
REPLY_TOKENS, PERSONA_TOKENS = 80, 1_500
MINUTES_APART = 7

_WORDS = {
    "who": "my sister, the neighbour, our choir, a friend from work, the landlord, my old teacher, the baker",
    "did": "found, lost, repaired, asked me about, forgot, painted, brought along, wants to sell, talks a lot about",
    "what": "a bicycle, the blue kettle, two tickets, an old map, the garden fence, a box of records, the train times",
    "when": "yesterday, this morning, after lunch, on the way home, while it rained, before the market closed",
}
_CHOICES = [words.split(", ") for words in _WORDS.values()]
_AND = (
    "I still do not know what to think of it.",
    "We laughed about it all evening.",
    "It reminded me of the summer at the lake.",
    "Perhaps I will try that myself next week.",
    "I should write that down somewhere.",
)


def load_encoding() -> tiktoken.Encoding:
    """The o200k_base tokenizer from the bot's own vocabulary, so that nothing is fetched."""
    vocabulary = Vocabulary(FOLDER)
    return tiktoken.Encoding(
        "o200k_base", pat_str=vocabulary.pattern, mergeable_ranks=vocabulary.ranks(), special_tokens={}
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """A code that has to be known from its turn on."""

    turn: int
    box: int
    code: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """All that is said: what the person says and what is answered, turn by turn."""

    persona: str
    asked: tuple[str, ...]
    answered: tuple[str, ...]
    planted: tuple[Planted, ...]


def make_talk(encoding: tiktoken.Encoding, turns: int, locomo: Path | None = None) -> Talk:
    """The same talk at every call."""
    ours, theirs = _from_locomo(locomo) if locomo else (_Made(1, 2), _Made(2, 5))
    asked = [f"{_stamp(turn)}{text}" for turn, text in enumerate(islice(cycle(ours), turns))]
    planted = tuple(_plant(number, turn) for number, turn in enumerate(range(PLANT_AT, turns, PLANT_EVERY), 1))
    for each in planted:
        asked[each.turn] += f" By the way, the code for box {each.box} is {each.code}."
    pieces = _pieces(encoding, cycle(theirs))
    persona = " ".join(("Be warm, curious and brief, and stay who you are.", *islice(cycle(theirs), 400)))
    return Talk(
        persona=encoding.decode(encoding.encode_ordinary(persona)[:PERSONA_TOKENS]),
        asked=tuple(asked),
        answered=tuple(islice(pieces, turns)),
        planted=planted,
    )


class _Made:
    """Endless small talk, `sentences` in each text."""

    def __init__(self, seed: int, sentences: int) -> None:
        self._seed, self._sentences = seed, sentences

    def __iter__(self) -> Iterator[str]:
        draw = random.Random(self._seed)
        for _ in range(5_000):
            yield " ".join(_sentence(draw) for _ in range(self._sentences - 1)) + " " + draw.choice(_AND)


def _sentence(draw: random.Random) -> str:
    parts = [draw.choice(words) for words in _CHOICES]
    text = " ".join(parts)
    return f"{text[0].upper()}{text[1:]} in the year {draw.randrange(1950, 2026)}, I believe."


def _stamp(turn: int) -> str:
    minute = turn * MINUTES_APART
    return f"[2026-03-{1 + minute // 1440 % 28:02d} {minute // 60 % 24:02d}:{minute % 60:02d}] Ann: "


def _plant(number: int, turn: int) -> Planted:
    return Planted(turn=turn, box=number, code=hashlib.sha256(f"box {number}".encode()).hexdigest()[:6].upper())


def _pieces(encoding: tiktoken.Encoding, texts: Iterator[str]) -> Iterator[str]:
    """Texts joined and cut to exactly the length of a reply."""
    held = ""
    for text in texts:
        held = f"{held} {text}".strip()
        tokens = encoding.encode_ordinary(held)
        if len(tokens) >= REPLY_TOKENS:
            yield encoding.decode(tokens[:REPLY_TOKENS]).strip()
            held = ""


def _from_locomo(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """What the first and what the second speakers say, in the order of the file."""
    ours: list[str] = []
    theirs: list[str] = []
    for chat in json.loads(path.read_text(encoding="utf-8")):
        talk = chat["conversation"]
        sessions = sorted((name for name in talk if name[8:].isdigit()), key=lambda name: int(name[8:]))
        for turn in (turn for name in sessions for turn in talk[name] or ()):
            (ours if turn["speaker"] == talk["speaker_a"] else theirs).append(turn["text"])
    return ours, theirs
