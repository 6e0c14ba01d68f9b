"""The text form of commands: `/persona use luna`, `/session.set`, `/会话 设置 -m openai/gpt-5 -n "late night"`.

Pure. Which commands exist, and what they are called in other languages, is handed in; nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from bot.chat import (
    CommandNames,
    CommandSpec,
    OptionKind,
    OptionSpec,
    Word,
    cut_words,
    opens_quote,
    words_after,
)
from bot.errors import UserError
from bot.spelling import near_names

OWN_ACTIONS = ("list", "show")
"""The child that a path with children stands for by itself."""

ALONE = ("zone",)
"""Likewise where nothing follows: `/me laughs` is what people write of themselves."""

NEAR = 3
"""Ours to choose: so many guesses can be read in a sentence."""

ELSEWHERE = {
    "cancel": "stop",
    "clear": "reset",
    "config": "session",
    "new": "reset",
    "redo": "retry",
    "regenerate": "retry",
    "settings": "session",
    "重新生成": "retry",
    "清空": "reset",
}
"""What other bots call some of our commands. They are offered and not obeyed: in a group they may mean one of those."""

_ON = ("true", "on", "yes", "1")
_OFF = ("false", "off", "no", "0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A command line that names a command of ours; `read_options` reads the rest of it."""

    spec: CommandSpec
    rest: str
    children: tuple[str, ...] = ()
    """Words that might have followed where the command is the own action of a path: show, set, reset."""


def find_spec(line: str, specs: Sequence[CommandSpec], names: CommandNames) -> Parsed | None:
    """The command that a line without its slash names, in any language; `None` when it names none."""
    path, rest = find_path(line, specs, names)
    paths = {spec.path: spec for spec in specs}
    if path in paths:
        return Parsed(spec=paths[_list_for(path, paths) if not rest else path], rest=rest)
    actions = OWN_ACTIONS if rest else (*OWN_ACTIONS, *ALONE)
    own = next((paths[(*path, action)] for action in actions if (*path, action) in paths), None)
    return Parsed(spec=own, rest=rest, children=words_after(path, specs)) if own else None


