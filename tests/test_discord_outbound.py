"""The way out to Discord, on the wire: parts, pings, references, faults, interactions, buttons."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from simcord.enums import MessageType
from structlog.testing import capture_logs

from adapters.discord.parts import Part
from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from bot.chat import Outbound, PartState, SentPart
from tests.emulators.discord.harness import Scene, staged, states

PINGS = "Wake up @everyone @here <@&111222333444555666>"


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with staged() as scene:
        yield scene


async def test_an_answer_is_a_reply_that_tells_its_message_id(scene: Scene) -> None:
    inbound = await scene.asked()
    (part,) = await scene.bot.reply(inbound, "hello")
    message = await scene.emulator.bot_message()
    assert part == SentPart(ordinal=0, message_id=message["id"], state=PartState.SENT)
    assert message["referenced_message"]["id"] == inbound.message_id


async def test_D01_a_long_code_block_arrives_in_parts_that_each_render(scene: Scene) -> None:
    code = "\n".join(f"x{n} = {n}" * 3 for n in range(130))
    answer = f"{'p' * 100}\n```python\n{code}\n```\n{'q' * 50}"
    await scene.bot.reply(await scene.asked(), answer)
    parts = scene.posted()
    assert len(parts) >= 2
    assert all(len(part) <= 2000 and part.count("```") % 2 == 0 for part in parts)
    assert parts[1].startswith("```python")
    assert re.sub(r"\s", "", code) in re.sub(r"```(python)?|\s", "", "".join(parts))


async def test_D02_a_text_without_a_single_space_arrives_whole(scene: Scene) -> None:
    await scene.bot.reply(await scene.asked(), "a" * 4500)
    parts = scene.posted()
    assert len(parts) == 3
    assert "".join(parts) == "a" * 4500


@pytest.mark.parametrize(("length", "messages"), [(2000, 1), (2001, 2), (3900, 2)])
async def test_D03_the_limit_is_2000_characters(scene: Scene, length: int, messages: int) -> None:
    await scene.bot.reply(await scene.asked(), "b" * length)
    assert len(scene.posted()) == messages
    assert "".join(scene.posted()) == "b" * length


@pytest.mark.parametrize(
    "token", ["👩‍👩‍👧‍👦", "<:pog:123456789012345678>", "<@123456789012345678>", "[docs](https://example.org/a)"]
)
async def test_D26_no_part_ends_inside_a_token(scene: Scene, token: str) -> None:
    await scene.bot.reply(await scene.asked(), f"{'word ' * 399}abc{token} and more")
    assert len(scene.posted()) == 2
    assert sum(part.count(token) for part in scene.posted()) == 1


async def test_D04_no_send_no_edit_and_no_follow_up_pings_anybody(scene: Scene) -> None:
    stream = await scene.bot.adapter.open_reply((await scene.asked()).channel)
    await stream.update(PINGS)
    await scene.emulator.requests.first(lambda r: r.is_for("POST", scene.posts))
    await stream.finish(Outbound(text=f"{PINGS}!"))
    await scene.bot.reply(await scene.commanded("retry"), f"{PINGS}\n{'x' * 2000}")
    sent = [r for r in scene.emulator.requests if r.method in ("POST", "PATCH") and "content" in (r.body or {})]
    assert [request.method for request in sent] == ["POST", "PATCH", "PATCH", "POST"]
    for request in sent:
        assert request.body["allowed_mentions"]["parse"] == []
        assert not request.body["allowed_mentions"].keys() - {"parse", "replied_user"}
        assert not request.body["allowed_mentions"].get("replied_user")
    assert scene.posted()[0] == f"{PINGS}!"


async def test_D28_an_echo_of_what_people_typed_pings_nobody(scene: Scene) -> None:
    scene.guild.create_role("all", permissions=discord.Permissions(mention_everyone=True))
    await scene.bot.reply(await scene.asked(), "you said: @here")
    message = await scene.emulator.bot_message()
    assert not message["mention_everyone"]
    assert message["content"] == "you said: @here"


async def test_D05_the_answer_arrives_though_the_question_is_deleted_meanwhile(scene: Scene) -> None:
    message = await scene.alice.send(scene.channel, f"{scene.emulator.mention} hi")
    inbound = await scene.bot.hears()
    await scene.alice.delete(message)
    parts = await scene.bot.reply(inbound, "c" * 5000)
    assert states(parts) == [PartState.SENT] * 3
    assert "".join(scene.posted()) == "c" * 5000
    assert len(scene.sends()) == 3


@pytest.mark.parametrize("code", [10008, 50035])
async def test_D05_a_refused_reference_is_tried_once(scene: Scene, code: int) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=400, body={"code": code, "message": "no"})
    assert states(await scene.bot.reply(inbound, "c" * 5000)) == [PartState.SENT] * 3
    assert ["message_reference" in request.body for request in scene.sends()] == [True, False, False, False]


async def test_D05_missing_rights_are_reported_and_not_tried_again(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50013, "message": "no"}, times=9)
    with capture_logs() as logs:
        parts = await scene.bot.reply(inbound, "short")
    assert states(parts) == [PartState.FAILED]
    assert len(scene.sends()) == 1
    assert [entry["reason"] for entry in logs if entry["event"] == "discord.send_refused"] == ["403 (code 50013)"]


async def test_D06_a_notice_that_cannot_be_replied_to_is_answered_plainly(scene: Scene) -> None:
    notice = scene.guild.create_system_message(scene.channel, MessageType.NEW_MEMBER, author=scene.alice)
    inbound = await scene.asked()
    parts = await scene.bot.reply(inbound, "welcome", reply_to=str(notice.id))
    assert states(parts) == [PartState.SENT]
    assert scene.posted() == ["welcome"]


@pytest.mark.parametrize("blank", ["", "\n \n", "\u3000\u00a0", "   "])
async def test_D12_nothing_blank_is_ever_sent(scene: Scene, blank: str) -> None:
    assert await scene.bot.reply(await scene.asked(), blank) == ()
    assert scene.sends() == []


async def test_D14_a_refused_typing_sign_does_not_stop_the_answer(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", "*/typing", status=403, body={"code": 50001, "message": "no"}, times=9)
    stream = await scene.bot.adapter.open_reply(inbound.channel)
    await scene.emulator.requests.first(lambda r: r.is_for("POST", "*/typing"))
    assert states(await stream.finish(Outbound(text="hello"))) == [PartState.SENT]


async def test_D14_a_channel_that_refuses_us_leaves_others_alone(scene: Scene) -> None:
    other = scene.guild.create_text_channel("other")
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50001, "message": "no"}, times=99)
    with capture_logs() as logs:
        assert PartState.FAILED in states(await scene.bot.reply(inbound, "d" * 5000))
    assert len([entry for entry in logs if entry["event"] == "discord.send_refused"]) == 1
    await scene.alice.send(other, f"{scene.emulator.mention} and here?")
    there = await scene.bot.hears(text="and here?")
    assert states(await scene.bot.reply(there, "yes")) == [PartState.SENT]


async def test_D14_a_refusal_is_logged_once_per_reply(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50001, "message": "no"}, times=99)
    with capture_logs() as logs:
        stream = await scene.bot.adapter.open_reply(inbound.channel)
        await stream.update("some words")
        await scene.emulator.requests.first(lambda r: r.is_for("POST", scene.posts))
        assert states(await stream.finish(Outbound(text="some words and more"))) == [PartState.FAILED]
    assert len(scene.sends()) == 2
    assert len([entry for entry in logs if entry["event"] == "discord.send_refused"]) == 1


async def test_what_goes_beyond_the_allowed_messages_is_a_file_under_the_last(scene: Scene) -> None:
    answer = "\n".join(f"line {n}" for n in range(3000))
    parts = await scene.bot.reply(await scene.asked(), answer, max_parts=2)
    assert len(parts) == 2
    assert [request.files for request in scene.sends()] == [(), (("answer.md", answer.encode()),)]


async def test_T15_where_no_files_are_allowed_the_rest_of_the_answer_comes_as_text(scene: Scene) -> None:
    answer = "\n".join(f"line {n}" for n in range(600))
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=403, body={"code": 50013, "message": "no files"})
    parts = await scene.bot.reply(inbound, answer, max_parts=1)
    assert states(parts) == [PartState.SENT] * 3
    refused, *sent = scene.sends()
    assert [name for name, _ in refused.files] == ["answer.md"]
    assert [request.files for request in sent] == [(), (), ()]
    assert "".join(request.body["content"] for request in sent) == answer


async def test_a_send_whose_answer_is_lost_makes_one_message(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, drop=True, carried_out=True)
    (part,) = await scene.bot.reply(inbound, "once")
    assert scene.posted() == ["once"]
    assert part.state is PartState.SENT
    assert part.message_id == (await scene.emulator.bot_message())["id"]


async def test_a_send_that_stays_without_an_answer_is_uncertain_and_left_alone(scene: Scene) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, drop=True, times=99)
    assert states(await scene.bot.reply(inbound, "perhaps")) == [PartState.UNCERTAIN]
    assert len(scene.sends()) == 2
    assert len({request.body["nonce"] for request in scene.sends()}) == 1


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_passing_fault_delays_the_answer_and_doubles_nothing(scene: Scene, status: int) -> None:
    inbound = await scene.asked()
    scene.emulator.fault("POST", scene.posts, status=status)
    assert states(await scene.bot.reply(inbound, "late")) == [PartState.SENT]
    assert scene.posted() == ["late"]


@pytest.mark.parametrize(
    ("fault", "of_send", "of_edit"),
    [
        ({"status": 403}, Refused, Refused),
        ({"status": 400}, Refused, Refused),
        ({"status": 404}, Refused, Refused),
        ({"status": 503}, Unreachable, Unreachable),
        ({"status": 520}, Uncertain, Unreachable),
        ({"drop": True}, Uncertain, Unreachable),
        ({"status": 429, "body": {"retry_after": 40.0, "message": "slow down", "global": False}}, Wait, Wait),
        ({"status": 429, "headers": {"Via": "", "Retry-After": "40"}}, Wait, Wait),
    ],
)
async def test_faults_are_told_in_the_four_words_of_pacing(
    scene: Scene, fault: dict[str, Any], of_send: type[Exception], of_edit: type[Exception]
) -> None:
    transport = scene.transport(await scene.asked())
    part = Part(text="hello")
    message_id = await transport.send(part, 0)
    scene.emulator.fault("*", f"{scene.posts}*", times=9, **fault)
    with pytest.raises(of_send) as failed:
        await transport.send(part, 1)
    assert getattr(failed.value, "seconds", 40.0) == 40.0
    with pytest.raises(of_edit):
        await transport.edit(message_id, part, 0)


FLOOD = {"status": 429, "body": {"retry_after": 900.0, "message": "slow down", "global": False}}


async def test_T07_an_interaction_that_is_told_to_wait_is_left_alone_for_as_long(scene: Scene) -> None:
    transport = scene.transport(await scene.commanded("retry"))
    for _ in range(2):  # the deferred answer, and what follows it
        scene.emulator.fault("*", "/webhooks/*", **FLOOD)
        with pytest.raises(Wait) as told:
            await transport.send(Part(text="late"), 0)
        assert told.value.seconds == 900.0
        message_id = await transport.send(Part(text="late"), 0)
        scene.emulator.fault("PATCH", "/webhooks/*", **FLOOD)
        with pytest.raises(Wait):
            await transport.edit(message_id, Part(text="later"), 0)


async def test_a_server_that_is_gone_is_unreachable(scene: Scene) -> None:
    transport = scene.transport(await scene.asked())
    await scene.emulator.stop()
    for _ in range(2):
        with pytest.raises((Unreachable, Uncertain)):  # the first may use a connection that is just being closed
            await transport.send(Part(text="hello"), 0)
    with pytest.raises(Unreachable):
        await transport.send(Part(text="hello"), 0)


async def test_D24_a_fast_stream_shows_few_edits_and_ends_with_the_whole_text(scene: Scene) -> None:
    inbound = await scene.asked()
    stream = await scene.bot.adapter.open_reply(inbound.channel, reply_to=inbound.message_id)
    text = ""
    for n in range(300):
        text += f"{n} "
        await stream.update(text)
    await stream.finish(Outbound(text=text))
    assert [posted.strip() for posted in scene.posted()] == [text.strip()]
    assert len(scene.emulator.requests.matching(lambda r: r.method == "PATCH")) <= 2


async def test_messages_of_ours_are_deleted_and_missing_ones_are_fine(scene: Scene) -> None:
    inbound = await scene.asked()
    (part,) = await scene.bot.reply(inbound, "oops")
    assert part.message_id
    with capture_logs() as logs:
        await scene.bot.adapter.delete(inbound.channel, ["123456789012345678", part.message_id])
    assert scene.posted() == []
    assert logs == []


async def test_a_message_that_may_not_be_deleted_is_no_fault_of_ours(scene: Scene) -> None:
    inbound = await scene.asked()
    with capture_logs() as logs:
        scene.emulator.fault("DELETE", "*", status=403)
        await scene.bot.adapter.delete(inbound.channel, [inbound.message_id])
    assert [entry["event"] for entry in logs] == ["discord.delete_failed"]
