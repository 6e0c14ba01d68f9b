"""What the Tab key offers: words of commands, flags and values, in English and in the language of the terminal."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent, Completion
from prompt_toolkit.document import Document

from adapters.console.completion import CommandCompleter
from bot.chat import Author, ChannelRef, CommandMenu
from tests.conftest import MakeApp
from tests.console_core import MENU

CHANNEL = ChannelRef(platform="terminal", place="local")


async def completions(line: str, menu: CommandMenu = MENU, locale: str | None = None) -> list[Completion]:
    completer = CommandCompleter(menu, CHANNEL, Author(platform="terminal", id="me", name="me", locale=locale))
    return [offer async for offer in completer.get_completions_async(Document(line), CompleteEvent())]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("hello", []),
        ("/", ["persona", "session", "stop"]),
        ("/se", ["session"]),
        ("/session ", ["set", "reset"]),
        ("/Session Re", ["reset"]),
        ("/persona use ", ["luna", "old wizard"]),
        ("/persona use lu", ["luna"]),
        ("/persona use old wi", ["old wizard"]),
        ("/session set ", ["activation", "timezone"]),
        ("/session set activation ", ["mention", "always"]),
        ("/session set activation mention ", []),
        ("/session set -", ["-p", "-t"]),
        ("/session set --", ["--key", "--value", "--persona", "--thinking"]),
        ("/session set -t ", ["on", "off"]),
        ("/session set -t of", ["off"]),
        ("/session set -t on -", ["-p"]),
        ("/session set --thinking on -", ["-p"]),
        ("/session set -p ", ["luna", '"old wizard"']),
        ("/session set -p luna tim", ["timezone"]),
        ("/session set -p 'old wizard' tim", ["timezone"]),
        ("/session reset -m ", []),
        ("/unknown ", []),
    ],
)
async def test_completion_offers_what_can_come_next(line: str, offers: list[str]) -> None:
    found = await completions(line)
    assert [offer.text for offer in found] == offers
    for offer in found:
        typed = line[len(line) + offer.start_position :]
        assert offer.text.strip('"').startswith(typed.lower())


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("/session set activation ", ["mention", "always", "keyword", "random"]),
        ("/session set activation r", ["random", "keyword"]),
        ("/session set --for place notices ", ["on", "off"]),
        ("/session set -n 'late night' notices of", ["off"]),
        ("/session set --key language ", ["auto", "en", "zh"]),
        ("/session set summary.keep_recent ", ["20"]),
        ("/session set timezone shang", ["Asia/Shanghai"]),
        ("/session set persona bry", ["Bryony"]),
        ("/session set name ", []),
        ("/会话 设置 语言 ", []),
        ("/会话 设置 notices ", ["on", "off"]),
        ("/help persona u", ["persona use"]),
        ("/memory add -w Ann Ray fact -d 2026-12-24 -w m", ["me"]),
    ],
)
async def test_completion_of_a_value_knows_the_key_on_the_line(make_app: MakeApp, line: str, offers: list[str]) -> None:
    app = await make_app(summary={"keep_recent": 20})
    assert [offer.text for offer in await completions(line, app.menu)] == offers


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("/角", ["角色"]),
        ("／角", ["角色"]),
        ("／角色　使", ["使用"]),
        ("/角色　使用　东", ["东坡"]),
        ("/per", ["persona"]),
        ("/模型 ", ["列表", "使用", "介绍", "忘记"]),
        ("/角色 u", ["use"]),
        ("/角色 使", ["使用"]),
        ("/角色 使用 东", ["东坡"]),
        ("/persona 使", ["使用"]),
        ("/会话 设置 --思", ["--思考"]),
        ("/会话 设置 --思考 ", ["开", "关"]),
        ("/session set -t o", ["on", "off"]),
        ("/会话 设置 --范围 频", ["频道"]),
        ("/会话 设置 notices ", ["开", "关"]),
        ("/会话 设置 notices of", ["off"]),
        ("/会话 设置 activation ", ["提及", "总是", "关键词", "随机"]),
        ("/会话 设置 language ", ["自动", "英文", "中文"]),
        ("/记忆 添加 ", ["事实", "事件", "约定", "待办"]),
    ],
)
async def test_words_of_the_readers_language_are_completed_beside_the_english_ones(
    make_app: MakeApp, line: str, offers: list[str]
) -> None:
    app = await make_app()
    assert [offer.text for offer in await completions(line, app.menu, "zh-CN")] == offers


async def test_both_spellings_are_shown_with_what_the_command_does(make_app: MakeApp) -> None:
    app = await make_app()
    (offer,) = await completions("/persona u", app.menu, "zh")
    assert (offer.display_text, offer.display_meta_text) == ("use 使用", "换一个角色在这里说话")
