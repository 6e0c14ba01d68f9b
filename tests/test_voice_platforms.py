"""Voice messages as the platforms bring them, and speech as they show it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.telegram.options import FileLimits
from bot.chat import QUOTED, Attachment, AttachmentKind, Inbound, Outbound, OutFile, PartState
from tests.emulators.discord.harness import OPTIONS, staged
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import QUICK, Stage, channel

SPOKEN = b"OggS" + b"\0" * 50
LONG = b"OggS" + b"\0" * 200
VOICE = OutFile(name="answer.mp3", text="", data=b"ID3 speech")

LISTENING = replace(OPTIONS, audio_bytes=100, audio_seconds=60)
EARS = replace(QUICK, files=FileLimits(audio_bytes=100, audio_seconds=60))

CASES = [
    (SPOKEN, 12, AttachmentKind.AUDIO, "voice message, 12 s"),
    (SPOKEN, 61, AttachmentKind.OTHER, "voice message, 61 s"),
    (LONG, 12, AttachmentKind.OTHER, "voice message, 12 s"),
]
"""Bytes, seconds, and what becomes of them where 100 bytes and 60 s are listened to."""


def the_file(inbound: Inbound) -> Attachment:
    (file,) = inbound.attachments
    return file


@pytest.mark.parametrize(("data", "seconds", "kind", "note"), CASES, ids=["short", "long", "large"])
async def test_discord_brings_voice_messages_within_the_caps(
    data: bytes, seconds: int, kind: AttachmentKind, note: str
) -> None:
    async with staged(options=LISTENING) as scene:
        scene.world.speak(scene.bob.dm_channel, scene.bob, data, seconds)
        file = the_file(await scene.bot.hears())
        assert (file.kind, file.note.removesuffix(", too long to listen to")) == (kind, note)
        assert file.data == (data if kind is AttachmentKind.AUDIO else b"")
        assert file.media_type == "audio/ogg"


@pytest.mark.parametrize(("data", "seconds", "kind", "note"), CASES, ids=["short", "long", "large"])
async def test_telegram_brings_voice_messages_within_the_caps(
    data: bytes, seconds: int, kind: AttachmentKind, note: str
) -> None:
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        async with stage.running(options=EARS) as (_adapter, ears):
            telegram.say(stage.alice, stage.private, **telegram.voice(data, seconds))
            file = the_file((await ears.hear(1))[0])
    assert (file.kind, file.note, file.media_type) == (kind, note, "audio/ogg")
    assert file.data == (data if kind is AttachmentKind.AUDIO else b"")


SOUND_FILES = [(SPOKEN, AttachmentKind.AUDIO), (LONG, AttachmentKind.OTHER)]
"""Bytes, and what becomes of a sound file of so many, however long it is."""


@pytest.mark.parametrize(("data", "kind"), SOUND_FILES, ids=["small", "large"])
async def test_discord_brings_sound_files_by_their_size(data: bytes, kind: AttachmentKind) -> None:
    async with staged(options=LISTENING) as scene:
        scene.world.post(scene.bob.dm_channel, scene.bob, attachments=[("memo.mp3", data)])
        file = the_file(await scene.bot.hears())
    assert (file.kind, file.name) == (kind, "memo.mp3")
    if kind is AttachmentKind.AUDIO:
        assert (file.note, file.media_type, file.data) == ("memo.mp3, audio, 54 B", "audio/mpeg", data)


@pytest.mark.parametrize(("data", "kind"), SOUND_FILES, ids=["small", "large"])
@pytest.mark.parametrize("is_document", [False, True], ids=["as music", "as a file"])
async def test_telegram_brings_sound_files_by_their_size(data: bytes, kind: AttachmentKind, is_document: bool) -> None:
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        sent = telegram.document(data, "memo.mp3", "audio/mpeg")
        if not is_document:
            sent = {"audio": {**sent["document"], "duration": 600}}
        async with stage.running(options=EARS) as (_adapter, ears):
            telegram.say(stage.alice, stage.private, **sent)
            file = the_file((await ears.hear(1))[0])
    assert (file.kind, file.name, file.media_type) == (kind, "memo.mp3", "audio/mpeg")
    assert file.data == (data if kind is AttachmentKind.AUDIO else b"")


async def test_telegram_brings_the_voice_message_that_is_replied_to() -> None:
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        async with stage.running(options=EARS) as (_adapter, ears):
            said = telegram.say(stage.bob, stage.group, **telegram.voice(SPOKEN, 5))
            telegram.say(stage.alice, stage.group, "@FamiliarBot what does Bob want?", reply_to_message=said)
            file = the_file((await ears.hear(2))[1])
    assert (file.kind, file.quoted, file.note) == (AttachmentKind.AUDIO, True, f"{QUOTED}, voice message, 5 s")


async def test_where_nobody_writes_them_down_voice_messages_are_not_fetched() -> None:
    async with staged() as scene:
        scene.world.speak(scene.bob.dm_channel, scene.bob, SPOKEN, 5)
        assert the_file(await scene.bot.hears()).kind is AttachmentKind.OTHER
        assert scene.emulator.files.asked.entries == []


async def test_discord_shows_speech_as_a_file_without_words() -> None:
    async with staged() as scene:
        stream = await scene.bot.adapter.open_reply((await scene.asked()).channel)
        (part,) = await stream.finish(Outbound(text="", voice=VOICE))
        (send,) = scene.sends()
    assert part.state is PartState.SENT
    assert send.files == (("answer.mp3", VOICE.content),)
    assert not send.body.get("content")


async def test_telegram_shows_speech_as_a_voice_message() -> None:
    async with TelegramEmulator() as telegram:
        stage = Stage(telegram)
        async with stage.running() as (adapter, _):
            stream = await adapter.open_reply(channel(stage.private))
            (part,) = await stream.finish(Outbound(text="", voice=VOICE))
        (message,) = telegram.bot_messages(stage.private)
        assert part.message_id == str(message["message_id"])
        path, data = telegram.files[message["voice"]["file_id"]]
    assert data == VOICE.content
    assert path.endswith("answer.mp3")
