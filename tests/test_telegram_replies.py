"""Answers as people see them grow: by drafts in private, by edits in groups, at a pace, and ended in full."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import pytest

from adapters.pacing import PacedReply
from adapters.telegram.inbound import Pressed
from adapters.telegram.options import TelegramOptions, Timeouts
from adapters.telegram.outbound import Part
from adapters.telegram.request import TelegramRequest
from bot.chat import Button, Outbound, PartState, SentPart
from bot.tasks import Tasks
from tests.emulators.telegram import After, Chat, TelegramEmulator
from tests.emulators.telegram.rig import Rig
from tests.emulators.telegram.stage import QUICK, Stage, channel

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")

LIVELY = replace(QUICK, group_pace=timedelta(milliseconds=10), private_pace=timedelta(milliseconds=10))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


async def test_in_a_group_an_answer_grows_by_edits_of_one_message(stage: Stage) -> None:
    question = stage.telegram.say(stage.alice, stage.group, "?")
    async with stage.running(options=LIVELY) as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group), reply_to=str(question["message_id"]))
        for text in ("Here is **bo", "Here is **bold** and *sl"):
            await reply.update(text)
            shown = text.replace("**bold**", "bold")
            await stage.telegram.wait_for_text(stage.group, shown)
        buttons = ((Button(label="More", command="help"),),)
        (part,) = await reply.finish(Outbound(text="Here is **bold** and *slanted*", buttons=buttons))
    (message,) = stage.telegram.bot_messages(stage.group)
    assert part == SentPart(ordinal=0, message_id=str(message["message_id"]), state=PartState.SENT)
    assert message["text"] == "Here is bold and slanted"
    assert [entity["type"] for entity in message["entities"]] == ["bold", "italic"]
    assert message["reply_markup"]["inline_keyboard"] == [[{"text": "More", "callback_data": "help"}]]
    assert message["reply_to_message"]["text"] == "?"
    assert {call.status for call in stage.telegram.calls_of("sendMessage", "editMessageText")} == {200}


async def test_in_private_an_answer_grows_by_drafts_and_is_sent_once(stage: Stage) -> None:
    async with stage.running(options=LIVELY) as (adapter, _):
        reply = await adapter.open_reply(channel(stage.private))
        for count, text in enumerate(("Hel", "Hello"), 1):
            await reply.update(text)
            await stage.telegram.wait_for(partial(_has_drafts, stage.private, count))
        assert [draft.text for draft in stage.private.drafts] == ["Hel", "Hello"]
        assert stage.telegram.bot_messages(stage.private) == []
        await reply.finish(Outbound(text="Hello you"))
    assert stage.telegram.bot_texts(stage.private) == ["Hello you"]
    assert len({draft.draft_id for draft in stage.private.drafts}) == 1


def _has_drafts(chat: Chat, count: int) -> bool:
    return len(chat.drafts) >= count


async def test_where_drafts_are_refused_an_answer_grows_by_edits() -> None:
    async with TelegramEmulator(drafts=False) as telegram:
        stage = Stage(telegram)
        async with stage.running(options=LIVELY) as (adapter, _):
            reply = await adapter.open_reply(channel(stage.private))
            await reply.update("Hel")
            await telegram.wait_for(lambda: telegram.calls_of("sendMessageDraft"))
            await reply.update("Hello")
            await telegram.wait_for_text(stage.private, "Hello")
            await reply.finish(Outbound(text="Hello you"))
            later = await adapter.open_reply(channel(stage.private))
            await later.update("Bye")
            await telegram.wait_for_text(stage.private, "Bye")
            await later.finish(Outbound(text="Bye"))
        assert telegram.bot_texts(stage.private) == ["Hello you", "Bye"]
        assert len(telegram.calls_of("sendMessageDraft")) == 1


async def test_a_fast_answer_is_one_request(stage: Stage) -> None:
    async with stage.running() as (adapter, _):
        for chat in (stage.private, stage.group):
            reply = await adapter.open_reply(channel(chat))
            await reply.update("Hel")
            await reply.finish(Outbound(text="Hello"))
    assert [call.method for call in stage.telegram.calls_of("sendMessage", "sendMessageDraft", "sendChatAction")] == [
        "sendMessage",
        "sendMessage",
    ]


async def test_a_slow_answer_shows_the_typing_sign_in_its_topic(stage: Stage) -> None:
    topic = stage.telegram.topic(stage.group, "Roses")
    async with stage.running() as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group, thread=str(topic)))
        await stage.telegram.wait_for(lambda: stage.group.actions)
        await reply.discard()
    assert stage.group.actions[0]["message_thread_id"] == topic


async def test_T06_a_final_text_that_is_shown_already_makes_no_second_message(stage: Stage) -> None:
    async with stage.running(options=LIVELY) as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group))
        await reply.update("All of it")
        await stage.telegram.wait_for_text(stage.group, "All of it")
        await reply.finish(Outbound(text="All of it"))
    assert stage.telegram.bot_texts(stage.group) == ["All of it"]


async def test_T01_a_refused_format_costs_one_more_call(stage: Stage) -> None:
    stage.telegram.fail("sendMessage", 400, "Bad Request: can't parse entities: at byte 930")
    async with stage.running() as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group))
        (part,) = await reply.finish(Outbound(text="*   **标题**：说明"))
    assert part.state is PartState.SENT
    assert "标题：说明" in stage.telegram.bot_texts(stage.group)[0]
    assert len(stage.telegram.calls_of("sendMessage")) == 2


async def test_T14_a_final_text_whose_answer_is_lost_is_uncertain_and_stands_there_once(stage: Stage) -> None:
    stage.telegram.fail("sendMessage", after=After.CUT)
    async with stage.running() as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group))
        (part,) = await reply.finish(Outbound(text="Hello"))
    assert (part.state, part.message_id) == (PartState.UNCERTAIN, None)
    assert stage.telegram.bot_texts(stage.group) == ["Hello"]


async def test_T15_where_no_files_are_allowed_the_rest_of_the_answer_comes_as_text(stage: Stage) -> None:
    no_files = "Bad Request: not enough rights to send documents to the chat"
    stage.telegram.fail("sendDocument", 400, no_files)
    answer = "\n\n".join(f"**{number}** " + "word " * 700 for number in range(8))
    buttons = ((Button(label="More", command="help"),),)
    async with stage.running() as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group), max_parts=2)
        parts = await reply.finish(Outbound(text=answer, buttons=buttons))
    messages = stage.telegram.bot_messages(stage.group)
    assert [part.message_id for part in parts] == [str(message["message_id"]) for message in messages]
    assert {part.state for part in parts} == {PartState.SENT}
    assert [message["text"].split()[0] for message in messages] == [str(number) for number in range(8)]
    assert {message["entities"][0]["type"] for message in messages} == {"bold"}
    assert ["reply_markup" in message for message in messages] == [False] * 7 + [True]


async def test_the_answer_to_a_press_replaces_the_message_with_the_button(stage: Stage) -> None:
    keyboard = {"inline_keyboard": [[{"text": "Next", "callback_data": "persona list -p 2"}]]}
    ours = stage.telegram.post(stage.group, stage.telegram.bot.as_json(), text="page 1", reply_markup=keyboard)
    async with stage.running() as (adapter, ears):
        stage.telegram.press(stage.bob, ours, "Next")
        (press,) = await ears.hear(1)
        assert press.reply_handle == Pressed(message_id=ours["message_id"])
        reply = await adapter.open_reply(press.channel, handle=press.reply_handle)
        (part,) = await reply.finish(Outbound(text="page 2"))
    assert part.message_id == str(ours["message_id"])
    (message,) = stage.telegram.bot_messages(stage.group)
    assert message["text"] == "page 2"
    assert "reply_markup" not in message


async def test_our_messages_are_deleted_and_those_already_gone_are_fine(stage: Stage) -> None:
    async with stage.running() as (adapter, _):
        reply = await adapter.open_reply(channel(stage.group))
        parts = await reply.finish(Outbound(text="word " * 2000))
        ids = [part.message_id for part in parts if part.message_id]
        assert len(ids) == 3
        for _ in range(2):
            await adapter.delete(channel(stage.group), ids)
        stage.group.closed_to_bot = "bot was kicked from the supergroup chat"
        await adapter.delete(channel(stage.group), ids)
    assert stage.telegram.bot_messages(stage.group) == []


def test_groups_are_edited_less_often_than_private_chats() -> None:
    options = TelegramOptions()
    assert options.private_pace >= timedelta(seconds=1)
    assert timedelta(minutes=1) / options.group_pace <= 20, "messages per minute that a group bears"


# With a clock of our own


@dataclass
class Clock:
    """Time that passes only when told."""

    now: float = 1000.0
    sleepers: list[tuple[float, asyncio.Event]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait until `now` has advanced by `seconds`."""
        sleeper = (self.now + seconds, asyncio.Event())
        self.sleepers.append(sleeper)
        self._asleep.set()
        try:
            await sleeper[1].wait()
        finally:
            self.sleepers.remove(sleeper)

    async def asleep(self, count: int) -> None:
        """Wait until `count` tasks sleep."""
        while len(self.sleepers) < count:
            self._asleep.clear()
            await self._asleep.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass and wake whoever has slept enough."""
        self.now += seconds
        for until, event in self.sleepers:
            if until <= self.now:
                event.set()


@dataclass
class Paced:
    """A reply in a group whose time we hold."""

    rig: Rig
    clock: Clock
    tasks: Tasks = field(default_factory=Tasks)

    def open(self, chat: Chat) -> PacedReply[Part]:
        return PacedReply(
            self.rig.to(chat),
            spawn=self.tasks.spawn,
            interval=timedelta(seconds=3),
            clock=lambda: self.clock.now,
            sleep=self.clock.sleep,
        )

    def requests(self) -> int:
        return len(self.rig.telegram.calls_of("sendMessage", "editMessageText", "sendChatAction"))


@pytest.fixture
async def paced() -> AsyncIterator[Paced]:
    async with TelegramEmulator() as telegram:
        addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
        async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts()) as request:
            clock = Clock()
            paced = Paced(Rig(telegram, request, clock=lambda: clock.now), clock)
            yield paced
            await paced.tasks.close()


async def test_T07_a_flood_silences_the_chat_for_35_s_and_then_one_edit_shows_the_whole_text(paced: Paced) -> None:
    telegram, group = paced.rig.telegram, paced.rig.group
    reply = paced.open(group)
    text = ""
    for word in ("one ", "two ", "three ", "four "):
        text += word
        await reply.update(text)
        await paced.clock.asleep(2)
        paced.clock.advance(3)
        await telegram.wait_for_text(group, text.strip())
    telegram.fail("editMessageText", 429, "Too Many Requests: retry after 35", parameters={"retry_after": 35})
    await reply.update(text + "five ")
    await paced.clock.asleep(2)
    paced.clock.advance(3)
    await telegram.wait_for(lambda: telegram.calls[-1].status == 429)
    before = paced.requests()
    await paced.clock.asleep(2)
    finishing = asyncio.ensure_future(reply.finish(Outbound(text=text + "five six")))
    other = asyncio.ensure_future(paced.open(group).finish(Outbound(text="another reply")))
    for _ in range(34):
        await paced.clock.asleep(2)
        paced.clock.advance(1)
        await asyncio.sleep(0)
    assert paced.requests() == before, "not one request for 35 s"
    await paced.clock.asleep(2)
    paced.clock.advance(1)
    (part,), _ = await asyncio.gather(finishing, other)
    assert part.state is PartState.SENT
    assert telegram.bot_texts(group) == ["one two three four five six", "another reply"]
    assert paced.requests() == before + 2


async def test_T07_a_flood_of_a_quarter_of_an_hour_costs_no_answer(paced: Paced) -> None:
    telegram, group = paced.rig.telegram, paced.rig.group
    telegram.fail("sendMessage", 429, "Too Many Requests: retry after 900", parameters={"retry_after": 900})
    finishing = asyncio.ensure_future(paced.open(group).finish(Outbound(text="the whole answer")))
    await telegram.wait_for(lambda: telegram.calls[-1:] and telegram.calls[-1].status == 429)
    await paced.clock.asleep(1)
    paced.clock.advance(899)
    await asyncio.sleep(0)
    assert (paced.requests(), finishing.done()) == (1, False)
    paced.clock.advance(1)
    (part,) = await finishing
    assert part.state is PartState.SENT
    assert telegram.bot_texts(group) == ["the whole answer"]
