"""What real servers bring about, on the wire: a very long answer in a flood, proxy bots, old files, personas' faces."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.emulators.discord.files import Misbehaviour
from tests.emulators.openai.script import Say
from tests.scenarios.discord_lab import DiscordLab, Spot

pytestmark = [
    pytest.mark.wire,
    pytest.mark.xdist_group("wire-discord-fidelity"),
    pytest.mark.asyncio(loop_scope="module"),
]

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
ROWS = [f"| item {number} | {number * 7} |" for number in range(60)]
CODE = [f"value_{number} = {number}  # line {number}" for number in range(230)]
TALK = [f"Sentence {number} of the report says that number {number * 3} is fine." for number in range(60)]
REPORT = "\n\n".join(
    [
        "# Report",
        " ".join(TALK),
        "\n".join(["| name | count |", "| --- | --- |", *ROWS]),
        "```python\n" + "\n".join(CODE) + "\n```",
        "That is all.",
    ]
)


def faces(spot: Spot) -> list[tuple[str, str]]:
    """Who said what here, as people see it, the bot's own messages and its faces alone."""
    return [(message.author.display_name, message.content) for message in spot.messages]


async def test_D01_D05_D31_a_very_long_answer_in_a_thread_survives_a_flood_an_edit_and_a_deletion(
    lab: DiscordLab, spot: Spot
) -> None:
    assert len(REPORT) > 10_000
    thread = Spot(lab, lab.discord.world.start_thread(spot.channel, "report", lab.bob))
    secret = await lab.bob.send(thread.channel, "the code is 4711")
    gate = asyncio.Event()
    lab.model.queue(Say(text=REPORT, gate=gate))
    asked = len(lab.model.requests)
    question = await thread.ask(lab.bob, "the whole report please")
    await lab.model.request(asked + 1)
    path = f"/channels/{thread.channel.id}/messages"
    lab.discord.rules.add_limit("POST", path, count=2, seconds=1.5)
    flood = {"message": "You are being rate limited.", "retry_after": 0.7, "global": False}
    lab.discord.fault("POST", path, status=429, body=flood, times=2)
    gate.set()
    await lab.discord.requests.first(lambda _: len(thread.posts) == 5 and bool(thread.messages[-1].attachments))
    parts, sends = thread.posts, [request for request in thread.requests if request.status == 200]
    assert all(len(part) <= 2000 and part.count("```") % 2 == 0 for part in parts)
    assert parts[0].startswith("# Report")
    shown = "\n".join(parts)
    assert all(sentence in " ".join(shown.split()) for sentence in TALK)
    lines = [line for line in shown.splitlines() if line.startswith("value_")]
    assert lines == CODE[: len(lines)]
    assert lines
    assert all(row.split("|")[1].strip() in shown for row in ROWS)
    assert [name for name, _ in sends[-1].files] == ["answer.md"]
    assert sends[-1].files[0][1].decode() == REPORT
    assert [request.status for request in thread.requests][:3] == [429, 429, 200]
    lab.discord.rules.clear()
    await lab.bob.edit(question, f"{lab.discord.mention} the report please")
    await lab.bob.delete(secret)
    await thread.ask(lab.alice, "thanks")
    await thread.says("answer to: Alice: thanks")
    assert lab.heard() == ["Bob: the report please", REPORT, "Alice: thanks"]
    assert spot.posts == []


async def test_D08_a_proxied_question_is_answered_once_and_other_webhooks_are_not(lab: DiscordLab, spot: Spot) -> None:
    world, proxy = lab.discord.world, lab.discord.world.create_user("pluralkit")
    gate, asked = asyncio.Event(), len(lab.model.requests)
    lab.model.queue(Say(text="never shown", gate=gate))
    question = await spot.ask(lab.bob, "where is the key?")
    await lab.model.request(asked + 1)
    await lab.bob.delete(question)
    world.post_by_webhook(spot.channel, proxy, "Juniper", f"{lab.discord.mention} where is the key?")
    await spot.says("answer to: Juniper: where is the key?")
    gate.set()
    world.post_by_webhook(spot.channel, proxy, "Builder", f"{lab.discord.mention} build passed")
    await spot.ask(lab.bob, "thanks")
    await spot.says("answer to: Bob: thanks")
    assert spot.posts == ["answer to: Juniper: where is the key?", "answer to: Bob: thanks"]
    assert lab.heard()[0] == "Juniper: where is the key?"