def _list_for(path: tuple[str, ...], paths: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """What shows the choice where somebody would use one and names none, as by a tap in Telegram's menu."""
    listed = (*path[:-1], "list")
    return listed if path[-1] == "use" and listed in paths else path


def find_path(line: str, specs: Sequence[CommandSpec], names: CommandNames) -> tuple[tuple[str, ...], str]:
    """The command or group of commands that a line begins with, and what follows; an empty path when there is none."""
    head, rest = _first_word(line)
    path: tuple[str, ...] = ()
    pieces = [*filter(None, re.split("[._]", head))]
    while pieces:
        # Telegram's menu writes "follow-ups done" as follow_ups_done.
        joined = ((length, names.find_word("-".join(pieces[:length]), path, specs)) for length in (1, 2))
        length, word = next(((length, word) for length, word in joined if word is not None), (0, None))
        if word is None:
            return (), line
        path, pieces = (*path, word), pieces[length:]
    while path and rest:
        typed, after = _first_word(rest)
        word = names.find_word(typed, path, specs)
        if word is None:
            break
        path, rest = (*path, word), after
    return path, rest.strip()


def _first_word(line: str) -> tuple[str, str]:
    word, *rest = line.split(maxsplit=1) or [""]
    return word, rest[0] if rest else ""


def near_commands(line: str, specs: Sequence[CommandSpec], names: CommandNames) -> list[str]:
    """Commands that the first word of a line may have been meant for, as they are typed, in any language."""
    typed = _first_word(line)[0]
    paths = [names.of_path(spec.path, locale) for locale in names.locales for spec in specs]
    having = [f"/{path}" for path in paths if typed.casefold() in path.split()]  # `/use` without its group
    elsewhere = ELSEWHERE.get(typed.casefold())
    found = [f"/{elsewhere}", *having] if (elsewhere,) in {spec.path[:1] for spec in specs} else having
    return found[:NEAR] or near_children(typed, (), words_after((), specs), names)


def near_children(typed: str, path: tuple[str, ...], words: Sequence[str], names: CommandNames) -> list[str]:
    """Which of the `words` after a path a mistyped one may have meant, as commands are typed, in any language."""
    known = {
        name: names.of_path((*path, word), locale)
        for locale in names.locales
        for word in words
        for name in names.of_command((*path, word), locale)
    }
    return [f"/{known[name]}" for name in near_names(typed, known, limit=NEAR)]


def read_options(parsed: Parsed, names: CommandNames) -> dict[str, str]:
    """The options of a command line: flags anywhere, positionals in order, quoted words kept together.

    A flag that takes several words takes them up to the next flag, or up to what the command itself takes next: before
    a text that is one word, or what stands in quotes.

    Raises:
        UserError: an unknown flag, a flag without its value, a value that does not fit, or something left over.
    """
    spec, rest = replace(parsed.spec, options=parsed.spec.typed), parsed.rest
    found: dict[str, str] = {}
    positionals = [option for option in spec.options if option.flag is None]
    words = cut_words(rest)
    while words:
        option = _flagged(spec, words[0], names)
        if option is not None:
            flag = words.pop(0).text
            positionals = [other for other in positionals if other is not option]
            if option.kind is OptionKind.SWITCH:
                found[option.name] = "true"
                continue
            if not words or _known_flag(spec, words[0], names):
                raise UserError("command-flag-needs-value", flag=flag, command=spec.name)
            if opens_quote(words[0].text) and not words[0].is_quoted:
                raise UserError("command-quote-open", word=words[0].text, flag=flag)
        elif positionals:
            option = _positional_for(words[0], positionals, names)
            positionals = positionals[positionals.index(option) + 1 :]
        else:
            raise _left_over(parsed, words[0], names)
        following = positionals[0] if option.flag and positionals else None
        found[option.name] = _take_value(spec, option, rest, words, following, names)
    return check_options(spec, found, names)


def _positional_for(word: Word, positionals: Sequence[OptionSpec], names: CommandNames) -> OptionSpec:
    """The next one; of closed sets that may be left out, the first that has the word."""
    skippable = takewhile(lambda option: option.choices and not option.required, positionals)
    return next((option for option in skippable if names.find_choice(word.text, option.choices)), positionals[0])


def _take_value(
    spec: CommandSpec,
    option: OptionSpec,
    rest: str,
    words: list[Word],
    following: OptionSpec | None,
    names: CommandNames,
) -> str:
    """The value at the front of `words`, which it is taken from: one word, or everything up to the next flag or to the
    `following` option. A text may begin with something in quotes; a flag's value ends with its quotes.
    """
    first = words.pop(0)
    end = first.end
    if option.rest and not (option.flag and first.is_quoted):
        while words and _known_flag(spec, words[0], names) is None and not names.begins(words[0].text, following):
            end = words.pop(0).end
    return first.text if end == first.end else rest[first.start : end]


def _left_over(parsed: Parsed, word: Word, names: CommandNames) -> UserError:
    if not parsed.children:
        return UserError("command-left-over", word=word.text, command=parsed.spec.name)
    path, children = parsed.spec.path[:-1], parsed.children
    if near := near_children(word.text, path, children, names):
        return UserError("command-meant", near=", ".join(near))
    return UserError("command-child-unknown", word=word.text, command=" ".join(path), children=", ".join(children))


def check_options(spec: CommandSpec, options: Mapping[str, str], names: CommandNames) -> dict[str, str]:
    """The options that the command knows, blank ones left out; text form and menus both come through here.

    Raises:
        UserError: a value outside a choice, a number that is none, or an option that is missing.
    """
    checked: dict[str, str] = {}
    for option in spec.options:
        value = options.get(option.name, "").strip()
        if value:
            value = _checked(option, value, names)
        elif option.required:
            raise _missing(spec, option)
        if value:
            checked[option.name] = value
    return checked


def _missing(spec: CommandSpec, option: OptionSpec) -> UserError:
    facts = {"option": option.name, "command": spec.name}
    if option.choices:
        return UserError("command-choice-missing", choices=", ".join(option.choices), **facts)
    return UserError("command-option-missing", **facts)


def _checked(option: OptionSpec, value: str, names: CommandNames) -> str:
    folded = value.lower()
    match option.kind:
        case OptionKind.SWITCH:
            return "" if folded in _OFF else "true"
        case OptionKind.INTEGER if not re.fullmatch(r"\d{1,6}", value):
            raise UserError("command-option-number", option=option.name, value=value)
        case OptionKind.CHOICE if option.choices == ("on", "off") and folded in _ON + _OFF:
            return "on" if folded in _ON else "off"
        case OptionKind.CHOICE:
            meant = names.find_choice(value, option.choices)
            if meant is None:
                choices = ", ".join(option.choices)
                raise UserError("command-option-choice", option=option.name, value=value, choices=choices)
            return meant
        case _:
            return value


def _flagged(spec: CommandSpec, word: Word, names: CommandNames) -> OptionSpec | None:
    option = _known_flag(spec, word, names)
    if option is None and not word.is_quoted and re.match(r"--?[^\W\d_]", word.text):
        raise _no_flag(spec, word.text, names)
    return option


def _no_flag(spec: CommandSpec, typed: str, names: CommandNames) -> UserError:
    flags = ", ".join(option.flag for option in spec.options if option.flag)
    shown = {
        name: f"--{names.of_option(option.name, locale)[0]}"
        for locale in names.locales
        for option in spec.options
        for name in names.of_option(option.name, locale)
    }
    close = near_names(typed, shown) if len(typed) > 2 else []  # "-x" is like nothing
    near = ", ".join(dict.fromkeys(shown[name] for name in close))
    facts = {"flag": typed, "command": spec.name}
    if near:
        return UserError("command-flag-meant", near=near, **facts)
    return UserError("command-flag-unknown", flags=flags, **facts) if flags else UserError("command-flag-none", **facts)


def _known_flag(spec: CommandSpec, word: Word, names: CommandNames) -> OptionSpec | None:
    return None if word.is_quoted else names.find_flag(word.text, spec.options)
