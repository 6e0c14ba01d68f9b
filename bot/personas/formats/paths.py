"""Paths of files inside a container: what is safe to use, and how an address in a card names one."""

from __future__ import annotations

import re

SCHEME = "embeded://"
"""The specification's spelling; what is read in any other becomes this one."""

_FILE_URI = re.compile(r"(?:embeded://|embedded://|__asset:)(.*)", re.IGNORECASE | re.DOTALL)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]|\A[A-Za-z]:")
_MAX_LENGTH = 255
"""What every file system and archive takes."""


def is_safe_path(path: str) -> bool:
    """Whether a path stays below the folder it is put in, on every system (P15, X09)."""
    parts = path.split("/")
    return len(path) <= _MAX_LENGTH and not _UNSAFE.search(path) and not any(part in ("", ".", "..") for part in parts)


def path_in(uri: str) -> str | None:
    """The path of a file that came with the card, if the address names one (P14)."""
    found = _FILE_URI.fullmatch(uri.strip())
    return found[1] if found else None
