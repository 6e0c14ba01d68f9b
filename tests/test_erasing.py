"""Forgetting a person in the database: every column of every table in which something of them can stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

from sqlalchemy import Boolean, Column, Date, Integer, LargeBinary, Table, insert, select, update
from sqlmodel import SQLModel

from bot.store import schema
from bot.store.database import Database, Tx
from bot.store.erasing import REGISTER, Kind, count_traces, erase_person, read_traces
from bot.store.moods import read_mood
from bot.store.tables import UtcDateTime
from bot.testing import NOW

assert schema.HEAD, "it makes all tables known"

WORD, ALICE, BOB = "quetzalcoatlus", "fake:alice", "fake:bob"
WORDS, WHO, NOTHING = "words", "who", "nothing"

COLUMNS: dict[str, dict[str, str]] = {
    # What each column that is no number and no time can hold of a person: what they said, or who they are.
    "budget": {"scope": NOTHING, "scope_key": WHO, "period": NOTHING, "unit": NOTHING},
    "calling": {"persona_id": NOTHING},
    "chat_session": {
        **dict.fromkeys(("key", "place_key", "place", "place_name", "channel_name", "label"), WORDS),
        **dict.fromkeys(("parent_key", "platform", "channel", "thread", "visibility"), NOTHING),
    },
    "compaction": {
        **dict.fromkeys(("focus", "delta", "problem"), WORDS),
        **dict.fromkeys(("reason", "model", "outcome"), NOTHING),
    },
    "conversation": {"persona_id": NOTHING},
    "extension_metadata": {"namespace": NOTHING, "name": WORDS, "about": WHO, "value": WORDS},
    "image": {"name": WORDS, "media_type": NOTHING, "data": WORDS},
    "introduction": {"place_key": WORDS},
    "learned_quirk": dict.fromkeys(("endpoint", "model", "name", "value"), NOTHING),
    "lore_entry": {"data": WORDS},
    "lore_state": {"state": NOTHING},
    "lorebook": {"kind": NOTHING, "owner_key": WHO, "settings": WORDS},
    "memory_item": {
        **dict.fromkeys(("text", "subject_name"), WORDS),
        **dict.fromkeys(("subject", "people", "made_by", "retired_by"), WHO),
        **dict.fromkeys(("persona_id", "place_key", "visibility", "kind", "category", "state"), NOTHING),
    },
    "message": {
        **dict.fromkeys(("text", "quote", "tool_calls", "author_name"), WORDS),
        **dict.fromkeys(("author_key", "told_key"), WHO),
        **dict.fromkeys(
            ("platform_message_id", "place_key", "visibility", "author_locale", "persona_id", "kind", "reply_to",
             "state", "standing", "tool_call_id", "tool_name"), NOTHING,
        ),
    },
    "model_call": {
        "author_key": WHO,
        **dict.fromkeys(
            ("purpose", "persona_id", "model", "currency", "prompt_usage", "prefix_break", "outcome"), NOTHING
        ),
    },
    "naming": {"name": WORDS, "author_key": WHO},
    "override": {"scope": NOTHING, "scope_key": WORDS, "name": NOTHING, "value": WORDS, "set_by": WHO},
    "person": {"key": WHO, "zone": NOTHING},
    "persona": {
        **dict.fromkeys(("id", "accepted"), NOTHING),
        **dict.fromkeys(("place_key", "name"), WORDS),
        **dict.fromkeys(("created_by", "accepted_by", "retired_by"), WHO),
    },
    "persona_file": {"persona_id": NOTHING, "container": NOTHING, "sha256": NOTHING, "data": WORDS, "picture": WORDS},
    "persona_mood": {"persona_id": NOTHING, "state": WORDS},
    "persona_version": {"persona_id": NOTHING, "card": WORDS, "change": NOTHING, "changed_by": WHO},
    "quota_notice": {"listener": WHO, "limit": NOTHING, "period": NOTHING, "kind": NOTHING},
    "remembered": {"name": NOTHING, "value": NOTHING},
    "reminder": {
        **dict.fromkeys(("author_name", "text"), WORDS),
        "author_key": WHO,
        **dict.fromkeys(("author_locale", "reply_to", "wall_time", "zone", "repeat"), NOTHING),
    },
    "reservation": {"author_key": WHO, "place_key": WORDS, "currency": NOTHING},
    "running_round": {"exchange": WORDS},
    "sent_part": {"platform_message_id": NOTHING, "state": NOTHING},
}  # fmt: skip


def texts_of(table: Table) -> set[str]:
    return {column.name for column in table.c if not isinstance(column.type, Integer | Boolean | Date | UtcDateTime)}


def test_the_register_of_the_eraser_knows_every_column_of_every_table() -> None:
    ours = {table.name: texts_of(table) for table in SQLModel.metadata.tables.values()}
    told = {name: set(columns) for name, columns in COLUMNS.items()}
    new = {name: sorted(columns - told.get(name, set())) for name, columns in ours.items() if columns}
    new = {name: columns for name, columns in new.items() if columns}
    assert not new, f"can these hold something of a person? Say so here, and in REGISTER of bot/store/erasing.py: {new}"
    assert {name: columns - ours.get(name, set()) for name, columns in told.items() if columns - ours[name]} == {}


def test_every_table_that_holds_something_of_people_is_in_the_register() -> None:
    personal = {name for name, columns in COLUMNS.items() if {WORDS, WHO} & set(columns.values())}
    assert personal - {entry.column.table.name for entry in REGISTER} == set()


def put(tx: Tx, name: str, /, *, neutral: bool = False, **given: Any) -> Any:
    """A row with the word, and Alice's key, wherever such can stand, unless it is `neutral`."""
    table = SQLModel.metadata.tables[name]
    filled = {column.name: _filled(column, COLUMNS.get(name, {}), neutral) for column in table.c}
    values = {**{key: value for key, value in filled.items() if value is not None}, **given}
    made = tx.execute(insert(table).values(values)).inserted_primary_key
    assert made is not None
    return made[0]


