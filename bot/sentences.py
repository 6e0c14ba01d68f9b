"""Texts of the catalogue that are chosen before it is known who will read them, and in which language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.locale import Catalogue

Say = Callable[..., str]
"""`say(message_id, **facts)`: a text of the catalogue in somebody's language."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text by its id, and the facts that fill it; a fact may be such a text itself."""

    message_id: str
    facts: tuple[tuple[str, str | int | float | Sentence], ...] = ()

    def told(self, say: Say) -> str:
        """In the language of whoever reads it."""
        facts = {name: fact.told(say) if isinstance(fact, Sentence) else fact for name, fact in self.facts}
        return say(self.message_id, **facts)

    def __str__(self) -> str:
        """In English, for those who run the bot."""
        return self.told(_english().text)


def sentence(message_id: str, /, **facts: str | int | float | Sentence) -> Sentence:
    """The text with this id."""
    return Sentence(message_id, tuple(facts.items()))


@cache
def _english() -> Catalogue:
    """The files as they are shipped; read once, and only where something is wrong."""
    from bot.locale import Catalogue

    return Catalogue()
