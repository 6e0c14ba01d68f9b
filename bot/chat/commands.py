"""What a command is to a platform's own menu: its words, its options, and how their values are completed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bot.chat.forms import AskForm, no_form
from bot.chat.messages import Author, ChannelRef


class OptionKind(StrEnum):
    """Type of a command option; Discord registers it as such, the text form parses it."""

    TEXT = "text"
    INTEGER = "integer"
    CHOICE = "choice"
    SWITCH = "switch"
    """On when present; a boolean in a platform's menu, whose value arrives as "true"."""
    FILE = "file"
    """A file: in a platform's menu its own kind of option, else attached to the message or to the one replied to. It
    comes with the inbound's attachments; never required, because a text command cannot say that it is missing.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionSpec:
    """One option of a command. `flag` is its short form in text ("-p"); an option without one is positional."""

    name: str
    kind: OptionKind = OptionKind.TEXT
    flag: str | None = None
    required: bool = False
    rest: bool = False
    """A positional that takes the rest of the line, spaces included."""
    choices: tuple[str, ...] = ()
    completes: bool = False
    """Whether `Complete` offers values for it."""
    about: str = ""
    """The catalogue message that describes it; empty = `option-<name>`."""
    knows: Callable[[str], bool] | None = None
    """Whether a word is one of its values, where they are many and no closed set."""

    @property
    def description(self) -> str:
        """The catalogue message that says what it is."""
        return self.about or f"option-{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSpec:
    """One command, the same on every platform. Its description is the catalogue message `command-<a>-<b>`."""

    path: tuple[str, ...]  # one to three words
    options: tuple[OptionSpec, ...] = ()
    ephemeral: bool = False
    """A constant, because Discord wants it when the command is deferred, before anything is known (D10)."""
    manages: bool = False
    """Whether it changes a place for everyone: in groups it needs the platform's own rights."""
    opens_form: bool = False
    """Whether it may open a form, which must be asked for first (`CommandMenu.ask_form`): where a platform has forms,
    nothing may be answered before. A constant like `ephemeral`.
    """
    example: str = ""
    """A line that uses it, without its slash, for those who ask for help."""

    @property
    def name(self) -> str:
        """The path in words, "persona use"."""
        return " ".join(self.path)

    @property
    def typed(self) -> tuple[OptionSpec, ...]:
        """The options that a text command may name; files are attached to it instead."""
        return tuple(option for option in self.options if option.kind is not OptionKind.FILE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueQuery:
    """A value of a command option that somebody is typing; `given` are the options that stand already."""

    channel: ChannelRef
    author: Author
    path: tuple[str, ...]
    option: str
    typed: str
    given: Mapping[str, str] = field(default_factory=dict)


Complete = Callable[[ValueQuery], Awaitable[Sequence[str]]]
"""Up to 25 values for a command option, best first."""

Translate = Callable[[str, str | None], str]
"""`translate(message_id, locale)`: a text of the catalogue; an unknown locale falls back to English."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandNames:
    """What commands and options are called, by the catalogue: `name-command-<a>-<b>` for the last word of the path
    (a, b), `name-option-<name>`, and `name-choice-<value>` for a value of a closed set.

    A text may hold several names with spaces between: the first is shown, the others are understood as well. The words
    of the definitions, which are English, are understood in every language.
    """

    translate: Translate
    locales: tuple[str, ...]

    def of_command(self, path: Sequence[str], locale: str | None) -> tuple[str, ...]:
        """What the last word of a path is called."""
        return self._names(f"name-command-{'-'.join(path)}", path[-1], locale)

    def of_option(self, option: str, locale: str | None) -> tuple[str, ...]:
        """What an option is called."""
        return self._names(f"name-option-{option}", option, locale)

    def of_choice(self, choice: str, locale: str | None) -> tuple[str, ...]:
        """What a value of a closed set is called."""
        return self._names(f"name-choice-{choice.replace('_', '-')}", choice, locale)

    def of_path(self, path: Sequence[str], locale: str | None) -> str:
        """A whole path as people of a language write it: "角色 使用"."""
        return " ".join(self.of_command(path[: length + 1], locale)[0] for length in range(len(path)))

    def find_word(self, typed: str, path: tuple[str, ...], specs: Iterable[CommandSpec]) -> str | None:
        """The word after `path` that is meant by what somebody typed, in any language."""
        wanted, words = _folded(typed), words_after(path, specs)
        if wanted in words:
            return wanted
        named = ((word, self.of_command((*path, word), locale)) for locale in self.locales for word in words)
        return next((word for word, names in named if wanted in map(_folded, names)), None)

    def find_option(self, typed: str, options: Iterable[OptionSpec]) -> OptionSpec | None:
        """The option that is meant by what somebody typed, in any language."""
        wanted, by_name = _folded(typed), {option.name: option for option in options}
        if wanted in by_name:
            return by_name[wanted]
        named = ((option, self.of_option(name, locale)) for locale in self.locales for name, option in by_name.items())
        return next((option for option, names in named if wanted in map(_folded, names)), None)

    def find_choice(self, typed: str, choices: Iterable[str]) -> str | None:
        """The value of a closed set that is meant by what somebody typed, in any language."""
        wanted, known = _folded(typed.strip()), (*choices,)
        if wanted in known:
            return wanted
        named = ((choice, self.of_choice(choice, locale)) for locale in self.locales for choice in known)
        return next((choice for choice, names in named if wanted in map(_folded, names)), None)

    def begins(self, typed: str, option: OptionSpec | None) -> bool:
        """Whether a word that follows the value of a flag is the value of the positional `option`, and so no further
        word of the flag's. Free text that must come or takes the rest begins with any word.
        """
        match option:
            case None:
                return False
            case OptionSpec(kind=OptionKind.CHOICE):
                return self.find_choice(typed, option.choices) is not None
            case OptionSpec(kind=OptionKind.INTEGER):
                return typed.isdecimal()
            case _ if option.knows is not None:
                return option.knows(typed)
            case _:
                return option.rest or option.required

    def find_flag(self, typed: str, options: Iterable[OptionSpec]) -> OptionSpec | None:
        """The option whose flag somebody typed: `-p`, or `--persona` in any language."""
        written = re.sub("^[–—]", "-" if len(typed) == 2 else "--", typed)  # phones write "--", editors "-" as a dash
        if written.startswith("--"):
            return self.find_option(written[2:], options)
        return next((option for option in options if option.flag == written.lower()), None)

    def _names(self, message_id: str, english: str, locale: str | None) -> tuple[str, ...]:
        text = self.translate(message_id, locale)
        return (english,) if text == message_id else tuple(text.split())


def words_after(path: tuple[str, ...], specs: Iterable[CommandSpec]) -> tuple[str, ...]:
    """The words of the definitions that may follow a path."""
    depth = len(path)
    following = (spec.path[depth] for spec in specs if len(spec.path) > depth and spec.path[:depth] == path)
    return tuple(dict.fromkeys(following))


def _folded(name: str) -> str:
    """A name as it is compared: one case, one width."""
    return unicodedata.normalize("NFKC", name).casefold()


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandMenu:
    """What an adapter needs to show commands in the platform's own menu."""

    specs: tuple[CommandSpec, ...]
    translate: Translate
    locales: tuple[str, ...]  # every one of the catalogue, English first
    complete: Complete
    ask_form: AskForm = no_form

    @property
    def names(self) -> CommandNames:
        """What the commands are called in every language."""
        return CommandNames(translate=self.translate, locales=self.locales)
