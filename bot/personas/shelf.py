"""The personas that can be seen from one place, and how people mean one of them: by id, then by name.

Knows neither folders nor databases. Names are keys of a table and never become file paths (X08).
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.personas.card import PersonaCard
from bot.personas.proposals import NO_PROPOSALS, Proposals, own_extension, proposals_of
from bot.spelling import near_names

NO_PERSONA = "none"
"""The word for talking without a persona; no card can have it as its id."""

_UNRELATED = 3
"""Rank of a persona that a search does not list; the lower ones are positions in `_rank`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """A card that can be talked to, under the id that the database keeps for it."""

    id: str
    card: PersonaCard
    source_path: Path | None = None
    """Where a shipped card lies; an imported one has no file of its own."""
    language: str = ""
    """Language tag of the card's own text, "en" or "zh"; empty when the card does not say."""
    place_key: str | None = None
    """The one place that can see it; `None` = all can."""
    version: int = 0
    """Number of the version of an imported card."""
    accepted: Proposals = NO_PROPOSALS
    """What of an imported card's proposals somebody with the rights has said yes to."""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.card.spoken_name

    @property
    def is_imported(self) -> bool:
        """Whether people brought it, rather than the operator's folders."""
        return self.source_path is None

    @property
    def granted(self) -> Proposals:
        """The model and tool groups that it may use where nobody chose others (P24)."""
        return self.accepted if self.is_imported else proposals_of(self.card)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ambiguous:
    """Several personas have the name that was asked for; only their ids tell them apart."""

    matches: tuple[Persona, ...]


class Shelf(ABC):
    """Some personas, by id; those of a library that looks for new cards when asked for one that is not there."""

    @property
    @abstractmethod
    def _seen(self) -> Mapping[str, Persona]:
        """The personas, by id."""

    @abstractmethod
    def refresh(self) -> None:
        """Look for cards that came, went or were saved since."""

    @property
    def personas(self) -> tuple[Persona, ...]:
        """Every usable persona, by id."""
        return tuple(self._seen.values())

    @property
    def default(self) -> Persona | None:
        """The persona for those who chose none: the shipped card marked `extensions.familiar.default`, else the first.
        Nobody takes that place by an import.
        """
        shipped = [persona for persona in self.personas if not persona.is_imported]
        marked = (persona for persona in shipped if own_extension(persona.card, "default") is True)
        return next(marked, next(iter(shipped), None))

    def get(self, persona_id: str) -> Persona | None:
        """The persona with exactly this id, as the database keeps it."""
        return self._seen.get(persona_id)

    def find(self, text: str) -> Persona | Ambiguous | None:
        """The persona that someone means: by id, then by name or nickname, in any case and width. Where none has it,
        new cards are looked for.
        """
        found = self._find(fold(text))
        if found is None and fold(text) != NO_PERSONA:
            self.refresh()
            found = self._find(fold(text))
        return found

    def _find(self, wanted: str) -> Persona | Ambiguous | None:
        if persona := self._seen.get(wanted):
            return persona
        if wanted == NO_PERSONA:
            return None
        matches = tuple(persona for persona in self.personas if wanted in _folded_names(persona))
        if len(matches) > 1:
            return Ambiguous(matches=matches)
        return matches[0] if matches else None

    def search(self, keyword: str = "") -> list[Persona]:
        """Personas with the keyword in their names, then in their tags, then in their notes; all for a blank one. New
        cards are looked for.
        """
        self.refresh()
        wanted = fold(keyword)
        ranked = [(_rank(persona, wanted), persona) for persona in self.personas]
        return [persona for rank, persona in sorted(ranked, key=lambda pair: pair[0]) if rank < _UNRELATED]

    def near(self, text: str, *, limit: int = 3) -> list[str]:
        """Ids that a mistyped name may have meant, best first."""
        spellings = {name: persona.id for persona in self.personas for name in (*_folded_names(persona), persona.id)}
        return list(dict.fromkeys(spellings[name] for name in near_names(text, spellings, limit=limit)))


def persona_for(shelf: Shelf, configured: str) -> Persona | None:
    """The persona that a setting names: nobody for `none`, the default one when it is empty or its card is gone."""
    if configured.strip().lower() == NO_PERSONA:
        return None
    found = shelf.find(configured) if configured else None
    if isinstance(found, Ambiguous):
        return found.matches[0]
    return found or shelf.default


def persona_id_for(shelf: Shelf, configured: str) -> str:
    """The id that the database keeps for it."""
    persona = persona_for(shelf, configured)
    return persona.id if persona else NO_PERSONA


def fold(text: str) -> str:
    """A name as it is compared: one case, one width, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _folded_names(persona: Persona) -> set[str]:
    return {fold(name) for name in (persona.card.name, persona.card.nickname) if name}


def _rank(persona: Persona, wanted: str) -> int:
    card = persona.card
    places = (
        (persona.id, card.name, card.nickname),
        (*card.tags, persona.language),
        (card.creator_notes,),
    )
    return next((rank for rank, texts in enumerate(places) if any(wanted in fold(text) for text in texts)), _UNRELATED)
