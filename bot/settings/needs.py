"""Which keys of a place do nothing without a setting of the operator's. Knows nobody who is to hear it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.settings.whole import Settings


def needed_by(key: str, value: object, settings: Settings) -> str | None:
    """The setting without which a value of a per-place key does nothing; `None` where it does something."""
    name, is_there = _NEEDS.get(key, ("", bool))
    return name if name and value and not is_there(settings) else None


_NEEDS: Mapping[str, tuple[str, Callable[[Settings], bool]]] = {
    "spoken_answers": ("VOICE__SPEECH_MODEL", lambda settings: bool(settings.voice.speech_model)),
}
"""By key: the setting, and whether it is there. Moderation and tools are refused without theirs, and need no row."""
