"""The o200k_base vocabulary in 3 MB of memory: counts tokens exactly as tiktoken does, without its 46 MB of tables.

Knows no model and no prompt. Where the data beside it comes from: `README.md` there.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from array import array
from binascii import a2b_base64
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import regex

FOLDER = Path(__file__).parent
RANKS_FILE = "o200k_base.tiktoken.gz"
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

LONGEST_RUN = 128
"""Characters of one piece that are merged together. The work grows with the square of it; longer runs are cut, which
changes the count of random letters by a quarter of a percent and nothing in written language. It is a multiple of the
longest tokens, runs of spaces, so that these stay exact."""

_SLOTS = 300_007
"""Size of the hash table for 199,998 tokens: a prime, so that steps of any length come by every slot."""

_STEPS = 0xFFFF
"""Bits of the hash that tell how far it is from a taken slot to the next one to try."""

_CACHED_PIECES = 4096
"""Words whose count is remembered, under 1 MB; six of seven words of a chat are found there."""

_TOKEN_BYTES = 1_397_670
"""Length of all tokens together. Room that grew while they are read would leave holes half its size in the heap."""

_LENGTH_BITS = 8
"""A token's place in 32 bits: where it begins, and in the lowest bits its length; the longest has 128 bytes."""

_LENGTHS = (1 << _LENGTH_BITS) - 1

_NO_TOKEN = 1 << 31
"""Comes after every place."""


class VocabularyDamaged(Exception):
    """The data beside this module is missing or not what it should be."""


class Vocabulary:
    """All tokens of o200k_base, looked up by their bytes.

    A Python dict of them takes 27 MB. Here the bytes stand in one row ordered by rank, and a hash table with open
    addressing holds nothing but places in that row, which compare as the ranks do.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        """Read the data, 0.15 s.

        Raises:
            VocabularyDamaged: a file is missing, unreadable or not the published one.
        """
        self._slots = array("I", [0]) * _SLOTS
        """Place of the token whose hash leads here; 0 = free."""
        self._tokens = bytearray(_TOKEN_BYTES)
        try:
            self._read_ranks(folder / RANKS_FILE)
            self.pattern = (folder / "pattern.txt").read_text(encoding="utf-8").rstrip("\n")
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise VocabularyDamaged(f"{folder}: {error}") from error
        self._split = regex.compile(self.pattern).findall
        self._count_piece = lru_cache(_CACHED_PIECES)(self._merge)

    def count(self, text: str) -> int:
        """Number of tokens; what looks like a special token is plain text (M13).

        Raises:
            UnicodeEncodeError: the text holds a lone surrogate.
        """
        return sum(self._count_piece(run) for piece in self._split(text) for run in _runs(piece))

    def forget(self) -> None:
        """Keep in mind no words that were counted."""
        self._count_piece.cache_clear()

    def ranks(self) -> dict[bytes, int]:
        """The table as tiktoken wants it, 27 MB."""
        return {self._token(place): rank for rank, place in enumerate(sorted(filter(None, self._slots)))}

    def _token(self, place: int) -> bytes:
        start, length = divmod(place, 1 << _LENGTH_BITS)
        return bytes(self._tokens[start : start + length])

    def _read_ranks(self, path: Path) -> None:
        digest, tokens, end = hashlib.sha256(), self._tokens, 0
        with gzip.open(path) as file:
            for line in file:  # base64 of the token, a space, its rank; sorted by rank without a gap
                digest.update(line)
                token = a2b_base64(line.partition(b" ")[0])
                self._slots[self._free_slot(token)] = (end << _LENGTH_BITS) + len(token)
                start, end = end, end + len(token)
                tokens[start:end] = token
        if digest.hexdigest() != RANKS_SHA256:
            raise ValueError(f"{path.name} is not the published file")

    def _free_slot(self, token: bytes) -> int:
        slots, key = self._slots, hash(token)
        slot, step = key % _SLOTS, (key & _STEPS) + 1
        while slots[slot]:
            slot = (slot + step) % _SLOTS
        return slot

    def _place(self, token: bytes) -> int:
        slots, tokens, length = self._slots, self._tokens, len(token)
        key = hash(token)
        slot, step = key % _SLOTS, (key & _STEPS) + 1
        while place := slots[slot]:
            if place & _LENGTHS == length and tokens.startswith(token, place >> _LENGTH_BITS):
                return place
            slot = (slot + step) % _SLOTS
        return _NO_TOKEN

    def _merge(self, piece: str) -> int:
        """Byte pair encoding: merge the adjacent pair of lowest rank until no pair is a token; what is left counts."""
        data = piece.encode()
        if self._place(data) != _NO_TOKEN:
            return 1
        cuts = list(range(len(data) + 1))
        pairs = [self._place(data[start : start + 2]) for start in range(len(data) - 1)]
        while pairs and (lowest := min(pairs)) != _NO_TOKEN:
            at = pairs.index(lowest)
            del cuts[at + 1], pairs[at]
            if at < len(pairs):
                pairs[at] = self._place(data[cuts[at] : cuts[at + 2]])
            if at:
                pairs[at - 1] = self._place(data[cuts[at - 1] : cuts[at + 1]])
        return len(cuts) - 1


def _runs(piece: str) -> Iterable[str]:
    if len(piece) <= LONGEST_RUN:
        return (piece,)
    return (piece[start : start + LONGEST_RUN] for start in range(0, len(piece), LONGEST_RUN))
