"""Expands a card's texts for a turn: what stands in the prompt's beginning stays the same, what stands behind the
history tells what passes and whom it is for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from random import Random
from zoneinfo import ZoneInfo

from bot.personas.macros import Moment, Where, expand, name_of_passing, passing_macros
from bot.prompt.language import is_chinese
from bot.turn import Turn

GROUP_WORDS = {"en": "the people here", "zh": "这里的各位"}
"""What `{{user}}` means in a group's system message: it must not change with the speaker, or the prefix changes."""

MACRO_FIELDS = ("description", "personality", "scenario", "example_messages")
PREFIX_FIELDS = ("system_prompt", *MACRO_FIELDS)

QUOTED_CHARS = 300
"""Of the last message, where a card quotes it: it is somebody's text among the card's."""


def language_of(turn: Turn) -> str:
    """The language of the persona's card, "zh" or "en": what stands among its words is in the same."""
    if turn.persona is None:
        return "en"
    said = turn.persona.language or ("zh" if is_chinese(turn.persona.card.description) else "en")
    return "zh" if said.lower().startswith("zh") else "en"


def expand_prefix(text: str, turn: Turn) -> str:
    """The card's text for the system message."""
    user = GROUP_WORDS[language_of(turn)] if turn.is_group else turn.asker.name
    return _expanded(text, turn, user=user, where=Where.PREFIX)


def expand_tail(text: str, turn: Turn) -> str:
    """The card's text for behind the history: it may name the person addressed, and chooses anew with every burst."""
    return _expanded(text, turn, user=turn.asker.name, where=Where.TAIL)


def expand_lore(text: str, where: Where, turn: Turn) -> str:
    """A lorebook's text for where it stands, or for the keys that may be in it."""
    if "{{" not in text and "<" not in text:
        return text
    if where is Where.PREFIX:
        return expand_prefix(text, turn)
    return _expanded(text, turn, user=turn.asker.name, where=where)


def write_passing(turn: Turn) -> str | None:
    """A note on what the system message only names, because it passes: the time, the date, and so on."""
    card = turn.persona.card if turn.persona else None
    texts = (getattr(card, field) for field in PREFIX_FIELDS) if card else ()
    used = dict.fromkeys(chain.from_iterable(map(passing_macros, texts)))
    used |= dict.fromkeys(name for entry in turn.lore.entries for name in entry.passing)
    macros = {name_of_passing(name, language=language_of(turn)): name for name in used if name != "lastmessage"}
    told = (f"{words}: {expand_tail(f'{{{{{name}}}}}', turn)}" for words, name in macros.items())
    note = "; ".join(told)
    return f"[{note[0].upper()}{note[1:]}]" if note else None


def _expanded(text: str, turn: Turn, *, user: str, where: Where) -> str:
    def put(text: str, field: Callable[[str], str | None]) -> str:
        return expand(
            text,
            char=turn.persona_name,
            user=user,
            original=turn.settings.values.system_prompt if where is Where.PREFIX else "",
            group=", ".join((turn.persona_name, *(peer.name for peer in turn.peers))),
            rng=Random(f"{turn.conversation_id}:{turn.position}:{text}"),  # noqa: S311 - no secret
            where=where,
            moment=_moment(turn),
            field=field,
            language=language_of(turn),
        )

    def field(name: str) -> str:
        if name not in MACRO_FIELDS or turn.persona is None:
            return ""
        return put(getattr(turn.persona.card, name), lambda _: None)

    return put(text, field)


def _moment(turn: Turn) -> Moment:
    before = [row for row in turn.history if not turn.burst or row.id < turn.burst[0]]
    last = turn.history[-1].text if turn.history else ""
    return Moment(
        now=turn.now.astimezone(ZoneInfo(turn.settings.values.timezone)),
        idle=turn.now - before[-1].sent_at if before else None,
        last_message=" ".join(last.split())[:QUOTED_CHARS],
    )
