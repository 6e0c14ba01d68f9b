"""Where something of a person stands: what they wrote, and what was made of it. Reads only.

What becomes of all that is told in `bot.store.erasing`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, not_, or_, select

from bot.chat import QUOTED, Visibility
from bot.store.cast_tables import callings
from bot.store.database import Tx
from bot.store.gists import gists_telling
from bot.store.lore_tables import lorebooks
from bot.store.lorebooks import BookKind
from bot.store.memories import GIST
from bot.store.memory_tables import compactions, memory_items, memory_sources
from bot.store.people_tables import namings
from bot.store.persona_tables import personas
from bot.store.rounds import running_rounds
from bot.store.tables import conversations, messages, sent_parts, sessions

Ids = tuple[int, ...]

SHORTEST_NAME = 2
"""Characters of a name that is looked for in what personas said; ours to choose."""
COMMON, FEW = 0.25, 20
"""A name that is in so large a part of what personas told others, and in more than a few lines, is taken for a word:
nobody may take all those along by calling themselves "The". Ours to choose.
"""

_BESIDE = r"[^\W\u2e80-\U0010ffff]"
"""A letter or digit of a script that parts words by spaces."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """What there is of a person: ids of rows, by what they are."""

    key: str
    names: frozenset[str] = frozenset()
    """What they are or were called in lines, if it is no word that everybody uses."""
    said: Ids = ()
    """Messages and commands of theirs."""
    answers: Ids = ()
    """What a persona said, or looked up, for them, about them or about a quote of them, and all else in their private
    chats.
    """
    rounds: Ids = ()
    """Rounds of tools for others, whose answers are still to come, that name them."""
    quoting: Ids = ()
    """Messages of others that quote one of those."""
    carrying: Ids = ()
    """Those of them that have files of what they quote."""
    items: Ids = ()
    """Memory of them, by them, or made of nothing but their words; it goes."""
    shared: Ids = ()
    """Items that others' words bear out as well, and that do not name them."""
    gists: Ids = ()
    """Summaries that may tell of what they said."""
    compactions: Ids = ()
    """Those that have read it."""
    private: Ids = ()
    """Sessions in which nobody else can speak."""
    groups: Ids = ()
    """The other ones in which they have spoken."""
    conversations: Ids = ()
    """Of their private chats."""
    group_conversations: Ids = ()
    first: Mapping[int, int] = field(default_factory=dict)
    """Their first message in each of the groups."""
    session_keys: tuple[str, ...] = ()
    """Of all of these."""
    places: tuple[str, ...] = ()
    """Keys of the places and sessions that are their private chats."""
    books: Ids = ()
    """Lorebooks of theirs."""
    cards: tuple[str, ...] = ()
    """Persona cards of their private chats, and those of theirs that wait for a yes."""

    @property
    def messages(self) -> Ids:
        """All messages that go."""
        return (*self.said, *self.answers)


def among(column: ColumnElement[Any], ids: Iterable[int | str]) -> ColumnElement[bool]:
    """Whether a value is one of many: given as one parameter, since SQLite takes 32,766."""
    each = func.json_each(json.dumps([*ids])).table_valued("value")
    return column.in_(select(each.c.value))


def find_traces(tx: Tx, key: str) -> Traces:
    """All that there is of a person."""
    spoken_in = select(messages.c.session_id).where(messages.c.author_key == key)
    rows = tx.execute(select(sessions).where(or_(sessions.c.id.in_(spoken_in), sessions.c.place_key == key))).all()
    alone = [row for row in rows if row.visibility == Visibility.DM.value]
    beside = and_(among(messages.c.session_id, [row.id for row in alone]), messages.c.author_key != key)
    others_in = _ids(tx, select(messages.c.session_id).where(beside).distinct())
    private = [row for row in alone if row.id not in others_in]
    groups = tuple(row.id for row in rows if row not in private)
    private_ids = tuple(row.id for row in private)
    own = _ids(tx, select(conversations.c.id).where(among(conversations.c.session_id, private_ids)))
    shared_with = _ids(tx, select(conversations.c.id).where(among(conversations.c.session_id, groups)))
    said = _ids(tx, select(messages.c.id).where(messages.c.author_key == key))
    called, told = _names(tx, key), _told(tx, key, said, groups)
    names, naming = _naming(tx, groups, told, called)
    answers = _with_tools(tx, {*told, *naming})
    quoting, answers = _quoting_all(tx, groups, said, answers, called)
    rest = select(messages.c.id).where(among(messages.c.session_id, private_ids), not_(among(messages.c.id, said)))
    answers = (*answers, *_ids(tx, rest))
    items, shared = _items(tx, key, own, (*said, *answers), names)
    first = _first_said(tx, key, groups)
    own_gists = select(memory_items.c.id).where(memory_items.c.kind == GIST, among(memory_items.c.conversation_id, own))
    places = tuple({key for row in private for key in (row.place_key, row.key)})
    return Traces(
        key=key,
        names=names,
        said=said,
        answers=answers,
        rounds=_rounds(tx, shared_with, names),
        quoting=quoting,
        carrying=_carrying(tx, quoting),
        items=items,
        shared=shared,
        gists=(*gists_telling(tx, first), *_ids(tx, own_gists)),
        compactions=_compactions(tx, own, first),
        private=private_ids,
        groups=groups,
        conversations=own,
        group_conversations=shared_with,
        first=first,
        session_keys=tuple(row.key for row in rows),
        places=places,
        books=_books(tx, key, places),
        cards=_cards(tx, key, places),
    )


