"""The text form of commands: `/persona use luna`, `/session.set`, `/session_set -m openai/gpt-5 -n "late night"`.

Pure. Which commands exist is handed in; nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.chat import CommandSpec, OptionKind, OptionSpec
from bot.errors import UserError

OWN_ACTIONS = ("list", "show")
"""The child that a path with children stands for by itself."""

_TOKEN = re.compile(r'"([^"]*)"|“([^”]*)”|(\S+)')


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A command line that names a command of ours; its options are read by `read_options`."""

    spec: CommandSpec
    rest: str


def find_spec(line: str, specs: Sequence[CommandSpec]) -> Parsed | None:
    """The command that a line without its slash names, and what follows the name; `None` when it names none."""
    head, _, rest = line.strip().partition(" ") if not line.startswith('"') else ("", "", "")
    words = tuple(word for word in re.split(r"[._]", head.lower()) if word)
    if not words:
        return None
    paths = {spec.path: spec for spec in specs}
    path = words
    while any(spec.path[: len(path)] == path and len(spec.path) > len(path) for spec in specs):
        word, _, after = rest.strip().partition(" ")
        if not any(spec.path[: len(path) + 1] == (*path, word.lower()) for spec in specs):
            break
        path, rest = (*path, word.lower()), after
    if path in paths:
        return Parsed(spec=paths[path], rest=rest.strip())
    for action in OWN_ACTIONS:
        if (*path, action) in paths:
            return Parsed(spec=paths[(*path, action)], rest=rest.strip())
    return None


def read_options(spec: CommandSpec, rest: str) -> dict[str, str]:
    """The options of a command line: flags anywhere, positionals in order, quoted words kept together.

    Raises:
        UserError: an unknown flag, a flag without its value, a value that does not fit, or something left over.
    """
    found: dict[str, str] = {}
    positionals = [option for option in spec.options if option.flag is None]
    tokens = [*_TOKEN.finditer(rest)]
    while tokens:
        token = tokens.pop(0)
        option = _flagged(spec, token)
        if option is None:
            if not positionals:
                raise UserError("command-left-over", word=_value(token), command=spec.name)
            option = positionals.pop(0)
            tokens.insert(0, token)
        elif option.kind is OptionKind.SWITCH:
            found[option.name] = "true"
            continue
        elif not tokens:
            raise UserError("command-flag-needs-value", flag=_value(token), command=spec.name)
        found[option.name] = _take_value(spec, option, rest, tokens)
    return check_options(spec, found)


def _take_value(spec: CommandSpec, option: OptionSpec, rest: str, tokens: list[re.Match[str]]) -> str:
    """The value at the front of `tokens`, which it is taken from: one token, or everything up to the next flag."""
    first = tokens.pop(0)
    if not option.rest or _is_quoted(first):
        return _value(first)
    end = first.end()
    while tokens and _known_flag(spec, tokens[0]) is None:
        end = tokens.pop(0).end()
    return rest[first.start() : end]


def check_options(spec: CommandSpec, options: dict[str, str]) -> dict[str, str]:
    """Refuse values outside a choice, page numbers that are none, and missing options; both forms come through here."""
    for option in spec.options:
        value = options.get(option.name)
        if value is None:
            if option.required:
                raise UserError("command-option-missing", option=option.name, command=spec.name)
        elif option.kind is OptionKind.INTEGER and not re.fullmatch(r"\d{1,6}", value):
            raise UserError("command-option-number", option=option.name, value=value)
        elif option.kind is OptionKind.CHOICE and value.lower() not in option.choices:
            raise UserError("command-option-choice", option=option.name, value=value, choices=", ".join(option.choices))
    return {name: value for name, value in options.items() if value}


def _flagged(spec: CommandSpec, token: re.Match[str]) -> OptionSpec | None:
    option = _known_flag(spec, token)
    if option is None and not _is_quoted(token) and re.match(r"--?[A-Za-z]", token[0]):
        raise UserError("command-flag-unknown", flag=token[0], command=spec.name)
    return option


def _known_flag(spec: CommandSpec, token: re.Match[str]) -> OptionSpec | None:
    if _is_quoted(token):
        return None
    return next((option for option in spec.options if token[0] in (option.flag, f"--{option.name}")), None)


def _is_quoted(token: re.Match[str]) -> bool:
    return token[3] is None


def _value(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)
