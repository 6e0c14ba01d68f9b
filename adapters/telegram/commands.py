"""The commands menu in the caller's language, and inline keyboards. A command itself is text that the core parses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import structlog
from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
)
from telegram.error import TelegramError

from bot.chat import Button, CommandMenu, CommandSpec

log = structlog.get_logger(__name__)

MAX_COMMANDS = 100
"""Commands per menu (Bot API, setMyCommands)."""
MAX_DESCRIPTION = 256
MAX_CALLBACK_DATA = 64
"""Bytes that a button carries (Bot API, InlineKeyboardButton)."""
COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
OWN_ACTIONS = frozenset({"list", "show"})
"""Children that stand for their parent: `/persona` is short for `/persona list`."""
SCOPES: tuple[BotCommandScope, ...] = (BotCommandScopeAllPrivateChats(), BotCommandScopeAllGroupChats())


async def publish_menu(bot: Bot, menu: CommandMenu) -> None:
    """Make the server's menus equal to ours, for every language and scope; sends only what differs.

    A menu is a convenience: a refusal is logged, and the bot goes on.
    """
    try:
        for language, locale in languages(menu.locales):
            commands = menu_commands(menu, locale)
            for scope in SCOPES:
                if await bot.get_my_commands(scope, language) != commands:
                    await bot.set_my_commands(commands, scope, language)
    except (TelegramError, TypeError) as error:  # the latter for a server that answers something else
        log.warning("telegram.menu_not_set", error=str(error))


def languages(locales: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """(language code of the menu, locale of the catalogue): Telegram knows two-letter codes; the first is for all."""
    seen: set[str] = set()
    for locale in locales:
        code = locale.replace("_", "-").partition("-")[0].lower()
        if code not in seen:
            yield (code if seen else None), locale
        seen.add(code)


def menu_commands(menu: CommandMenu, locale: str) -> tuple[BotCommand, ...]:
    """The menu's entries in one language: `/session set` is listed as `/session_set`, `/persona list` as `/persona`."""
    commands: dict[str, BotCommand] = {}
    for spec in menu.specs:
        description = menu.translate(f"command-{'-'.join(spec.path)}", locale)
        if COMMAND_NAME.fullmatch(name := _menu_name(spec)) and description:
            commands.setdefault(name, BotCommand(name, description[:MAX_DESCRIPTION]))
    return tuple(commands.values())[:MAX_COMMANDS]


def _menu_name(spec: CommandSpec) -> str:
    words = spec.path[:-1] if len(spec.path) > 1 and spec.path[-1] in OWN_ACTIONS else spec.path
    return "_".join(words).replace("-", "_").lower()


def to_keyboard(rows: Sequence[Sequence[Button]]) -> InlineKeyboardMarkup | None:
    """Buttons as Telegram shows them. One whose command is too long to carry is left out."""
    keyboard = [
        [InlineKeyboardButton(button.label, callback_data=button.command) for button in row if _fits(button)]
        for row in rows
    ]
    shown = [row for row in keyboard if row]
    return InlineKeyboardMarkup(shown) if shown else None


def _fits(button: Button) -> bool:
    return bool(button.label) and 1 <= len(button.command.encode()) <= MAX_CALLBACK_DATA
