"""/persona info and the list: a persona as people may know it, its picture, and the way from one to the next."""

from __future__ import annotations

import io

from PIL import Image

from bot.chat import Outbound
from bot.personas.formats.pictures import as_small_jpeg
from bot.portraits import SIDE_PIXELS
from tests.cards import PLAIN_PNG, as_base64, picture, png, text, v3
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat
from tests.test_commands_personas import answered, bring, plain, upload
from tests.test_mood import MOODY


def commands(outbound: Outbound) -> list[list[str]]:
    return [[button.command for button in row] for row in outbound.buttons]


async def bring_picture(chat: Chat, name: str) -> str:
    data = png(text("ccv3", as_base64(v3(name=name))))
    await chat.ask("/persona import --yes", attachments=upload(data, f"{name}.png"))
    return answered(chat).buttons[0][0].command.removeprefix("persona use ")


async def test_a_persona_is_shown_with_its_picture_and_what_people_may_know(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring_picture(chat, "Luna")
    told = await chat.ask("/persona info luna")
    assert told == f"**Luna** ({persona_id})\n\n- Imported for this place, version 1"
    with Image.open(io.BytesIO(answered(chat).picture)) as shown:
        assert (shown.format, shown.size) == ("JPEG", (2, 2))


async def test_what_a_card_tells_people_is_told_in_their_language_and_cut(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    facts = {
        "creator": "somebody " * 50,
        "creator_notes": "word " * 900,
        "creator_notes_multilingual": {"zh": "备注"},
        "tags": [f"tag{number}" for number in range(90)],
        "alternate_greetings": ["a", "b"],
        "first_mes": "c",
        "character_version": "2.1",
    }
    persona_id = await bring(chat, plain("M" * 300, **facts))
    told = await chat.ask(f"/persona info {persona_id}")
    assert len(told) < 1_024
    assert "- Greetings: 3" in told
    assert "- Version: 2.1" in told
    await chat.say("/session set language zh")
    assert "备注" in await chat.ask(f"/persona info {persona_id}")


async def test_buttons_lead_from_persona_to_persona_and_back_to_the_list(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask("/persona")
    *looks, last = [command for row in commands(answered(chat)) for command in row]
    seen, here = [], looks[0]
    while True:
        (told,) = await chat.press(here)
        seen.append(here)
        leafing, doing = commands(answered(chat))
        assert doing[-1] == "persona list"
        assert ("✅" in told) == (len(doing) == 1)
        if here == last:
            break
        here = leafing[-1]
    assert seen == [*looks, last]
    assert answered(chat).picture == b""


async def test_how_a_persona_feels_is_shown_with_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    told = await chat.ask(f"/persona info {await bring(chat, MOODY)}")
    assert "- State: mood: calm; trust: 3; awake: true; wish: –" in told


async def test_a_picture_that_cannot_be_used_is_left_out(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    broken = png(text("ccv3", as_base64(v3(name="Luna"))))
    await chat.ask("/persona import --yes", attachments=upload(broken[:-40], "luna.png"))
    assert (await chat.ask("/persona info luna")).startswith("**Luna**")
    assert isinstance(answered(chat).picture, bytes)


def test_a_picture_is_made_small_whatever_it_came_as() -> None:
    for data in (PLAIN_PNG, *(picture(kind, side=2_000) for kind in ("JPEG", "WEBP", "GIF"))):
        with Image.open(io.BytesIO(as_small_jpeg(data, SIDE_PIXELS))) as small:
            assert small.format == "JPEG"
            assert max(small.size) <= SIDE_PIXELS
