"""What was chosen in a chat and is gone since: a persona whose card, or a model whose server, is no longer there.

Something else answers then, and the session hears of it once (DESIGN 6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.llm.directory import ModelDirectory
from bot.opening import model_in_force, persona_for
from bot.overrides import SessionSettings
from bot.personas.library import NO_PERSONA, PersonaLibrary, fold
from bot.store import ledger
from bot.store.database import Tx
from bot.store.sessions import SessionRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """One choice that is gone. `notice` is the catalogue message about it; `now` is what takes its place, "" nobody."""

    notice: str
    chosen: str
    now: str


def take_news_of_lost(
    tx: Tx, session: SessionRow, settings: SessionSettings, library: PersonaLibrary, models: ModelDirectory
) -> tuple[Lost, ...]:
    """What is gone of what holds in a session, as far as it was not told there; from now on it counts as told."""
    return tuple(lost for lost in _find_lost(settings, library, models) if _take_news(tx, session, lost))


def _find_lost(settings: SessionSettings, library: PersonaLibrary, models: ModelDirectory) -> Iterator[Lost]:
    chosen = settings.values.persona
    if chosen and fold(chosen) != NO_PERSONA and library.find(chosen) is None:
        instead = persona_for(library, chosen)
        yield Lost(notice="persona-gone", chosen=chosen, now=instead.name if instead else "")
    model = model_in_force(models, settings)
    if model.lost is not None:
        yield Lost(notice="model-gone", chosen=model.lost, now=model.name)


def _take_news(tx: Tx, session: SessionRow, lost: Lost) -> bool:
    told = f"{lost.notice}:{session.channel.session_key}"
    if ledger.recall(tx, told) == lost.chosen:
        return False
    ledger.remember(tx, told, lost.chosen)
    return True