def _filled(column: Column[Any], holds: dict[str, str], neutral: bool) -> Any:
    kind = NOTHING if neutral else holds.get(column.name, NOTHING)
    if kind == NOTHING and (column.nullable or column.default is not None or column.server_default is not None):
        return None
    match column.type:
        case Integer() | Boolean():
            return None if column.primary_key and column.autoincrement == "auto" and not column.foreign_keys else 0
        case UtcDateTime():
            return NOW
        case Date():
            return date(2026, 11, 1)
        case LargeBinary():
            return WORD.encode() if kind == WORDS else b"x"
    return {WORDS: WORD, WHO: ALICE, NOTHING: f"{column.table.name}-{column.name}"}[kind]


def spot(tx: Tx, key: str, visibility: str, *, neutral: bool = False) -> tuple[int, int]:
    """A session with its conversation."""
    place = {"key": key, "place_key": key, "place": key.partition(":")[2], "platform": "fake", "visibility": visibility}
    session = put(tx, "chat_session", neutral=neutral, **place)
    story = {"session_id": session, "watermark": 99, "generation": 0, "greeted": True}
    return session, put(tx, "conversation", **story)


def say(tx: Tx, session: int, number: int, *, neutral: bool = False, **given: Any) -> int:
    """A message that stands at its own id."""
    row = {"id": number, "position": number, "session_id": session, "kind": "said", "standing": "live", **given}
    row = {"told_key": None, "tokens": 0, "addressed": False, "cut": False, "words": 0, **row}
    if neutral:
        row = {"author_key": BOB, "author_name": "Bob", "text": "hello", "quote": "", **row}
    return int(put(tx, "message", neutral=neutral, sent_at=NOW, **row))


