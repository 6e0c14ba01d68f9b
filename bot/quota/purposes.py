"""Which limits a call counts against, by what it is for: all of it in one table, which the design note repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.llm.model import Purpose
from bot.quota.limits import Whose


@dataclass(frozen=True, slots=True)
class Rule:
    """Whose limits count, and whether one that is used up forbids the call."""

    whose: frozenset[Whose]
    may_refuse: bool = True


_ASKED = Rule(frozenset(Whose))
"""Somebody wants it, or it is made for somebody's message."""
_OF_ALL = Rule(frozenset({Whose.PLACE, Whose.TOTAL}))
"""Nobody has asked for it."""

RULES: Mapping[Purpose, Rule] = {
    Purpose.CHAT: _ASKED,
    Purpose.TOOL: _ASKED,
    Purpose.PROACTIVE: _OF_ALL,
    Purpose.VISION: _ASKED,
    Purpose.TRANSCRIPTION: _ASKED,
    Purpose.SPEECH: _ASKED,
    Purpose.SUMMARY: _OF_ALL,
    Purpose.EXTENSION: _OF_ALL,
    # What is used up must be no way round moderation: it is paid for, and never refused.
    Purpose.MODERATION: Rule(_OF_ALL.whose, may_refuse=False),
    # The embedded model reads ahead on the operator's own machine, before anybody has said a word.
    Purpose.WARMING: Rule(frozenset()),
}
