"""What becomes of a person's traces when they want to be forgotten, table by table, and what they may read before.

`REGISTER` is all of it. Whoever adds a column in which something of a person can stand adds it here; a test walks the
columns of all tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, ColumnElement, delete, func, select, update

from bot.store.cast_tables import callings
from bot.store.conversations import raise_generations
from bot.store.database import Tx
from bot.store.gists import forget_gists_since
from bot.store.ledger_tables import budgets, model_calls, quota_notices, reservations
from bot.store.lore import forget_owner
from bot.store.lore_tables import chosen_greetings, lore_entries, lore_states, lorebooks
from bot.store.memory_tables import compactions, memory_items, memory_sources
from bot.store.metadata import extension_metadata
from bot.store.moods import forget_moods, moods
from bot.store.people_tables import namings, people
from bot.store.persona_tables import persona_files, persona_versions, personas
from bot.store.reminder_tables import reminders
from bot.store.rounds import running_rounds
from bot.store.sessions import SessionRow, to_session
from bot.store.tables import (
    conversations,
    images,
    introductions,
    listenings,
    messages,
    overrides,
    sent_parts,
    sessions,
)
from bot.store.tombstones import set_tombstone
from bot.store.traces import Traces, among, find_late, find_traces, is_naming

ERASED = "erased"
"""In place of the key of somebody who is forgotten, where a key must stand."""


class Kind(StrEnum):
    """What traces are to people."""

    MESSAGES = "messages"
    ANSWERS = "answers"
    FILES = "files"
    QUOTES = "quotes"
    NOTES = "notes"
    SUMMARIES = "summaries"
    REMINDERS = "reminders"
    LORE = "lore"
    CARDS = "cards"
    VALUES = "values"
    SETTINGS = "settings"
    CALLS = "calls"
    CHOICES = "choices"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class Entry:
    """The rows whose `column` is one of `of` (a field of `Traces`). They go, or keep all but what `leaves` says. Those
    of a `kind` are counted, and told to the person they are of, as far as `shows` says.
    """

    column: Column[Any]
    of: str
    kind: Kind | None = None
    leaves: Mapping[str, Any] | None = None
    shows: tuple[str, ...] = ()

    def is_theirs(self, traces: Traces) -> ColumnElement[bool]:
        """Which rows."""
        value = getattr(traces, self.of)
        return self.column == value if isinstance(value, str) else among(self.column, value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """What an erasure has taken away, by kind, and where something stood."""

    counts: Mapping[Kind, int]
    traces: Traces
    sessions: tuple[SessionRow, ...]
    """Where they have spoken, as it was."""


def count_traces(tx: Tx, key: str, now: datetime) -> Mapping[Kind, int]:
    """What an erasure would take away, by kind: by one that is taken back."""
    with tx.begin_nested() as trial:
        counts = erase_person(tx, key, now).counts
        trial.rollback()
    return counts


def read_traces(tx: Tx, key: str) -> dict[str, list[dict[str, Any]]]:
    """All that is kept of a person, by kind, as JSON has it."""
    traces = find_traces(tx, key)
    found: dict[str, dict[str, Any]] = {}
    for entry in REGISTER:
        if entry.kind is None or not entry.shows:
            continue
        columns = [entry.column.table.c[name] for name in entry.shows]
        for row in tx.execute(select(*columns).where(entry.is_theirs(traces))):
            shown = {name: _plain(value) for name, value in row._mapping.items()}
            found.setdefault(entry.kind.value, {})[json.dumps(shown)] = shown  # some rows are theirs in two ways
    return {kind: [*rows.values()] for kind, rows in found.items()}


def erase_person(tx: Tx, key: str, now: datetime) -> Erased:
    """Forget a person: nothing tells of them afterwards but sums without a name."""
    traces = find_traces(tx, key)
    where = select(sessions).where(among(sessions.c.id, (*traces.private, *traces.groups)))
    there = tuple(map(to_session, tx.execute(where)))
    set_tombstone(tx, key, traces.places, now)
    _revive_edited(tx, traces)
    forget_gists_since(tx, traces.first, ERASED, now)
    counts = Counter[Kind]()
    for entry in REGISTER:
        count = _carry_out(tx, entry, traces)
        if entry.kind is not None:
            counts[entry.kind] += count
    _forget_moods(tx, traces)
    forget_owner(tx, traces.group_conversations, key)
    _forget_hand(tx, key)
    for session_id in traces.groups:
        raise_generations(tx, session_id)
    return Erased(counts=+counts, traces=traces, sessions=there)


def erase_late(tx: Tx, before: Traces) -> bool:
    """Take away what has come after the rest was erased; whether anything has."""
    late = find_late(tx, before)
    for entry in REGISTER:
        if entry.of in ("messages", "answers", "rounds"):
            _carry_out(tx, entry, late)
    _forget_moods(tx, before)
    return bool(late.answers or late.rounds)


def _carry_out(tx: Tx, entry: Entry, traces: Traces) -> int:
    table, which = entry.column.table, entry.is_theirs(traces)
    leaving = delete(table) if entry.leaves is None else update(table).values(entry.leaves)
    return tx.execute(leaving.where(which)).rowcount


def _revive_edited(tx: Tx, traces: Traces) -> None:
    """What they have changed by hand, and others had said, is again as it was."""
    item, theirs = memory_items.c, memory_items.alias()
    edited = select(theirs.c.replaces).where(among(theirs.c.id, traces.items), theirs.c.made_by == traces.key)
    back = {"retired_by": None, "retired_at": None, "valid_to": None}
    tx.execute(update(memory_items).where(item.id.in_(edited), item.retired_by == traces.key).values(back))


def _forget_moods(tx: Tx, traces: Traces) -> None:
    """What answers to them have set, or others with their name in it."""
    said = frozenset(traces.said)
    forget_moods(
        tx, traces.group_conversations, lambda position, values: position in said or is_naming(traces.names, values)
    )


def _forget_hand(tx: Tx, key: str) -> None:
    """Who forgot an item, or agreed to one that stays."""
    items, item = update(memory_items), memory_items.c
    is_theirs = (item.retired_by == key) | item.retired_by.endswith(f":{key}", autoescape=True)
    act = func.substr(item.retired_by, 1, func.length(item.retired_by) - len(key))
    tx.execute(items.where(is_theirs).values(retired_by=act + ERASED))
    is_among = func.instr("\n" + item.people + "\n", f"\n{key}\n") > 0
    others = func.replace("\n" + item.people + "\n", f"\n{key}\n", "\n")
    tx.execute(items.where(is_among).values(people=func.trim(others, "\n")))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value.isoformat() if hasattr(value, "isoformat") else value


_SAID = ("place_key", "visibility", "kind", "author_name", "text", "quote", "sent_at", "edited_at", "deleted_at")
_NOTED = ("kind", "text", "subject_name", "category", "day", "state", "pinned", "valid_from", "valid_to", "retired_at")

REGISTER: tuple[Entry, ...] = (
    # What hangs on messages, then what is made of them; the messages come last.
    Entry(images.c.message_id, "messages", Kind.FILES, shows=("name", "media_type", "data")),
    Entry(callings.c.message_id, "messages"),
    Entry(sent_parts.c.message_id, "messages"),
    Entry(memory_sources.c.message_id, "messages"),
    Entry(running_rounds.c.message_id, "messages"),
    Entry(running_rounds.c.id, "rounds"),
    Entry(running_rounds.c.conversation_id, "conversations"),
    Entry(messages.c.id, "carrying", leaves={"text": func.substr(messages.c.text, 1, messages.c.words), "tokens": 0}),
    Entry(images.c.message_id, "carrying", Kind.FILES),
    Entry(messages.c.id, "quoting", Kind.QUOTES, leaves={"quote": "", "reply_to": None}, shows=("quote",)),
    Entry(memory_sources.c.item_id, "items"),
    Entry(memory_items.c.id, "items", Kind.NOTES, shows=_NOTED),
    Entry(memory_items.c.id, "shared", leaves={"stale": True}),
    Entry(memory_items.c.id, "gists", Kind.SUMMARIES, leaves={"text": "", "tokens": 0}, shows=("text", "made_at")),
    Entry(memory_items.c.conversation_id, "conversations"),
    Entry(compactions.c.conversation_id, "conversations"),
    Entry(compactions.c.id, "compactions", leaves={"delta": "", "focus": "", "problem": ""}),
    Entry(moods.c.conversation_id, "conversations"),
    Entry(lore_states.c.conversation_id, "conversations"),
    Entry(chosen_greetings.c.conversation_id, "conversations"),
    Entry(listenings.c.conversation_id, "conversations"),
    Entry(reminders.c.author_key, "key", Kind.REMINDERS, shows=("text", "wall_time", "zone", "repeat", "made_at")),
    Entry(reminders.c.session_id, "private"),
    Entry(extension_metadata.c.about, "key", Kind.VALUES, shows=("namespace", "name", "value", "set_at")),
    Entry(extension_metadata.c.session_id, "private", Kind.VALUES, shows=("namespace", "name", "value", "set_at")),
    Entry(lore_entries.c.book_id, "books", Kind.LORE, shows=("number", "data")),
    Entry(lorebooks.c.id, "books"),
    Entry(persona_files.c.persona_id, "cards"),
    Entry(persona_versions.c.persona_id, "cards", Kind.CARDS, shows=("number", "card", "change", "changed_at")),
    Entry(personas.c.id, "cards"),
    Entry(personas.c.created_by, "key", leaves={"created_by": ERASED}),
    Entry(personas.c.accepted_by, "key", leaves={"accepted_by": ERASED}),
    Entry(personas.c.retired_by, "key", leaves={"retired_by": ERASED}),
    Entry(persona_versions.c.changed_by, "key", leaves={"changed_by": ERASED}),
    Entry(overrides.c.scope_key, "places", Kind.SETTINGS, shows=("scope", "name", "value", "set_at")),
    Entry(overrides.c.set_by, "key", Kind.SETTINGS, leaves={"set_by": ERASED}, shows=("scope", "name", "value")),
    Entry(introductions.c.place_key, "places"),
    Entry(model_calls.c.author_key, "key", Kind.CALLS, leaves={"author_key": None}, shows=("purpose", "model", "at")),
    Entry(model_calls.c.session_id, "private", leaves={"session_id": None, "conversation_id": None}),
    Entry(budgets.c.scope_key, "places"),
    Entry(reservations.c.author_key, "key", leaves={"author_key": None}),
    Entry(reservations.c.place_key, "places"),
    Entry(quota_notices.c.listener, "places"),
    Entry(namings.c.author_key, "key", Kind.NAMES, shows=("name",)),
    Entry(namings.c.session_id, "private"),
    Entry(people.c.key, "key", Kind.CHOICES, shows=("private_since", "zone")),
    Entry(messages.c.id, "answers", Kind.ANSWERS, shows=_SAID),
    Entry(messages.c.id, "said", Kind.MESSAGES, shows=_SAID),
    Entry(conversations.c.id, "conversations"),
    Entry(sessions.c.id, "private"),
)