async def test_D21_a_picture_whose_address_has_expired_spoils_no_question(lab: DiscordLab, spot: Spot) -> None:
    source = await lab.bob.send(lab.spot("elsewhere").channel, "look at this", attachments=[("gone.png", PNG)])
    lab.discord.files.misbehave("gone.png", Misbehaviour.MISSING)
    await lab.bob.forward(source, spot.channel)
    await spot.ask(lab.bob, "and at this", attachments=[("gone.png", PNG), ("kept.png", PNG)])
    await spot.says(lambda text: "gone.png, image, 24 B, could not be fetched" in text)
    lab.discord.files.misbehave("kept.png", Misbehaviour.MISSING)
    fetched = len(lab.discord.files.asked)
    await spot.ask(lab.bob, "what was it?")
    await spot.says("answer to: Bob: what was it?")
    assert len(lab.discord.files.asked) == fetched
    assert _picture_urls(lab) == ["data:image/png;base64"]
    with closing(sqlite3.connect(lab.folder / "data" / "familiar.db")) as database:
        rows = str(database.execute("SELECT text, quote FROM message").fetchall())
    assert "gone.png" in rows
    assert "http" not in rows


async def test_D18_D29_a_chosen_persona_speaks_under_its_own_name_and_retries_in_it(
    lab: DiscordLab, spot: Spot
) -> None:
    thread = Spot(lab, lab.discord.world.start_thread(spot.channel, "aside", lab.bob))
    await spot.slash(lab.alice, "persona use", persona="bryony")
    lab.model.queue(Say(text=" ".join(f"word{number}" for number in range(40)), chunk_seconds=0.05))
    await thread.ask(lab.bob, "tell me")
    await thread.says(lambda text: text.endswith("word39"))
    assert faces(thread) == [("Bryony", " ".join(f"word{number}" for number in range(40)))]
    await thread.ask(lab.bob, "/retry")
    await thread.says("answer to: Bob: tell me")
    await lab.discord.requests.first(lambda _: len(thread.posts) == 1)
    assert faces(thread) == [("Bryony", "answer to: Bob: tell me")]
    created = lab.discord.requests.matching(lambda r: r.is_for("POST", f"/channels/{spot.channel.id}/webhooks"))
    assert len(created) == 1


async def test_D32_where_webhooks_are_not_allowed_the_bot_names_the_persona(lab: DiscordLab, spot: Spot) -> None:
    body = {"code": 50013, "message": "Missing Permissions"}
    lab.discord.fault("GET", f"/channels/{spot.channel.id}/webhooks", status=403, body=body)
    await spot.slash(lab.alice, "persona use", persona="bryony")
    await spot.ask(lab.bob, "hello")
    await spot.says("**Bryony**: answer to: Bob: hello")
    hint = await spot.says(lambda text: text.startswith("-# "))
    assert "Manage Webhooks" in hint["content"]
    await spot.ask(lab.bob, "again")
    await spot.says("**Bryony**: answer to: Bob: again")
    assert len(spot.posts) == 5  # the switch, the greeting, two answers, one hint


def _picture_urls(lab: DiscordLab) -> list[str]:
    """How the pictures of the last request are given, without their bytes."""
    contents = [message["content"] for message in lab.model.last.messages if isinstance(message["content"], list)]
    blocks: list[dict[str, Any]] = [block for content in contents for block in content]
    return [block["image_url"]["url"].partition(",")[0] for block in blocks if block["type"] == "image_url"]
