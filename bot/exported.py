"""The files that somebody at the terminal asked for: they stay when that person is forgotten. Knows no chat."""

from __future__ import annotations

from contextlib import suppress

from bot.settings import Settings


def exported_files(settings: Settings) -> list[str]:
    """Their names, sorted; none where the folder cannot be read."""
    with suppress(OSError):
        return sorted(path.name for path in settings.exports.iterdir())
    return []
