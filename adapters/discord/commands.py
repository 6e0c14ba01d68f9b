"""The command menu as Discord registers it, and what a person chose from it. Knows no answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import aiohttp
import discord
import structlog

from adapters.discord.options import DiscordOptions
from adapters.incoming import inert
from bot.chat import CommandMenu, CommandSpec, OptionKind, OptionSpec

log = structlog.get_logger(__name__)

NAME = re.compile(r"[-_'\w\u0900-\u097f\u0e00-\u0e7f]{1,32}")
"""What Discord takes for a name in any script; the ranges are Devanagari and Thai, whose signs are not all letters."""
DESCRIPTION_LENGTH = 100
CHOICES = 25
"""Most choices that Discord shows, declared or completed."""
CHOICE_LENGTH = 100
GUILDS_TO_CLEAR = 50
"""In how many guilds we look for commands that were once registered there (D15)."""

LONGEST_PAUSE_SECONDS = 300.0
"""Between two attempts to register; the pauses double up to this."""

SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, ATTACHMENT = 1, 2, 3, 4, 5, 11
"""Discord's types of command option."""
TYPES = {OptionKind.INTEGER: INTEGER, OptionKind.SWITCH: BOOLEAN, OptionKind.FILE: ATTACHMENT}
"""Those of our kinds that are no text."""
IN_GUILDS, IN_BOT_DM = 0, 1
"""Discord's contexts; a DM between two people, where we cannot read, is not among them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What was chosen: the command's path, its options, and while one is being typed its name."""

    path: tuple[str, ...]
    options: dict[str, str]
    typing: str = ""
    files: tuple[Mapping[str, Any], ...] = ()
    """Attachments, as Discord tells them."""

    @property
    def text(self) -> str:
        """The call as a line, for the record."""
        return " ".join((f"/{' '.join(self.path)}", *(f"{name}:{value}" for name, value in self.options.items())))


def read_call(data: Mapping[str, Any]) -> Call:
    """The call in an interaction's data, subcommands unfolded."""
    path, options = [str(data["name"])], data.get("options") or []
    while options and options[0]["type"] in (SUBCOMMAND, GROUP):
        path.append(str(options[0]["name"]))
        options = options[0].get("options") or []
    uploaded = (data.get("resolved") or {}).get("attachments") or {}
    files = {option["name"]: uploaded.get(option["value"]) for option in options if option["type"] == ATTACHMENT}
    given = {str(option["name"]): str(option["value"]) for option in options if option["name"] not in files}
    sent = {name: file for name, file in files.items() if file is not None}
    return Call(
        path=tuple(path),
        options=given | {name: inert(str(file["filename"])) for name, file in sent.items()},
        files=tuple(sent.values()),
        typing=next((str(option["name"]) for option in options if option.get("focused")), ""),
    )


def command_payload(menu: CommandMenu) -> list[dict[str, Any]]:
    """Every command in the form of Discord's bulk overwrite.

    Raises:
        ValueError: a name that Discord does not allow, or a command that has both children and an action of its own.
    """
    everywhere = {"contexts": [IN_GUILDS, IN_BOT_DM], "integration_types": [0]}
    nodes = [{"type": 1, **everywhere, **_node(menu, specs[0].path[:1], specs)} for specs in _by_word(menu.specs, 0)]
    return _told_apart(nodes)


def _node(menu: CommandMenu, path: tuple[str, ...], specs: Sequence[CommandSpec]) -> dict[str, Any]:
    """A command, group or subcommand with everything below it; `specs` are those whose path begins with `path`."""
    names = {locale: menu.names.of_command(path, locale)[0] for locale in menu.locales}
    node = _described(menu, path[-1], names, f"command-{'-'.join(path)}")
    if [spec.path for spec in specs] == [path]:
        return node | {"options": _told_apart([_option(menu, option) for option in _required_first(specs[0].options)])}
    if any(spec.path == path for spec in specs):
        raise ValueError(f"/{' '.join(path)} has children, so its own action must be one of them")
    children = []
    for below in _by_word(specs, len(path)):
        child = below[0].path[: len(path) + 1]
        is_leaf = below[0].path == child
        children.append({"type": SUBCOMMAND if is_leaf else GROUP, **_node(menu, child, below)})
    return node | {"options": _told_apart(children)}


def _by_word(specs: Sequence[CommandSpec], position: int) -> list[list[CommandSpec]]:
    def word(spec: CommandSpec) -> str:
        return spec.path[position] if len(spec.path) > position else ""

    return [list(group) for _, group in groupby(sorted(specs, key=word), key=word)]


