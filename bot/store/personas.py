"""Imported persona cards: brought, confirmed, changed version by version, removed and brought back.

A card is text and small; the file it came in is read by `read_original` alone.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import structlog
from pydantic import ValidationError
from sqlalchemy import and_, delete, func, insert, select, update

from bot.personas.card import PersonaCard
from bot.personas.proposals import NO_PROPOSALS, Proposals
from bot.store.database import Tx
from bot.store.persona_tables import persona_files, persona_versions, personas

log = structlog.get_logger(__name__)

ID_PREFIX = "p_"
_ULID_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's, in lower case: people type ids, and names are compared that way."""

DRAFT_LIFE = timedelta(hours=24)
"""How long a card waits for its yes; ours to choose."""
WAITING_DRAFTS = 5
"""Cards of one person that wait for a yes, everywhere together; ours to choose."""
KEPT_VERSIONS = 30
"""The newest versions kept of a card, besides its first; ours to choose."""
FILE_OF_REMOVED_LIFE = timedelta(days=30)
"""How long the file of a removed card is kept; its text stays. Ours to choose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPersona:
    """A card as it was brought. `place_key` is `None` for one that is for all places."""

    card: PersonaCard
    place_key: str | None
    container: str
    sha256: str
    data: bytes
    picture: bytes | None
    brought_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CardStatus:
    """What of a card can change; two equal ones of an id mean that nothing did."""

    place_key: str | None
    version: int
    accepted: Proposals


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A card that waits for the yes of whoever brought it."""

    id: str
    card: PersonaCard
    place_key: str | None
    brought_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A version without its text."""

    number: int
    change: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Original:
    """The file that a card came in."""

    container: str
    data: bytes
    picture: bytes | None


_IS_DRAFT = personas.c.confirmed_at.is_(None)
_IS_LIVE = and_(personas.c.confirmed_at.is_not(None), personas.c.retired_at.is_(None))
CURRENT_VERSION = and_(persona_versions.c.persona_id == personas.c.id, persona_versions.c.number == personas.c.version)
"""Whether a version is the one that counts."""


def new_id(now: datetime) -> str:
    """An id that no other card has or will have: `p_` and a ULID, which sorts by time."""
    value = int(now.timestamp() * 1000) << 80 | secrets.randbits(80)
    return ID_PREFIX + "".join(_ULID_DIGITS[value >> shift & 31] for shift in range(125, -1, -5))


def keep_draft(tx: Tx, new: NewPersona, now: datetime) -> str:
    """Keep a card until its yes comes; returns its id. Drafts and files of removed cards that are too old go, and of
    one person's drafts the oldest.
    """
    late = tx.execute(select(personas.c.id).where(_IS_DRAFT, personas.c.created_at < now - DRAFT_LIFE)).scalars()
    for persona_id in late.all():
        drop_draft(tx, persona_id)
    removed = select(personas.c.id).where(personas.c.retired_at < now - FILE_OF_REMOVED_LIFE)
    tx.execute(delete(persona_files).where(persona_files.c.persona_id.in_(removed)))
    for waiting in _drafts_of(tx, new.brought_by)[WAITING_DRAFTS - 1 :]:
        drop_draft(tx, waiting)
    persona_id = new_id(now)
    tx.execute(
        insert(personas).values(
            id=persona_id,
            place_key=new.place_key,
            name=new.card.spoken_name,
            version=1,
            created_by=new.brought_by,
            created_at=now,
        )
    )
    _put_version(tx, persona_id, 1, new.card, change="import", by=new.brought_by, now=now)
    picture = b"" if new.picture == new.data else new.picture
    file = {"container": new.container, "sha256": new.sha256, "data": new.data, "picture": picture}
    tx.execute(insert(persona_files).values(persona_id=persona_id, **file))
    return persona_id


def _drafts_of(tx: Tx, brought_by: str) -> Sequence[str]:
    """The newest first."""
    mine = select(personas.c.id).where(_IS_DRAFT, personas.c.created_by == brought_by)
    return tx.execute(mine.order_by(personas.c.id.desc())).scalars().all()


def find_draft(tx: Tx, persona_id: str | None, brought_by: str) -> Draft | None:
    """The draft with an id, or the newest that somebody brought; nobody says yes to another one's."""
    wanted = [_IS_DRAFT, personas.c.created_by == brought_by]
    if persona_id is not None:
        wanted.append(personas.c.id == persona_id)
    found = select(personas, persona_versions.c.card).join(persona_versions, CURRENT_VERSION).where(*wanted)
    row = tx.execute(found.order_by(personas.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    return Draft(id=row.id, card=_read_card(row.card), place_key=row.place_key, brought_by=row.created_by)


def drop_draft(tx: Tx, persona_id: str) -> None:
    """Forget a card that nobody said yes to, with its file; one that is no draft stays."""
    if tx.execute(select(personas.c.id).where(personas.c.id == persona_id, _IS_DRAFT)).first() is None:
        return
    for table in (persona_files, persona_versions):
        tx.execute(delete(table).where(table.c.persona_id == persona_id))
    tx.execute(delete(personas).where(personas.c.id == persona_id))


def confirm(tx: Tx, persona_id: str, accepted: Proposals, *, by: str, now: datetime) -> bool:
    """Let a draft be a persona; false when it is none any more. What of its proposals is `accepted` takes effect."""
    stored = json.dumps(asdict(accepted)) if accepted else None
    values = {"confirmed_at": now, "accepted": stored, "accepted_by": by if accepted else None}
    return tx.execute(update(personas).where(personas.c.id == persona_id, _IS_DRAFT).values(values)).rowcount > 0


def card_statuses(tx: Tx) -> dict[str, CardStatus]:
    """Every persona that can speak, by id."""
    columns = (personas.c.id, personas.c.place_key, personas.c.version, personas.c.accepted)
    rows = tx.execute(select(*columns).where(_IS_LIVE).order_by(personas.c.id))
    return {
        row.id: CardStatus(place_key=row.place_key, version=row.version, accepted=_read_accepted(row.accepted))
        for row in rows
    }


def read_cards(tx: Tx, ids: Collection[str]) -> Mapping[str, PersonaCard]:
    """What some personas say now. One that cannot be read, as no version of ours wrote it, is left out and logged."""
    found = select(personas.c.id, persona_versions.c.card).join(persona_versions, CURRENT_VERSION)
    cards = {}
    for row in tx.execute(found.where(personas.c.id.in_(ids))):
        try:
            cards[row.id] = _read_card(row.card)
        except ValidationError as error:
            log.warning("personas.unreadable", persona=row.id, problems=error.error_count())
    return cards


def change_card(tx: Tx, persona_id: str, card: PersonaCard, *, change: str, by: str, now: datetime) -> int:
    """Make a version, which counts from now on; returns its number. Very old ones go, never the first."""
    newest = select(func.max(persona_versions.c.number)).where(persona_versions.c.persona_id == persona_id)
    number: int = tx.execute(newest).scalar_one() + 1
    _put_version(tx, persona_id, number, card, change=change, by=by, now=now)
    values = {"version": number, "name": card.spoken_name}
    tx.execute(update(personas).where(personas.c.id == persona_id).values(values))
    between = persona_versions.c.number.between(2, number - KEPT_VERSIONS)
    tx.execute(delete(persona_versions).where(persona_versions.c.persona_id == persona_id, between))
    return number


def list_versions(tx: Tx, persona_id: str) -> list[Version]:
    """What there is to go back to, newest first."""
    kept = persona_versions.c
    columns = (kept.number, kept.change, kept.changed_by, kept.changed_at)
    rows = tx.execute(select(*columns).where(kept.persona_id == persona_id).order_by(kept.number.desc()))
    return [
        Version(number=row.number, change=row.change, changed_by=row.changed_by, changed_at=row.changed_at)
        for row in rows
    ]


def card_of_version(tx: Tx, persona_id: str, number: int) -> PersonaCard | None:
    """What a version says; `None` when it is not kept."""
    wanted = (persona_versions.c.persona_id == persona_id, persona_versions.c.number == number)
    text = tx.execute(select(persona_versions.c.card).where(*wanted)).scalar()
    return _read_card(text) if text else None


def retire(tx: Tx, persona_id: str, *, by: str, now: datetime) -> None:
    """Take a persona away. Its row, versions and file stay, so that it can come back."""
    values = {"retired_at": now, "retired_by": by}
    tx.execute(update(personas).where(personas.c.id == persona_id, _IS_LIVE).values(values))


def find_retired(tx: Tx, persona_id: str) -> CardStatus | None:
    """A persona that was taken away."""
    gone = (personas.c.id == persona_id, personas.c.retired_at.is_not(None))
    row = tx.execute(select(personas).where(*gone)).first()
    if row is None:
        return None
    return CardStatus(place_key=row.place_key, version=row.version, accepted=_read_accepted(row.accepted))


def restore(tx: Tx, persona_id: str) -> None:
    """Bring back a persona that was taken away."""
    tx.execute(update(personas).where(personas.c.id == persona_id).values(retired_at=None, retired_by=None))


def name_of(tx: Tx, persona_id: str) -> str | None:
    """What an imported persona is or was called."""
    return tx.execute(select(personas.c.name).where(personas.c.id == persona_id)).scalar()


def read_original(tx: Tx, persona_id: str) -> Original | None:
    """The file that a persona came in, with its picture."""
    row = tx.execute(select(persona_files).where(persona_files.c.persona_id == persona_id)).first()
    if row is None:
        return None
    return Original(container=row.container, data=row.data, picture=row.data if row.picture == b"" else row.picture)


def find_same_file(tx: Tx, sha256: str, place_key: str | None) -> str | None:
    """The id of a live persona of the same place that came in the very same file."""
    there = personas.c.place_key.is_(None) if place_key is None else personas.c.place_key == place_key
    found = select(personas.c.id).join(persona_files, persona_files.c.persona_id == personas.c.id)
    return tx.execute(found.where(persona_files.c.sha256 == sha256, there, _IS_LIVE).limit(1)).scalar()


def move_cards(tx: Tx, old_place_key: str, new_place_key: str) -> None:
    """Let a place keep its cards when the platform renames it (T09)."""
    tx.execute(update(personas).where(personas.c.place_key == old_place_key).values(place_key=new_place_key))


def _put_version(
    tx: Tx, persona_id: str, number: int, card: PersonaCard, *, change: str, by: str, now: datetime
) -> None:
    values = {"card": card.model_dump_json(), "change": change, "changed_by": by, "changed_at": now}
    tx.execute(insert(persona_versions).values(persona_id=persona_id, number=number, **values))


def _read_card(text: str) -> PersonaCard:
    return PersonaCard.model_validate_json(text)


def _read_accepted(text: str | None) -> Proposals:
    if text is None:
        return NO_PROPOSALS
    stored = json.loads(text)
    return Proposals(model=stored["model"], tool_groups=tuple(stored["tool_groups"]))
