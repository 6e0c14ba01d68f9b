"""Lorebooks: texts that join a prompt when their keys are mentioned. A pure engine without files, chats and clocks.

`read_book` reads one in any wording, `LoreIndex` makes it ready once, `scan` tells which entries join in, and why.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.personas.lorebook.activation import Activation, ActiveEntry, ScanContext, Verdict, Why
    from bot.personas.lorebook.choices import Logic, LoreRole, Slot
    from bot.personas.lorebook.entry import Lorebook, LoreEntry
    from bot.personas.lorebook.index import LoreIndex
    from bot.personas.lorebook.limits import CARD_ENTRIES, PLACE_ENTRIES
    from bot.personas.lorebook.reading import find_book, read_book
    from bot.personas.lorebook.scan import scan
    from bot.personas.lorebook.state import EMPTY_STATE, LoreState
    from bot.personas.lorebook.writing import write_book, write_book_file

__all__ = [
    "CARD_ENTRIES",
    "EMPTY_STATE",
    "PLACE_ENTRIES",
    "Activation",
    "ActiveEntry",
    "Logic",
    "LoreEntry",
    "LoreIndex",
    "LoreRole",
    "LoreState",
    "Lorebook",
    "ScanContext",
    "Slot",
    "Verdict",
    "Why",
    "find_book",
    "read_book",
    "scan",
    "write_book",
    "write_book_file",
]


def __getattr__(name: str) -> object:
    """Import what is asked for: who has no book should not pay the 2 MB of the engine (docs/design/memory.md)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found  # once, and before a module of the same name
    return found


_HOMES = {
    "Activation": "activation",
    "ActiveEntry": "activation",
    "CARD_ENTRIES": "limits",
    "EMPTY_STATE": "state",
    "Logic": "choices",
    "LoreEntry": "entry",
    "LoreIndex": "index",
    "LoreRole": "choices",
    "LoreState": "state",
    "Lorebook": "entry",
    "PLACE_ENTRIES": "limits",
    "ScanContext": "activation",
    "Slot": "choices",
    "Verdict": "activation",
    "Why": "activation",
    "find_book": "reading",
    "read_book": "reading",
    "scan": "scan",
    "write_book": "writing",
    "write_book_file": "writing",
}
