"""Finds the extensions that an operator named or installed, and puts what they bring among our own.

Each is a Python module with any of TOOLS, SECTIONS, HOOKS, COMMANDS, ADAPTERS and TEXTS, and perhaps an `extend(host)`
that returns more of them, for those that want something of the bot. docs/extending.md shows each.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from bot.chat import Adapter, CommandMenu
from bot.commands import COMMANDS
from bot.commands.command import Command
from bot.env import SettingsError
from bot.guard import Faults, Guard
from bot.guarded import guarded_command, guarded_section, guarded_tool, stand_in
from bot.hook_calls import HookCalls
from bot.hooks import Hooks, Host
from bot.prompt.sections import SECTIONS, Section
from bot.settings import Settings
from bot.tools import TOOLS, Tool

ENTRY_POINTS = "familiar.extensions"
"""The group in which an installed package names its module."""

MakeAdapter = Callable[[CommandMenu], Adapter]


@dataclass(frozen=True, kw_only=True, slots=True)
class Extension:
    """What one extension brings."""

    tools: Sequence[Tool] = ()
    sections: Sequence[Section] = ()
    """They stand where room is left, whatever their `hold` says, and are cut to their `budget`."""
    hooks: Hooks = field(default_factory=Hooks)
    commands: Sequence[Command] = ()
    adapters: Mapping[str, MakeAdapter] = field(default_factory=dict)
    """By platform."""
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By language and id: `command-<path>` is the description of a command, `option-<name>` that of an option."""


@dataclass(frozen=True, kw_only=True)
class Added:
    """What all extensions bring, so wrapped that no fault of theirs takes anything else down."""

    extensions: tuple[tuple[str, Extension], ...] = ()
    hooks: HookCalls = field(default_factory=HookCalls)
    tools: tuple[Tool, ...] = ()
    sections: tuple[Section, ...] = ()
    commands: tuple[Command, ...] = ()
    stand_in: Guard | None = None
    """What summarises in place of the summary model."""

    @property
    def adapters(self) -> dict[str, MakeAdapter]:
        """By platform."""
        return {platform: make for _, extension in self.extensions for platform, make in extension.adapters.items()}

    @property
    def texts(self) -> Iterator[Mapping[str, Mapping[str, str]]]:
        """Names and descriptions of the commands, at first as they are typed, then as the extensions word them."""
        for command in self.commands:
            path, options = command.spec.path, [option.name for option in command.spec.options]
            words = {"-".join(path[:length]): path[length - 1] for length in range(1, len(path) + 1)}
            wordings = {f"{kind}-{key}": word for key, word in words.items() for kind in ("command", "name-command")}
            yield {"en": wordings | {f"{kind}-{name}": name for name in options for kind in ("option", "name-option")}}
        for _, extension in self.extensions:
            yield extension.texts


def find_modules(names: Sequence[str]) -> dict[str, ModuleType]:
    """The modules of `EXTENSIONS` and those that packages have registered, by the names that operators know them by.
    The working directory is looked in as well, after everything that is installed.

    Raises:
        SettingsError: one cannot be imported.
    """
    if names and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    problems: list[str] = []
    found: dict[str, ModuleType] = {}
    wanted = [(f"EXTENSIONS names {name}", name, name) for name in names]
    installed = sorted(_registered(tuple(sys.path)), key=lambda entry: entry.name)
    wanted += [
        (f"The installed extension {entry.name} is {entry.value}", entry.name, entry.value) for entry in installed
    ]
    for told, name, module in wanted:
        try:
            loaded = importlib.import_module(module)
        except (Exception, SystemExit) as error:  # a script may end itself; the start would end without a word
            remedy = "Install it, put it into the working directory, or leave it out"
            problems.append(f"{told}, which cannot be imported: {type(error).__name__}: {error}. {remedy}")
        else:
            if loaded not in found.values():
                found[name] = loaded
    if problems:
        raise SettingsError(problems)
    return found


@lru_cache(1)
def _registered(_path: tuple[str, ...]) -> EntryPoints:
    """What the packages on the path have registered; to read all of them takes 4 ms."""
    return entry_points(group=ENTRY_POINTS)


def add_extensions(
    settings: Settings,
    modules: Mapping[str, ModuleType],
    host: Host,
    faults: Faults,
    *,
    own: Sequence[tuple[str, Hooks]] = (),
) -> Added:
    """What the modules bring. Our `own` hooks, each with its name, come after theirs.

    Raises:
        SettingsError: one is not as it should be, or brings what is there already.
    """
    problems: list[str] = []
    found = tuple(
        (name, extension)
        for name, module in modules.items()
        if (extension := _extension_of(name, module, host, problems)) is not None
    )
    problems += _clashes(found)
    if problems:
        raise SettingsError(problems)
    limit = settings.section_timeout_ms / 1000
    summarising = [(name, given.hooks) for name, given in found if given.hooks.summarise is not None]
    return Added(
        extensions=found,
        hooks=HookCalls([*((name, extension.hooks) for name, extension in found), *own], faults),
        tools=tuple(guarded_tool(name, tool, faults) for name, given in found for tool in given.tools),
        sections=tuple(
            guarded_section(name, section, limit, settings.memory_token_budget, faults)
            for name, given in found
            for section in given.sections
        ),
        commands=tuple(guarded_command(name, command, faults) for name, given in found for command in given.commands),
        stand_in=next((stand_in(name, hooks, faults) for name, hooks in summarising), None),
    )


