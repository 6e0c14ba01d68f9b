"""The keys of an entry as people type them. Knows no book."""

from __future__ import annotations

import re

from bot.chat import cut_words, opens_quote
from bot.commands.command import Call
from bot.errors import UserError

_PATTERN = re.compile(r"/.+/[a-z]*", re.DOTALL)
"""A key like this may have commas in it."""


def read_keys(typed: str) -> tuple[str, ...]:
    """The keys of a line.

    Raises:
        UserError: a quote that nothing closes, a decorator, or a pattern that can never match.
    """
    if opens_quote(typed):
        raise UserError("lore-key-quote", key=typed)
    is_pattern = _PATTERN.fullmatch(typed.strip()) is not None
    keys = [typed.strip()] if is_pattern else [*filter(None, map(str.strip, re.split("[,，、]", typed)))]
    for key in keys:
        _demand_use(key)
    return tuple(keys)


def _demand_use(key: str) -> None:
    from bot.personas.lorebook.patterns import as_pattern, why_refused

    if key.startswith("@@"):
        raise UserError("lore-key-decorator", key=key)
    shaped = as_pattern(key)
    refused = why_refused(shaped[0]) if shaped else None
    if refused is not None:
        message_id, facts = refused
        raise UserError(message_id, key=key, **facts)


def are_set_apart(call: Call) -> bool:
    """Whether the keys are plainly meant as such: given in a menu, or typed in quotes."""
    keys = call.options["keys"]
    is_quoted = any(word.is_quoted and word.text.strip() == keys for word in cut_words(call.inbound.text))
    return call.inbound.command is not None or is_quoted
