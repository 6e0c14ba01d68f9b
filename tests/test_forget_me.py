"""/privacy forget-me: a person says a word everywhere, is forgotten, and then the word is nowhere."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from bot.chat import QUOTED, Attachment, AttachmentKind, InboundKind, Quote
from bot.llm.model import ToolCall
from bot.store.erasing import erase_person
from bot.store.sessions import find_session
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import Extend, MakeApp
from tests.remembering import SMALL, noting, talk
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat
from tests.test_due import keep, raise_due
from tests.test_reminders import tell
from tests.test_sweeper import sweep

WORD = "quetzalcoatlus"
LATER = NOW + timedelta(minutes=1)
QUIET: dict[str, Any] = {**SMALL, "quota": {"messages_per_minute": 0}}


def files_with_word(folder: Path) -> list[str]:
    """The files of the database that have the word anywhere, be it between rows or in the log."""
    return [path.name for path in folder.glob("familiar.db*") if WORD.encode() in path.read_bytes()]


def held(chat: Chat) -> Iterator[str]:
    """Texts with the word that something of the app still refers to, besides the fakes at its borders."""
    seen, waiting = {id(None), id(chat.model), id(chat.adapter)}, [chat.app]
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        seen.add(id(one))
        if isinstance(one, str | bytes):
            if WORD in (one if isinstance(one, str) else one.decode(errors="ignore")):
                yield str(one)
        elif isinstance(one, FunctionType):  # without the globals of its module
            waiting += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        else:
            waiting += gc.get_referents(one)


async def code_of(chat: Chat, **more: Any) -> str:
    asked = await chat.say("/privacy forget-me", **more)
    found = re.search(r"`/privacy forget-me (\w+)`", str(asked))
    assert found is not None, asked
    return found[1]


async def forget(chat: Chat, **more: Any) -> str:
    return "\n".join(await chat.say(f"/privacy forget-me {await code_of(chat, **more)}", **more))


def answering(request: Any) -> Reply | str:
    """A persona that repeats what it hears, and keeps reminders of it."""
    said = request.messages[-1].text
    if said.endswith("remind me"):
        arguments = json.dumps({"text": WORD, "when": "in 20 minutes"})
        return Reply(text="", tool_calls=(ToolCall(id="c1", name="remind_me", arguments=arguments),))
    return f"You say: {said[-40:]}"


PICTURE = Attachment(kind=AttachmentKind.IMAGE, name=f"{WORD}.png", media_type="image/png", data=WORD.encode())
FILE = Attachment(kind=AttachmentKind.TEXT, name="diary.txt", media_type="text/plain", text=f"dear {WORD}")


async def say_it_everywhere(chat: Chat) -> None:
    """In private and among others, to the bot and past it, in files, notes, lore, reminders and settings."""
    for channel in (DM, GROUP, make_channel("other")):
        await chat.say(f"my dog is called {WORD}", channel=channel, message_id="77", attachments=(PICTURE, FILE))
        await chat.say(f"I tell Bob of {WORD}", channel=channel, mentions_me=False)
        await chat.say(f"{WORD}, remind me", channel=channel)
        await chat.say(f"/memory add event {WORD} was here", channel=channel)
        await chat.say(f"/lore add {WORD} It flies. --for me", channel=channel)
        await talk(chat, 8, channel=channel)
        await chat.say(f"/compact {WORD}", channel=channel)
    quote = Quote(message_id="77", author_name="Alice", text=f"my dog is called {WORD}", author_key=ALICE.key)
    quoted = replace(FILE, quoted=True, note=QUOTED), replace(PICTURE, quoted=True, note=QUOTED)
    await chat.say("what a name", author=BOB, channel=GROUP, reply_to=quote, attachments=quoted)
    await chat.say(f"/session set name {WORD}")
    group = await chat.app.core.db.read(find_session, GROUP)
    assert group is not None
    await chat.app.core.host.metadata("pets", group).put("dog", WORD, about=ALICE.key)


async def test_M06_a_word_that_was_said_everywhere_is_nowhere_afterwards(make_app: MakeApp, tmp_path: Path) -> None:
    model = ScriptedModel(answering, summaries=noting(f"Alice has a {WORD}", line="my dog"))
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["alice"]), **QUIET)
    await say_it_everywhere(chat)
    assert any(WORD in text for text in await tell(chat, NOW + timedelta(minutes=20))), "reminders are told in it"
    assert files_with_word(tmp_path)
    assert any(held(chat)), "the search in the memory finds what is there"
    told = await forget(chat)
    assert told.startswith("You are forgotten: ")
    assert files_with_word(tmp_path) == []
    assert [*held(chat)] == []
    for shown in (chat.adapter.replies, model.requests, model.summaries):
        shown.clear()
    await chat.say("what do you know of me?", sent_at=LATER)
    await chat.say("what do you know of Alice?", author=BOB, channel=GROUP)
    assert (await chat.say("/privacy export", sent_at=LATER))[0].startswith("All that I keep")
    assert WORD not in str(model.requests) + str(chat.adapter.replies)
    await chat.app.close()
    again = await open_chat(make_app, model=ScriptedModel(), **QUIET)
    await again.say("and now?", sent_at=LATER)
    assert WORD not in str(again.model.requests) + str(again.adapter.replies)
    assert files_with_word(tmp_path) == []


async def test_it_tells_first_what_goes_and_what_stays_and_needs_a_yes(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("I am Alice")
    (asked,) = await chat.say("/privacy forget-me")
    assert "- 2 messages and commands of yours" in asked
    assert "This stays: what others have written" in asked
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.private
    ((button,),) = chat.last_reply.outbound.buttons
    assert (await chat.say("/privacy forget-me nonsense"))[0] != ""
    await chat.say("who am I?")
    assert ("user", "I am Alice") in chat.last_prompt
    (done,) = await chat.press(button.command)
    assert done.startswith("You are forgotten: 5 messages of yours are gone")
    await chat.say("who am I?", sent_at=LATER)
    assert chat.last_prompt == [("user", "who am I?")]


async def test_X04_a_button_that_somebody_else_presses_forgets_neither(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    for author in (ALICE, BOB):
        await chat.say(f"I am {author.name}", author=author, channel=GROUP)
    code = await code_of(chat, channel=GROUP)
    (asked,) = await chat.press(f"privacy forget-me {code}", author=BOB, channel=GROUP)
    assert asked.startswith("This goes, wherever it is")
    await chat.say("hello", channel=GROUP)
    assert [text for _, text in chat.last_prompt if "I am" in text] == ["Alice: I am Alice", "Bob: I am Bob"]


async def test_what_others_said_stays_for_the_prompt_as_it_was(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(["One.", "Two.", "Three."]))
    await chat.say("I am Alice", channel=GROUP)
    await chat.say("I am Bob", author=BOB, channel=GROUP)
    await forget(chat, channel=GROUP)
    await chat.say("who is here?", author=BOB, channel=GROUP)
    assert chat.last_prompt == [("user", "Bob: I am Bob"), ("assistant", "Two."), ("user", "Bob: who is here?")]


async def test_what_a_persona_told_others_about_somebody_goes_and_what_only_looks_so_stays(make_app: MakeApp) -> None:
    replies = ["Hi.", "Alice has a dog.", "Malice is bad.", "Fine."]
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(replies))
    await chat.say("I have a dog", channel=GROUP)
    for question in ("what has she?", "what is bad?"):
        await chat.say(question, author=BOB, channel=GROUP)
    await forget(chat, channel=GROUP)
    await chat.say("and?", author=BOB, channel=GROUP)
    assert [text for role, text in chat.last_prompt if role == "assistant"] == ["Malice is bad."]


async def test_nobody_takes_a_persona_s_words_along_by_a_name_that_is_a_word(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.traces.FEW", 1)
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(["The answer is the first one."]))
    for _ in range(5):
        await chat.say("which?", author=BOB, channel=GROUP)
    the = make_author("The")
    await chat.say("hello", author=the, channel=GROUP)
    await forget(chat, author=the, channel=GROUP)
    await chat.say("and?", author=BOB, channel=GROUP)
    assert len([text for role, text in chat.last_prompt if role == "assistant"]) == 5


async def test_D13_what_was_said_before_does_not_come_back_by_a_late_event(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_chat(make_app, persona="none")
    before = make_inbound(f"I like {WORD}", channel=GROUP, message_id="77", mentions_me=True)
    await chat.app.pipeline.deliver(before)
    await chat.settled()
    await forget(chat, channel=GROUP)
    await chat.app.pipeline.deliver(before)
    edit = make_inbound(f"I love {WORD}", channel=GROUP, message_id="77", kind=InboundKind.EDIT, sent_at=LATER)
    await chat.app.pipeline.deliver(edit)
    quote = Quote(message_id="77", author_name="Alice", text=f"I like {WORD}", author_key=ALICE.key)
    quoted = Attachment(kind=AttachmentKind.TEXT, name="a.txt", text=WORD, quoted=True)
    await chat.say("really?", author=BOB, channel=GROUP, reply_to=quote, attachments=(quoted,))
    assert WORD not in str(chat.last_prompt)
    assert files_with_word(tmp_path) == []
    await chat.say("I am new", channel=GROUP, message_id="78", sent_at=LATER)
    newer = make_inbound("I am quite new", channel=GROUP, message_id="78", kind=InboundKind.EDIT, sent_at=LATER)
    await chat.app.pipeline.deliver(newer)
    await chat.say("hm", author=BOB, channel=GROUP)
    assert ("user", "Alice: I am quite new") in chat.last_prompt, "whoever writes again is simply new"


async def test_an_answer_under_way_ends_and_one_to_others_that_tells_of_it_goes_afterwards(
    make_app: MakeApp, tmp_path: Path
) -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    replies = ["ok", Reply(text=f"Alice likes {WORD}", hold=gates[0]), Reply(text=f"you like {WORD}", hold=gates[1])]
    chat = await open_chat(make_app, persona="none", model=ScriptedModel(replies), adapter=FakeAdapter(streams=True))
    await chat.say(f"I like {WORD}", channel=GROUP)
    asked = asyncio.ensure_future(chat.say("what does she like?", author=BOB, channel=GROUP))
    await chat.model.wait_for(2)
    own = asyncio.ensure_future(chat.say("what do I like?"))
    await chat.model.wait_for(3)
    await chat.ask(f"/privacy forget-me {chat.app.desk.eraser.code_for(ALICE.key)}", channel=GROUP)
    gates[0].set()
    await asyncio.gather(asked, own)
    await chat.app.desk.eraser.idle()
    assert files_with_word(tmp_path) == []


async def test_what_the_bot_came_back_to_unasked_goes_as_well(make_app: MakeApp, tmp_path: Path) -> None:
    model = ScriptedModel(["hi", f"Is {WORD} fed?"])
    chat = await open_chat(make_app, model=model, persona="none", proactive=True)
    await chat.say("hello", channel=GROUP)
    await keep(chat, channel=GROUP)
    assert await raise_due(chat) == [f"Is {WORD} fed?"]
    assert files_with_word(tmp_path)
    await forget(chat, channel=GROUP)
    assert files_with_word(tmp_path) == []


async def test_what_is_being_noted_of_it_is_not_kept(make_app: MakeApp, tmp_path: Path) -> None:
    gate = asyncio.Event()
    summary = Reply(text=json.dumps({"facts": [], "gist": f"Alice likes {WORD}"}), hold=gate)
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[summary]), **QUIET)
    await chat.say(f"I like {WORD}", channel=GROUP)
    await talk(chat, 8, author=BOB, channel=GROUP)
    chat.adapter.managers.add("bob")
    folding = asyncio.ensure_future(chat.say("/compact", author=BOB, channel=GROUP))
    async with asyncio.timeout(10):
        while not chat.model.summaries:
            chat.model.asked.clear()
            await chat.model.asked.wait()
    await chat.ask(f"/privacy forget-me {chat.app.desk.eraser.code_for(ALICE.key)}", channel=GROUP)
    gate.set()
    await folding
    assert files_with_word(tmp_path) == []


async def test_the_export_is_a_file_in_private_chats_alone(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("I like tea", channel=GROUP)
    assert (await chat.say("/privacy export", channel=GROUP))[0].startswith("Others could read that here.")
    await chat.say("/privacy export")
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.file is not None
    kept = json.loads(chat.last_reply.outbound.file.text)
    assert kept["who"] == ALICE.key
    assert kept["messages"][0]["text"] == "I like tea"
    assert [row["text"] for row in kept["answers"]] == ["ok"]


async def test_whoever_had_privacy_is_told_that_it_went_along(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("/privacy on")
    assert "`/privacy on` went along" in await forget(chat)
    assert (await chat.say("/privacy", sent_at=LATER))[0].startswith("Privacy is **off**")


async def test_whoever_sits_at_the_terminal_is_told_of_the_files_that_stay(make_app: MakeApp, tmp_path: Path) -> None:
    chat = await open_chat(make_app, persona="none", data_dir=tmp_path / "data")
    (tmp_path / "data" / "exports").mkdir(parents=True)
    (tmp_path / "data" / "exports" / "about-me.json").touch()
    stays = f"stay in {tmp_path}/data/exports until you delete them: about-me.json."
    me = replace(ALICE, platform="terminal")
    (asked,) = await chat.say("/privacy forget-me", author=me)
    assert stays in asked.replace("\\", "")
    assert chat.last_reply.outbound is not None
    ((button,),) = chat.last_reply.outbound.buttons
    (done,) = await chat.say(f"/{button.command}", author=me)
    assert stays in done.replace("\\", "")
    assert "about-me" not in (await chat.say("/privacy forget-me"))[0]


HOOKED = """
from bot.hooks import Hooks