_LITERALS: dict[str, type] = {"TOOLS": Tool, "SECTIONS": Section, "COMMANDS": Command}
_TABLES = ("ADAPTERS", "TEXTS")


def _extension_of(name: str, module: ModuleType, host: Host, problems: list[str]) -> Extension | None:
    """What a module brings; `None` where it is not as it should be, which is then among the problems."""
    parts = [(name, _literal_part(module))]
    extend = getattr(module, "extend", None)
    if extend is not None:
        try:
            parts.append((f"{name}.extend()", extend(host)))
        except (Exception, SystemExit) as error:
            problems.append(f"{name}.extend() failed: {type(error).__name__}: {error}. Mend it, or leave it out")
    wrong = [problem for told, part in parts for problem in _wrong(told, part)]
    problems += wrong
    return None if wrong else _joined([part for _, part in parts])


def _literal_part(module: ModuleType) -> Extension:
    literals = (*_LITERALS, *_TABLES, "HOOKS")
    return Extension(**{one.lower(): getattr(module, one) for one in literals if hasattr(module, one)})


def literal_problems(modules: Mapping[str, ModuleType]) -> list[str]:
    """What can be told of modules without running their `extend`: one sentence for each that is not as it should be."""
    parts = [(name, _literal_part(module)) for name, module in modules.items()]
    wrong = [problem for name, part in parts for problem in _wrong(name, part)]
    return wrong or [*_clashes(parts)]


def _wrong(told: str, part: Any) -> Iterator[str]:
    if not isinstance(part, Extension):
        yield f"{told} must return an Extension, and returns {type(part).__name__}"
        return
    for literal, kind in _LITERALS.items():
        given = getattr(part, literal.lower())
        odd = [one for one in given if not isinstance(one, kind)] if isinstance(given, tuple | list) else [given]
        if odd:
            yield f"{told}: {literal} must be a tuple of {kind.__name__}, and holds {type(odd[0]).__name__}"
    hooks: Any = part.hooks
    if not isinstance(hooks, Hooks):
        yield f"{told}: HOOKS must be Hooks(...), and is {type(hooks).__name__}"
    elif odd := [name for name in brought_hooks(hooks) if not callable(getattr(hooks, name))]:
        yield f"{told}: HOOKS must hold functions, and {odd[0]} is none"
    for literal in _TABLES:
        if not isinstance(getattr(part, literal.lower()), Mapping):
            yield f"{told}: {literal} must be a table"


def brought_hooks(hooks: Hooks) -> list[str]:
    """The names of those that are set."""
    return [name for name in Hooks.__slots__ if name != "seconds" and getattr(hooks, name) is not None]


def _joined(parts: Sequence[Extension]) -> Extension:
    first, *rest = parts
    for part in rest:
        hooks = {name: value for name in Hooks.__slots__ if (value := getattr(part.hooks, name)) is not None}
        hooks["seconds"] = max(first.hooks.seconds, part.hooks.seconds)
        first = Extension(
            tools=(*first.tools, *part.tools),
            sections=(*first.sections, *part.sections),
            hooks=replace(first.hooks, **hooks),
            commands=(*first.commands, *part.commands),
            adapters={**first.adapters, **part.adapters},
            texts={**first.texts, **part.texts},
        )
    return first


def _clashes(found: Iterable[tuple[str, Extension]]) -> Iterator[str]:
    """What two bring under one name, or one under a name of ours."""
    owners = {f"tool {tool.spec.name}": "the bot" for tool in TOOLS}
    owners |= {f"section {section.name}": "the bot" for section in SECTIONS}
    owners |= {f"command /{command.spec.name}": "the bot" for command in COMMANDS}
    for name, given in found:
        brought = [
            *(f"tool {tool.spec.name}" for tool in given.tools),
            *(f"section {section.name}" for section in given.sections),
            *(f"command /{command.spec.name}" for command in given.commands),
            *(f"adapter {platform}" for platform in given.adapters),
            *(["summariser"] if given.hooks.summarise else []),
        ]
        for one in brought:
            if (owner := owners.setdefault(one, name)) != name or brought.count(one) > 1:
                yield f"{name} brings the {one}, which {owner} has already; rename one, or leave one out"
