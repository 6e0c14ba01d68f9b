"""Personas under their own names: webhooks found or made, used for threads, lost and made again, or done without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from adapters.discord.parts import Part
from adapters.discord.personas import NAMELESS, face_name
from adapters.pacing import Wait
from adapters.split import utf16_length
from bot.chat import Inbound, Outbound, PartState, ReplyStream, SentPart, Speaker
from tests.emulators.discord.harness import Scene, staged, states
from tests.emulators.discord.journal import Request

MIRA = Speaker(persona_id="mira", name="Mira")


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


async def opened(scene: Scene, inbound: Inbound, speaker: Speaker = MIRA, **more: Any) -> ReplyStream:
    handle = inbound.reply_handle
    return await scene.bot.adapter.open_reply(inbound.channel, handle=handle, speaker=speaker, **more)


async def says(scene: Scene, inbound: Inbound, text: str, speaker: Speaker = MIRA) -> tuple[SentPart, ...]:
    return await (await opened(scene, inbound, speaker, reply_to=inbound.message_id)).finish(Outbound(text=text))


def shown(scene: Scene, channel: Any = None) -> list[tuple[str, str]]:
    """Names and texts of what stands in a channel, without what Alice says."""
    messages = scene.world.backend.messages[(channel or scene.channel).id].values()
    users = scene.world.backend.users
    ours = [message for message in messages if message.author_id != scene.alice.id]
    return [(message.author_name or users[message.author_id].name, message.content) for message in ours]


def executions(scene: Scene) -> list[Request]:
    return scene.emulator.requests.matching(lambda r: r.is_for("POST", "/webhooks/*/*"))


def creations(scene: Scene) -> list[Request]:
    return scene.emulator.requests.matching(lambda r: r.is_for("POST", "/channels/*/webhooks"))


async def test_a_persona_speaks_under_its_own_name_by_one_webhook_per_channel(scene: Scene) -> None:
    for name in ("Mira", "Bryony", "Mira"):
        await says(scene, await scene.asked(), f"I am {name}.", Speaker(persona_id=name.lower(), name=name))
    assert shown(scene) == [("Mira", "I am Mira."), ("Bryony", "I am Bryony."), ("Mira", "I am Mira.")]
    assert len(creations(scene)) == 1
    assert len(scene.emulator.requests.matching(lambda r: r.is_for("GET", "/channels/*/webhooks"))) == 1


async def test_a_channel_whose_webhook_is_slow_to_find_holds_up_no_other_channel(scene: Scene) -> None:
    await says(scene, await scene.asked(), "before")
    slow, other = (scene.guild.create_text_channel(name) for name in ("slow", "other"))
    gate = asyncio.Event()
    scene.emulator.fault("GET", f"/channels/{slow.id}/webhooks", status=200, until=gate)
    for channel in (slow, other):
        await scene.alice.send(channel, f"{scene.mention} in {channel.name}")
    in_slow, in_other = [await scene.bot.hears(text=f"in {channel.name}") for channel in (slow, other)]
    waiting = [asyncio.ensure_future(says(scene, in_slow, text)) for text in ("one", "two")]
    async with asyncio.timeout(5):
        await says(scene, await scene.asked(), "meanwhile")
        await says(scene, in_other, "here too")
    assert shown(scene)[-1] == ("Mira", "meanwhile")
    assert shown(scene, other) == [("Mira", "here too")]
    assert shown(scene, slow) == []
    gate.set()
    await asyncio.gather(*waiting)
    assert sorted(shown(scene, slow)) == [("Mira", "one"), ("Mira", "two")]
    assert [request.path for request in creations(scene)].count(f"/channels/{slow.id}/webhooks") == 1


async def test_a_webhook_of_an_earlier_run_is_found_and_one_of_others_is_left_alone(scene: Scene) -> None:
    world = scene.world
    world.post_by_webhook(scene.channel, scene.bob, "Bob's", "beep")
    mine = world.backend.create_webhook(scene.channel.id, "Familiar", scene.emulator.bot_id)
    await says(scene, await scene.asked(), "hello")
    assert [request.path.split("/")[2] for request in executions(scene)] == [str(mine.id)]
    assert creations(scene) == []


async def test_D18_in_threads_and_forum_posts_the_webhook_of_the_parent_is_used(scene: Scene) -> None:
    forum = scene.guild.create_forum_channel("help")
    post, _ = scene.world.start_forum_post(forum, "How?", scene.alice, f"{scene.mention} how does it work?")
    in_post = await scene.bot.hears(text="how does it work?")
    thread = scene.world.start_thread(scene.channel, "aside", scene.alice)
    await scene.alice.send(thread, f"{scene.mention} and here?")
    in_thread = await scene.bot.hears(text="and here?")
    stream = await opened(scene, in_post)
    await stream.update("Like")
    await scene.emulator.requests.first(lambda r: r.is_for("POST", "/webhooks/*/*"))
    await stream.finish(Outbound(text="Like this."))
    (part,) = await says(scene, in_thread, "Here too.")
    assert shown(scene, post)[-1:] == [("Mira", "Like this.")]
    assert shown(scene, thread) == [("Mira", "Here too.")]
    assert shown(scene, forum) == shown(scene) == []
    assert [request.path for request in creations(scene)] == [
        f"/channels/{channel.id}/webhooks" for channel in (forum, scene.channel)
    ]
    await scene.bot.adapter.delete(in_thread.channel, [str(part.message_id)])
    assert shown(scene, thread) == []


@pytest.mark.parametrize(
    ("name", "shown_as"),
    [
        ("Clyde", "C\u200alyde"),
        ("My clYde 2", "My c\u200alYde 2"),
        ("DISCORD Clyde", "D\u200aISCORD C\u200alyde"),
        ("", NAMELESS),
        (" \u200b\n", NAMELESS),
        ("x" * 81, "x" * 80),
        ("👩‍🚀" * 40, None),
        ("Mira\nEvil: said", "Mira Evil: said"),
    ],
)
async def test_D19_every_name_becomes_one_that_discord_takes(scene: Scene, name: str, shown_as: str | None) -> None:
    sent = face_name(name)
    assert shown_as in (None, sent)
    assert 1 <= utf16_length(sent) <= 80
    assert states(await says(scene, await scene.asked(), "hello", Speaker(persona_id="p", name=name))) == [
        PartState.SENT
    ]
    assert shown(scene) == [(sent, "hello")]
    assert [request.status for request in executions(scene)] == [200]


async def test_D29_a_persona_answers_without_a_reference_which_webhooks_cannot_carry(scene: Scene) -> None:
    await says(scene, await scene.asked(), "hello")
    (request,) = executions(scene)
    assert "message_reference" not in request.body


async def test_D04_D28_no_face_pings_anybody(scene: Scene) -> None:
    pings = "Wake up @everyone @here <@&111222333444555666>"
    stream = await opened(scene, await scene.asked())
    await stream.update(pings)
    await scene.emulator.requests.first(lambda r: r.is_for("POST", "/webhooks/*/*"))
    await stream.finish(Outbound(text=f"{pings}\n{'x' * 2000}"))
    bodies = [r.body for r in scene.emulator.requests if r.path.startswith("/webhooks/") and r.method != "DELETE"]
    assert len(bodies) == 3
    assert all(body["allowed_mentions"] == {"parse": []} for body in bodies)


async def test_D01_D03_a_long_answer_comes_in_parts_that_all_wear_the_face(scene: Scene) -> None:
    code = "\n".join(f"x{n} = {n}" for n in range(400))
    await says(scene, await scene.asked(), f"Look:\n```python\n{code}\n```")
    assert {name for name, _ in shown(scene)} == {"Mira"}
    assert all(len(text) <= 2000 and text.count("```") == 2 for _, text in shown(scene))
    assert [line for _, text in shown(scene) for line in text.splitlines() if line[:1] == "x"] == code.splitlines()


async def test_a_growing_answer_is_edited_and_deleted_as_the_webhooks_own(scene: Scene) -> None:
    inbound = await scene.asked()
    stream = await opened(scene, inbound)
    await stream.update("a" * 2500)
    await scene.emulator.requests.first(lambda _: len(executions(scene)) == 2)
    parts = await stream.finish(Outbound(text="short after all"))
    assert shown(scene) == [("Mira", "short after all")]
    await scene.bot.adapter.delete(inbound.channel, [str(part.message_id) for part in parts])
    assert shown(scene) == []


@pytest.mark.parametrize("is_thread", [False, True])
async def test_a_message_with_a_face_is_deleted_by_its_webhook_where_the_bot_may_delete_only_its_own(
    scene: Scene, is_thread: bool
) -> None:
    spot = scene.world.start_thread(scene.channel, "aside", scene.alice) if is_thread else scene.channel
    mine = scene.world.backend.create_webhook(scene.channel.id, "Familiar", scene.emulator.bot_id)
    await scene.alice.send(spot, f"{scene.mention} hello?")
    inbound = await scene.bot.hears(text="hello?")
    (part,) = await says(scene, inbound, "hello")
    scene.emulator.fault("DELETE", "/channels/*", status=403, body={"code": 50013, "message": "no"})
    await scene.bot.adapter.delete(inbound.channel, [str(part.message_id)])
    assert shown(scene, spot) == []
    deletion = scene.emulator.requests.entries[-1]
    assert (deletion.method, deletion.path.split("/")[2], deletion.status) == ("DELETE", str(mine.id), 204)


async def test_D08_our_own_faces_are_not_heard_and_replies_to_them_are_replies_to_us(scene: Scene) -> None:
    (part,) = await says(scene, await scene.asked(), "hello")
    message = scene.world.message(scene.channel.id, int(str(part.message_id)))
    await scene.alice.send(scene.channel, "what do you mean?", reply_to=message)
    heard = await scene.bot.hears(text="what do you mean?")
    assert heard.reply_to
    assert heard.reply_to.is_mine
    assert [inbound.text for inbound in scene.bot.heard] == ["hi", "what do you mean?"]


async def test_D08_what_foreign_webhooks_post_is_marked_as_a_bots_that_may_repeat_somebody(scene: Scene) -> None:
    scene.world.post_by_webhook(scene.channel, scene.bob, "Juniper", f"{scene.mention} hi")
    heard = await scene.bot.hears(text="hi")
    assert (heard.author.name, heard.author.is_bot, heard.may_be_repost) == ("Juniper", True, True)
    assert not (await scene.asked()).may_be_repost


async def test_D33_in_a_private_chat_no_persona_has_a_face(scene: Scene) -> None:
    await scene.bob.send_dm("hello")
    await says(scene, await scene.bot.hears(), "hi")
    assert (await scene.emulator.bot_message())["content"] == "hi"
    assert executions(scene) == creations(scene) == []


@pytest.mark.parametrize(
    ("code", "hint"), [(50013, "faces-no-right"), (30007, "faces-no-room")], ids=["no right", "no room"]
)
async def test_D32_without_a_webhook_the_bot_names_the_persona_and_says_once_why(
    scene: Scene, code: int, hint: str
) -> None:
    method, status = ("GET", 403) if code == 50013 else ("POST", 400)
    body = {"code": code, "message": "no"}
    scene.emulator.fault(method, "/channels/*/webhooks", status=status, body=body, times=9)
    with capture_logs() as logs:
        for text in ("hello", "# Title", "again"):
            assert states(await says(scene, await scene.asked(), text)) == [PartState.SENT]
    assert scene.posted() == ["**Mira**: hello", f"-# {hint}", "**Mira**:\n# Title", "**Mira**: again"]
    told = [entry for entry in logs if entry["event"] == "discord.no_face"]
    assert [entry["reason"] for entry in told] == [f"{status} (code {code})"]
    assert told[0]["remedy"]
    asked = scene.emulator.requests.matching(lambda r: r.path.endswith("/webhooks"))
    assert len(asked) == (1 if code == 50013 else 2)


async def test_D32_a_channel_that_is_full_of_webhooks_is_done_without(scene: Scene) -> None:
    for number in range(15):
        scene.world.backend.create_webhook(scene.channel.id, f"hook {number}", scene.bob.id)
    await says(scene, await scene.asked(), "hello")
    assert scene.posted() == ["**Mira**: hello", "-# faces-no-room"]


async def test_D32_a_webhook_that_somebody_deleted_is_made_again_once(scene: Scene) -> None:
    await says(scene, await scene.asked(), "one")
    backend = scene.world.backend
    backend.delete_webhook(next(iter(backend.webhooks)))
    await says(scene, await scene.asked(), "two " * 600)
    assert len(creations(scene)) == 2
    assert {name for name, _ in shown(scene)} == {"Mira"}


async def test_D32_a_webhook_that_is_lost_while_an_answer_grows_costs_none_of_it(scene: Scene) -> None:
    stream = await opened(scene, await scene.asked())
    await stream.update("the beginning")
    await scene.emulator.requests.first(lambda r: r.is_for("POST", "/webhooks/*/*"))
    backend = scene.world.backend
    backend.delete_webhook(next(iter(backend.webhooks)))
    assert states(await stream.finish(Outbound(text="the beginning and the end"))) == [PartState.SENT]
    assert shown(scene)[-1] == ("Mira", "the beginning and the end")


async def test_D03_D32_a_named_answer_fits_its_messages(scene: Scene) -> None:
    scene.emulator.fault("GET", "/channels/*/webhooks", status=403, body={"code": 50013, "message": "no"})
    assert states(await says(scene, await scene.asked(), "b" * 2000)) == [PartState.SENT] * 2
    named, rest, _ = scene.posted()
    assert named.startswith("**Mira**: b")
    assert (named + rest).count("b") == 2000
    assert len(named) <= 2000


async def test_a_webhook_whose_making_is_not_answered_is_made_once(scene: Scene) -> None:
    scene.emulator.fault("POST", "/channels/*/webhooks", drop=True, carried_out=True)
    assert states(await says(scene, await scene.asked(), "hello")) == [PartState.SENT]
    assert shown(scene) == [("Mira", "hello")]
    assert len(scene.world.backend.webhooks) == 1


async def test_a_deletion_makes_no_webhook(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("DELETE", "/channels/*", status=403, body={"code": 50013, "message": "no"})
    with capture_logs() as logs:
        await scene.bot.adapter.delete(inbound.channel, [inbound.message_id])
    assert creations(scene) == []
    assert "discord.delete_failed" in [entry["event"] for entry in logs]


async def test_the_answer_to_a_command_completes_it_and_names_the_persona(scene: Scene) -> None:
    await says(scene, await scene.commanded("retry"), "hello")
    assert scene.posted() == ["**Mira**: hello"]
    assert creations(scene) == []


@pytest.mark.parametrize(
    ("fault", "state", "messages"),
    [
        ({"status": 502}, PartState.SENT, 1),
        ({"status": 503}, PartState.SENT, 1),
        ({"status": 429}, PartState.SENT, 1),
        ({"drop": True, "carried_out": True}, PartState.UNCERTAIN, 1),
        ({"status": 403, "body": {"code": 50013, "message": "no"}}, PartState.SENT, 1),
    ],
)
async def test_a_fault_of_the_webhook_doubles_nothing(
    scene: Scene, fault: dict[str, Any], state: PartState, messages: int
) -> None:
    scene.emulator.fault("POST", "/webhooks/*/*", **fault)
    assert states(await says(scene, await scene.asked(), "once")) == [state]
    assert len(shown(scene)) == messages
    assert shown(scene)[0][1].endswith("once")


async def test_T07_a_face_that_is_told_to_wait_is_worn_after_that(scene: Scene) -> None:
    flood = {"status": 429, "body": {"retry_after": 900.0, "message": "slow down", "global": False}}
    inbound = await scene.asked()
    transport = scene.transport(inbound, speaker=MIRA)
    scene.emulator.fault("POST", "/webhooks/*/*", **flood)
    with pytest.raises(Wait) as told:
        await transport.send(Part(text="late"), 0)
    assert told.value.seconds == 900.0
    message_id = await transport.send(Part(text="late"), 0)
    scene.emulator.fault("PATCH", "/webhooks/*", **flood)
    with pytest.raises(Wait):
        await transport.edit(message_id, Part(text="later"), 0)
    assert shown(scene) == [("Mira", "late")]
