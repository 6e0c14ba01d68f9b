"""Reminders: asked for in words, kept over a restart, told once where they were asked for, and everybody's own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.app.clock import build_reminding
from bot.chat import ChannelRef, Mention, PartState
from bot.llm.model import ToolCall
from bot.store.reminders import claim, due_reminders
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel
from bot.tools.reminders import MOST_REMINDERS
from tests.conftest import Extend, MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat
from tests.test_commands_personas import bring, plain

HOUR = timedelta(hours=1)


def calls(name: str, **arguments: Any) -> Reply:
    return Reply(text="", tool_calls=(ToolCall(id="c1", name=name, arguments=json.dumps(arguments)),))


def asking(*replies: Reply | str) -> ScriptedModel:
    return ScriptedModel([reply for call in replies for reply in (call, "Fine.")] or ["Fine."])


async def open_reminding(make_app: MakeApp, replies: Iterable[Reply], **settings: Any) -> Chat:
    return await open_chat(
        make_app, model=asking(*replies), persona="none", **{"timezone": "Europe/Berlin", **settings}
    )


def results(chat: Chat) -> str:
    """What the tools told the model last."""
    return chat.model.requests[-1].messages[-1].text


async def tell(chat: Chat, now: datetime) -> list[str]:
    """What the bot says by itself when the clock looks."""
    before = len(chat.adapter.replies)
    for task in await build_reminding(chat.app.core, chat.app.desk, "Familiar").tell_due(now):
        await task
    return [reply.text for reply in chat.adapter.replies[before:]]


@pytest.mark.parametrize(("tools", "told"), [(True, "Ask me in your own words"), (False, "cannot set any")])
async def test_where_no_reminder_waits_it_is_told_how_to_get_one(make_app: MakeApp, tools: bool, told: str) -> None:
    chat = await open_reminding(make_app, [], models={"test/scripted": {"tools": tools}})
    assert told in await chat.ask("/reminders")


async def test_a_reminder_is_told_once_in_the_chat_that_asked_for_it(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="in 20 minutes")])
    assert await chat.say("remind me of the cake in 20 minutes") == ["Fine."]
    assert results(chat).startswith("Reminder 1 is set for Sunday, 2026-11-01 13:20 (Europe/Berlin).")
    assert await tell(chat, NOW + timedelta(minutes=19)) == []
    assert await tell(chat, NOW + timedelta(minutes=20)) == ["⏰ the cake"]
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.mention is None, "in a private chat nobody need be called"
    assert await tell(chat, NOW + timedelta(minutes=21)) == []


async def test_in_a_group_the_asker_alone_is_called_and_the_message_that_asked_is_referred_to(
    make_app: MakeApp,
) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="@everyone the cake", when="18:00")])
    await chat.say("remind me at six", channel=GROUP, message_id="77")
    assert await tell(chat, NOW + 6 * HOUR) != []
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.mention == Mention(user_key=ALICE.key, name="Alice")
    assert (chat.last_reply.reply_to, chat.last_reply.channel.session_key) == ("77", GROUP.session_key)


async def test_what_was_told_is_the_personas_word_that_its_next_answer_knows(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="18:00")])
    await chat.say("remind me at six")
    await tell(chat, NOW + 5 * HOUR)
    await chat.say("done, thanks")
    assert ("assistant", "⏰ the cake") in chat.last_prompt


async def test_after_a_restart_what_was_missed_is_told_once_with_when_it_was_due(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="18:00")])
    await chat.say("remind me at six")
    await chat.app.close()
    again = await open_reminding(make_app, [])
    (told,) = await tell(again, NOW + 9 * HOUR)
    assert told.startswith("⏰ the cake\n\n*This was due at 2026-11-01 18:00")
    assert await tell(again, NOW + 9 * HOUR) == []


async def test_one_that_a_crash_cut_off_is_never_told_twice(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="18:00")])
    await chat.say("remind me at six")
    (due,) = await chat.app.core.db.read(due_reminders, NOW + 6 * HOUR)
    assert await chat.app.core.db.run(claim, due, None)
    assert not await chat.app.core.db.run(claim, due, None)
    await chat.app.close()
    again = await open_reminding(make_app, [])
    assert await tell(again, NOW + 7 * HOUR) == []


async def test_one_that_certainly_reached_nobody_is_told_again_later(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="18:00")])
    await chat.say("remind me at six")
    chat.adapter.state = PartState.FAILED
    await tell(chat, NOW + 6 * HOUR)
    chat.adapter.state = PartState.SENT
    assert await tell(chat, NOW + 6 * HOUR + timedelta(minutes=4)) == []
    assert await tell(chat, NOW + 6 * HOUR + timedelta(minutes=6)) != []


async def test_S08_a_daily_one_comes_at_its_local_time_also_after_the_zone_of_the_chat_was_changed(
    make_app: MakeApp,
) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="tea", when="08:00", repeat="daily")])
    await chat.say("remind me of tea every morning")
    await chat.say("/session set timezone Asia/Tokyo")
    first = datetime.fromisoformat("2026-11-02T07:00+00:00")  # 08:00 in Berlin
    assert await tell(chat, first - timedelta(minutes=1)) == []
    assert await tell(chat, first) == ["⏰ tea"]
    assert await tell(chat, first + 23 * HOUR) == []
    assert await tell(chat, first + 24 * HOUR) == ["⏰ tea"]


async def test_S08_what_is_left_out_of_a_change_stays_the_zone_as_well(make_app: MakeApp) -> None:
    made = calls("remind_me", text="tea", when="08:00", repeat="daily")
    chat = await open_reminding(make_app, [made, calls("remind_me", number=1, when="09:30")])
    await chat.say("remind me of tea every morning")
    await chat.say("/session set timezone Asia/Tokyo")
    await chat.say("make it half past nine")
    assert "2026-11-02 09:30 (Europe/Berlin), daily from then on" in results(chat)
    assert await tell(chat, datetime.fromisoformat("2026-11-02T08:30+00:00")) == ["⏰ tea"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": "tea"}, "Error: '' is not understood"),
        ({"text": "", "when": "18:00"}, "Error: Say in `text`"),
        ({"text": "tea", "when": "yesterday"}, "Error: 'yesterday' is not understood"),
        ({"text": "tea", "when": "18:00", "repeat": "hourly"}, "Error: A reminder comes again daily"),
        ({"text": "tea", "when": "18:00", "number": 9}, "Error: Alice has no reminder 9."),
        ({"text": "tea", "when": "18:00", "number": "x"}, "Error: 'x' is no number"),
    ],
)
async def test_what_cannot_be_kept_is_told_to_the_model(
    make_app: MakeApp, arguments: dict[str, Any], told: str
) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", **arguments)])
    await chat.say("remind me")
    assert results(chat).startswith(told)


async def test_one_person_can_wait_for_so_many_only(make_app: MakeApp) -> None:
    each = [calls("remind_me", text="tea", when="18:00")] * (MOST_REMINDERS + 1)
    chat = await open_reminding(make_app, each, quota={"messages_per_minute": 0})
    for _ in each:
        await chat.say("remind me of tea")
    assert results(chat).startswith(f"Error: They wait for {MOST_REMINDERS} reminders already")


async def test_of_somebody_who_wants_privacy_none_is_kept(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="tea", when="18:00")])
    await chat.say("/privacy on")
    await chat.say("remind me of tea")
    assert "nothing of what they say is kept" in results(chat)
    assert await tell(chat, NOW + 6 * HOUR) == []


async def test_everybody_sees_and_cancels_their_own_and_in_a_group_those_of_the_group_alone(make_app: MakeApp) -> None:
    chat = await open_reminding(
        make_app, [calls("remind_me", text="secret", when="18:00"), calls("remind_me", text="cake", when="19:00")]
    )
    await chat.say("remind me")
    await chat.say("remind me", channel=GROUP)
    (here,) = await chat.say("/reminders", channel=GROUP)
    assert "cake" in here
    assert "secret" not in here
    (everywhere,) = await chat.say("/reminders")
    assert "#1, 2026-11-01 18:00 Europe/Berlin: secret" in everywhere
    assert "cake" in everywhere
    (none,) = await chat.say("/reminders", author=BOB, channel=GROUP)
    assert none.startswith("You wait for no reminder")
    assert await chat.say("/reminders cancel 2", author=BOB, channel=GROUP) == [
        "You have no reminder 2. /reminders shows those you have."
    ]
    assert await chat.offers("reminders cancel", "reminder", "") == ["1", "2"]
    assert await chat.say("/reminders cancel 2") == ["Reminder 2 is cancelled."]
    assert await tell(chat, NOW + 8 * HOUR) != []
    assert "secret" in chat.last_reply.text


async def test_the_model_lists_and_cancels_only_for_whoever_asks(make_app: MakeApp) -> None:
    chat = await open_reminding(
        make_app,
        [
            calls("remind_me", text="cake", when="19:00"),
            calls("reminders", cancel=1),
            calls("reminders"),
            calls("reminders", cancel="#1"),
        ],
    )
    await chat.say("remind me", channel=GROUP)
    await chat.say("cancel it", channel=GROUP, author=BOB)
    assert results(chat) == "Error: Bob has no reminder 1."
    await chat.say("what do I wait for?", channel=GROUP)
    assert results(chat) == "1: Sunday, 2026-11-01 19:00 (Europe/Berlin): cake"
    await chat.say("cancel it", channel=GROUP)
    assert results(chat) == "Reminder 1 is cancelled."


async def test_somebody_who_is_admitted_no_longer_is_told_nothing(make_app: MakeApp) -> None:
    chat = await open_reminding(make_app, [calls("remind_me", text="cake", when="19:00")])
    await chat.say("remind me")
    await chat.app.close()
    again = await open_reminding(make_app, [], access={"allow_users": "fake:bob"})
    assert await tell(again, NOW + 8 * HOUR) == []


async def test_the_clock_of_the_app_looks_for_reminders(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    assert "reminders" in [job.name for job in chat.app.jobs]


async def test_what_was_asked_for_in_private_cannot_be_moved_to_where_others_read(make_app: MakeApp) -> None:
    replies = [calls("remind_me", text="the clinic", when="18:00"), calls("remind_me", number=1, when="in 1 hour")]
    chat = await open_reminding(make_app, replies)
    await chat.say("remind me of the clinic at six")
    await chat.say("make it an hour from now", channel=GROUP)
    assert results(chat) == "Error: Alice has no reminder 1."
    assert await tell(chat, NOW + 5 * HOUR) == ["⏰ the clinic"]
    assert chat.last_reply.channel.is_dm


@pytest.mark.parametrize("number", [10**30, "9" * 5000, "one", -1, 1.5, None, [], {}])
async def test_what_is_no_number_of_a_reminder_is_told(make_app: MakeApp, number: object) -> None:
    chat = await open_reminding(make_app, [calls("reminders", cancel=number)])
    await chat.say("cancel it")
    told = results(chat)
    assert "failed" not in told
    assert len(told) < 100


async def test_a_persona_reminds_in_its_own_words_and_under_its_own_face(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=asking(calls("remind_me", text="the *cake*", when="18:00")))
    chat.adapter.managers.add("alice")
    await chat.say("/persona use thrupp", channel=GROUP)
    await chat.say("remind me at six", channel=GROUP)
    assert await tell(chat, NOW + 6 * HOUR) == ["*ding!* That bell is for you, Alice: the \\*cake\\*"]
    assert chat.last_reply.speaker is not None
    assert chat.last_reply.speaker.name == "Thrupp"


@pytest.mark.parametrize("said", [None, 7, "no word of what", "x" * 600 + "{{reminder}}"])
async def test_a_card_whose_words_cannot_remind_is_spared_them(make_app: MakeApp, said: object) -> None:
    chat = await open_chat(make_app, model=asking(calls("remind_me", text="the cake", when="18:00")))
    card = plain("Mira", extensions={"familiar": {"reminder_text": said}})
    await chat.ask(f"/persona use {await bring(chat, card)}")
    await chat.say("remind me at six")
    assert await tell(chat, NOW + 6 * HOUR) == ["⏰ the cake"]


class Breaking(FakeAdapter):
    """An adapter that breaks once where nobody expects it."""

    breaks_next = False

    async def open_reply(self, channel: ChannelRef, **more: Any) -> Any:
        """A reply, unless it breaks."""
        if self.breaks_next:
            self.breaks_next = False
            raise RuntimeError("unforeseen")
        return await super().open_reply(channel, **more)


async def test_one_whose_telling_breaks_is_told_again_later(make_app: MakeApp) -> None:
    model, adapter = asking(calls("remind_me", text="the cake", when="18:00")), Breaking()
    chat = await open_chat(make_app, model=model, adapter=adapter, persona="none")
    await chat.say("remind me at six")
    adapter.breaks_next = True
    assert await tell(chat, NOW + 6 * HOUR) == []
    assert await tell(chat, NOW + 6 * HOUR + timedelta(minutes=6)) != []
    assert await tell(chat, NOW + 7 * HOUR) == []


async def test_clearing_all_and_privacy_take_them_along_and_say_so(make_app: MakeApp) -> None:
    made = [calls("remind_me", text=text, when="18:00") for text in ("cake", "tea")]
    chat = await open_reminding(make_app, made)
    await chat.say("remind me of the cake")
    assert "messages, items and reminders" in (await chat.say("/memory clear all"))[0]
    assert (await chat.say("/memory clear all -y"))[0].endswith("messages, items and reminders.")
    assert await tell(chat, NOW + 6 * HOUR) == []
    await chat.say("remind me of tea", channel=GROUP)
    assert (await chat.say("/privacy on"))[0].endswith(
        "Your 1 reminder is gone, since I would have to keep what it says."
    )
    assert await tell(chat, NOW + 6 * HOUR) == []


async def test_S08_S15_a_reminder_goes_by_the_clock_where_its_person_lives(make_app: MakeApp) -> None:
    made = [calls("remind_me", text="cake", when="18:00"), calls("current_time")]
    chat = await open_reminding(make_app, made)
    (none,) = await chat.say("/me zone")
    assert "here it is 13:00 (Europe/Berlin)" in none
    assert (await chat.say("/me zone Mars"))[0].startswith("“Mars” is no time zone I know.")
    assert (await chat.say("/me zone eastern"))[0].startswith("“eastern” is no time zone I know.")  # there are several
    (told,) = await chat.say("/me zone new york")
    assert told.startswith("You live in America/New_York, where it is 07:00 now.")
    assert chat.last_reply.outbound is not None
    assert chat.last_reply.outbound.private
    await chat.say("remind me at six", channel=GROUP)
    assert "2026-11-01 18:00 (America/New_York)" in results(chat)
    await chat.say("what time is it?", channel=GROUP)
    assert "07:00 (America/New_York" in results(chat)
    assert await tell(chat, NOW + 10 * HOUR) == []
    assert await tell(chat, NOW + 11 * HOUR) == ["⏰ cake"]
    assert await chat.offers("me zone", "zone", "york") == ["America/New_York"]
    await chat.say("/privacy off")
    assert (await chat.say("/me zone"))[0] == told
    assert (await chat.say("/me zone auto"))[0] == none


DROPPING = """
from bot.hooks import DROP, Hooks

async def drop(channel, outbound):
    return DROP if outbound.text.startswith("⏰") else None

HOOKS = Hooks(on_outbound=drop)
"""


async def test_one_that_an_extension_drops_is_not_tried_again(make_app: MakeApp, extend: Extend) -> None:
    settings = {"extensions": extend("s_dropping", DROPPING)}
    chat = await open_reminding(make_app, [calls("remind_me", text="the cake", when="18:00")], **settings)
    await chat.say("remind me at six")
    assert await tell(chat, NOW + 6 * HOUR) == []
    assert (await chat.say("/reminders"))[0].startswith("You wait for no reminder")
