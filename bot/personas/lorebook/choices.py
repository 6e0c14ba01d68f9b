"""The closed sets that a lorebook's settings choose from."""

from __future__ import annotations

from enum import StrEnum


class Logic(StrEnum):
    """What the secondary keys of a selective entry ask for, besides one of its keys."""

    AND_ANY = "and_any"
    NOT_ALL = "not_all"
    NOT_ANY = "not_any"
    AND_ALL = "and_all"


class Slot(StrEnum):
    """Where an entry joins the prompt."""

    BEFORE_CHAR = "before_char"
    AFTER_CHAR = "after_char"
    NOTE_TOP = "note_top"
    """Above and below what SillyTavern calls the author's note. There is none here: such an entry joins the messages
    at the depth where that note stands."""
    NOTE_BOTTOM = "note_bottom"
    DEPTH = "depth"
    """Between the messages, so many before the newest."""
    BEFORE_EXAMPLES = "before_examples"
    AFTER_EXAMPLES = "after_examples"
    PERSONALITY = "personality"
    SCENARIO = "scenario"


class LoreRole(StrEnum):
    """Who says an entry between the messages."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


NUMBERED_LOGICS = tuple(Logic)
NUMBERED_SLOTS = tuple(Slot)[:7]
NUMBERED_ROLES = tuple(LoreRole)
"""In the order of SillyTavern's numbers for them, from 0 on."""

DEFAULT_DEPTH = 4
"""SillyTavern's, for entries between the messages and for its author's note."""
