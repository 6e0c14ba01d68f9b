"""Starts, stops and crashes of a bot on Discord, on the wire: what people see of them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest

from tests.emulators.openai.script import Request, Say, Stream, Wait, chunk, text_of
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import KEY, DiscordLab, Spot, discord_lab, echo, halting

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-discord-restarts")]


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[DiscordLab]:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab:
        yield lab


async def test_a_strangers_conversation_survives_a_restart(lab: DiscordLab) -> None:
    spot = lab.spot("general")
    gate = asyncio.Event()
    lab.model.queue(halting(gate, "Nice name", ", Tom."))
    lab.discord.fault("PUT", "/applications/*/commands", drop=True)
    async with lab.running() as bot:
        await lab.bob.send(spot.channel, "the cat is called Tom")
        await spot.ask(lab.bob, "do you like it?")
        await spot.says("Nice name")
        gate.set()
        await spot.says("Nice name, Tom.")
        await spot.slash(lab.alice, "persona use", persona="Bryony")
        await spot.says(lambda text: "Bryony, lost property" in text)
        await spot.ask(lab.bob, "my dog is Rex")
        await spot.says(lambda text: text.startswith("answer to: Bob: my dog is Rex"))
        assert await bot.stop() == 0
    async with lab.running() as bot:
        await spot.ask(lab.bob, "what is its name?")
        await spot.says(lambda text: text.startswith("answer to: Bob: what is its name?"))
        assert await bot.stop() == 0
    assert "You are Bryony." in lab.model.last.system
    greeting, dog, answer, question = lab.heard()
    assert "Bryony, lost property" in greeting
    assert dog == "Bob: my dog is Rex"
    assert answer.startswith("answer to: Bob: my dog is Rex")
    assert question.startswith("Bob: what is its name?")
    registered = lab.discord.requests.matching(lambda request: request.method == "PUT")
    assert [request.status for request in registered] == [0, 200], "until it works, and never again"
    assert KEY not in bot.output
    assert lab.discord.token not in bot.output


async def test_D16_a_long_thread_knows_what_it_was_opened_about_also_after_a_summary_and_a_restart(
    lab: DiscordLab,
) -> None:
    spot, opened = lab.spot("plans"), "Alice: Please plan a picnic for 6"
    starter = await lab.alice.send(spot.channel, "Please plan a picnic for 6")
    thread = Spot(lab, lab.discord.world.start_thread(spot.channel, "picnic", lab.bob, starter=starter))
    reply = await lab.alice.send(thread.channel, "bring cake")
    prompts: list[list[str]] = []

    def answer(request: Request) -> Say:
        if "<transcript>" in request.last_user:
            return Say(text='{"gist": "They talked about cake."}')
        prompts.append([text_of(message) for message in request.messages])
        return Say(text=f"answer {len(prompts)}")

    lab.model.script = answer
    keep = {"SUMMARY__KEEP_RECENT": "4", "SUMMARY__KEEP_TOKENS": "100", "NOTICES": "off"}
    small = {"CONTEXT_TOKENS": "3000", "MAX_OUTPUT_TOKENS": "200", **keep}
    async with lab.running(**small) as bot:
        await thread.ask(lab.bob, "which one?", reply_to=reply)
        await thread.says("answer 1")
        for number in range(2, 14):
            await thread.ask(lab.bob, f"number {number} " + "word " * 200)
            await thread.says(f"answer {number}")
        assert await bot.stop() == 0
    async with lab.running(**small) as bot:
        await thread.ask(lab.bob, "what was this about?")
        await thread.says("answer 14")
        assert await bot.stop() == 0
    assert [prompt[1] for prompt in prompts] == [opened] * 14
    assert [prompt.count(opened) for prompt in prompts] == [1] * 14
    assert "They talked about cake." in prompts[-1][0]
    assert "number 2 " not in str(prompts[-1])


async def test_S13_sigterm_closes_two_streaming_answers_and_ends_cleanly(lab: DiscordLab) -> None:
    spots = lab.spot("one"), lab.spot("two")
    never = asyncio.Event()
    lab.model.script = lambda _: halting(never, "It begins")
    async with lab.running(STOP_GRACE="0.5") as bot:
        for spot in spots:
            await spot.ask(lab.bob, "go")
        for spot in spots:
            await spot.says("It begins")
        bot.signal(signal.SIGTERM)
        assert await bot.ended(10) == 0
    assert [spot.posts for spot in spots] == [["It begins …"], ["It begins …"]]
    assert "Traceback" not in bot.output
    assert "Unclosed" not in bot.output


async def test_S13_an_answer_that_ends_within_the_grace_is_whole(lab: DiscordLab) -> None:
    spot, gate = lab.spot("general"), asyncio.Event()
    lab.model.queue(halting(gate, "It begins", " and it ends."))
    async with lab.running() as bot:
        await spot.ask(lab.bob, "go")
        await spot.says("It begins")
        bot.signal(signal.SIGTERM)
        await bot.logs("app.stopping")
        gate.set()
        assert await bot.ended(10) == 0
    assert spot.posts == ["It begins and it ends."]


async def test_S13_what_is_said_while_answers_end_is_answered_after_the_restart(lab: DiscordLab) -> None:
    """Discord tells nobody again what a connection has heard."""
    spot, other, gate = lab.spot("general"), lab.spot("other"), asyncio.Event()
    lab.model.queue(halting(gate, "It begins", " and it ends."))
    async with lab.running() as bot:
        await spot.ask(lab.bob, "go")
        await spot.says("It begins")
        bot.signal(signal.SIGTERM)
        await bot.logs("app.stopping")
        await other.ask(lab.alice, "anybody?")
        await other.slash(lab.bob, "status")  # what a channel brings is heard in order
        gate.set()
        assert await bot.ended(10) == 0
    assert spot.posts == ["It begins and it ends."]
    async with lab.running() as bot:
        await other.says("answer to: Alice: anybody?")
        assert await bot.stop() == 0


async def test_S13_a_platform_that_keeps_us_waiting_does_not_hold_the_stop_up(lab: DiscordLab) -> None:
    spot, limit = lab.spot("general"), {"message": "slow down", "retry_after": 60.0, "global": False}
    lab.discord.fault("POST", f"/channels/{spot.channel.id}/messages", status=429, body=limit)
    async with lab.running(STOP_GRACE="0.2") as bot:
        await spot.ask(lab.bob, "hi")
        await lab.discord.requests.first(lambda request: request.status == 429)
        bot.signal(signal.SIGTERM)
        assert await bot.ended(5) == 0
    assert bot.events("app.answers_cut_off")
    assert "Traceback" not in bot.output


async def test_S16_after_a_crash_nothing_is_sent_twice_and_the_unanswered_is_answered_once(lab: DiscordLab) -> None:
    shown, unanswered, never = lab.spot("shown"), lab.spot("unanswered"), asyncio.Event()
    lab.model.queue(halting(never, "Half"), Say(text="never said", gate=never))
    async with lab.running() as bot:
        await shown.ask(lab.bob, "hello")
        await shown.says("Half")
        await unanswered.ask(lab.bob, "anybody?")
        await lab.model.request(2)
        await bot.kill()
    asked = len(lab.model.requests)
    lab.discord.fault("GET", "/users/@me", status=200, delay=60)
    async with running_bot(lab.folder, lab.settings) as bot:
        logins = lab.discord.rest.arrived
        await logins.first(lambda call: call[1] == "/users/@me", after=logins.mark(), within=30)
        bot.signal(signal.SIGTERM)
        assert await bot.ended(5) == 0, "nothing that waits for the login holds the stop up"
    lab.discord.fault("GET", "/users/@me", status=200, delay=0.5)
    async with lab.running() as bot:
        await unanswered.says("answer to: Bob: anybody?")
        status = await shown.slash(lab.bob, "status")
        assert "I don't know whether the last answer arrived. /retry sends another." in lab.told(status)
        assert shown.posts == ["Half"]
        await shown.slash(lab.bob, "retry")
        await shown.says("answer to: Bob: hello")
        status = await shown.slash(lab.bob, "status")
        assert "The last answer arrived." in lab.told(status)
        assert await bot.stop() == 0
    assert unanswered.posts == ["answer to: Bob: anybody?"]
    assert len(lab.model.requests) == asked + 2
    assert lab.heard() == ["Bob: hello"]


async def crash_in_the_middle(lab: DiscordLab, *spots: Spot) -> None:
    """Kill the bot when two messages of each answer are seen, and the second has been edited, which comes after that is
    noted.
    """
    gate = asyncio.Event()
    half, more = chunk({"content": " ".join(f"half{number}" for number in range(300))}), chunk({"content": " and more"})
    lab.model.script = lambda _: Stream(steps=(half, Wait(gate), more, Wait(asyncio.Event())))
    async with lab.running() as bot:
        for spot in spots:
            await spot.ask(lab.bob, "hello")
        for spot in spots:
            await _says_in_two(spot)
        gate.set()
        for spot in spots:
            await spot.says(lambda text: text.endswith("and more"))
        await bot.kill()
    lab.model.script = echo


async def _says_in_two(spot: Spot) -> None:
    await spot.says(lambda text: text.startswith("half") and len(spot.posts) == 2)


async def test_S16_half_an_answer_that_a_crash_left_goes_by_retry_and_by_undo(lab: DiscordLab) -> None:
    retried, undone = lab.spot("retried"), lab.spot("undone")
    await crash_in_the_middle(lab, retried, undone)
    assert [len(spot.posts) for spot in (retried, undone)] == [2, 2]
    async with lab.running() as bot:
        for spot in (retried, undone):
            await spot.says(lambda text: text.startswith("This answer broke off when I stopped."))
        await retried.slash(lab.bob, "retry")
        await retried.says("answer to: Bob: hello")
        assert retried.posts == ["answer to: Bob: hello"]
        result = await undone.slash(lab.bob, "undo")
        assert undone.posts == [lab.told(result)]
        await undone.ask(lab.bob, "and now?")
        await undone.says("answer to: Bob: and now?")
        assert lab.heard() == ["Bob: and now?"]
        assert await bot.stop() == 0


async def test_D11_without_the_message_content_intent_the_start_names_the_switch_and_mentions_are_answered(
    tmp_path: Path, migrated_database: Path
) -> None:
    approved = discord.Intents.all()
    approved.message_content = False
    async with discord_lab(tmp_path / "lab", migrated_database, approved=approved) as lab:
        async with lab.running() as bot:
            spot = lab.spot("general")
            await lab.bob.send(spot.channel, "nobody hears this")
            await spot.ask(lab.bob, "but this")
            await spot.says("answer to: Bob: but this")
            assert await bot.stop() == 0
        (told,) = bot.events("discord.message_content_missing")
    assert "Message Content Intent" in told["problem"]
    assert "Privileged Gateway Intents" in told["remedy"]
    assert "Traceback" not in bot.output
