"""What commands and their options are called in every language: names that platforms take, and lines that use them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.discord.commands import command_payload, is_name
from bot.chat import CommandMenu, CommandNames, words_after
from bot.commands import COMMANDS
from bot.commands.parse import find_spec, read_options
from bot.locale import LOCALES_FOLDER, Catalogue
from bot.settings import place_keys
from bot.testing import make_author, make_channel
from tests.conftest import MakeApp
from tests.talking import DM, GROUP, open_chat
from tests.test_commands_personas import MIRA, upload

CATALOGUE = Catalogue()
NAMES = CommandNames(translate=CATALOGUE.text, locales=CATALOGUE.locales)
SPECS = [command.spec for command in COMMANDS]
PATHS = sorted({spec.path[:length] for spec in SPECS for length in range(1, len(spec.path) + 1)})
OPTIONS = sorted({option.name for spec in SPECS for option in spec.options})


@pytest.mark.parametrize("locale", CATALOGUE.locales)
def test_every_command_and_option_has_a_name_that_platforms_take_in_every_language(locale: str) -> None:
    ids = [*(f"name-command-{'-'.join(path)}" for path in PATHS), *(f"name-option-{name}" for name in OPTIONS)]
    named = {message_id: CATALOGUE.text(message_id, locale) for message_id in ids}
    missing = sorted(message_id for message_id, text in named.items() if text == message_id)
    assert not missing, f"{locale}.po: give these a name: {missing}"
    refused = {name for text in named.values() for name in text.split() if not is_name(name) or set(name) & set("._'")}
    assert not refused, f"{locale}.po: lower case, letters, digits and -, at most 32: {sorted(refused)}"


def test_english_names_are_the_words_of_the_definitions() -> None:
    assert [NAMES.of_command(path, "en") for path in PATHS] == [(path[-1],) for path in PATHS]
    assert [NAMES.of_option(name, "en") for name in OPTIONS] == [(name,) for name in OPTIONS]


def test_no_name_means_two_things_in_the_languages_together() -> None:
    for path in {path[:-1] for path in PATHS}:
        _demand_one_meaning({word: _spellings((*path, word)) for word in words_after(path, SPECS)})
    for spec in SPECS:
        options = [option.name for option in spec.options]
        _demand_one_meaning({option: _spellings_of_option(option) for option in options})


CHOICES = [option.choices for spec in SPECS for option in spec.options if option.choices]
CHOICES += [key.choices for key in place_keys().values() if key.choices]
WORDS = sorted({choice for choices in CHOICES for choice in choices} - {"markdown", "json"})


@pytest.mark.parametrize("locale", [locale for locale in CATALOGUE.locales if locale != "en"])
def test_every_value_of_a_closed_set_has_a_name_in_every_language(locale: str) -> None:
    unnamed = [choice for choice in WORDS if NAMES.of_choice(choice, locale) == (choice,)]
    assert not unnamed, f"{locale}.po: give these a name: {unnamed}"


def test_every_value_of_a_closed_set_has_a_text() -> None:
    ids = {f"name-choice-{choice.replace('_', '-')}" for choices in CHOICES for choice in choices}
    assert [message_id for message_id in sorted(ids) if CATALOGUE.text(message_id, "en") == message_id] == []


def test_english_names_of_values_are_the_values_and_no_name_means_two_of_one_set() -> None:
    assert [NAMES.of_choice(choice, "en")[0] for choice in WORDS] == WORDS
    for choices in CHOICES:
        _demand_one_meaning({one: {n for loc in NAMES.locales for n in NAMES.of_choice(one, loc)} for one in choices})


def _spellings(path: tuple[str, ...]) -> set[str]:
    return {name for locale in NAMES.locales for name in NAMES.of_command(path, locale)}


def _spellings_of_option(option: str) -> set[str]:
    return {name for locale in NAMES.locales for name in NAMES.of_option(option, locale)}


def _demand_one_meaning(spellings: dict[str, set[str]]) -> None:
    meanings = [(name, word) for word, names in spellings.items() for name in {word, *names}]
    twice = sorted(name for name, _ in meanings if [known for known, _ in meanings].count(name) > 1)
    assert not twice, f"these stand for more than one of {sorted(spellings)}: {twice}"


def test_a_further_language_is_one_further_file(tmp_path: Path) -> None:
    shutil.copytree(LOCALES_FOLDER, tmp_path / "locales")
    french = {"command-persona": "personnage", "command-persona-use": "utiliser", "option-persona": "personnage nom"}
    lines = [f'msgid "name-{message_id}"\nmsgstr "{text}"\n' for message_id, text in french.items()]
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    (tmp_path / "locales" / "fr.po").write_text("\n".join([header, *lines]), encoding="utf-8")
    catalogue = Catalogue(tmp_path / "locales")
    menu = CommandMenu(specs=tuple(SPECS), translate=catalogue.text, locales=catalogue.locales, complete=_nothing)
    parsed = find_spec("Personnage utiliser --nom luna", SPECS, menu.names)
    assert parsed
    assert (parsed.spec.name, read_options(parsed, menu.names)) == ("persona use", {"persona": "luna"})
    persona = next(node for node in command_payload(menu) if node["name"] == "persona")
    assert persona["name_localizations"] == {"fr": "personnage", "zh-CN": "角色", "zh-TW": "角色"}
    named = {child["name"]: child["name_localizations"].get("fr") for child in persona["options"]}
    assert named.pop("use") == "utiliser"
    assert set(named.values()) == {None}  # what a language lacks keeps its English name


async def _nothing(*_: object) -> tuple[str, ...]:
    return ()


@pytest.mark.parametrize(
    ("typed", "english"),
    [
        ("/角色 使用 东坡", "/persona use dongpo"),
        ("/人设 使用 东坡", "/persona use dongpo"),
        ("/角色.使用 东坡", "/persona use dongpo"),
        ("/角色_使用 东坡", "/persona use dongpo"),
        ("/persona 使用 东坡", "/persona use dongpo"),
        ("/角色 文化", "/persona 文化"),
        ("/角色 列表 --页码 1", "/persona list -p 1"),
        ("/会话 设置 timezone Asia/Tokyo --范围 place", "/session set timezone Asia/Tokyo --for place"),
        ("/会话 恢复 timezone", "/session reset timezone"),
        ("/会话", "/session"),
        ("/新对话", "/reset"),
        ("/帮助 会话 设置", "/help session set"),
        ("/状态", "/status"),
    ],
)
async def test_text_commands_are_understood_in_chinese_whatever_the_language_of_the_answer(
    make_app: MakeApp, typed: str, english: str
) -> None:
    chat = await open_chat(make_app, persona="familiar")
    one, other = make_author("Ann", locale="en"), make_author("小明", locale="zh-CN")
    room, hall = make_channel("a", dm=True), make_channel("b", dm=True)
    for author in (one, other):
        assert await chat.say(typed, author=author, channel=room) == await chat.say(
            english, author=author, channel=hall
        )
    assert chat.model.requests == []


async def test_text_commands_in_chinese_work_in_groups_and_need_the_same_rights(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony")
    assert "Only people who manage" in (await chat.say("/角色 使用 东坡", channel=GROUP))[0]
    chat.adapter.managers.add("alice")
    assert "东坡" in (await chat.say("/角色 使用 东坡", channel=GROUP))[0]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/角色 移除", "缺少“角色”"),
        ("/角色 列表 -p 二", "“页码”应该是数字，而不是“二”"),
        ("/会话 设置 --思 on", "你是不是想说 --思考？"),
        ("/隐私 开", "你是不是想说 /隐私 开启？"),
        ("/帮助 会话 设", "会话 设置"),
    ],
)
async def test_chinese_readers_are_told_their_mistakes_in_their_words(make_app: MakeApp, typed: str, told: str) -> None:
    chat = await open_chat(make_app)
    assert told in await chat.ask(typed, author=make_author("小明", locale="zh-CN"))


async def test_help_shows_chinese_readers_their_spelling_beside_the_english_one(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    chinese = make_author("小明", locale="zh-CN")
    assert "- `/help` · `/帮助` – 我是什么，能做什么" in await chat.ask("/help", author=chinese)
    told = (await chat.ask("/help 角色 列表", author=chinese)).splitlines()
    assert told[0] == "`/persona [keyword] [-p page]` · `/角色 [关键词] [-p 页码]` – 列出或搜索角色"
    assert told[1:] == ["- `keyword` · `关键词` – 要搜索的词", "- `-p` · `--页码` – 第几页，从 1 开始"]
    assert "角色" not in await chat.ask("/help persona")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/会话 设置 --思考 开", "thinking` = 开"),
        ("/session set thinking 开 --for 这里", "thinking` = 开"),
        ("/会话 设置 --范围 服务器 notices 关", "notices` = 关"),
        ("/会话 设置 activation 总是", "activation` = 总是"),
        ("/会话 设置 language 中文", "language` = 中文"),
        ("/会话 设置 language 自动", "language` = 自动"),
        ("/会话 设置 名字 夜谈", "名字 = 夜谈"),
        ("/会话 恢复 全部", "`persona` ="),
        ("/记忆 添加 约定 星期五见面", "星期五见面"),
        ("/memory add 事件 野餐", "野餐"),
        ("/memory add event 野餐", "野餐"),
    ],
)
async def test_values_are_understood_in_every_language(make_app: MakeApp, line: str, told: str) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say(line, author=make_author(locale="zh-CN"))
    assert told in answer
    assert chat.model.requests == []


async def test_a_refusal_names_the_values_in_the_language_of_the_reader(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    (answer,) = await chat.say("/记忆 添加 天气 晴", author=make_author(locale="zh"))
    assert "事实、事件、约定、待办" in answer
    (answer,) = await chat.say("/会话 设置 activation 有时", author=make_author(locale="zh"))
    assert "提及、总是、关键词、随机" in answer
    (answer,) = await chat.say("/帮助 记忆 添加", author=make_author(locale="zh"))
    assert "`/memory add <fact|event|consensus|follow-up>" in answer
    assert "`/记忆 添加 <事实|事件|约定|待办>" in answer


async def test_chinese_is_written_with_its_own_commas_and_colons(make_app: MakeApp) -> None:
    chat, author = await open_chat(make_app, persona="none"), make_author(locale="zh")
    await chat.say("你好", author=author)
    (told,) = await chat.say("/context", author=author)
    assert "\n- 消息：" in told
    assert ": " not in told


def test_discord_shows_values_in_the_language_of_the_reader() -> None:
    menu = CommandMenu(specs=tuple(SPECS), translate=CATALOGUE.text, locales=CATALOGUE.locales, complete=_nothing)
    (memory,) = [node for node in command_payload(menu) if node["name"] == "memory"]
    (add,) = [node for node in memory["options"] if node["name"] == "add"]
    fact, *_ = add["options"][0]["choices"]
    assert fact == {"name": "fact", "value": "fact", "name_localizations": {"zh-CN": "事实", "zh-TW": "事实"}}


async def test_values_read_in_the_callers_language_and_personas_by_their_names(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="bryony", moderation={"words": ("brr",), "input": True})
    await chat.ask("/session set activation always -t on -p dongpo --for place")
    shown = await chat.ask("/session", author=make_author("小明", locale="zh-CN"))
    for line in (
        "- 思考：**开**（整个地方）",
        "- `persona`: 东坡 (整个地方) › Bryony (默认)",
        "- `thinking`: 开 (整个地方) › 关 (默认)",
        "- `activation`: 总是 (整个地方) › 提及 (默认)",
        "- 这里的人所说的话先经审核再交给模型：开。回答先经审核再显示：关。",
    ):
        assert line in shown.splitlines()


async def test_a_persona_of_no_name_of_its_own_goes_by_its_id(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    for _ in range(2):
        await chat.ask("/persona import --yes", attachments=upload(MIRA))
    ids = [persona.id for persona in chat.app.desk.library.at(DM.place_key).personas if persona.name == "Mira"]
    assert f"`persona` = {ids[-1]}" in await chat.ask(f"/session set -p {ids[-1]}")