told = []

async def cleared(clearing):
    told.append((clearing.session.channel.session_key, clearing.what, clearing.person_key))

HOOKS = Hooks(on_memory_cleared=cleared)
"""


async def test_extensions_are_told_of_each_session(make_app: MakeApp, extend: Extend) -> None:
    chat = await open_chat(make_app, persona="none", extensions=extend("s_hooked", HOOKED))
    for channel in (DM, GROUP):
        await chat.say("hello", channel=channel)
    await forget(chat)
    import s_hooked  # type: ignore[import-not-found]  # the test has just written it

    assert sorted(s_hooked.told) == [(key, "person", ALICE.key) for key in ("fake:1:room", "fake:dm-room")]


async def test_what_another_process_erases_leaves_the_memory_of_this_one_within_seconds(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(answering), **QUIET)
    await chat.say(f"I like {WORD}", channel=GROUP)
    await chat.app.core.db.run(erase_person, ALICE.key, NOW)
    assert [*held(chat)] != []
    await chat.app.desk.eraser.look()
    assert [*held(chat)] == []


async def test_in_the_next_lull_another_summary_tells_of_what_others_said(make_app: MakeApp) -> None:
    model = ScriptedModel(summaries=noting("Bob was here", about=BOB.key, line="number 0"))
    chat = await open_chat(make_app, model=model, adapter=FakeAdapter(managers=["bob"]), **QUIET)
    await chat.say(f"I like {WORD}", channel=GROUP)
    await talk(chat, 8, author=BOB, channel=GROUP)
    await chat.say("/compact", author=BOB, channel=GROUP)
    assert WORD in str(model.summaries[-1])
    await forget(chat, channel=GROUP)
    asked = len(model.summaries)
    await chat.app.keeper.idle()
    for _ in range(3):
        await sweep(chat, NOW + timedelta(hours=1))
    assert len(model.summaries) == asked + 1
    assert WORD not in str(model.summaries[-1])
    await chat.say("and now?", author=BOB, channel=GROUP)
    assert "They got to know each other." in str(model.requests[-1])
    assert "Bob was here" in str(model.requests[-1])


async def test_an_export_that_no_platform_takes_is_the_operators_to_give(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(make_app, persona="none")
    monkeypatch.setattr("bot.commands.privacy.MOST_CHARS", 10)
    assert "`familiar privacy export fake alice`" in (await chat.say("/privacy export"))[0]