def fill(tx: Tx) -> None:
    """What there may be of Alice, and what Bob has said beside it."""
    private, own = spot(tx, "fake:dm-quetzalcoatlus", "dm")
    say(tx, private, 1)
    put(tx, "introduction", place_key="fake:dm-quetzalcoatlus")
    put(tx, "override", scope="place", scope_key="fake:dm-quetzalcoatlus", set_by="operator")
    put(tx, "persona", id="p_1", place_key="fake:dm-quetzalcoatlus", confirmed_at=NOW)
    put(tx, "persona_version", persona_id="p_1", number=1)
    put(tx, "persona_file", persona_id="p_1")
    put(tx, "memory_item", conversation_id=own, kind="gist", subject=None)
    put(tx, "compaction", conversation_id=own)
    put(tx, "persona_mood", conversation_id=own, persona_id="none")
    put(tx, "extension_metadata", session_id=private, about=None)
    put(tx, "running_round", conversation_id=own, message_id=1)
    _fill_group(tx)
    put(tx, "person")
    put(tx, "budget", scope="person", spent=7)
    put(tx, "reservation", place_key="fake:1")
    put(tx, "reservation", author_key=None, place_key="fake:dm-quetzalcoatlus")
    put(tx, "quota_notice")
    book = put(tx, "lorebook", kind="person")
    put(tx, "lore_entry", book_id=book, number=1)


def _fill_group(tx: Tx) -> None:
    group, story = spot(tx, "fake:1", "public", neutral=True)
    say(tx, group, 2, platform_message_id="77", answered_by=3, addressed=True)
    put(tx, "image", message_id=2)
    reply = {"author_key": None, "persona_id": "none", "conversation_id": story}
    say(tx, group, 3, kind="reply", **{**reply, "position": 2})
    say(tx, group, 4, kind="tool", answered_by=3, **{**reply, "position": 2})
    say(tx, group, 5, kind="reply", told_key=ALICE, **reply)
    say(tx, group, 6, neutral=True, reply_to="77", quote=WORD)
    say(tx, group, 7, neutral=True, text="Bob's own")
    say(tx, group, 8, neutral=True, kind="reply", text="An answer to Bob", **reply | {"author_name": "Familiar"})
    put(tx, "sent_part", message_id=3, ordinal=0)
    put(tx, "naming", session_id=group)
    put(tx, "reminder", session_id=group)
    put(tx, "extension_metadata", session_id=group)
    put(tx, "model_call", session_id=group)
    put(tx, "override", scope="place", scope_key="fake:1", value="1")
    put(tx, "persona", id="p_2", place_key="fake:1", name="Moss", confirmed_at=NOW)
    put(tx, "persona_version", persona_id="p_2", number=1, card="{}")
    put(tx, "persona_mood", conversation_id=story, persona_id="none", state=f'[[2, {{"mood": "{WORD}"}}]]')
    put(tx, "running_round", conversation_id=story, message_id=2)
    _fill_memory(tx, story)


def _fill_memory(tx: Tx, story: int) -> None:
    item = {"conversation_id": story, "kind": "fact", "retired_by": None}
    put(tx, "memory_item", **item)
    of_words = put(tx, "memory_item", **item, subject=BOB, made_by="compaction:1")
    put(tx, "memory_source", item_id=of_words, message_id=2)
    shared = put(tx, "memory_item", neutral=True, **item, subject=BOB, people=f"{BOB}", text="Bob is here")
    for message in (2, 7):
        put(tx, "memory_source", item_id=shared, message_id=message)
    put(tx, "memory_item", neutral=True, **item | {"retired_by": f"forget:{ALICE}"}, people=f"{ALICE}\n{BOB}")
    gist = item | {"kind": "gist", "subject": None, "subject_name": "", "people": "", "made_by": "compaction:1"}
    put(tx, "memory_item", **gist)
    put(tx, "compaction", conversation_id=story, to_position=9)


def standing(tx: Tx) -> Iterator[tuple[str, str]]:
    """Each column that has the word, or Alice's key."""
    for table in SQLModel.metadata.tables.values():
        for row in tx.execute(select(table)):
            for name, value in row._mapping.items():
                shown = value.decode() if isinstance(value, bytes) else str(value)
                if WORD in shown or ALICE in shown:
                    yield table.name, name


