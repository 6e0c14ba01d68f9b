"""The `.env` file: whether it can be read at all, and which of its lines say nothing. Shows none of what is in it."""

from __future__ import annotations

import io
import logging
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dotenv.parser import Binding, parse_stream

logging.getLogger("dotenv").addHandler(logging.NullHandler())  # what it would print is told here in a sentence

ENCODING = "utf-8-sig"
"""Editors on Windows begin a file with a byte order mark."""


class Unreadable(Exception):
    """The file is there and cannot be read; the sentence says why and what to do."""


def line_problems(path: Path) -> list[str]:
    """One sentence for each line that sets nothing. A file that is not there has none.

    Raises:
        Unreadable: it is there and cannot be read.
    """
    return [*_unparsable(_read(path), path)]


def repeated_names(path: Path = Path(".env")) -> list[str]:
    """One sentence for each setting that stands there more than once, in letters of whatever size. None where the file
    cannot be read, which is told elsewhere.
    """
    lines = defaultdict[str, list[int]](list)
    try:
        for line, binding in _bindings(_read(path)):
            lines[(binding.key or "").upper()].append(line)
    except Unreadable:
        return []
    return [
        f"{name} stands in {path.name} more than once (lines {', '.join(map(str, found))}); the last one counts"
        for name, found in lines.items()
        if name and len(found) > 1
    ]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding=ENCODING)
    except FileNotFoundError:
        return ""
    except IsADirectoryError:
        problem = "is a folder, and a text file is needed; a container makes one where its mount finds no file"
        raise Unreadable(f"{path.absolute()} {problem}") from None
    except UnicodeDecodeError:
        raise Unreadable(f"{path.absolute()} is no UTF-8 text; save it again as UTF-8") from None
    except OSError as error:
        raise Unreadable(
            f"{path.absolute()} cannot be read: {error.strerror}. Check its owner and mode (chmod u+r)"
        ) from None


def _unparsable(text: str, path: Path) -> Iterator[str]:
    for line, binding in _bindings(text):
        if binding.error:
            yield f"{path.name} line {line} cannot be understood; write NAME=value, quotes in pairs, # before a remark"
        elif binding.key is not None and binding.value is None:
            yield f"{path.name} line {line} has no = after the name; write NAME=value"


def _bindings(text: str) -> Iterator[tuple[int, Binding]]:
    """What each line sets, and its number: blank lines before it count as part of it to the parser."""
    for binding in parse_stream(io.StringIO(text)):
        blank = len(binding.original.string) - len(binding.original.string.lstrip())
        yield binding.original.line + binding.original.string[:blank].count("\n"), binding
