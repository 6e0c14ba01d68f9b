"""The personas that come as folders, found by id or name; a broken card is told as a finding and stops no other.

Knows no settings and no database. Names are keys of a table made at load and never become file paths (X08).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bot.chat import Finding, Severity
from bot.personas.card import CardError, CardWarning, PersonaCard, read_card
from bot.personas.formats import read_mapping
from bot.personas.formats.json import MAX_BYTES
from bot.spelling import near_names

log = structlog.get_logger(__name__)

SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "personas"
CARD_FILES = ("card.yaml", "card.json")

NO_PERSONA = "none"
"""The word for talking without a persona; no card can have it as its id."""

_ID = re.compile(r"(?!p_)[a-z0-9][a-z0-9_-]{0,63}")
"""Shipped ids survive every file system and every key. `p_` begins the ids of imported cards."""

_UNRELATED = 3
"""Rank of a persona that a search does not list; the lower ones are positions in `_rank`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Persona:
    """A card that can be talked to, under the id that the database keeps for it."""

    id: str
    card: PersonaCard
    source_path: Path
    language: str = ""
    """Language tag of the card's own text, "en" or "zh"; empty when the card does not say."""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.card.spoken_name


@dataclass(frozen=True, kw_only=True, slots=True)
class Ambiguous:
    """Several personas have the name that was asked for; only their ids tell them apart."""

    matches: tuple[Persona, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shelf:
    """What one loading found. Replaced as a whole, so that a reader never sees half of a reload."""

    personas: dict[str, Persona] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    files: frozenset[tuple[Path, int, int]] = frozenset()
    """The card files as they were, each with its time of change and its size."""


class PersonaLibrary:
    """All personas of some folders, each `<persona id>/card.yaml` or `card.json`."""

    def __init__(self, folders: Sequence[Path] = (SHIPPED_FOLDER,)) -> None:
        self._folders = tuple(folders)
        self.reload()

    def reload(self) -> None:
        """Read every folder again."""
        self._shelf = self._read(kept={})

    def refresh(self) -> None:
        """Read every folder again if a card came, went or was saved since. One that cannot be used any more, because
        somebody is still writing it, stays as it was.
        """
        if _card_files(self._folders) == self._shelf.files:
            return
        self._shelf = self._read(kept=self._shelf.personas)
        log.info("personas.read_again", count=len(self.personas))
        for finding in self.findings:
            log.warning("personas.card", card=finding.subject, problem=finding.message, remedy=finding.remedy)

    def _read(self, kept: Mapping[str, Persona]) -> _Shelf:
        files = _card_files(self._folders)  # before they are read, so that no change in between is missed
        personas: dict[str, Persona] = {}
        findings: list[Finding] = []
        for folder in self._folders:
            if not folder.is_dir():
                findings.append(fault(str(folder), CardError("The folder is missing.", "Create it, or reinstall.")))
                continue
            for card_folder in card_folders(folder):
                persona, told = load_persona(card_folder, taken=personas)
                findings += told
                if persona is None and any((card_folder / name).is_file() for name in CARD_FILES):
                    persona = kept.get(card_folder.name)
                if persona:
                    personas.setdefault(persona.id, persona)
        return _Shelf(personas=personas, findings=tuple(findings), files=files)

    @property
    def personas(self) -> tuple[Persona, ...]:
        """Every usable persona, by id."""
        return tuple(self._shelf.personas.values())

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the cards: a fault for each that cannot be used, a warning for each repair."""
        return self._shelf.findings

    @property
    def default(self) -> Persona | None:
        """The persona for those who chose none: the card marked `extensions.familiar.default`, else the first."""
        marked = (persona for persona in self.personas if _own_extension(persona.card, "default") is True)
        return next(marked, next(iter(self.personas), None))

    def get(self, persona_id: str) -> Persona | None:
        """The persona with exactly this id, as the database keeps it."""
        return self._shelf.personas.get(persona_id)

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
        if persona := self.get(wanted):
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


def fold(text: str) -> str:
    """A name as it is compared: one case, one width, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def load_persona(folder: Path, *, taken: Iterable[str] = ()) -> tuple[Persona | None, list[Finding]]:
    """Load one persona folder whose id is not `taken`. Without a usable card the findings hold the fault."""
    try:
        _demand_a_free_id(folder.name, taken)
        path = _card_file(folder)
        card, warnings = load_card(path)
    except CardError as error:
        return None, [fault(str(folder), error)]
    language = str(_own_extension(card, "language") or "")
    persona = Persona(id=folder.name, card=card, source_path=path, language=language)
    return persona, [warning(str(path), told) for told in warnings]


def load_card(path: Path) -> tuple[PersonaCard, tuple[CardWarning, ...]]:
    """Load one card file. A card without a name is called after its folder or file.

    Raises:
        CardError: it cannot be read, or is no card.
    """
    fallback = path.parent.name if path.name in CARD_FILES else path.stem
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CardError(f"The card cannot be read: {error.strerror}.", "Check the file and who may read it.") from error
    return read_card(read_mapping(data), fallback_name=fallback)


def fault(subject: str, error: CardError) -> Finding:
    """A card that cannot be used, as the doctor tells it."""
    return Finding(severity=Severity.FAULT, subject=subject, message=error.problem, remedy=error.remedy)


def warning(subject: str, told: CardWarning) -> Finding:
    """A repaired card, as the doctor tells it."""
    return Finding(severity=Severity.WARNING, subject=subject, message=str(told))


def card_folders(folder: Path) -> list[Path]:
    """The folders in `folder` that should each hold one card, by name; hidden ones and `__pycache__` do not count."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))


def _card_files(folders: Iterable[Path]) -> frozenset[tuple[Path, int, int]]:
    found = set()
    for folder in folders:
        with suppress(OSError):
            for path in (
                card / name for card in card_folders(folder) for name in CARD_FILES if (card / name).is_file()
            ):
                state = path.stat()
                found.add((path, state.st_mtime_ns, state.st_size))
    return frozenset(found)


def _demand_a_free_id(persona_id: str, taken: Iterable[str]) -> None:
    if persona_id in taken:
        raise CardError(f"The id “{persona_id}” is taken by another folder.", "Rename one of the two.")
    if persona_id == NO_PERSONA:
        raise CardError("“none” means no persona.", "Rename the folder.")
    if not _ID.fullmatch(persona_id):
        raise CardError(
            "The folder's name cannot serve as an id.",
            "Use 1 to 64 of a-z, 0-9, “-” and “_”, not beginning with “p_”.",
        )


def _card_file(folder: Path) -> Path:
    found = [folder / name for name in CARD_FILES if (folder / name).is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise CardError("There are two cards in the folder.", f"Keep one of {' and '.join(CARD_FILES)}.")
    raise CardError("There is no card in the folder.", f"Add a {CARD_FILES[0]}, or remove the folder.")


def _own_extension(card: PersonaCard, key: str) -> object:
    """A value of `extensions.familiar`, the part of a card that is ours by the specification's custom."""
    own = card.extensions.get("familiar")
    return own.get(key) if isinstance(own, dict) else None


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
