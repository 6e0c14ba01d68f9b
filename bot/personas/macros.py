"""Macros in card text, such as `{{user}}`: expanded in one pass, for text that an author wrote and never for a user's.

Knows no clock and no session; what a macro needs is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

# Braces may not nest, which keeps the search linear: every body ends at the next brace, whichever it is.
_MACRO = re.compile(r"\{\{([^{}]*)\}\}|<(char|bot|user)>", re.IGNORECASE)
_COMMA = re.compile(r"(?<!\\),")
_DIE = re.compile(r"d?([1-9][0-9]{0,8})", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class MacroValues:
    """What the macros of one text stand for."""

    char: str
    user: str
    original: str
    rng: Random


Macro = Callable[[MacroValues, str], str | None]
"""`macro(values, argument)`: what stands in its place, or `None` to leave it in the text as it was written."""


def expand(text: str, *, char: str, user: str, original: str = "", rng: Random | None = None) -> str:
    """Expand the macros of `text`: their names in any case, unknown ones left alone, inserted values never read (P20).

    `char` is the persona's spoken name, `user` the display name of who speaks now, `original` the text that a card's
    `system_prompt` or `post_history_instructions` replaces. Without `rng` the random macros depend on the text alone,
    so that a system prompt stays the same from turn to turn.
    """
    values = MacroValues(char=char, user=user, original=original, rng=rng or Random(text))  # noqa: S311 - no secret
    return _MACRO.sub(lambda match: _expand_one(match, values), text)


def _expand_one(match: re.Match[str], values: MacroValues) -> str:
    body, bracketed = match.groups()
    name, argument = _split_body(bracketed or body)
    macro = MACROS.get(name.lower())
    result = macro(values, argument) if macro else None
    return match[0] if result is None else result


def _split_body(body: str) -> tuple[str, str]:
    """Name and argument of `name`, `name:argument`, `name argument` or `//argument`."""
    body = body.strip()
    if body.startswith("//"):
        return "//", body[2:]
    name, *argument = re.split(r"[:\s]", body, maxsplit=1)
    return name, "".join(argument)


def _plain(value: Callable[[MacroValues], str]) -> Macro:
    """A macro without an argument: `{{user guide}}` is no macro."""
    return lambda values, argument: None if argument else value(values)


def _random(values: MacroValues, argument: str) -> str | None:
    """One of `a,b` (a comma inside an option is written `\\,`) or of `:a::b`."""
    if "::" in f":{argument}":
        options = argument.removeprefix(":").split("::")
    else:
        options = [option.replace(r"\,", ",") for option in _COMMA.split(argument)]
    return values.rng.choice(options).strip() if argument else None


def _roll(values: MacroValues, argument: str) -> str | None:
    """A number from one to the sides of a die, written `6` or `d6`."""
    die = _DIE.fullmatch(argument.strip())
    return str(values.rng.randint(1, int(die[1]))) if die else None


MACROS: Mapping[str, Macro] = {
    "char": _plain(lambda values: values.char),
    "bot": _plain(lambda values: values.char),
    "user": _plain(lambda values: values.user),
    "original": _plain(lambda values: values.original),
    "random": _random,
    "roll": _roll,
    "reverse": lambda _, argument: argument[::-1],
    "//": lambda _values, _argument: "",
}
