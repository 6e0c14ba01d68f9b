"""People on Discord talk to a running bot, on the wire: answers, files, faults, and the places where people talk."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.emulators.openai.script import Say
from tests.scenarios.discord_lab import DiscordLab, Spot, halting

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-discord"), pytest.mark.asyncio(loop_scope="module")]

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


async def test_D24_a_slow_answer_streams_by_paced_edits_and_ends_in_full(lab: DiscordLab, spot: Spot) -> None:
    words = " ".join(f"word{number}" for number in range(50))
    lab.model.queue(Say(text=words, chunk_seconds=0.05))
    await lab.bob.send(spot.channel, "the cat is called Tom")
    await spot.ask(lab.bob, "go on")
    await spot.says(words)
    times = [request.at for request in spot.requests]
    assert 2 <= len(times) <= 5
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(times[:-1]))
    assert spot.posts == [words]
    assert lab.heard() == ["Bob: the cat is called Tom", "Bob: go on"]


async def test_a_fast_answer_is_one_request_and_a_reply(lab: DiscordLab, spot: Spot) -> None:
    question = await spot.ask(lab.bob, "quick")
    await spot.says("answer to: Bob: quick")
    (request,) = spot.requests
    assert request.body["message_reference"]["message_id"] == question.id


async def test_D01_a_long_answer_with_code_arrives_in_parts_that_each_render(lab: DiscordLab, spot: Spot) -> None:
    code = "\n".join(f"value_{number} = {number}  # line {number}" for number in range(110))
    lab.model.queue(Say(text=f"Here:\n\n```python\n{code}\n```\n\nThat is all."))
    await spot.ask(lab.bob, "code please")
    await spot.says(lambda text: text.endswith("That is all."))
    assert len(spot.posts) == 2
    assert all(len(text) <= 2000 and text.count("```") == 2 for text in spot.posts)
    assert spot.posts[1].startswith("```python\n")
    assert [line for text in spot.posts for line in text.splitlines() if line.startswith("value_")] == code.split("\n")


@pytest.mark.parametrize(("length", "parts"), [(2000, 1), (2001, 2), (4500, 3)])
async def test_D02_D03_a_text_without_a_break_is_cut_at_the_limit(
    lab: DiscordLab, spot: Spot, length: int, parts: int
) -> None:
    text = _unbroken(length)
    lab.model.queue(Say(text=text))
    await spot.ask(lab.bob, "count")
    await lab.discord.requests.first(lambda _: "".join(spot.posts) == text)
    assert len(spot.posts) == parts


async def test_D04_D28_names_of_everybody_are_shown_and_ping_nobody(lab: DiscordLab, spot: Spot) -> None:
    wake = f"Wake up @everyone @here <@&{lab.guild.default_role.id}> <@{lab.alice.id}>"
    lab.model.queue(Say(text=wake))
    await spot.ask(lab.bob, "repeat after me: @here")
    await spot.says(wake)
    refused = await spot.slash(lab.alice, "persona use", persona="@everyone")
    assert "“@everyone”" in lab.told(refused)
    bodies = [request.body for request in [*spot.requests, *lab.discord.requests] if "content" in (request.body or {})]
    assert bodies
    assert all(body["allowed_mentions"] == {"parse": []} for body in bodies)


async def test_D05_an_answer_reaches_the_channel_though_its_question_was_deleted(lab: DiscordLab, spot: Spot) -> None:
    gate = asyncio.Event()
    lab.model.queue(Say(text=_unbroken(4100), gate=gate))
    question = await spot.ask(lab.bob, "never mind")
    await lab.model.request(len(lab.model.requests) + 1)
    await lab.bob.delete(question)
    gate.set()
    await lab.discord.requests.first(lambda _: "".join(spot.posts) == _unbroken(4100))
    assert [request.status for request in spot.requests] == [200, 200, 200]


async def test_D05_a_refused_reference_is_tried_once(lab: DiscordLab, spot: Spot) -> None:
    body = {"code": 50035, "message": "Invalid Form Body", "errors": {"message_reference": {}}}
    lab.discord.fault("POST", f"/channels/{spot.channel.id}/messages", status=400, body=body)
    await spot.ask(lab.bob, "hi")
    await spot.says("answer to: Bob: hi")
    assert ["message_reference" in request.body for request in spot.requests] == [True, False]


async def test_D12_a_blank_completion_becomes_one_notice(lab: DiscordLab, spot: Spot) -> None:
    lab.model.script = Say(text="\n \n")
    await spot.ask(lab.bob, "hi")
    await spot.says("The model came back empty-handed. /retry gives it another go.")
    assert len(spot.requests) == 1


async def test_D13_a_cut_gateway_costs_no_answer_and_a_repeated_message_gets_one(lab: DiscordLab, spot: Spot) -> None:
    gate, asked = asyncio.Event(), len(lab.model.requests)
    lab.model.queue(halting(gate, "The first half", " and the second."))
    question = await spot.ask(lab.bob, "go on")
    await spot.says("The first half")
    resumed = len(lab.discord.gateway.resumed)
    lab.discord.cut()
    await spot.ask(lab.alice, "and me?")
    await lab.discord.gateway.resumed.first(lambda _: True, after=resumed)
    sent = await lab.discord.events.first(lambda event: event.data.get("id") == str(question.id))
    lab.discord.inject("MESSAGE_CREATE", sent.data)
    gate.set()
    await spot.says("The first half and the second.")
    await spot.says("answer to: Alice: and me?")
    await spot.ask(lab.bob, "last")
    await spot.says("answer to: Bob: last")
    assert len(lab.model.requests) == asked + 3
    assert len(spot.posts) == 3


async def test_D25_a_call_to_everyone_is_no_call_to_the_bot(lab: DiscordLab, spot: Spot) -> None:
    asked = len(lab.model.requests)
    await lab.alice.send(spot.channel, "@everyone meeting at 5")
    await spot.ask(lab.bob, "when is it?")
    await spot.says("answer to: Bob: when is it?")
    assert len(lab.model.requests) == asked + 1
    assert lab.heard() == ["Alice: @everyone meeting at 5", "Bob: when is it?"]


async def test_D31_what_was_edited_or_deleted_is_so_in_the_next_prompt(lab: DiscordLab, spot: Spot) -> None:
    secret = await lab.bob.send(spot.channel, "my code is 4711")
    cat = await lab.bob.send(spot.channel, "the cat is called Tom")
    question = await spot.ask(lab.bob, "is it?")
    await spot.says("answer to: Bob: is it?")
    await lab.alice.send(spot.channel, "who knows")
    asked = len(lab.model.requests)
    await lab.bob.edit(cat, "the cat is called Tim")
    await lab.bob.edit(question, f"{lab.discord.mention} is it so?")
    await lab.bob.delete(secret)
    await spot.ask(lab.alice, "well?")
    await spot.says("answer to: Alice: well?")
    assert len(lab.model.requests) == asked + 1
    assert lab.heard() == [
        "Bob: the cat is called Tim",
        "Bob: is it so?",
        "answer to: Bob: is it?",
        "Alice: who knows",
        "Alice: well?",
    ]


async def test_files_are_read_and_pictures_are_seen(lab: DiscordLab, spot: Spot) -> None:
    files = [("notes.txt", b"the code is 4711"), ("cat.png", PNG)]
    await spot.ask(lab.bob, "look", attachments=files)
    await spot.says(lambda text: text.startswith("answer to: Bob: look"))
    words, picture = lab.model.last.messages[-1]["content"]
    assert words["text"] == "Bob: look\n[file notes.txt]\nthe code is 4711\n[end of file]\n[image cat.png]"
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


# Where people talk


async def test_D27_threads_have_their_own_history_and_D17_the_persona_of_their_channel(
    lab: DiscordLab, spot: Spot
) -> None:
    await spot.slash(lab.alice, "persona use", persona="bryony")
    first, second = (Spot(lab, lab.discord.world.start_thread(spot.channel, name, lab.bob)) for name in ("one", "two"))
    await spot.ask(lab.bob, "in the channel")
    await spot.says(lambda text: text.startswith("answer to"))
    for thread, text in ((first, "about cats"), (second, "about dogs")):
        await thread.ask(lab.bob, text)
        await thread.says(lambda said: said.startswith("answer to"))
        assert "You are Bryony." in lab.model.last.system
        assert len([line for line in lab.heard() if line.startswith("Bob:")]) == 1
    await first.slash(lab.alice, "persona use", persona="none")
    await first.ask(lab.bob, "and now?")
    await first.says("answer to: Bob: and now?")
    assert "Bryony" not in lab.model.last.system
    await second.ask(lab.bob, "still you?")
    await second.says(lambda said: "still you?" in said)
    assert "You are Bryony." in lab.model.last.system


async def test_D17_forum_posts_inherit_what_was_set_for_their_forum(lab: DiscordLab) -> None:
    world, forum = lab.discord.world, lab.guild.create_forum_channel("forum")
    opening = f"{lab.discord.mention} please plan a picnic"
    channel, _ = world.start_forum_post(forum, "Picnic", lab.bob, opening)
    picnic = Spot(lab, channel)
    await picnic.says("answer to: Bob: please plan a picnic")
    await picnic.slash(lab.alice, "session set", key="persona", value="bryony", **{"for": "channel"})
    channel, _ = world.start_forum_post(forum, "Party", lab.bob, "a party for six")
    party = Spot(lab, channel)
    await party.ask(lab.bob, "make it happen")
    await party.says(lambda text: text.startswith("answer to"))
    assert "You are Bryony." in lab.model.last.system
    assert "picnic" not in str(lab.model.last.messages)
    assert "a party for six" in str(lab.model.last.messages)


async def test_D33_in_a_private_chat_no_mention_and_no_rights_are_needed(lab: DiscordLab) -> None:
    dora = lab.discord.world.create_user("dora", global_name="Dora")
    private = Spot(lab, dora.dm_channel)
    await dora.send_dm("hello")
    await private.says("answer to: hello")
    await dora.send_dm("/persona use bryony")
    await private.says("From now on **Bryony** speaks here.")
    greeting = (await private.says(lambda text: "Bryony speaking" in text))["content"]
    await dora.send_dm("/reset")
    await lab.discord.requests.first(lambda _: private.posts.count(greeting) == 2)
    await dora.send_dm("who are you?")
    await private.says(lambda text: text.startswith("answer to: who are you?"))
    assert [message["role"] for message in lab.model.last.messages] == ["system", "assistant", "user"]
    assert lab.heard()[0] == greeting


def _unbroken(length: int) -> str:
    """A text without a place to cut, and without the repetitions that end an answer."""
    return "".join(map(str, range(length)))[:length]
