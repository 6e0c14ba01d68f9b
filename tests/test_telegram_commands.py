"""The commands menu per language and scope, and keyboards whose buttons carry commands."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from telegram import Bot

from adapters.telegram.commands import languages, menu_commands, publish_menu, to_keyboard
from adapters.telegram.options import Timeouts
from adapters.telegram.request import TelegramRequest
from bot.chat import Button
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import PATHS, make_menu


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator() as server:
        yield server


@pytest.fixture
async def bot(telegram: TelegramEmulator) -> AsyncIterator[Bot]:
    addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
    async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts()) as request:
        yield request.make_bot()


def test_the_menu_lists_paths_with_underscores_and_the_own_action_under_the_parents_name() -> None:
    commands = menu_commands(make_menu(*PATHS), "en")
    assert [(command.command, command.description) for command in commands] == [
        ("persona", "command-persona-list in en"),
        ("persona_use", "command-persona-use in en"),
        ("session", "command-session-show in en"),
        ("session_set", "command-session-set in en"),
        ("memory_fact_add", "command-memory-fact-add in en"),
        ("reset", "command-reset in en"),
    ]


def test_a_menu_fits_telegrams_limits() -> None:
    many = tuple((f"c{number}",) for number in range(150))
    menu = make_menu(("x" * 33,), ("tool-group", "use"), *many)
    commands = menu_commands(menu, "e" * 300)
    assert len(commands) == 100
    assert commands[0].command == "tool_group_use"
    assert max(len(command.description) for command in commands) == 256


@pytest.mark.parametrize(
    ("locales", "expected"),
    [
        (("en", "zh"), [(None, "en"), ("zh", "zh")]),
        (("en", "zh-Hans", "zh-Hant", "pt_BR"), [(None, "en"), ("zh", "zh-Hans"), ("pt", "pt_BR")]),
    ],
)
def test_the_first_locale_is_for_everybody_and_others_for_their_two_letter_code(
    locales: tuple[str, ...], expected: list[tuple[str | None, str]]
) -> None:
    assert list(languages(locales)) == expected


async def test_every_language_and_scope_gets_its_menu_once(telegram: TelegramEmulator, bot: Bot) -> None:
    menu = make_menu(*PATHS)
    await publish_menu(bot, menu)
    assert {(json.loads(scope)["type"], language) for scope, language in telegram.commands} == {
        (scope, language) for scope in ("all_private_chats", "all_group_chats") for language in ("", "zh")
    }
    assert telegram.commands['{"type": "all_group_chats"}', "zh"][0]["description"] == "command-persona-list in zh"
    await publish_menu(bot, menu)
    assert len(telegram.calls_of("setMyCommands")) == 4, "an unchanged menu is not sent again"
    await publish_menu(bot, make_menu(*PATHS, ("help",)))
    assert len(telegram.calls_of("setMyCommands")) == 8


async def test_a_menu_that_cannot_be_set_stops_nothing(telegram: TelegramEmulator, bot: Bot) -> None:
    telegram.fail("getMyCommands", 502)
    await publish_menu(bot, make_menu(*PATHS))
    telegram.fail("getMyCommands", 200, body=b'{"ok": true, "result": true}')
    await publish_menu(bot, make_menu(*PATHS))
    assert telegram.commands == {}


def test_a_keyboard_keeps_what_a_button_can_carry() -> None:
    keyboard = to_keyboard(
        [
            [Button(label="Next", command="persona list -p 2"), Button(label="Long", command="é" * 33)],
            [Button(label="Too long", command="x" * 65)],
            [Button(label="Just", command="x" * 64)],
        ]
    )
    assert keyboard is not None
    assert [[(button.text, button.callback_data) for button in row] for row in keyboard.inline_keyboard] == [
        [("Next", "persona list -p 2")],
        [("Just", "x" * 64)],
    ]


@pytest.mark.parametrize("rows", [[], [[]], [[Button(label="Long", command="x" * 65)]]])
def test_no_buttons_are_no_keyboard(rows: list[list[Button]]) -> None:
    assert to_keyboard(rows) is None
