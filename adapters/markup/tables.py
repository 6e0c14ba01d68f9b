"""A table as text for a monospaced face. Knows no platform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from markdown_it.token import Token

from adapters.markup.dialect import is_wide
from adapters.split import clusters

WIDEST = 60
"""Columns up to which cells are padded; a longer cell sticks out, or every row would grow with the longest."""


def draw_table(tokens: Iterator[Token]) -> str:
    """A table as monospaced text, from the tokens after its opening up to its close."""
    rows: list[list[str]] = []
    sides: list[str] = []
    for token in tokens:
        match token.type:
            case "table_close":
                break
            case "tr_open":
                rows.append([])
            case "th_open":
                sides.append(str(token.attrs.get("style", "")))
            case "inline":
                rows[-1].append(_plain(token.children or ()))
    widths = [min(max(map(_width, column)), WIDEST) for column in zip_longest(*rows, fillvalue="")]
    lines = [" | ".join(map(_pad, row, widths, sides)).rstrip() for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _plain(tokens: Iterable[Token]) -> str:
    """The visible text of a cell; addresses of links follow in brackets because monospaced text has no links."""
    pieces: list[str] = []
    address = ""
    for token in tokens:
        match token.type:
            case "link_open" if token.info != "auto":
                address = str(token.attrs["href"])
            case "link_close" if token.info != "auto":
                pieces.append(f" ({address})")
            case "softbreak" | "hardbreak":
                pieces.append(" ")
            case _:
                pieces.append(token.content)
    return "".join(pieces)


def _pad(cell: str, width: int, side: str) -> str:
    space = max(width - _width(cell), 0)
    before = space if "right" in side else space // 2 if "center" in side else 0
    return " " * before + cell + " " * (space - before)


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: two for what is East Asian or an emoji, one for any other cluster."""
    return len(text) if text.isascii() else sum(map(_width_of_cluster, clusters(text)))


def _width_of_cluster(cluster: str) -> int:
    if is_wide(cluster[0]) or "\ufe0f" in cluster or "\U0001f1e6" <= cluster[0] <= "\U0001f1ff":
        return 2
    return 1
