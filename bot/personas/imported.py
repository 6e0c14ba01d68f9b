"""Keeps the library's imported personas as the database has them: their text, never their files.

Another process may import as well, so commands ask for a refresh; what did not change is not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from bot.personas.library import PersonaLibrary
from bot.personas.proposals import own_extension
from bot.personas.shelf import Persona
from bot.store.database import Database, DatabaseUnusable, Tx, read_once
from bot.store.personas import CardStatus, card_statuses, read_cards


class ImportedPersonas:
    """Brings imported personas into a library."""

    def __init__(self, db: Database, library: PersonaLibrary) -> None:
        self._db, self._library = db, library

    async def refresh(self) -> None:
        """Look for cards that were imported, changed or removed since."""
        self._library.put_imported(await self._db.read(_read, self._library.imported))


def put_imported(library: PersonaLibrary, url: str) -> None:
    """The same at once, for who has no open database. One that is not there yet, is older, or cannot be opened, which
    others tell, holds none.
    """
    with suppress(DatabaseUnusable):
        library.put_imported(read_once(url, _read, {}, {}))


def _read(tx: Tx, known: Mapping[str, Persona]) -> Mapping[str, Persona]:
    now = card_statuses(tx)
    changed = [persona_id for persona_id, status in now.items() if not _is_as(known.get(persona_id), status)]
    if not changed and len(now) == len(known):
        return known
    cards = read_cards(tx, changed)
    fresh = {
        persona_id: Persona(
            id=persona_id,
            card=card,
            language=str(own_extension(card, "language") or ""),
            place_key=now[persona_id].place_key,
            version=now[persona_id].version,
            accepted=now[persona_id].accepted,
        )
        for persona_id, card in cards.items()
    }
    return {persona_id: persona for persona_id in now if (persona := fresh.get(persona_id) or known.get(persona_id))}


def _is_as(persona: Persona | None, status: CardStatus) -> bool:
    if persona is None:
        return False
    return status == CardStatus(place_key=persona.place_key, version=persona.version, accepted=persona.accepted)
