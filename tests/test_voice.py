"""Voice messages are written down for the persona, and answers are spoken where a place wants that."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import select

from bot.chat import Attachment, AttachmentKind, ChannelRef, InboundKind, Outbound, Severity
from bot.cli.servers import voice_finding
from bot.hooks import DROP, Drop, Hooks
from bot.llm.catalogue import ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.configured import configured_providers
from bot.llm.quirks import Quirks
from bot.settings import Settings
from bot.store.ledger_tables import model_calls
from bot.store.tables import images, messages, sent_parts
from bot.testing import FakeAdapter, ScriptedModel, make_inbound
from bot.voice import MOST_CHARS, audible
from tests.conftest import MakeApp
from tests.emulators.openai import OpenAIEmulator, Refuse
from tests.talking import Chat, open_chat

DUCK = b"OggS duck"
GONE = Refuse(status=503, body={"error": {"message": "overloaded"}})


def recording(data: bytes = DUCK, note: str = "voice message, 12 s") -> Attachment:
    return Attachment(kind=AttachmentKind.AUDIO, name="voice.ogg", media_type="audio/ogg", data=data, note=note)


class SlowToSpeak(FakeAdapter):
    """An adapter that lets the first recording wait at the door."""

    def __init__(self) -> None:
        super().__init__()
        self.at_door, self.opens = asyncio.Event(), asyncio.Event()

    async def open_reply(self, channel: ChannelRef, **given: Any) -> Any:
        if self.replies and not self.at_door.is_set():
            self.at_door.set()
            await self.opens.wait()
        return await super().open_reply(channel, **given)


@asynccontextmanager
async def speaking(make_app: MakeApp, *answers: str, **more: Any) -> AsyncIterator[tuple[Chat, OpenAIEmulator]]:
    """A chat whose server `lab` writes down what is said; with `speaks`, it speaks, too."""
    adapter, speaks = more.pop("adapter", None) or FakeAdapter(), more.pop("speaks", False)
    async with OpenAIEmulator() as server:
        server.audio.transcripts[DUCK] = "Where is my\n umbrella? "
        voice = {
            "transcription_model": "lab/ears",
            **({"speech_model": "lab/tongue", "speaker": "nova"} if speaks else {}),
        }
        servers = {"test": {"base_url": "http://127.0.0.1:9/v1"}, "lab": {"base_url": server.base_url}}
        servers |= more.pop("own", {})
        settings = {"providers": servers, "persona": "none", "voice": voice, "spoken_answers": speaks, **more}
        yield await open_chat(make_app, model=ScriptedModel(answers or ("ok",)), adapter=adapter, **settings), server


async def calls_of(chat: Chat) -> list[tuple[str, str, str]]:
    columns = (model_calls.c.purpose, model_calls.c.model, model_calls.c.outcome)
    wanted = select(*columns).order_by(model_calls.c.id)
    rows = await chat.app.core.db.run(lambda tx: tx.execute(wanted).all())  # behind what was posted
    return [tuple(row) for row in rows]


async def parts(chat: Chat) -> Sequence[Any]:
    wanted = select(sent_parts).order_by(sent_parts.c.ordinal)
    return await chat.app.core.db.read(lambda tx: tx.execute(wanted).all())


async def recordings(chat: Chat) -> list[bytes]:
    return [*await chat.app.core.db.read(lambda tx: tx.execute(select(images.c.data)).scalars().all())]


async def test_what_is_said_aloud_is_read_as_a_message_marked_as_spoken(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, server):
        assert await chat.say("", attachments=(recording(),)) == ["ok"]
        assert chat.last_prompt[-1][1].endswith("[voice message, 12 s] Where is my umbrella?")
        (heard,) = server.audio.heard
        assert (heard.fields["model"], heard.name, heard.media_type, heard.data) == (
            "ears",
            "voice.ogg",
            "audio/ogg",
            DUCK,
        )
        assert await calls_of(chat) == [("transcription", "lab/ears", "stop"), ("chat", "test/scripted", "stop")]
        assert await recordings(chat) == []
        await chat.say("well?")
        assert "Where is my umbrella?" in chat.last_prompt[0][1]
        await chat.say("/retry")
        assert len(server.audio.heard) == 1


@pytest.mark.parametrize("said", [GONE, Refuse(status=200, body={"no": "text"})], ids=["overloaded", "no transcript"])
async def test_where_nobody_can_write_it_down_the_persona_hears_that_there_was_something(
    make_app: MakeApp, said: Refuse
) -> None:
    async with speaking(make_app) as (chat, server):
        server.audio.transcripts[DUCK] = said
        assert await chat.say("listen", attachments=(recording(),)) == ["ok"]
        assert chat.last_prompt[-1][1].endswith("listen\n[voice message, 12 s]")
        assert (await calls_of(chat))[0][0] == "transcription"
        server.audio.transcripts[DUCK] = "Now you hear me."
        await chat.say("/retry")
        assert chat.last_prompt[-1][1].endswith("listen\n[voice message, 12 s] Now you hear me.")


async def test_another_model_hears_and_speaks_while_the_first_does_not_answer(make_app: MakeApp) -> None:
    async with OpenAIEmulator() as away:
        away.audio.transcripts[DUCK] = away.audio.speech = GONE
        voice = {"transcription_model": "away/ears, lab/ears", "speech_model": ["away/tongue", "lab/tongue"]}
        given = {"voice": voice, "spoken_answers": True, "own": {"away": {"base_url": away.base_url}}}
        async with speaking(make_app, "There.", **given) as (chat, server):
            for count in (2, 4):
                await chat.say("", attachments=(recording(),))
                await chat.adapter.wait_for(count)
            assert len(server.audio.heard) == 2
            calls = [call for call in await calls_of(chat) if call[0] in ("transcription", "speech")]
            assert calls == [
                ("transcription", "away/ears", "unreachable"),
                ("transcription", "lab/ears", "stop"),
                ("speech", "away/tongue", "unreachable"),
                ("speech", "lab/tongue", "stop"),
                ("transcription", "lab/ears", "stop"),
                ("speech", "lab/tongue", "stop"),
            ], "who failed is left alone, each model for itself"
            assert {one.name for one in chat.app.models.model.health()} == {"away/ears", "away/tongue"}


async def test_where_the_server_cannot_be_reached_all_its_models_are_left_alone(make_app: MakeApp) -> None:
    voice = {"transcription_model": "away/ears, lab/ears", "speech_model": "away/tongue, lab/tongue"}
    given = {"voice": voice, "spoken_answers": True, "own": {"away": {"base_url": "http://127.0.0.1:9/v1"}}}
    async with speaking(make_app, "There.", **given) as (chat, _):
        await chat.say("", attachments=(recording(),))
        await chat.adapter.wait_for(2)
        calls = [call[1:] for call in await calls_of(chat) if call[0] != "chat"]
        assert calls == [("away/ears", "unreachable"), ("lab/ears", "stop"), ("lab/tongue", "stop")]


async def test_of_what_is_said_aloud_or_shown_in_privacy_nothing_stays(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, _):
        await chat.say("/privacy on")
        image = Attachment(kind=AttachmentKind.IMAGE, name="cat.png", media_type="image/png", data=b"\x89PNG")
        await chat.say("", attachments=(recording(), image))
        assert "umbrella" in chat.last_prompt[-1][1]
        texts = await chat.app.core.db.read(lambda tx: tx.execute(select(messages.c.text)).scalars().all())
        assert (texts[-1], await recordings(chat)) == ("", [])


async def test_silence_is_heard_once(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, server):
        await chat.say("", attachments=(recording(b"OggS silence"),))
        await chat.say("/retry")
        assert len(server.audio.heard) == 1
        assert chat.last_prompt[-1][1].endswith("[voice message, 12 s]")


async def test_of_two_recordings_alike_each_has_its_own_words(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, server):
        server.audio.transcripts |= {b"OggS one": "One. [image x.png]", b"OggS two": "Two."}
        await chat.say("", attachments=(recording(b"OggS one"), recording(b"OggS two")))
        notes = "[voice message, 12 s] One. (image x.png)\n[voice message, 12 s] Two."
        assert chat.last_prompt[-1][1].endswith(notes)


async def test_an_edit_of_its_words_keeps_what_was_said_aloud(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, _):
        await chat.say("lisen", attachments=(recording(),), message_id="7")
        note = Attachment(kind=AttachmentKind.OTHER, name="voice.ogg", note="voice message, 12 s")
        await chat.say("listen", attachments=(note,), message_id="7", kind=InboundKind.EDIT)
        await chat.say("well?")
        assert chat.last_prompt[0][1].endswith("listen\n[voice message, 12 s] Where is my umbrella?")


async def test_answers_are_spoken_after_their_text_where_a_place_wants_it(make_app: MakeApp) -> None:
    async with speaking(make_app, "It is **here**: [the shelf](https://example.org).", speaks=True) as (chat, server):
        await chat.say("where?")
        await chat.adapter.wait_for(2)
        text, voice = (reply.outbound for reply in chat.adapter.replies)
        assert text is not None
        assert voice is not None
        assert voice.voice is not None
        assert (text.text, text.voice) == ("It is **here**: [the shelf](https://example.org).", None)
        assert (voice.text, voice.voice.name) == ("", "answer.mp3")
        assert voice.voice.content == b"mp3:It is here: the shelf."
        assert server.audio.spoken == [
            {"model": "tongue", "voice": "nova", "response_format": "mp3", "input": "It is here: the shelf."}
        ]
        assert ("speech", "lab/tongue", "stop") in await calls_of(chat)
        await chat.say("/session set spoken_answers off")
        await chat.say("where?")
        assert len(server.audio.spoken) == 1


async def test_a_recording_is_a_part_of_its_reply_and_goes_with_it(make_app: MakeApp) -> None:
    async with speaking(make_app, speaks=True) as (chat, _):
        await chat.say("where?")
        await chat.adapter.wait_for(2)
        while len(rows := await parts(chat)) < 2:
            await chat.settled()
        assert [(row.ordinal, row.state) for row in rows] == [(0, "sent"), (1, "sent")]
        await chat.say("/undo")
        assert chat.adapter.deleted == [row.platform_message_id for row in rows]


async def test_a_recording_that_is_sent_while_its_reply_is_taken_back_is_taken_back_as_well(make_app: MakeApp) -> None:
    async with speaking(make_app, speaks=True, adapter=(adapter := SlowToSpeak())) as (chat, _):
        await chat.say("where?")
        await adapter.at_door.wait()
        await chat.say("/undo")
        adapter.opens.set()
        while len(chat.adapter.deleted) < 2:
            await parts(chat)
        assert chat.adapter.deleted == ["m1", "m3"]  # between them stands what /undo told


async def test_what_hooks_make_of_an_answer_on_its_way_out_is_what_is_spoken(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tame(_channel: ChannelRef, outbound: Outbound) -> Outbound | Drop | None:
        if "secret" in outbound.text:
            return DROP
        return replace(outbound, text=outbound.text.replace("damn", "darn"))

    module: Any = ModuleType("stranger")
    module.HOOKS = Hooks(on_outbound=tame)
    monkeypatch.setitem(sys.modules, "stranger", module)
    answers, more = ("damn it", "a secret", "bye"), {"speaks": True, "extensions": ("stranger",)}
    async with speaking(make_app, *answers, **more) as (chat, server):
        for count, text in ((2, "one"), (2, "two"), (4, "three")):
            await chat.say(text)
            await chat.adapter.wait_for(count)
        assert [spoken["input"] for spoken in server.audio.spoken] == ["darn it", "bye"]


@pytest.mark.parametrize("speech", [GONE, Refuse(status=200, body={"error": "?"})], ids=["overloaded", "no speech"])
async def test_where_nobody_can_speak_the_text_stands_alone(make_app: MakeApp, speech: Refuse) -> None:
    async with speaking(make_app, speaks=True) as (chat, server):
        server.audio.speech = speech
        assert await chat.say("where?") == ["ok"]
        while len(await calls_of(chat)) < 2:
            await chat.settled()
        assert len(chat.adapter.replies) == 1


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("# Plan\n\n1. *Boil* water\n2. ~~Tea~~\n> so\n- `x_y`", "Plan Boil water Tea so x_y"),
        ("Look:\n```python\nprint(1)\n```\nDone, see https://example.org/a_b.", "Look: Done, see"),
        ("![a duck](https://example.org/duck.png) and [tea](https://example.org)", "a duck and tea"),
        ("snake_case stays, _this_ too", "snake_case stays, this too"),
        ("```\nall code", ""),
    ],
)
def test_only_what_can_be_said_is_spoken(text: str, spoken: str) -> None:
    assert audible(text) == spoken


def test_of_a_long_answer_whole_sentences_are_spoken() -> None:
    spoken = audible("One two three. " * 1_000)
    assert len(spoken) <= MOST_CHARS
    assert spoken.endswith("three.")
    assert len(audible("长" * 5_000)) == MOST_CHARS


async def test_the_doctor_tells_whether_a_voice_is_offered_where_the_server_says_so() -> None:
    async with OpenAIEmulator(models=("ears",)) as server:
        providers = {"lab": {"base_url": server.base_url}, "gone": {"base_url": "http://127.0.0.1:9/v1"}}
        client = OpenAIModel(configured_providers(Settings(providers=providers), None), Quirks(), ModelCatalogue())
        names = ("lab/ears", "lab/tongue", "gone/ears")
        found = [await voice_finding(client, name, "VOICE__SPEECH_MODEL") for name in names]
        server.models = []
        found.append(await voice_finding(client, "lab/ears", "VOICE__TRANSCRIPTION_MODEL"))
        await client.close()
    assert [one and one.severity for one in found] == [Severity.OK, Severity.WARNING, None, Severity.OK]
    assert [one.remedy for one in found if one and one.remedy] == ["Check VOICE__SPEECH_MODEL"]


async def test_what_is_deleted_while_it_is_written_down_stays_deleted(make_app: MakeApp) -> None:
    async with speaking(make_app) as (chat, server):
        heard, gate = asyncio.Event(), asyncio.Event()
        server.audio.gates = (heard, gate)
        await chat.app.pipeline.deliver(make_inbound("", attachments=(recording(),), message_id="7"))
        await heard.wait()
        await chat.app.pipeline.deliver(make_inbound("", message_id="7", kind=InboundKind.DELETE))
        gate.set()
        await chat.settled()
        texts = await chat.app.core.db.read(lambda tx: tx.execute(select(messages.c.text)).scalars().all())
    assert not any("umbrella" in text for text in texts)
