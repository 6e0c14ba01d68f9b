"""What a session must hear once, because something is not as people there believe: a persona whose card, or a model
whose server, is gone since it was chosen, and pictures for a model that takes none (L23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bot.llm.directory import ModelDirectory
from bot.model_in_force import model_in_force
from bot.overrides import SessionSettings
from bot.personas.library import NO_PERSONA, PersonaLibrary, fold
from bot.personas.shelf import persona_for
from bot.store import ledger
from bot.store.database import Tx
from bot.store.personas import name_of
from bot.store.sessions import SessionRow


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """One thing to tell. `notice` is the catalogue message; its facts are what was `chosen`, and what answers `now`, ""
    for nobody.
    """

    notice: str
    chosen: str
    now: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NewsDesk:
    """Finds news for sessions."""

    library: PersonaLibrary
    models: ModelDirectory
    sees: Callable[[str], bool]
    """Whether a model, by its full name, takes pictures."""

    def take(self, tx: Tx, session: SessionRow, settings: SessionSettings, *, has_picture: bool) -> tuple[News, ...]:
        """What was not told in a session yet; from now on it counts as told there (DESIGN 6)."""
        found = self._find(tx, session, settings, has_picture=has_picture)
        return tuple(news for news in found if _is_untold(tx, session, news))

    def _find(self, tx: Tx, session: SessionRow, settings: SessionSettings, *, has_picture: bool) -> Iterator[News]:
        chosen, shelf = settings.values.persona, self.library.at(session.channel.place_key)
        if chosen and fold(chosen) != NO_PERSONA and shelf.find(chosen) is None:
            instead = persona_for(shelf, chosen)
            yield News(notice="persona-gone", chosen=name_of(tx, chosen) or chosen, now=instead.name if instead else "")
        model = model_in_force(self.models, settings)
        if model.lost is not None:
            yield News(notice="model-gone", chosen=model.lost, now=model.name)
        if has_picture and not self.sees(model.name):
            yield News(notice="model-blind", chosen=model.name, now=model.name)


def _is_untold(tx: Tx, session: SessionRow, news: News) -> bool:
    told = f"{news.notice}:{session.channel.session_key}"
    if ledger.recall(tx, told) == news.chosen:
        return False
    ledger.remember(tx, told, news.chosen)
    return True
