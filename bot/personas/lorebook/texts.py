"""The texts that are looked through for keys: the newest messages, and what entries that joined in say.

Knows no entry. Case and width of letters do not count unless it is asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from bot.personas.lorebook.patterns import Patience, Pattern, as_pattern, compile_pattern

MAX_TEXT_CHARS = 10_000
"""Of one message or content; ours to choose, more than any platform's message has."""

MAX_CHARS = 100_000
"""Of all messages, and of all contents; ours to choose."""

MAX_LOOKS = 200_000
"""How often a key is looked for in a text in one scan; ours to choose, a large book looks some thousand times."""

MAX_PLACES = 100
"""Places of a key that are tried for one between word borders; ours to choose."""

# Letters of scripts that write words without spaces, or bind particles to them: there is no border to ask for.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(f"[^\\W{_UNSPACED}]+")


def fold(text: str) -> str:
    """A text as it is compared where case does not count."""
    return unicodedata.normalize("NFKC", text).casefold()


@dataclass(frozen=True, slots=True)
class Key:
    """One key, made ready. `pattern` is set for a pattern that can be used; a `broken` one never matches."""

    said: str
    folded: str
    pattern: Pattern | None = None
    broken: bool = False
    is_word: bool = False
    is_phrase: bool = False


def has_macro(text: str) -> bool:
    """Whether a key may stand for something else in each chat."""
    return "{{" in text or "<" in text


def make_key(text: str, *, is_pattern: bool = False, case_sensitive: bool | None = None) -> Key:
    """A key of plain words, or one `/like this/i`; with `is_pattern` any text is a pattern, and case counts in those
    without flags only where that is said.
    """
    shaped = as_pattern(text)
    if shaped is None and not is_pattern:
        said = unicodedata.normalize("NFKC", text)
        folded = said.casefold()
        is_word = _WORD.fullmatch(folded) is not None
        return Key(said=said, folded=folded, is_word=is_word, is_phrase=any(map(str.isspace, folded)))
    pattern = compile_pattern(*shaped or (text, "" if case_sensitive else "i"))
    return Key(said=text, folded="", pattern=pattern, broken=pattern is None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Where a key is looked for, and how: in the newest `depth` messages, and `with_lore` in what entries say."""

    depth: int
    with_lore: bool
    case_sensitive: bool
    whole_words: bool


class Text:
    """One text, in the forms that keys are looked for in."""

    def __init__(self, text: str) -> None:
        self.said = text[:MAX_TEXT_CHARS]

    @cached_property
    def normal(self) -> str:
        return unicodedata.normalize("NFKC", self.said)

    @cached_property
    def folded(self) -> str:
        return self.normal.casefold()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.normal))

    @cached_property
    def folded_words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.folded))

    def holds(self, key: Key, scope: Scope) -> bool:
        """Whether the key's words are in it. One word must stand between borders where whole words are asked for, a
        phrase need not.
        """
        wanted, text = (key.said, self.normal) if scope.case_sensitive else (key.folded, self.folded)
        if not scope.whole_words or key.is_phrase:
            return wanted in text
        if key.is_word:
            return wanted in (self.words if scope.case_sensitive else self.folded_words)
        return any(_is_apart(text, place, place + len(wanted)) for place in _places(wanted, text))


def _places(wanted: str, text: str) -> Iterable[int]:
    place = text.find(wanted)
    for _ in range(MAX_PLACES):
        if place < 0:
            return
        yield place
        place = text.find(wanted, place + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether no word goes on across either end."""
    return not any(0 < place < len(text) and _WORD.fullmatch(text[place - 1 : place + 1]) for place in (start, end))


class Texts:
    """All that is looked through in one scan."""

    def __init__(self, messages: Sequence[str], patience: Patience) -> None:
        """`messages` are the newest last."""
        self._messages = list(_within(map(Text, reversed(messages))))
        self._lore: list[Text] = []
        self._patience = patience
        self._looks_left = MAX_LOOKS

    @property
    def given_up(self) -> Sequence[str]:
        """The patterns that took too long."""
        return self._patience.given_up

    @property
    def is_cut_short(self) -> bool:
        """Whether there were more keys to look for than there may be."""
        return self._looks_left <= 0

    @property
    def messages(self) -> Sequence[Text]:
        """The newest first."""
        return self._messages

    def add_lore(self, contents: Iterable[str]) -> Sequence[Text]:
        """Look through these as well from now on; returns what was taken."""
        room = MAX_CHARS - sum(len(text.said) for text in self._lore)
        added = list(_within(map(Text, contents), room))
        self._lore += added
        return added

    def hold(self, key: Key, scope: Scope) -> bool:
        """Whether any text in the scope holds the key."""
        if key.broken or not key.said:
            return False
        texts = chain(islice(self._messages, scope.depth), self._lore if scope.with_lore else ())
        for text in texts:  # a loop, because a generator would take most of the time
            self._looks_left -= 1
            if self._looks_left < 0:
                return False
            found = self._patience.finds(key.pattern, text.said) if key.pattern else text.holds(key, scope)
            if found:
                return True
        return False


def _within(texts: Iterable[Text], room: int = MAX_CHARS) -> Iterable[Text]:
    """The first that have room together."""
    for text in texts:
        room -= len(text.said)
        if room < 0:
            return
        yield text
