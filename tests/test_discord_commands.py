"""The command menu as Discord registers it, and calls as Discord delivers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from adapters.discord.commands import command_payload, discord_locales, is_name, read_call
from bot.chat import CommandMenu, CommandSpec, OptionKind, OptionSpec

TEXTS = {
    ("command-persona", "en"): "Personas",
    ("command-persona-use", "en"): "Speak with another persona",
    ("command-persona-use", "zh"): "换一个角色",
    ("option-name", "en"): "its name",
    ("name-command-persona", "zh"): "角色 人设",
    ("name-command-persona-use", "zh"): "使用",
    ("name-option-name", "zh"): "名字",
}


def menu(*specs: CommandSpec, zh: Mapping[str, str] | None = None) -> CommandMenu:
    texts = TEXTS | {(f"name-{name}", "zh"): text for name, text in (zh or {}).items()}

    async def complete(*_: object) -> tuple[str, ...]:
        return ()

    def translate(message_id: str, locale: str | None) -> str:
        return texts.get((message_id, locale or "en")) or texts.get((message_id, "en")) or message_id

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


def test_names_are_translated_by_the_first_name_of_the_catalogue_where_it_has_one() -> None:
    (persona,) = command_payload(menu(spec("persona use", OptionSpec(name="name"), OptionSpec(name="page"))))
    use = persona["options"][0]
    assert [node["name"] for node in (persona, use, *use["options"])] == ["persona", "use", "name", "page"]
    assert persona["name_localizations"] == {"zh-CN": "角色", "zh-TW": "角色"}
    assert use["name_localizations"] == {"zh-CN": "使用", "zh-TW": "使用"}
    assert [node["name_localizations"] for node in use["options"]] == [{"zh-CN": "名字", "zh-TW": "名字"}, {}]


@pytest.mark.parametrize(
    "zh",
    [
        {"command-undo": "重试", "command-retry": "重试"},  # the later one of two
        {"command-undo": "retry"},  # another's English name
        {"command-undo": "Zurück"},
        {"command-undo": "撤回！"},
        {"command-undo": "长" * 33},
    ],
)
def test_a_translated_name_that_discord_would_refuse_is_left_out_and_told(zh: dict[str, str]) -> None:
    with capture_logs() as logs:
        retry, undo = command_payload(menu(spec("retry"), spec("undo"), zh=zh))
    assert undo["name_localizations"] == {}
    assert retry["name_localizations"].get("zh-CN") == zh.get("command-retry")
    assert {(entry["event"], entry["command"]) for entry in logs} == {("discord.name_left_out", "undo")}


@pytest.mark.parametrize("name", ["persona", "角色", "réglages", "привет", "ใช้", "उपयोग", "l'aide", "a-b_c", "x" * 32])
def test_discord_takes_names_of_any_script(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", "Persona", "Привет", "两 词", "a.b", "撤回！", "x" * 33, "🎭"])
def test_discord_takes_no_capitals_no_marks_and_no_long_names(name: str) -> None:
    assert not is_name(name)


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


@pytest.mark.parametrize("name", ["Use", "two words", "x" * 33, ""])
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


def test_a_file_is_an_option_of_its_own_kind_and_comes_along_under_its_name() -> None:
    (command,) = command_payload(menu(spec("import", OptionSpec(name="file", kind=OptionKind.FILE))))
    assert [(option["name"], option["type"], option["required"]) for option in command["options"]] == [
        ("file", 11, False)
    ]
    file = {"id": "7", "filename": "mi\nra\u202e.png", "size": 3, "url": "https://cdn.example/7/mira.png"}
    data = {
        "name": "import",
        "options": [{"type": 11, "name": "file", "value": "7"}, {"type": 11, "name": "lost", "value": "8"}],
        "resolved": {"attachments": {"7": file}},
    }
    call = read_call(data)
    assert call.options == {"file": "mi ra.png"}
    assert call.files == (file,)
