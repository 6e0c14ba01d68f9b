"""The command menu as Discord registers it, and calls as Discord delivers them."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.commands import command_payload, discord_locales, read_call
from bot.chat import CommandMenu, CommandSpec, OptionKind, OptionSpec

TEXTS = {
    ("command-persona", "en"): "Personas",
    ("command-persona-use", "en"): "Speak with another persona",
    ("command-persona-use", "zh"): "换一个角色",
    ("option-name", "en"): "its name",
}


def menu(*specs: CommandSpec) -> CommandMenu:
    async def complete(*_: object) -> tuple[str, ...]:
        return ()

    def translate(message_id: str, locale: str | None) -> str:
        return TEXTS.get((message_id, locale or "en")) or TEXTS.get((message_id, "en")) or message_id

    return CommandMenu(specs=specs, translate=translate, locales=("en", "zh"), complete=complete)


def spec(path: str, *options: OptionSpec) -> CommandSpec:
    return CommandSpec(path=tuple(path.split()), options=options)


def test_paths_become_commands_subcommands_and_groups() -> None:
    payload = command_payload(menu(spec("reset"), spec("persona use"), spec("memory fact list"), spec("memory show")))
    shape = {command["name"]: _shape(command) for command in payload}
    assert shape == {
        "reset": [],
        "persona": [(1, "use", [])],
        "memory": [(2, "fact", [(1, "list", [])]), (1, "show", [])],
    }


def _shape(node: dict[str, Any]) -> list[Any]:
    return [(child["type"], child["name"], _shape(child)) for child in node.get("options", [])]


def test_descriptions_come_from_the_catalogue_in_every_locale_discord_has() -> None:
    (persona,) = command_payload(menu(spec("persona use", OptionSpec(name="name"), OptionSpec(name="page"))))
    use = persona["options"][0]
    assert persona["description"] == "Personas"
    assert use["description"] == "Speak with another persona"
    assert use["description_localizations"] == {"zh-CN": "换一个角色", "zh-TW": "换一个角色"}
    assert [option["description"] for option in use["options"]] == ["its name", "page"]


@pytest.mark.parametrize(
    ("locale", "codes"), [("zh", ["zh-CN", "zh-TW"]), ("de", ["de"]), ("pt_BR", ["pt-BR"]), ("tlh", [])]
)
def test_a_locale_of_the_catalogue_covers_all_of_its_kind(locale: str, codes: list[str]) -> None:
    assert discord_locales(locale) == codes


def test_options_have_their_types_and_required_ones_come_first() -> None:
    options = (
        OptionSpec(name="page", kind=OptionKind.INTEGER),
        OptionSpec(name="name", required=True, completes=True),
        OptionSpec(name="thinking", kind=OptionKind.CHOICE, choices=("on", "off")),
    )
    (command,) = command_payload(menu(spec("use", *options)))
    assert [(option["name"], option["type"], option["required"]) for option in command["options"]] == [
        ("name", 3, True),
        ("page", 4, False),
        ("thinking", 3, False),
    ]
    assert command["options"][0]["autocomplete"]
    assert command["options"][2]["choices"] == [{"name": "on", "value": "on"}, {"name": "off", "value": "off"}]


def test_commands_work_in_servers_and_in_our_own_dms_only() -> None:
    (command,) = command_payload(menu(spec("reset")))
    assert (command["contexts"], command["integration_types"]) == ([0, 1], [0])


@pytest.mark.parametrize("name", ["Use", "two words", "角色", "x" * 33, ""])
def test_a_name_that_discord_does_not_allow_is_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="Discord allows no command or option named"):
        command_payload(menu(CommandSpec(path=(name,))))


def test_a_command_with_children_cannot_act_itself() -> None:
    with pytest.raises(ValueError, match="/persona has children"):
        command_payload(menu(spec("persona"), spec("persona use")))


@pytest.mark.parametrize(
    ("data", "path", "options", "typing", "text"),
    [
        ({"name": "reset"}, ("reset",), {}, "", "/reset"),
        (
            {"name": "persona", "options": [{"type": 1, "name": "use", "options": [
                {"type": 3, "name": "name", "value": "Ada", "focused": True}]}]},
            ("persona", "use"), {"name": "Ada"}, "name", "/persona use name:Ada",
        ),
        (
            {"name": "a", "options": [{"type": 2, "name": "b", "options": [{"type": 1, "name": "c", "options": [
                {"type": 4, "name": "page", "value": 2}]}]}]},
            ("a", "b", "c"), {"page": "2"}, "", "/a b c page:2",
        ),
    ],
)  # fmt: skip
def test_a_call_is_read_from_nested_options(
    data: dict[str, Any], path: tuple[str, ...], options: dict[str, str], typing: str, text: str
) -> None:
    call = read_call(data)
    assert (call.path, call.options, call.typing, call.text) == (path, options, typing, text)