def find_late(tx: Tx, before: Traces) -> Traces:
    """What has come of somebody who was erased by turns of others that had opened before that."""
    answers = _with_tools(tx, _naming(tx, before.groups, (), before.names)[1])
    return Traces(key=before.key, answers=answers, rounds=_rounds(tx, before.group_conversations, before.names))


def is_naming(names: Collection[str], written: str) -> bool:
    """Whether a text, or one in JSON, has one of the names."""
    return _name_pattern(names).search(_texts(written)) is not None


def _ids(tx: Tx, found: Select[Any]) -> Ids:
    return tuple(tx.execute(found).scalars())


def _names(tx: Tx, key: str) -> frozenset[str]:
    """Without the number that tells two of one name apart."""
    said = select(messages.c.author_name).where(messages.c.author_key == key)
    called = select(namings.c.name).where(namings.c.author_key == key)
    names = {name for found in (said, called) for name in tx.execute(found.distinct()).scalars() if name}
    return frozenset(names | {re.sub(r" \(\d+\)$", "", name) for name in names})


def _name_pattern(names: Collection[str]) -> re.Pattern[str]:
    """Finds a name as a word of its own; where words stand without spaces, anywhere."""
    long = sorted((re.escape(name) for name in names if len(name) >= SHORTEST_NAME), key=len, reverse=True)
    return re.compile(f"(?<!{_BESIDE})(?:{'|'.join(long)})(?!{_BESIDE})" if long else "(?!)", re.IGNORECASE)


def _told(tx: Tx, key: str, said: Ids, groups: Ids) -> Ids:
    """In groups: what answers them, and what was told them unasked."""
    told = select(messages.c.id).where(messages.c.told_key == key, among(messages.c.session_id, groups))
    return tuple({*_ids(tx, told), *_answers_to(tx, groups, said)})


def _naming(tx: Tx, groups: Ids, but: Ids, names: Collection[str]) -> tuple[frozenset[str], set[int]]:
    """What personas have said to others that names somebody, and the names that are no words of everybody's."""
    by_persona = and_(messages.c.author_key.is_(None), among(messages.c.session_id, groups))
    is_told = or_(messages.c.text != "", messages.c.tool_calls.is_not(None))
    lines = select(messages.c.id, messages.c.text, messages.c.tool_calls)
    patterns, count = {name: (name.lower(), _name_pattern([name])) for name in names}, 0
    found: dict[str, list[int]] = {name: [] for name in names}
    # One after the other: there may be many.
    for line in tx.execute(lines.where(by_persona, is_told, not_(among(messages.c.id, but)))):
        count += 1
        text = _texts(line.text or line.tool_calls)
        lowered = text.lower()
        for name, (plain, pattern) in patterns.items():
            if plain in lowered and pattern.search(text):  # the former is much faster, and mostly says no
                found[name].append(line.id)
    few = max(FEW, COMMON * count)
    rare = {name: ids for name, ids in found.items() if len(ids) <= few}
    return frozenset(rare), {message_id for ids in rare.values() for message_id in ids}


def _rounds(tx: Tx, conversation_ids: Ids, names: Collection[str]) -> Ids:
    under_way = select(running_rounds).where(among(running_rounds.c.conversation_id, conversation_ids))
    return tuple(row.id for row in tx.execute(under_way) if is_naming(names, row.exchange))


def _texts(written: str) -> str:
    """All texts in JSON, line by line, also those in JSON within a text, as the arguments of calls are."""
    texts, waiting = list[str](), list[Any]([written])
    while waiting:
        match waiting.pop():
            case dict() as values:
                waiting += values.values()
            case list() as values:
                waiting += values
            case str() as text:
                texts.append(text)
                if text.startswith(("{", "[")):
                    with suppress(ValueError, RecursionError):  # a text may begin so and be none
                        waiting.append(json.loads(text))
    return "\n".join(texts)


def _answers_to(tx: Tx, groups: Ids, said: Ids) -> Ids:
    """A reply stands at the position of the last message that it answers, also when another took its place."""
    asked = messages.alias()
    answer = select(asked.c.answered_by).where(among(asked.c.id, said), asked.c.answered_by.is_not(None))
    called = select(callings.c.answered_by).where(
        among(callings.c.message_id, said), callings.c.answered_by.is_not(None)
    )
    is_answer = or_(among(messages.c.position, said), messages.c.id.in_(answer), messages.c.id.in_(called))
    by_persona = and_(messages.c.author_key.is_(None), among(messages.c.session_id, groups))
    return _ids(tx, select(messages.c.id).where(by_persona, is_answer))


