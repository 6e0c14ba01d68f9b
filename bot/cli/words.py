"""What the command line says before a chat begins, in the language of whoever started it."""

from __future__ import annotations

import os
from typing import Protocol

from bot.locale import Catalogue, locale_of_terminal
from bot.settings import TERMINAL, Settings


class Words(Protocol):
    """A text of the catalogue with its facts."""

    def __call__(self, message_id: str, /, **facts: str) -> str:
        """The text."""


def words_for(settings: Settings) -> Words:
    """The texts in the language that the settings name for the terminal, else in that of the terminal itself."""
    chosen = settings.profiles.get(TERMINAL, {}).get("language", settings.language)
    locale, catalogue = (locale_of_terminal(os.environ) if chosen == "auto" else chosen), Catalogue()

    def say(message_id: str, /, **facts: str) -> str:
        return catalogue.text(message_id, locale, **facts)

    return say
