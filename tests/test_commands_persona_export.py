"""/persona export: which form takes along what, and what is told of the rest."""

from __future__ import annotations

import base64

import pytest

from bot.personas.formats import CardFile, read_file, write_png
from tests.cards import PLAIN_PNG, asset, charx, luna, v3
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat
from tests.test_commands_personas import answered, bring, plain

JOY = "assets/emotion/images/joy.png"
WITH_JOY = charx(v3(assets=[asset("emotion", f"embeded://{JOY}", "joy")]), **{JOY: PLAIN_PNG})

LEFT = "One file that came with it is not in it; `/persona export charx` takes it along."


async def exported(chat: Chat, line: str) -> tuple[str, CardFile]:
    """What is told, and the file."""
    told = await chat.ask(f"/persona export {line} -p luna")
    file = answered(chat).file
    assert file is not None
    return told, read_file(file.content)


async def test_a_card_that_came_in_an_archive_leaves_in_one_with_all_its_files(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await bring(chat, WITH_JOY)
    told, file = await exported(chat, "")
    assert (file.container, [found.path for found in file.assets]) == ("charx", [JOY])
    assert "not in it" not in told


@pytest.mark.parametrize("form", ["png", "json"])
async def test_what_another_form_cannot_take_along_is_told(make_app: MakeApp, form: str) -> None:
    chat = await open_chat(make_app)
    await bring(chat, WITH_JOY)
    told, file = await exported(chat, form)
    assert (file.container, file.assets) == (form, ())
    assert told.endswith(LEFT)


INLINE = f"data:image/png;base64,{base64.b64encode(PLAIN_PNG).decode()}"


@pytest.mark.parametrize(
    ("card", "is_left"),
    [
        (write_png(luna(), PLAIN_PNG), True),
        (v3(assets=[asset("icon", INLINE, "main")]), False),
    ],
)
async def test_json_leaves_a_picture_out_that_is_not_in_the_card_itself(
    make_app: MakeApp, card: object, is_left: bool
) -> None:
    chat = await open_chat(make_app)
    await bring(chat, card)
    told, file = await exported(chat, "json")
    assert told.endswith(LEFT) is is_left
    assert (file.picture is None) is is_left


async def test_a_card_without_files_leaves_in_the_form_for_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await bring(chat, plain("Luna"))
    told, file = await exported(chat, "")
    assert file.container == "json"
    assert "not in it" not in told