async def test_nothing_of_a_person_stands_in_any_column_afterwards(db: Database) -> None:
    await db.run(fill)
    before = {*await db.read(lambda tx: [*standing(tx)])}
    personal = {(name, column) for name, held in COLUMNS.items() for column, kind in held.items() if kind != NOTHING}
    assert personal - before == set(), "the test puts something there, so that it could fail"
    erased = await db.run(erase_person, ALICE, NOW)
    assert await db.read(lambda tx: [*standing(tx)]) == []
    assert erased.counts[Kind.MESSAGES] == 2
    assert erased.counts[Kind.QUOTES] == 1


async def test_what_others_said_and_had_noted_stays(db: Database) -> None:
    await db.run(fill)
    await db.run(erase_person, ALICE, NOW)
    said, items, calls = await db.read(_left)
    assert said == [(6, "hello", ""), (7, "Bob's own", ""), (8, "An answer to Bob", "")]
    assert ("Bob is here", True) in items, "it is looked at again"
    assert calls == [None], "sums stay, without a name"


def _left(tx: Tx) -> tuple[list[Any], list[Any], list[Any]]:
    tables = SQLModel.metadata.tables
    said, item = tables["message"].c, tables["memory_item"].c
    return (
        [tuple(row) for row in tx.execute(select(said.id, said.text, said.quote).order_by(said.id))],
        [tuple(row) for row in tx.execute(select(item.text, item.stale))],
        [*tx.execute(select(tables["model_call"].c.author_key)).scalars()],
    )


async def test_a_trial_counts_what_would_go_and_changes_nothing(db: Database) -> None:
    await db.run(fill)
    before = await db.read(lambda tx: [*standing(tx)])
    counts = await db.run(count_traces, ALICE, NOW)
    assert await db.read(lambda tx: [*standing(tx)]) == before
    assert counts == (await db.run(erase_person, ALICE, NOW)).counts
    assert await db.run(count_traces, ALICE, NOW) == {}


async def test_the_export_has_all_kinds_and_only_what_is_theirs(db: Database) -> None:
    await db.run(fill)
    kept = await db.read(read_traces, ALICE)
    assert {*kept} == {kind.value for kind in await db.run(count_traces, ALICE, NOW)}
    assert "Bob's own" not in str(kept)
    assert BOB not in str(kept)
    await db.run(erase_person, ALICE, NOW)
    assert await db.read(read_traces, ALICE) == {}


async def test_thousands_of_messages_are_erased_in_one_transaction(db: Database) -> None:
    def many(tx: Tx) -> None:
        fill(tx)
        said = SQLModel.metadata.tables["message"]
        row = {"session_id": 2, "place_key": "fake:1", "visibility": "public", "author_key": ALICE, "kind": "said"}
        row |= {"author_name": WORD, "text": WORD, "sent_at": NOW}
        tx.execute(insert(said), [{**row, "id": number, "position": number} for number in range(100, 2_100)])

    await db.run(many)
    assert (await db.run(erase_person, ALICE, NOW)).counts[Kind.MESSAGES] == 2_002
    assert await db.read(lambda tx: [*standing(tx)]) == []


async def test_a_mood_goes_where_it_was_set_for_them_or_names_them_and_nowhere_else(db: Database) -> None:
    def feel(tx: Tx) -> None:
        fill(tx)
        steps = [[2, {"mood": "glad"}], [7, {"mood": f"cross with {WORD.title()}", "trust": 1}], [7, {"trust": 2}]]
        mood = SQLModel.metadata.tables["persona_mood"]
        tx.execute(update(mood).where(mood.c.conversation_id == 2).values(state=json.dumps(steps)))

    await db.run(feel)
    await db.run(erase_person, ALICE, NOW)
    assert await db.read(lambda tx: read_mood(tx, 2, "none")) == {"trust": 2}
