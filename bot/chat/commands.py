"""What a command is to a platform's own menu: its words, its options, and how their values are completed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bot.chat.messages import Author, ChannelRef


class OptionKind(StrEnum):
    """Type of a command option; Discord registers it as such, the text form parses it."""

    TEXT = "text"
    INTEGER = "integer"
    CHOICE = "choice"
    SWITCH = "switch"
    """On when present; a boolean in a platform's menu, whose value arrives as "true"."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandSpec:
    """One command, the same on every platform. Its description is the catalogue message `command-<a>-<b>`."""

    path: tuple[str, ...]  # one to three words
    options: tuple[OptionSpec, ...] = ()
    ephemeral: bool = False
    """A constant, because Discord wants it when the command is deferred, before anything is known (D10)."""
    manages: bool = False
    """Whether it changes a place for everyone: in groups it needs the platform's own rights."""

    @property
    def name(self) -> str:
        """The path in words, "persona use"."""
        return " ".join(self.path)


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
class CommandMenu:
    """What an adapter needs to show commands in the platform's own menu."""

    specs: tuple[CommandSpec, ...]
    translate: Translate
    locales: tuple[str, ...]  # every one of the catalogue, English first
    complete: Complete
