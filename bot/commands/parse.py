"""The text form of commands: `/persona use luna`, `/session.set`, `/session_set -m openai/gpt-5 -n "late night"`.

Pure. Which commands exist is handed in; nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.chat import CommandSpec, OptionKind, OptionSpec
from bot.errors import UserError

OWN_ACTIONS = ("list", "show")
"""The child that a path with children stands for by itself."""

_TOKEN = re.compile(r'"([^"]*)"|“([^”]*)”|(\S+)')
_OFF = ("false", "off", "no", "0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A command line that names a command of ours; its options are read by `read_options`."""

    spec: CommandSpec
    rest: str


def find_spec(line: str, specs: Sequence[CommandSpec]) -> Parsed | None:
    """The command that a line without its slash names, and what follows the name; `None` when it names none."""
    head, rest = _first_word(line)
    path = tuple(word for word in re.split(r"[._]", head.lower()) if word)
    paths = {spec.path: spec for spec in specs}
    while path:
        word, after = _first_word(rest)
        deeper = (*path, word.lower())
        if not any(known[: len(deeper)] == deeper for known in paths):
            break
        path, rest = deeper, after
    named = (path, *((*path, action) for action in OWN_ACTIONS))
    return next((Parsed(spec=paths[name], rest=rest.strip()) for name in named if name in paths), None)


def _first_word(line: str) -> tuple[str, str]:
    word, *rest = line.split(maxsplit=1) or [""]
    return word, rest[0] if rest else ""


def read_options(spec: CommandSpec, rest: str) -> dict[str, str]:
    """The options of a command line: flags anywhere, positionals in order, quoted words kept together.

    Raises:
        UserError: an unknown flag, a flag without its value, a value that does not fit, or something left over.
    """
    found: dict[str, str] = {}
    positionals = [option for option in spec.options if option.flag is None]
    tokens = [*_TOKEN.finditer(rest)]
    while tokens:
        option = _flagged(spec, tokens[0])
        if option is not None:
            flag = _value(tokens.pop(0))
            if option.kind is OptionKind.SWITCH:
                found[option.name] = "true"
                continue
            if not tokens or _known_flag(spec, tokens[0]):
                raise UserError("command-flag-needs-value", flag=flag, command=spec.name)
        elif positionals:
            option = positionals.pop(0)
        else:
            raise UserError("command-left-over", word=_value(tokens[0]), command=spec.name)
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


def check_options(spec: CommandSpec, options: Mapping[str, str]) -> dict[str, str]:
    """The options that the command knows, blank ones left out; text form and menus both come through here.

    Raises:
        UserError: a value outside a choice, a number that is none, or an option that is missing.
    """
    checked: dict[str, str] = {}
    for option in spec.options:
        value = options.get(option.name, "").strip()
        if value:
            value = _checked(option, value)
        elif option.required:
            raise UserError("command-option-missing", option=option.name, command=spec.name)
        if value:
            checked[option.name] = value
    return checked


def _checked(option: OptionSpec, value: str) -> str:
    folded = value.lower()
    match option.kind:
        case OptionKind.SWITCH:
            return "" if folded in _OFF else "true"
        case OptionKind.INTEGER if not re.fullmatch(r"\d{1,6}", value):
            raise UserError("command-option-number", option=option.name, value=value)
        case OptionKind.CHOICE if folded not in option.choices:
            choices = ", ".join(option.choices)
            raise UserError("command-option-choice", option=option.name, value=value, choices=choices)
        case OptionKind.CHOICE:
            return folded
        case _:
            return value


def _flagged(spec: CommandSpec, token: re.Match[str]) -> OptionSpec | None:
    option = _known_flag(spec, token)
    if option is None and not _is_quoted(token) and re.match(r"--?[A-Za-z]", token[0]):
        raise UserError("command-flag-unknown", flag=token[0], command=spec.name)
    return option


def _known_flag(spec: CommandSpec, token: re.Match[str]) -> OptionSpec | None:
    if _is_quoted(token):
        return None
    written = re.sub("^[–—]", "--", token[0])  # phones write "--" as a dash
    return next((option for option in spec.options if written in (option.flag, f"--{option.name}")), None)


def _is_quoted(token: re.Match[str]) -> bool:
    return token[3] is None


def _value(token: re.Match[str]) -> str:
    return next(group for group in token.groups() if group is not None)
