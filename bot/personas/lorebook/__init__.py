"""Lorebooks: texts that join a prompt when their keys are mentioned. A pure engine without files, chats and clocks.

`read_book` reads one in any wording, `LoreIndex` makes it ready once, `scan` tells which entries join in, and why.
"""

from bot.personas.lorebook.activation import Activation, ActiveEntry, ScanContext, Verdict, Why
from bot.personas.lorebook.choices import Logic, LoreRole, Slot
from bot.personas.lorebook.entry import Lorebook, LoreEntry
from bot.personas.lorebook.index import LoreIndex
from bot.personas.lorebook.reading import CARD_ENTRIES, PLACE_ENTRIES, find_book, read_book
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
