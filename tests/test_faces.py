"""Which persona has a face of its own: every one but the one that a platform knows the bot by."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image

from bot.chat import Speaker
from bot.personas.formats import read_file, write_png
from bot.personas.formats.png import plain_picture
from tests.conftest import MakeApp
from tests.talking import GROUP, open_chat
from tests.test_commands_personas import upload


@pytest.mark.parametrize(
    ("settings", "chosen", "face"),
    [
        ({}, "bryony", None),
        ({}, "thrupp", "thrupp"),
        ({}, "none", None),
        ({"persona": "thrupp"}, "bryony", "bryony"),
        ({"persona": "none"}, "bryony", "bryony"),
        ({"profiles": {"fake": {"persona": "thrupp"}}}, "thrupp", None),
    ],
)
async def test_a_persona_other_than_the_platforms_own_has_a_face(
    make_app: MakeApp, settings: dict[str, Any], chosen: str, face: str | None
) -> None:
    chat = await open_chat(make_app, **settings, access={"admins": ["fake:alice"]})
    await chat.choose("persona use", channel=GROUP, persona=chosen)
    was_speaker = chat.last_reply.speaker
    await chat.say("hello", channel=GROUP)
    persona = chat.app.core.library.get(face) if face else None
    expected = Speaker(persona_id=persona.id, name=persona.name) if persona else None
    assert (was_speaker, chat.last_reply.speaker) == (expected, expected)


async def test_where_several_speak_all_of_them_are_told_to_the_platform_and_who_has_a_face(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, cast=("thrupp",))
    await chat.say("Bryony and Thrupp?", channel=GROUP)
    speakers = [reply.speaker for reply in chat.adapter.replies]
    assert speakers == [
        Speaker(persona_id="bryony", name="Bryony", has_own_face=False, is_one_of_several=True),
        Speaker(persona_id="thrupp", name="Thrupp", has_own_face=True, is_one_of_several=True),
    ]


async def test_the_picture_that_a_card_came_with_is_loaded_small_and_square_when_it_is_asked_for(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app, access={"admins": ["fake:alice"]})
    card = read_file(json.dumps({"name": "Mira", "description": "keeps bees"}).encode()).card
    data = write_png(card, plain_picture((200, 0, 0), side=300))
    await chat.ask("/persona import --yes", channel=GROUP, mentions_me=True, attachments=upload(data, "mira.png"))
    await chat.choose("cast add", channel=GROUP, persona="Mira")
    await chat.choose("cast add", channel=GROUP, persona="thrupp")
    await chat.say("Mira and Thrupp?", channel=GROUP)
    with_picture, without = [reply.speaker for reply in chat.adapter.replies[-2:]]
    assert with_picture
    assert with_picture.picture
    found = await with_picture.picture()
    assert found
    with Image.open(io.BytesIO(found)) as shown:
        assert (shown.format, shown.size) == ("JPEG", (128, 128))
    assert without
    assert without.picture
    assert await without.picture() is None
