"""Pictures of faces: uploaded once as emojis of the application, found again, made room for, or done without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.discord.avatars import MOST_BYTES, PREFIX, REFUSED_SECONDS, ROOM, Avatars
from bot.chat import Outbound, Speaker
from bot.personas.formats.png import plain_picture
from tests.emulators.discord.harness import Scene, staged
from tests.emulators.discord.journal import Request

RED, BLUE = (plain_picture(color, side=128) for color in ((200, 0, 0), (0, 0, 200)))


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


def face(name: str, picture: bytes | None = RED) -> Speaker:
    async def load() -> bytes | None:
        return picture

    return Speaker(persona_id=name.lower(), name=name, picture=load)


async def says(scene: Scene, speaker: Speaker) -> Any:
    """The address of the picture that a message is sent with."""
    asked = await scene.asked()
    reply = await scene.bot.adapter.open_reply(asked.channel, reply_to=asked.message_id, speaker=speaker)
    (part,) = await reply.finish(Outbound(text=f"I am {speaker.name}."))
    assert part.message_id
    return executions(scene)[-1].body.get("avatar_url")


def executions(scene: Scene) -> list[Request]:
    return scene.emulator.requests.matching(lambda r: r.is_for("POST", "/webhooks/*/*"))


def uploads(scene: Scene) -> list[Request]:
    return scene.emulator.requests.matching(lambda r: r.is_for("POST", "/applications/*/emojis"))


async def test_a_persona_wears_its_picture_which_is_uploaded_once(scene: Scene) -> None:
    first = await says(scene, face("Mira"))
    emoji = next(iter(scene.world.emojis.pictures))
    assert first.endswith(f"/emojis/{emoji}.png")
    assert scene.world.emojis.pictures[emoji] == RED
    assert [await says(scene, face("Mira")), await says(scene, face("Twin"))] == [first, first]
    assert await says(scene, face("Rex", BLUE)) != first
    assert len(uploads(scene)) == 2
    assert all(name.startswith(PREFIX) for name in scene.world.emojis.names)


async def test_after_a_restart_a_picture_is_found_by_its_name(scene: Scene) -> None:
    first = await says(scene, face("Mira"))
    fresh = Avatars(scene.bot.adapter._connection.logged_in)
    assert await fresh.address(face("Mira")) == first
    assert len(uploads(scene)) == 1


@pytest.mark.parametrize("picture", [None, b"", b"x" * (MOST_BYTES + 1)], ids=["none", "empty", "too large"])
async def test_without_a_picture_that_can_be_used_it_speaks_all_the_same(scene: Scene, picture: bytes | None) -> None:
    assert await says(scene, face("Mira", picture)) is None
    assert await says(scene, Speaker(persona_id="rex", name="Rex")) is None
    assert uploads(scene) == []


async def test_D32_where_no_picture_can_be_put_it_speaks_without_and_is_not_tried_at_each_message(scene: Scene) -> None:
    scene.emulator.fault("POST", "/applications/*/emojis", status=403, body={"message": "no", "code": 50013}, times=9)
    assert [await says(scene, face("Mira")) for _ in range(3)] == [None, None, None]
    assert len(uploads(scene)) == 1


async def test_what_was_refused_is_tried_again_later(scene: Scene) -> None:
    now = 0.0
    await scene.asked()
    avatars = Avatars(scene.bot.adapter._connection.logged_in, clock=lambda: now)
    scene.emulator.fault("POST", "/applications/*/emojis", status=400, body={"message": "no", "code": 30008})
    assert await avatars.address(face("Mira")) is None
    now = REFUSED_SECONDS + 1
    assert await avatars.address(face("Mira"))


async def test_an_upload_whose_answer_was_lost_is_not_made_twice(scene: Scene) -> None:
    now = 0.0
    await scene.asked()
    avatars = Avatars(scene.bot.adapter._connection.logged_in, clock=lambda: now)
    scene.emulator.fault("POST", "/applications/*/emojis", carried_out=True, drop=True, status=0)
    await avatars.address(face("Mira"))
    now = REFUSED_SECONDS + 1
    assert await avatars.address(face("Mira"))
    assert len(scene.world.emojis.names) == 1


async def test_where_all_places_are_taken_our_oldest_unworn_pictures_go_and_nobody_elses(scene: Scene) -> None:
    await says(scene, face("Mira"))
    emojis = scene.world.emojis
    worn = emojis.names[0]
    emojis.put("ours_by_hand")
    for number in range(1_998):
        emojis.put(f"{PREFIX}old{number}")
    fresh = scene.bot.adapter._faces.avatars
    fresh._emojis = None
    assert await fresh.address(face("Rex", BLUE))
    assert len(emojis.names) == 2_000 - ROOM + 1
    assert {worn, "ours_by_hand", f"{PREFIX}old{ROOM}"} <= {*emojis.names}
    assert f"{PREFIX}old{ROOM - 1}" not in emojis.names


async def test_two_personas_that_speak_at_once_upload_one_picture_each(scene: Scene) -> None:
    await scene.asked()
    avatars = Avatars(scene.bot.adapter._connection.logged_in)
    found = await asyncio.gather(*(avatars.address(face(name)) for name in ("Mira", "Mira", "Twin")))
    assert len({*found}) == 1
    assert len(uploads(scene)) == 1
