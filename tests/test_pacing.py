"""A growing answer: when it is shown, and what becomes of it when the platform makes trouble."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from bot.chat import PartState, SentPart
from tests.pacing_stage import CURSOR, Fault, Play, states

SENT, UNCERTAIN, FAILED = PartState.SENT, PartState.UNCERTAIN, PartState.FAILED


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    async with Play() as play:
        yield play


# --- While it grows


async def test_a_fast_answer_is_one_request(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hel")
    await play.clock.advance(0.2)
    parts = await play.finish(reply, "Hello")
    assert play.stage.log == [(0.2, "send", "Hello")]
    assert parts == (SentPart(ordinal=0, message_id="m0", state=SENT),)


async def test_the_typing_sign_comes_after_the_quiet_time_and_is_repeated(play: Play) -> None:
    reply = play.open_reply()
    await play.clock.advance(10)
    assert play.stage.log == [(0.3, "typing", ""), (4.8, "typing", ""), (9.3, "typing", "")]
    await play.finish(reply, "Done")
    assert play.stage.verbs(without="") == ["typing", "typing", "typing", "send"]


async def test_the_typing_sign_rests_while_text_grows_and_returns_when_it_stalls(play: Play) -> None:
    reply = play.open_reply()
    for second in range(6):
        await reply.update("word " * (second + 1))
        await play.clock.advance(1)
    assert play.stage.times("typing") == []
    await play.clock.advance(9)
    assert len(play.stage.times("typing")) == 2
    await reply.discard()


@pytest.mark.parametrize("fault", [Refused(), Unreachable(), Uncertain()])
async def test_D14_a_typing_sign_that_fails_does_no_harm(play: Play, fault: Fault) -> None:
    play.stage.faults["typing"] = [fault] * 9
    reply = play.open_reply()
    await play.clock.advance(20)
    assert len(play.stage.times("typing")) == (1 if isinstance(fault, Refused) else 5)
    assert states(await play.finish(reply, "Hello")) == [SENT]


async def test_D24_three_hundred_chunks_in_ten_seconds_are_at_most_eleven_edits(play: Play) -> None:
    play.stage.limit = 2000
    reply = play.open_reply()
    for number in range(300):
        await reply.update("x" * (number + 1))
        await play.clock.advance(10 / 300)
    await play.finish(reply, "x" * 300)
    assert play.stage.verbs().count("send") == 1
    assert play.stage.verbs().count("edit") <= 11
    moments = play.stage.times("send") + play.stage.times("edit")
    assert all(later - earlier >= 0.999 for earlier, later in itertools.pairwise(moments[:-1]))
    assert play.stage.seen == "x" * 300


async def test_only_parts_that_changed_are_edited(play: Play) -> None:
    reply = play.open_reply()
    text = "a" * 20 + "b" * 20 + "c" * 20
    for length in (15, 30, 35, 50):
        await reply.update(text[:length])
        await play.clock.advance(1)
    parts = await play.finish(reply, text)
    assert [entry[1:] for entry in play.stage.log] == [
        ("send", "a" * 15 + CURSOR),
        ("edit", "a" * 20),
        ("send", "b" * 10 + CURSOR),
        ("edit", "b" * 15 + CURSOR),
        ("edit", "b" * 20),
        ("send", "c" * 10 + CURSOR),
        ("edit", "c" * 20),
    ]
    assert [part.message_id for part in parts] == ["m0", "m1", "m2"]


async def test_a_final_text_that_is_shown_already_needs_no_request(play: Play) -> None:
    play.stage.limit = 6
    reply = play.open_reply()
    await reply.update("Hello!?")
    await play.clock.advance(1)
    assert states(await play.finish(reply, "Hello!")) == [SENT]
    assert [entry[1:] for entry in play.stage.log] == [("send", "Hello!"), ("send", "?" + CURSOR), ("delete", "m1")]


async def test_drafts_show_the_growing_text_and_only_the_final_text_is_sent(play: Play) -> None:
    play.stage.drafts = True
    reply = play.open_reply()
    for length in (10, 30):
        await reply.update("a" * length)
        await play.clock.advance(1)
    assert play.stage.draft_text == "a" * 10 + CURSOR
    parts = await play.finish(reply, "a" * 30)
    assert play.stage.verbs() == ["draft", "draft", "send", "send"]
    assert states(parts) == [SENT, SENT]
    assert play.stage.seen == "a" * 30


# --- Faults while it grows


async def test_T07_a_wait_stops_every_request_and_ends_in_one_edit_with_the_full_text(play: Play) -> None:
    play.stage.limit = 2000
    play.stage.faults["edit"] = [None, None, None, Wait(35)]
    reply = play.open_reply()
    for number in range(60):
        await reply.update("word " * (number + 1))
        await play.clock.advance(1)
        if len(play.stage.times("edit")) == 4:
            break
    blocked = play.stage.times("edit")[-1]
    await reply.update("word " * 100)
    await play.clock.advance(34)
    assert play.stage.log[-1][0] == blocked
    await play.clock.advance(1)
    assert play.stage.log[-1] == (blocked + 35, "edit", ("word " * 100).strip() + CURSOR)
    await play.finish(reply, "word " * 100)
    assert play.stage.times("send") == [0.3]
    assert play.stage.seen == ("word " * 100).strip()


async def test_T22_the_final_text_waits_as_long_as_the_platform_asks(play: Play) -> None:
    play.stage.faults["edit"] = [Wait(35)]
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    await reply.update("Hello you")
    await play.clock.advance(1)
    parts = await play.finish(reply, "Hello you all")
    assert [entry for entry in play.stage.log if entry[1] != "typing"] == [
        (0.3, "send", "Hello" + CURSOR),
        (1.3, "edit", "Hello you" + CURSOR),
        (36.3, "edit", "Hello you all"),
    ]
    assert states(parts) == [SENT]


async def test_a_wait_for_the_typing_sign_holds_the_text_back(play: Play) -> None:
    play.stage.faults["typing"] = [Wait(5)]
    reply = play.open_reply()
    await play.clock.advance(1)
    await play.finish(reply, "Hello")
    assert play.stage.log == [(0.3, "typing", ""), (5.3, "send", "Hello")]


@pytest.mark.parametrize("verb", ["send", "edit"])
async def test_an_unreachable_platform_is_tried_again_with_the_next_update(play: Play, verb: str) -> None:
    play.stage.faults[verb] = [Unreachable()] * 3
    reply = play.open_reply()
    for text in ("a", "ab", "abc", "abcd", "abcde", "abcdef"):
        await reply.update(text)
        await play.clock.advance(1)
    assert states(await play.finish(reply, "abcdef")) == [SENT]
    assert play.stage.messages == {f"m{3 if verb == 'send' else 0}": "abcdef"}


async def test_an_edit_that_is_refused_ends_the_updates_and_the_final_text_is_a_new_message(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    del play.stage.messages["m0"]  # somebody deleted it
    play.stage.faults["edit"] = [Refused(), Refused()]
    for number in range(5):
        await reply.update("Hello " + "y" * number)
        await play.clock.advance(1)
    parts = await play.finish(reply, "Hello you")
    assert play.stage.verbs() == ["send", "edit", "edit", "send", "delete"]
    assert states(parts) == [SENT]
    assert play.stage.seen == "Hello you"


async def test_parts_behind_a_replaced_one_are_replaced_as_well_to_keep_the_order(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("a" * 19)
    await play.clock.advance(1)
    play.stage.faults["edit"] = [Unreachable(), Refused()]
    await reply.update("a" * 20 + "b" * 20 + "c")
    parts = await play.finish(reply, "a" * 20 + "b" * 20 + "c")
    assert list(play.stage.messages.values()) == ["a" * 20, "b" * 20, "c"]
    assert "m0" not in play.stage.messages
    assert states(parts) == [SENT, SENT, SENT]


async def test_an_uncertain_update_is_not_sent_again_but_the_final_text_is_whole(play: Play) -> None:
    play.stage.faults["send"] = [Uncertain()]
    play.stage.delivers_uncertain = False
    reply = play.open_reply()
    for number in range(5):
        await reply.update("Hello " + "y" * number)
        await play.clock.advance(1)
    assert play.stage.verbs() == ["send"]
    assert states(await play.finish(reply, "Hello you")) == [SENT]
    assert play.stage.seen == "Hello you"


async def test_the_pace_is_a_choice(play: Play) -> None:
    reply = play.open_reply(quiet=timedelta(seconds=1), interval=timedelta(seconds=3))
    for number in range(9):
        await reply.update("x" * (number + 1))
        await play.clock.advance(1)
    await play.finish(reply, "x" * 10)
    assert play.stage.times("send") == [1]
    assert play.stage.times("edit") == [4, 7, 9]
