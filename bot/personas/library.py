"""All personas: those that come as folders, and those that people import, of which a place sees its own and the shared.

Knows no settings and no database. A broken card is told as a finding and stops no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bot.chat import Finding, Severity
from bot.personas.card import CardError, CardWarning
from bot.personas.formats import MAX_FILE_BYTES, CardFile, read_file
from bot.personas.proposals import own_extension
from bot.personas.shelf import NO_PERSONA, Ambiguous, Persona, Shelf, fold

__all__ = [
    "NO_PERSONA",
    "SHIPPED_FOLDER",
    "Ambiguous",
    "Persona",
    "PersonaLibrary",
    "Shelf",
    "fold",
    "load_card",
    "load_persona",
]

log = structlog.get_logger(__name__)

SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "personas"
CARD_FILES = ("card.yaml", "card.json")

_ID = re.compile(r"(?!p_)[a-z0-9][a-z0-9_-]{0,63}")
"""Shipped ids survive every file system and every key. `p_` begins the ids of imported cards."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Folders:
    """What one loading of the folders found. Replaced as a whole, so that a reader never sees half of a reload."""

    personas: dict[str, Persona] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    files: frozenset[tuple[Path, int, int]] = frozenset()
    """The card files as they were, each with its time of change and its size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Imported:
    """The imported personas by id, and again by the place that sees them; replaced as a whole, too."""

    personas: Mapping[str, Persona] = field(default_factory=dict)
    by_place: Mapping[str | None, Mapping[str, Persona]] = field(default_factory=dict)


class PersonaLibrary(Shelf):
    """All personas: those of some folders, each `<persona id>/card.yaml` or `card.json`, and imported ones. As a shelf
    it holds what can be seen from everywhere.
    """

    def __init__(self, folders: Sequence[Path] = (SHIPPED_FOLDER,)) -> None:
        self._folders = tuple(folders)
        self._imported = _Imported()
        self.reload()

    def at(self, place_key: str) -> Shelf:
        """What can be seen from a place: the cards for all places, and its own."""
        return _PlaceShelf(self, place_key)

    @property
    def whole(self) -> Shelf:
        """The cards of all places together, for whoever runs the bot."""
        return _WholeShelf(self)

    def get(self, persona_id: str) -> Persona | None:
        """The persona with exactly this id, as the database keeps it, whoever can see it."""
        return self._imported.personas.get(persona_id) or self._read.personas.get(persona_id)

    @property
    def imported(self) -> Mapping[str, Persona]:
        """The imported personas of all places, by id."""
        return self._imported.personas

    def put_imported(self, personas: Mapping[str, Persona]) -> None:
        """Hold these imported personas from now on, and no other."""
        by_place: dict[str | None, dict[str, Persona]] = {}
        for persona in personas.values():
            by_place.setdefault(persona.place_key, {})[persona.id] = persona
        self._imported = _Imported(personas=personas, by_place=by_place)

    def seen_from(self, place_key: str | None) -> Mapping[str, Persona]:
        """What can be seen from a place, by id; from nowhere in particular for `None`."""
        by_place = self._imported.by_place
        own = by_place.get(place_key, {}) if place_key is not None else {}
        return {**self._read.personas, **by_place.get(None, {}), **own}

    @property
    def _seen(self) -> Mapping[str, Persona]:
        return self.seen_from(None)

    def reload(self) -> None:
        """Read every folder again."""
        self._read = self._read_folders(kept={})

    def refresh(self) -> None:
        """Read every folder again if a card came, went or was saved since. One that cannot be used any more, because
        somebody is still writing it, stays as it was.
        """
        if _card_files(self._folders) == self._read.files:
            return
        self._read = self._read_folders(kept=self._read.personas)
        log.info("personas.read_again", count=len(self._read.personas))
        for finding in self.findings:
            log.warning("personas.card", card=finding.subject, problem=finding.message, remedy=finding.remedy)

    def _read_folders(self, kept: Mapping[str, Persona]) -> _Folders:
        files = _card_files(self._folders)  # before they are read, so that no change in between is missed
        personas: dict[str, Persona] = {}
        findings: list[Finding] = []
        for folder in self._folders:
            if not folder.is_dir():
                findings.append(fault(str(folder), CardError("card-folder-missing", "card-folder-missing-remedy")))
                continue
            for card_folder in card_folders(folder):
                persona, told = load_persona(card_folder, taken=personas)
                findings += told
                if persona is None and any((card_folder / name).is_file() for name in CARD_FILES):
                    persona = kept.get(card_folder.name)
                if persona:
                    personas.setdefault(persona.id, persona)
        return _Folders(personas=personas, findings=tuple(findings), files=files)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the cards: a fault for each that cannot be used, a warning for each repair."""
        return self._read.findings


class _WholeShelf(Shelf):
    def __init__(self, library: PersonaLibrary) -> None:
        self._library = library

    @property
    def _seen(self) -> Mapping[str, Persona]:
        return {**self._library.seen_from(None), **self._library.imported}

    def refresh(self) -> None:
        self._library.refresh()


class _PlaceShelf(Shelf):
    def __init__(self, library: PersonaLibrary, place_key: str) -> None:
        self._library, self._place_key = library, place_key

    @property
    def _seen(self) -> Mapping[str, Persona]:
        return self._library.seen_from(self._place_key)

    def refresh(self) -> None:
        self._library.refresh()


def load_persona(folder: Path, *, taken: Iterable[str] = ()) -> tuple[Persona | None, list[Finding]]:
    """Load one persona folder whose id is not `taken`. Without a usable card the findings hold the fault."""
    try:
        _demand_a_free_id(folder.name, taken)
        path = _card_file(folder)
        found = load_card(path)
    except CardError as error:
        return None, [fault(str(folder), error)]
    language = str(own_extension(found.card, "language") or "")
    persona = Persona(id=folder.name, card=found.card, source_path=path, language=language)
    return persona, [warning(str(path), told) for told in found.warnings]


def load_card(path: Path) -> CardFile:
    """Load one card file of any kind. A card without a name is called after its folder or file.

    Raises:
        CardError: it cannot be read, or is no card.
    """
    fallback = path.parent.name if path.name in CARD_FILES else path.stem
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise CardError("card-unreadable", "card-unreadable-remedy", problem=str(error.strerror)) from error
    return read_file(data, fallback_name=fallback)


def fault(subject: str, error: CardError) -> Finding:
    """A card that cannot be used, as the doctor tells it."""
    return Finding(severity=Severity.FAULT, subject=subject, message=str(error.problem), remedy=str(error.remedy))


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
        raise CardError("card-id-taken", "card-id-taken-remedy", id=persona_id)
    if persona_id == NO_PERSONA:
        raise CardError("card-id-none", "card-id-none-remedy")
    if not _ID.fullmatch(persona_id):
        raise CardError("card-id-odd", "card-id-odd-remedy")


def _card_file(folder: Path) -> Path:
    found = [folder / name for name in CARD_FILES if (folder / name).is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise CardError("card-folder-two", "card-folder-two-remedy", files=" / ".join(CARD_FILES))
    raise CardError("card-folder-empty", "card-folder-empty-remedy", file=CARD_FILES[0])
