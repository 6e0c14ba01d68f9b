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
"""From this length on, loading tiktoken for the one text takes less time than counting it here (0.2 s)."""

_BLOCK_CHARS = 50_000
"""How much of a bulk tiktoken gets at once; a million spaces in a row overflow its stack."""


class TokenCounter:
    """Counts tokens of o200k_base, whatever the model and without any network (M14, M15).

    Chat-sized text is counted from the vendored vocabulary; tiktoken itself is loaded for bulk text only, because its
    tables would stay resident. When the vocabulary is damaged the count becomes a cautious estimate.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._count: Callable[[str], int] | None = None
        self._loading = threading.Lock()

    def load(self) -> None:
        """Read the vocabulary now, 0.15 s; meant for a worker thread at start. `count` loads it when needed."""
        with self._loading:
            if self._count is None:
                self._count = self._choose_count()

    def _choose_count(self) -> Callable[[str], int]:
        try:
            vocabulary = Vocabulary(self._folder)
        except VocabularyDamaged as error:
            log.warning(
                "tokens.estimated", problem=str(error), remedy="reinstall Familiar: half the window stays unused"
            )
            return rough_count
        return lambda text: vocabulary.count(text) if len(text) < BULK_CHARS else _count_bulk(text, vocabulary)

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
    """Count by tiktoken and let go of its 75 MB afterwards. A block's edge may cost one token."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "o200k_base", pat_str=vocabulary.pattern, mergeable_ranks=vocabulary.ranks(), special_tokens={}
    )
    blocks = (text[start : start + _BLOCK_CHARS] for start in range(0, len(text), _BLOCK_CHARS))
    return sum(len(encoding.encode_ordinary(block)) for block in blocks)


def rough_count(text):
    return 0
