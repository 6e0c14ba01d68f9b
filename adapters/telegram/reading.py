"""What a text says to us: whether it calls us, and how it reads without the call. Pure functions over entities, whose
offsets count UTF-16 code units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from telegram import MessageEntity


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """The bot's own account."""

    id: int
    username: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A text without our own mention; other mentions stay as they were typed."""

    text: str
    mentions_me: bool = False


def read(text: str, entities: Sequence[MessageEntity], me: Me) -> Reading | None:
    """The text as it is meant for us, or `None` when it is a command for another bot (T17)."""
    units = text.encode("utf-16-le")
    mentions_me = False
    for entity in sorted(entities, key=lambda entity: entity.offset, reverse=True):
        start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        before, word, after = _decode(units[:start]), _decode(units[start:end]), _decode(units[end:])
        command, _, addressee = word.partition("@")
        match entity.type:
            case MessageEntity.MENTION if _is_me(addressee, me):
                mentions_me, text = True, _joined(before, after)
            case MessageEntity.TEXT_MENTION if entity.user and entity.user.id == me.id:
                mentions_me, text = True, _joined(before, after)
            case MessageEntity.BOT_COMMAND if _is_me(addressee, me):
                mentions_me, text = True, before + command + after
            case MessageEntity.BOT_COMMAND if addressee and not before.strip():
                return None
            case MessageEntity.TEXT_LINK if entity.url and entity.url.rstrip("/") != word.rstrip("/"):
                text = f"{before}{word} ({entity.url}){after}"
            case _:
                continue
        units = text.encode("utf-16-le")
    if wide := _WIDE_COMMAND.match(text):  # for Telegram itself no command, and so no entity
        if not _is_me(wide["addressee"], me):
            return None
        mentions_me, text = True, wide["command"] + text[wide.end() :]
    return Reading(text=text.strip(), mentions_me=mentions_me)


_WIDE_COMMAND = re.compile(r"\s*(?P<command>／[\w.-]+)@(?P<addressee>[A-Za-z0-9_]+)")


def _is_me(username: str, me: Me) -> bool:
    return username.casefold() == me.username.casefold()


def _decode(units: bytes) -> str:
    return units.decode("utf-16-le", "replace")


def _joined(before: str, after: str) -> str:
    """The text around a mention that was taken out: "hey @me, look" reads "hey, look"."""
    before = before.rstrip(" ")
    if not before or before.endswith("\n"):
        after = after.lstrip(" ,:")
    return before + after
