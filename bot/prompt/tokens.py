"""Counts tokens: exactly in o200k_base, and as a learned multiple of that for every other model. Never raises on text.

Knows no settings and no prompt; a request's fixed costs (roles, images, tools) are added by who builds it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from bot.prompt.o200k import FOLDER, Vocabulary, VocabularyDamaged

log = structlog.get_logger(__name__)

BULK_CHARS = 200_000
"""From this length on tiktoken counts, loaded for the one text: 0.2 s, less than it would take here at worst."""

_BLOCK_CHARS = 50_000
"""How much of a bulk tiktoken gets at once; a million spaces in a row overflow its stack."""


class TokenCounter:
    """Counts tokens of o200k_base, whatever the model and without any network (M14, M15).

    Ordinary text is counted from the vendored vocabulary; tiktoken itself is loaded for bulk text only, because its
    tables would stay resident. Should the vocabulary be damaged, the count becomes a cautious estimate.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._vocabulary: Vocabulary | None = None
        self._count: Callable[[str], int] | None = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Read the vocabulary now, 0.15 s; meant for a worker thread at start. `count` loads it when needed."""
        with self._loading:
            if self._count is None:
                self._count = self._choose_count()

    def _choose_count(self) -> Callable[[str], int]:
        try:
            self._vocabulary = vocabulary = Vocabulary(self._folder)
        except VocabularyDamaged as error:
            log.warning("tokens.estimated", problem=str(error), remedy="reinstall Familiar; windows stay half empty")
            return rough_count
        return lambda text: vocabulary.count(text) if len(text) < BULK_CHARS else _count_bulk(text, vocabulary)

    def forget(self) -> None:
        """Keep in mind nothing of what was counted."""
        if self._vocabulary is not None:
            self._vocabulary.forget()

    def count(self, text: str) -> int:
        """Tokens of `text`, in which special tokens and lone surrogates are ordinary characters (M13)."""
        if self._count is None:
            self.load()
        assert self._count is not None
        try:
            return self._count(text)
        except UnicodeEncodeError:
            return self._count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _count_bulk(text: str, vocabulary: Vocabulary) -> int:
    """Count by tiktoken, whose 75 MB are free for other use afterwards. A block's edge may cost one token."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "o200k_base", pat_str=vocabulary.pattern, mergeable_ranks=vocabulary.ranks(), special_tokens={}
    )
    blocks = (text[start : start + _BLOCK_CHARS] for start in range(0, len(text), _BLOCK_CHARS))
    return sum(len(encoding.encode_ordinary(block)) for block in blocks)


_ROUGH_RUN = re.compile(r" ?[A-Z]?[a-z]+| ?[A-Z]+|[0-9]+|\s+|[^\x00-\x7f]|.", re.DOTALL)


def rough_count(text: str) -> int:
    """A cautious estimate without any vocabulary (M15, M16).

    Never above the length in UTF-8, at least 1 per CJK character, and not more than 10 % under o200k_base for written
    language, random ASCII, Chinese characters or emoji. English and Chinese come out about 2.5 times too high.
    """
    return sum(map(_rough_run, _ROUGH_RUN.findall(text)))


def _rough_run(run: str) -> int:
    if not run.isascii():
        return len(run.encode("utf-8", "replace")) - 1 or 1
    if run.isspace():
        return math.ceil(len(run) / 2)
    if run.isdigit():
        return math.ceil(len(run) / 3)
    return math.ceil(len(run.strip()) * 3 / 5)


SMALLEST_LESSON = 200
"""Counted tokens below which a reply's usage teaches nothing: a server's chat template weighs too much in it."""

_LOWEST_FACTOR, _HIGHEST_FACTOR = 0.25, 4.0
"""Bounds of what is learned. SmolLM2 needs 2.2 times the tokens for Chinese; `rough_count` may be 3 times too high."""

_RISE, _FALL = 0.5, 0.05
"""How much of a difference one reply corrects. Up fast, because too low a factor overflows windows; down slowly, so
that the factor stays near the dearest language in use."""


class ModelTokens:
    """How many tokens each model makes of what counts as one here: a safety factor, corrected from returned usage."""

    def __init__(self, start_factor: Callable[[str], float]) -> None:
        """`start_factor(model)` is the factor of the model's family until its first reply; any name is fine (M14)."""
        self._start_factor = start_factor
        self._factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Model tokens per counted token."""
        return self._factors.get(model) or self._start_factor(model)

    def learn(self, model: str, tokens: int, actual: int) -> None:
        """Correct the factor: a request of `tokens` counted tokens, all text, was `actual` tokens to the server."""
        if tokens < SMALLEST_LESSON or actual <= 0:
            return
        factor = self.factor(model)
        measured = actual / tokens
        factor += (measured - factor) * (_RISE if measured > factor else _FALL)
        self._factors[model] = min(max(factor, _LOWEST_FACTOR), _HIGHEST_FACTOR)
