"""When the bot speaks, and whom it listens to at all: access lists, activation, and the guard against bots in a loop.

Rights come from platform ids alone (X03). The same functions decide for messages, commands and buttons (X02).
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from bot.chat import Author, ChannelRef, Inbound, speaks_to_us
from bot.settings import TERMINAL, AccessSettings, Activation, BotsSettings, PlaceSettings

_BETWEEN_NAMES = r"(?:\s*(?:,\s*and\b|[,&+、和与跟])\s*|\s+and\s+)"
"""What stands between the names of several who are spoken to together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessPolicy:
    """The operator's access lists. Deny wins; an empty allow list allows everybody; admins are always let in."""

    access: AccessSettings

    def admits(self, author: Author, channel: ChannelRef) -> bool:
        """Whether this person may be answered here at all."""
        if self.is_operator(author):
            return True
        platform = author.platform
        checks = (
            ((author.key,), self.access.allow_users, self.access.deny_users),
            ([f"{platform}:{role}" for role in author.roles], self.access.allow_roles, self.access.deny_roles),
            (_channel_keys(channel), self.access.allow_channels, self.access.deny_channels),
            ((channel.place_key,), self.access.allow_places, self.access.deny_places),
        )
        if any(set(keys) & set(denied) for keys, _, denied in checks):
            return False
        people = self.access.allow_users or self.access.allow_roles
        if people and not (author.key in self.access.allow_users or set(checks[1][0]) & set(self.access.allow_roles)):
            return False
        return all(not allowed or set(keys) & set(allowed) for keys, allowed, _ in checks[2:])

    def admits_channel(self, channel: ChannelRef) -> bool:
        """Whether the bot may speak in a channel where nobody has asked it to."""
        checks = (
            (_channel_keys(channel), self.access.allow_channels, self.access.deny_channels),
            ((channel.place_key,), self.access.allow_places, self.access.deny_places),
        )
        return all(
            not set(keys) & set(denied) and (not allowed or set(keys) & set(allowed))
            for keys, allowed, denied in checks
        )

    def admits_unasked(self, key: str) -> bool:
        """Whether the bot may speak first to somebody of whom nothing but the key is known; whom a role alone lets in,
        it may not.
        """
        if key in self.access.admins:
            return True
        is_allowed = not (self.access.allow_users or self.access.allow_roles) or key in self.access.allow_users
        return is_allowed and key not in self.access.deny_users

    def is_operator(self, author: Author) -> bool:
        """Whether this person may change everything everywhere: an admin, or whoever is at our terminal."""
        return author.platform == TERMINAL or author.key in self.access.admins


def _channel_keys(channel: ChannelRef) -> Iterable[str]:
    """The ids that an access list may name for a channel; a thread follows its parent (D17), and a place without
    channels is one itself.
    """
    return [f"{channel.platform}:{part}" for part in (channel.thread, channel.channel or channel.place) if part]


class LoopGuard:
    """Counts answers to bots in a row per session, so that two bots cannot keep each other talking (D07).

    `hears` takes every message, `allows` those that would be answered.
    """

    def __init__(self, bots: BotsSettings) -> None:
        self._bots = bots
        self._in_a_row: dict[str, int] = {}

    def hears(self, inbound: Inbound) -> None:
        """A human who speaks ends the row, whomever they speak to."""
        if not inbound.author.is_bot:
            self._in_a_row.pop(inbound.channel.session_key, None)

    def allows(self, inbound: Inbound) -> bool:
        """Whether this author may be answered now; an allowed answer counts."""
        key = inbound.channel.session_key
        if not inbound.author.is_bot:
            return True
        if not self._bots.answer:
            return False
        if self._in_a_row.get(key, 0) >= self._bots.max_turns:
            return False
        self._in_a_row[key] = self._in_a_row.get(key, 0) + 1
        return True


def should_answer(
    inbound: Inbound, settings: PlaceSettings, names: Iterable[str], rng: random.Random, *, is_private: bool = False
) -> bool:
    """Whether a message is addressed to the persona. `names` are what it is called here; blank messages never are, and
    chance picks nobody who wants privacy.
    """
    if not inbound.text.strip() and not inbound.attachments and inbound.reply_to is None and not inbound.mentions_me:
        return False
    if is_called(inbound, settings, names):
        return True
    chimes_in = settings.activation is Activation.RANDOM and not is_private
    return chimes_in and rng.random() < settings.activation_probability


def is_called(inbound: Inbound, settings: PlaceSettings, names: Iterable[str]) -> bool:
    """Whether a message calls the persona, chance aside."""
    if speaks_to_us(inbound) or is_spoken_to(inbound.text, names):
        return True
    match settings.activation:
        case Activation.ALWAYS:
            return True
        case Activation.KEYWORD:
            return has_word(inbound.text, settings.activation_keywords)
        case _:
            return False


def is_spoken_to(text: str, names: Iterable[str]) -> bool:
    """Whether one of the names occurs in a text as a call."""
    return first_call(text, names) is not None


def first_call(text: str, names: Iterable[str], others: Iterable[str] = ()) -> int | None:
    """Where one of the names first occurs as a word of its own, in its own capital letters or in nothing but those:
    many a name is a word as well, which "that tune sounds familiar" has in it. At the beginning and set apart by a
    mark, alone or in a row with names of `others`, it is a call in any letters.
    """
    plain, known = _plain(text), [name for name in map(_plain, names) if name]
    row = _row_of_names(plain.casefold(), [name.casefold() for name in (*known, *map(_plain, others)) if name])
    in_row = _first(row, map(str.casefold, known))
    return in_row if in_row is not None else _first(plain, (form for name in known for form in (name, name.upper())))


def has_word(text: str, words: Iterable[str]) -> bool:
    """Whether one of the words occurs as one, in any letters."""
    return first_word(text, words) is not None


def first_word(text: str, words: Iterable[str]) -> int | None:
    """Where one of the words first occurs as one, in any letters."""
    return _first(_plain(text).casefold(), (word.casefold() for word in map(_plain, words) if word))


def _first(text: str, words: Iterable[str]) -> int | None:
    return min((at for word in words if (at := _position(word, text)) >= 0), default=None)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()


def _row_of_names(text: str, names: list[str]) -> str:
    """The names that a text begins with, where a mark or nothing follows: "mira and rex, hello" has two. NFKC has made
    full-width marks narrow.
    """
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.match(rf"(?:{one})(?:{_BETWEEN_NAMES}(?:{one}))*\s*?(?:[,:;!?.~。、—–\n]|$)", text) if one else None
    return found[0] if found else ""


def _position(word: str, text: str) -> int:
    """Where a word occurs, or -1. Scripts that are written without spaces have no borders between words: a word in one
    matches anywhere, and their characters may stand right beside any word.
    """
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (_is_one_word(text[start - 1 : start], word[0]) or _is_one_word(word[-1], text[end : end + 1])):
            break
        start = text.find(word, start + 1)
    return start


def _is_one_word(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to the same word."""
    return all((char.isalnum() or char == "_") and not _is_unspaced(char) for char in (left, right))


def _is_unspaced(char: str) -> bool:
    # East Asian scripts are wide; Thai, Lao, Myanmar and Khmer are not.
    ranges = (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
    return unicodedata.east_asian_width(char) == "W" or any(first <= char <= last for first, last in ranges)