def _required_first(options: Sequence[OptionSpec]) -> list[OptionSpec]:
    return sorted(options, key=lambda option: not option.required)


def _option(menu: CommandMenu, option: OptionSpec) -> dict[str, Any]:
    names = {locale: menu.names.of_option(option.name, locale)[0] for locale in menu.locales}
    node = _described(menu, option.name, names, option.description)
    node |= {"type": TYPES.get(option.kind, STRING), "required": option.required}
    if option.choices:
        node["choices"] = [_choice(menu, choice) for choice in option.choices[:CHOICES]]
    elif option.completes:
        node["autocomplete"] = True
    return node


def _choice(menu: CommandMenu, choice: str) -> dict[str, Any]:
    names = {locale: menu.names.of_choice(choice, locale)[0] for locale in menu.locales}
    others = {code: name for locale, name in names.items() if name != choice for code in discord_locales(locale)}
    return {"name": choice, "value": choice} | ({"name_localizations": others} if others else {})


def _described(menu: CommandMenu, name: str, names: Mapping[str, str], message_id: str) -> dict[str, Any]:
    """A node's name and description, in English and in Discord's locales; `names` are by locale of the catalogue."""
    if not is_name(name):
        raise ValueError(f"Discord allows no command or option named {name!r}: use a-z, 0-9, - and _, at most 32")
    english, *others = menu.locales

    def text(locale: str) -> str:
        found = menu.translate(message_id, locale)
        return (name if found == message_id else found)[:DESCRIPTION_LENGTH]

    codes = {code: locale for locale in others for code in discord_locales(locale)}
    return {
        "name": name,
        "name_localizations": {code: names[locale] for code, locale in codes.items() if names[locale] != name},
        "description": text(english),
        "description_localizations": {code: text(locale) for code, locale in codes.items()},
    }


def is_name(name: str) -> bool:
    """Whether Discord takes this as the name of a command or an option."""
    return NAME.fullmatch(name) is not None and name == name.lower()


def _told_apart(siblings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Siblings without the translated names that would make Discord refuse all commands: those go by English names."""
    english = {node["name"] for node in siblings}
    taken: set[tuple[str, str]] = set()
    for node in siblings:
        for code, name in [*node["name_localizations"].items()]:
            if is_name(name) and name not in english and (code, name) not in taken:
                taken.add((code, name))
            else:
                log.warning("discord.name_left_out", command=node["name"], locale=code, name=name)
                del node["name_localizations"][code]
    return siblings


def discord_locales(locale: str) -> list[str]:
    """Discord's codes for a locale of the catalogue: `zh` is both `zh-CN` and `zh-TW`."""
    wanted = locale.replace("_", "-").lower()
    return [code.value for code in discord.Locale if f"{code.value.lower()}-".startswith(f"{wanted}-")]


async def register(client: discord.Client, payload: list[dict[str, Any]], options: DiscordOptions) -> None:
    """Register the commands by one bulk overwrite, if they are not what was registered last (D15). Faults that pass are
    waited out; a refusal is logged: everything can still be typed as text.
    """
    application_id = client.application_id
    assert application_id is not None, "the client is logged in"
    digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()
    registered = f"{application_id}:{digest}"
    if options.load_hash and await options.load_hash() == registered:
        return
    pause = options.reconnect_seconds
    try:
        while not await _try_to_write(client, application_id, payload):
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
    except discord.HTTPException as error:
        log.error("discord.commands_not_registered", error=repr(error))
        return
    except RuntimeError:  # the library's session was closed meanwhile: we are leaving
        if not client.is_closed():
            raise
        return
    log.info("discord.commands_registered", commands=len(payload))
    if options.save_hash:
        await options.save_hash(registered)


async def _try_to_write(client: discord.Client, application_id: int, payload: list[dict[str, Any]]) -> bool:
    """Whether Discord has the commands now; `False` where trying again may help."""
    try:
        await client.http.bulk_upsert_global_commands(application_id, payload)
        await _clear_guild_copies(client, application_id)
    except (discord.DiscordServerError, discord.RateLimited, aiohttp.ClientError, OSError) as error:
        log.warning("discord.commands_not_registered_yet", error=repr(error))
        return False
    return True


async def _clear_guild_copies(client: discord.Client, application_id: int) -> None:
    """Commands registered for one guild stand beside the global ones, so that each would be listed twice."""
    async for guild in client.fetch_guilds(limit=GUILDS_TO_CLEAR, with_counts=False):
        if await client.http.get_guild_commands(application_id, guild.id):
            await client.http.bulk_upsert_guild_commands(application_id, guild.id, [])