def _with_tools(tx: Tx, answers: Collection[int]) -> Ids:
    """With the rounds of tools that belong to them, and those that belong to a round among them."""
    of_rounds = select(messages.c.answered_by).where(
        among(messages.c.id, answers), messages.c.author_key.is_(None), messages.c.answered_by.is_not(None)
    )
    replies = {*answers, *_ids(tx, of_rounds)}
    rounds = select(messages.c.id).where(messages.c.author_key.is_(None), among(messages.c.answered_by, replies))
    return tuple(sorted({*replies, *_ids(tx, rounds)}))


def _quoting_all(tx: Tx, groups: Ids, said: Ids, answers: Ids, names: Collection[str]) -> tuple[Ids, Ids]:
    """What quotes them, with the answers to that, which may be quoted in turn."""
    while True:
        quoting = _quoting(tx, groups, (*said, *answers), names)
        more = _with_tools(tx, {*answers, *_answers_to(tx, groups, quoting)})
        if len(more) == len(answers):
            return quoting, answers
        answers = more


def _carrying(tx: Tx, quoting: Ids) -> Ids:
    files = func.substr(messages.c.text, messages.c.words + 1)
    return _ids(tx, select(messages.c.id).where(among(messages.c.id, quoting), func.instr(files, QUOTED) > 0))


def _quoting(tx: Tx, groups: Ids, gone: Ids, names: Collection[str]) -> Ids:
    """By what they reply to; what we never heard has no row, and is told by the name before it."""
    theirs = select(messages.c.session_id, messages.c.platform_message_id).where(among(messages.c.id, gone))
    parts = select(messages.c.session_id, sent_parts.c.platform_message_id).join(
        sent_parts, sent_parts.c.message_id == messages.c.id
    )
    known = {*map(tuple, tx.execute(theirs)), *map(tuple, tx.execute(parts.where(among(messages.c.id, gone))))}
    heads = tuple(f"{name}: " for name in names)
    found = select(messages.c.id, messages.c.session_id, messages.c.reply_to, messages.c.quote).where(
        among(messages.c.session_id, groups), messages.c.reply_to.is_not(None), not_(among(messages.c.id, gone))
    )
    return tuple(
        row.id for row in tx.execute(found) if (row.session_id, row.reply_to) in known or row.quote.startswith(heads)
    )


def _items(tx: Tx, key: str, own: Ids, gone: Ids, names: Collection[str]) -> tuple[Ids, Ids]:
    """Those that go, and those that lose a source."""
    item, cited = memory_items.c, memory_sources.alias()
    theirs = or_(item.subject == key, item.made_by == key, among(item.conversation_id, own))
    is_cited = exists().where(cited.c.item_id == item.id, among(cited.c.message_id, gone))
    by_others = exists().where(cited.c.item_id == item.id, not_(among(cited.c.message_id, gone)))
    found = select(item.id, item.text, item.people, theirs.label("theirs"), by_others.label("by_others")).where(
        item.kind != GIST, or_(theirs, is_cited)
    )
    pattern = _name_pattern(names)
    goes, stays = list[int](), list[int]()
    for row in tx.execute(found):
        names_them = key in row.people.split("\n") or pattern.search(row.text)
        (goes if row.theirs or not row.by_others or names_them else stays).append(row.id)
    return tuple(goes), tuple(stays)


def _first_said(tx: Tx, key: str, groups: Ids) -> dict[int, int]:
    """Their first message in each session of others."""
    first = select(messages.c.session_id, func.min(messages.c.id)).where(
        messages.c.author_key == key, among(messages.c.session_id, groups)
    )
    return dict(map(tuple, tx.execute(first.group_by(messages.c.session_id))))


def _compactions(tx: Tx, own: Ids, first: dict[int, int]) -> Ids:
    found = select(compactions.c.id).where(among(compactions.c.conversation_id, own))
    ids = [*_ids(tx, found)]
    for session_id, message_id in first.items():
        there = select(conversations.c.id).where(conversations.c.session_id == session_id)
        read = (compactions.c.conversation_id.in_(there), compactions.c.to_position >= message_id)
        ids += _ids(tx, select(compactions.c.id).where(*read))
    return tuple(ids)


def _books(tx: Tx, key: str, places: Collection[str]) -> Ids:
    book = lorebooks.c
    own = and_(book.kind == BookKind.PERSON.value, book.owner_key == key)
    private = and_(book.kind == BookKind.PLACE.value, among(book.owner_key, places))
    return _ids(tx, select(book.id).where(or_(own, private)))


def _cards(tx: Tx, key: str, places: Collection[str]) -> tuple[str, ...]:
    waiting = and_(personas.c.created_by == key, personas.c.confirmed_at.is_(None))
    return tuple(tx.execute(select(personas.c.id).where(or_(waiting, among(personas.c.place_key, places)))).scalars())
