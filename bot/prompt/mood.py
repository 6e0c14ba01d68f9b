"""Tells the model how its persona feels, and what that may change to. Never stored; values are the card's and ours."""

from __future__ import annotations

from bot.personas.mood import mood_fields, written_mood
from bot.prompt.expansion import language_of
from bot.turn import Turn

_WORDS = {
    "en": ("Your own state", "set it with set_state when what was said changes it"),
    "zh": ("你自己的状态", "如果刚才的话改变了它，就用 set_state 更新"),
}


def write_mood_note(turn: Turn) -> str | None:
    """A note such as `[Your own state: mood: calm (calm, cross); trust: 3 (0–10)]`; the way to change it is told where
    the model can call tools.
    """
    if turn.persona is None or not turn.mood:
        return None
    takes = {field.name: field.takes for field in mood_fields(turn.persona.card)}
    state, how = _WORDS[language_of(turn)]
    told = written_mood(turn.mood, takes)
    return f"[{state}: {told}. {how[0].upper()}{how[1:]}.]" if turn.limits.tools else f"[{state}: {told}]"
