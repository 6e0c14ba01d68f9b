"""What a persona says in its own words where the model gives no answer (`extensions.familiar.error_text`)."""

from __future__ import annotations

from bot.personas.proposals import own_extension
from bot.prompt.expansion import expand_tail
from bot.turn import Turn

MAX_CHARS = 500
"""Ours to choose: it stands where people expect a sentence, and a longer one is none."""


def own_error_text(turn: Turn) -> str:
    """The text, its macros expanded for the person who asked; "" where the card has none."""
    said = own_extension(turn.persona.card, "error_text") if turn.persona else None
    if not isinstance(said, str) or len(said) > MAX_CHARS:
        return ""
    return expand_tail(said, turn).strip()
