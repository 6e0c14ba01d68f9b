"""Who is meant by a name that somebody types."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from bot.chat import ValueQuery
from bot.commands.command import Desk
from bot.commands.members import queried_story
from bot.errors import UserError
from bot.spelling import near_names
from bot.store.archive import remembered_people
from bot.store.database import Tx


def who_is_meant(typed: str, people: Mapping[str, str]) -> str:
    """The key of the person with this name, or of this key; `people` are names by key.

    Raises:
        UserError: nobody here has that name, or several have.
    """
    wanted = _folded(typed.removeprefix("@"))
    found = [key for key, name in people.items() if wanted in (_folded(name), _folded(key))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError("memory-who-several", who=typed, keys=", ".join(found))
    is_whole = " " in typed  # quoted, or chosen from a menu
    if near := near_names(typed, people.values()):
        raise UserError("memory-who-near" if is_whole else "memory-who-near-unquoted", who=typed, near=", ".join(near))
    raise UserError("memory-who-unknown" if is_whole else "memory-who-unquoted", who=typed)


async def suggest_people(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Names of those who are remembered in a channel, and of whoever asks."""
    names = [query.author.name, *await desk.db.read(_remembered, query, desk)]
    wanted = _folded(query.typed)
    return [name for name in dict.fromkeys(names) if wanted in _folded(name)]


def _remembered(tx: Tx, query: ValueQuery, desk: Desk) -> list[str]:
    conversation_id = queried_story(tx, query, desk)
    return [] if conversation_id is None else [*remembered_people(tx, conversation_id).values()]


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
