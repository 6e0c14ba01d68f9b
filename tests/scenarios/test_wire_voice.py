"""Both platforms in one process, on the wire, with a model for each thing: people speak, show pictures and are spoken
to while the server of the chosen model is away.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulators.openai.script import Request, Say
from tests.emulators.telegram.server import TelegramEmulator
from tests.emulators.telegram.stage import PNG
from tests.scenarios.discord_lab import DiscordLab, Spot, discord_lab, echo

pytestmark = [pytest.mark.wire, pytest.mark.xdist_group("wire-voice")]

DUCK, SHELF = b"OggS duck", b"OggS shelf"

MODELS = {
    "PROVIDERS__AWAY__BASE_URL": "http://127.0.0.1:9/v1",
    "PROVIDERS__LAB__VISION": "off",
    "MODEL": "away/scripted",
    "FALLBACKS": "lab/scripted",
    "VISION_MODEL": "lab/eyes",
    "VOICE__TRANSCRIPTION_MODEL": "lab/ears",
    "VOICE__SPEECH_MODEL": "lab/tongue",
    "SPOKEN_ANSWERS": "on",
}


def answer(request: Request) -> Say:
    return Say(text="A duck on a handle.") if request.model == "eyes" else echo(request)


@pytest.fixture
async def lab(tmp_path: Path, migrated_database: Path) -> AsyncIterator[DiscordLab]:
    async with discord_lab(tmp_path / "lab", migrated_database) as lab:
        lab.model.script = answer
        lab.model.audio.transcripts = {DUCK: "Where is my umbrella?", SHELF: "On the shelf."}
        yield lab


async def test_L23_people_speak_show_pictures_and_are_spoken_to_while_a_server_is_away(lab: DiscordLab) -> None:
    bob, world = lab.bob.user, lab.discord.world
    spot = Spot(lab, bob.dm_channel)
    async with TelegramEmulator() as telegram:
        ada = telegram.user("Ada")
        chat = telegram.private(ada)
        addresses = {"BASE_URL": telegram.base_url, "BASE_FILE_URL": telegram.base_file_url, "TOKEN": telegram.token}
        async with lab.running(**MODELS, **{f"TELEGRAM__{name}": value for name, value in addresses.items()}) as bot:
            await bot.until(telegram.wait_for(lambda: telegram.polling, timeout_s=30))

            world.speak(bob.dm_channel, bob, DUCK, 3.2)
            heard = "answer to: [voice message, 3 s] Where is my umbrella?"
            await bot.until(spot.says(heard))
            speech = await lab.discord.requests.first(lambda request: bool(request.files), within=20)
            assert speech.files == (("answer.mp3", f"mp3:{heard}".encode()),)

            telegram.say(ada, chat, **telegram.voice(SHELF, 2))
            heard = "answer to: [voice message, 2 s] On the shelf."
            await bot.until(telegram.wait_for_text(chat, heard, timeout_s=20))
            await telegram.wait_for(lambda: [one for one in telegram.bot_messages(chat) if "voice" in one])
            spoken = next(one["voice"] for one in telegram.bot_messages(chat) if "voice" in one)
            assert telegram.files[spoken["file_id"]][1] == f"mp3:{heard}".encode()

            telegram.say(ada, chat, caption="what is this?", **telegram.photo(PNG))
            told = "[image photo.jpg, as another model sees it: “A duck on a handle.”]"
            await bot.until(telegram.wait_for_text(chat, f"answer to: what is this?\n{told}", timeout_s=20))

            telegram.say(ada, chat, "/status")
            away = "away does not answer at the moment."
            await telegram.wait_for(lambda: [text for text in telegram.bot_texts(chat) if away in text])
            assert await bot.stop() == 0
    assert bot.events("model.handed_over")
    assert "Traceback" not in bot.output
