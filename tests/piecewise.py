"""Texts that come piece by piece, as a model's stream brings them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol


class Filter(Protocol):
    """What takes a stream piece by piece."""

    def feed(self, text: str) -> str: ...
    def flush(self) -> str: ...


def shown(piecewise: Filter, pieces: Sequence[str]) -> list[str]:
    """What comes out of each piece, and at the end."""
    return [*(piecewise.feed(piece) for piece in pieces), piecewise.flush()]


def cut(text: str, borders: Sequence[int]) -> list[str]:
    """A text in the pieces that some borders, wherever they are, make of it."""
    places = sorted({border % (len(text) + 1) for border in borders} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(places)]
