"""What is told of a card: to people in their language, to who runs the bot in English."""

from __future__ import annotations

import pytest

from bot.personas.card import CardError
from bot.personas.formats import read_file
from tests.cards import as_json, picture
from tests.conftest import MakeApp
from tests.talking import open_chat
from tests.test_commands_personas import bring, plain, upload


async def test_what_is_odd_about_a_card_and_why_it_is_refused_is_told_in_the_callers_language(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set language zh")
    odd = plain("Mira", alternate_greetings="Fog.", character_book={"entries": [{"keys": ["/(/"], "name": "雾"}]})
    told = await chat.ask("/persona import", attachments=upload(odd))
    assert "- alternate_greetings: 应为列表；已读作只有一项的列表。" in told
    assert "- 雾: “/(/”不能作关键词" in told
    assert "- 各项字数：描述 17" in told
    told = await chat.ask("/persona import", attachments=upload(b"{", "mira.json"))
    assert "JSON 已损坏，第 1 行：" in told
    assert told.endswith("请重新导出卡片。")
    assert "请发送 JSON 格式的设定集" in await chat.ask("/lore import", attachments=upload(plain("Mira")))


async def test_what_made_a_version_is_told_in_the_callers_language(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/session set language zh")
    name = f"-p {await bring(chat, plain('Mira'))}"
    assert "的 场景 已修改" in await chat.ask(f"/persona edit scenario A harbour. {name}")
    assert "的 场景" in await chat.ask(f"/persona edit scenario {name}")
    await chat.ask(f"/persona revert 1 {name}")
    told = await chat.ask("/persona versions mira")
    assert [line.split(" · ")[2] for line in told.splitlines() if " · " in line] == ["还原 1", "场景", "导入"]


def test_who_runs_the_bot_reads_the_same_in_english() -> None:
    (warning,) = read_file(as_json(plain("Mira", alternate_greetings="Fog."))).warnings
    assert str(warning) == "alternate_greetings: should be a list; read as a list of one."
    with pytest.raises(CardError) as caught:
        read_file(picture("JPEG"))
    assert str(caught.value) == (
        "The picture carries no card. Send the original file: chats and editors drop what is hidden."
    )
