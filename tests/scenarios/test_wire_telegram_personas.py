"""People on Telegram look at personas, edit one by questions and choose a greeting, on the wire."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.personas.formats import read_file, write_png
from tests.emulators.openai.script import Call, Request, Say
from tests.emulators.telegram.world import Chat, Json, User
from tests.scenarios.bot_process import running_bot
from tests.scenarios.discord_lab import echo
from tests.scenarios.telegram_lab import TelegramLab, telegram_lab
from tests.scenarios.test_wire_telegram_memory import read

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-telegram")]


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[TelegramLab]:
    async with telegram_lab(tmp_path, migrated_database) as lab:
        lab.model.script = echo
        yield lab


def card(name: str, **more: object) -> bytes:
    said = {"name": name, "description": f"{name} keeps a lighthouse.", "first_mes": f"{name} is here.", **more}
    return write_png(read_file(json.dumps(said).encode()).card, None)


async def shows(lab: TelegramLab, chat: Chat, matches: Callable[[str], bool]) -> Json:
    """Wait for a message of the bot that reads so."""
    return await lab.telegram.wait_for(
        lambda: next((found for found in lab.telegram.bot_messages(chat) if matches(read(found))), None)
    )


async def bring(lab: TelegramLab, user: User, chat: Chat, name: str, **more: object) -> None:
    file = lab.telegram.document(card(name, **more), f"{name}.png", "application/octet-stream")
    lab.telegram.say(user, chat, caption="/persona import --yes", **file)
    await shows(lab, chat, lambda text: f"{name} can speak now" in text)


async def test_a_persona_is_a_photo_that_turns_into_the_next_one_and_back_into_the_list(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        await bring(lab, alice, group, "Aaron")
        await bring(lab, alice, group, "Abel")
        lab.telegram.say(bob, group, "/persona@FamiliarBot")
        listed = await shows(lab, group, lambda text: "(familiar)" in text)
        lab.telegram.press(bob, listed, "Aaron")
        first = await shows(lab, group, lambda text: text.startswith("Aaron (p_"))
        assert first["message_id"] == listed["message_id"]
        assert first["photo"]
        lab.telegram.press(bob, first, "Abel ▶")
        second = await shows(lab, group, lambda text: text.startswith("Abel (p_"))
        assert second["message_id"] == first["message_id"]
        lab.telegram.press(bob, second, "All personas")
        again = await shows(lab, group, lambda text: "(familiar)" in text)
        assert "photo" not in again
        assert not [text for text in lab.telegram.bot_texts(group) if text.startswith("Abel (p_")]
        assert await bot.stop() == 0


async def test_T18_a_card_is_edited_by_questions_whose_answers_are_replies_in_a_group(lab: TelegramLab) -> None:
    alice, bob, group = lab.people()
    lab.telegram.privacy = True
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        await bring(lab, alice, group, "Mira")
        lab.telegram.say(bob, group, "/persona_edit@FamiliarBot -p Mira")
        await shows(lab, group, lambda text: text.startswith("Only people who manage"))
        lab.telegram.say(alice, group, "/persona_edit@FamiliarBot -p Mira")
        question = await shows(lab, group, lambda text: text.startswith("Mira: name (1 of 10)"))
        lab.telegram.press(bob, question, "Keep")
        await shows(lab, group, lambda text: "begins again" in text or text.count("Only people") > 0)
        lab.telegram.press(alice, question, "Keep")
        question = await shows(lab, group, lambda text: text.startswith("Mira: nickname (2 of 10)"))
        lab.telegram.press(alice, question, "Write")
        box = await shows(lab, group, lambda text: text.startswith("Alice Reply to this message with"))
        assert box["message_id"] != question["message_id"]
        assert json.loads(lab.telegram.calls_of("sendMessage")[-1].values["reply_markup"])["selective"]
        lab.telegram.say(alice, group, "Mirabel", reply_to=box)
        question = await shows(lab, group, lambda text: text.startswith("Mira: description (3 of 10)"))
        assert "> " not in read(question)
        lab.telegram.press(alice, question, "Save")
        await shows(lab, group, lambda text: text == "nickname of Mirabel is changed (version 2).")
        assert not lab.model.requests
        assert await bot.stop() == 0


async def test_a_greeting_is_chosen_and_a_persona_notes_how_it_feels(lab: TelegramLab) -> None:
    alice = lab.telegram.user("Alice")
    private = lab.telegram.private(alice)
    state = {"trust": {"type": "integer", "minimum": 0, "maximum": 10, "default": 3}}

    def script(request: Request) -> Say:
        if request.tool_results:
            return Say(text=f"noted: {request.tool_results[-1]}")
        return Say(calls=(Call(name="set_state", arguments=json.dumps({"trust": 8})),))

    lab.model.script = script
    async with running_bot(lab.folder, lab.settings) as bot:
        await lab.polled()
        more = {"alternate_greetings": ["Fog, {{user}}."], "extensions": {"familiar": {"state": state}}}
        await bring(lab, alice, private, "Ivo", **more)
        lab.telegram.say(alice, private, "/persona use Ivo")
        await shows(lab, private, lambda text: text == "Ivo is here.")
        lab.telegram.say(alice, private, "/persona_greeting")
        picker = await shows(lab, private, lambda text: text.startswith("Greeting 1 of 2"))
        lab.telegram.press(alice, picker, "2 ▶")
        picker = await shows(lab, private, lambda text: text.startswith("Greeting 2 of 2"))
        lab.telegram.press(alice, picker, "Begin with this one")
        await shows(lab, private, lambda text: text == "Fog, Alice.")
        assert "Ivo is here." not in lab.telegram.bot_texts(private)
        lab.telegram.say(alice, private, "I brought your keys back")
        await shows(lab, private, lambda text: text == "noted: Your state is now: trust: 8.")
        lab.telegram.say(alice, private, "/persona_info")
        await shows(lab, private, lambda text: "State: trust: 8" in text)
        assert await bot.stop() == 0
