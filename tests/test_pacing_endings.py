"""How an answer ends: in full, once, and with a state for every part, whatever the platform does."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from bot.chat import Outbound, PartState, SentPart
from tests.pacing_stage import CURSOR, Fault, Play, settle, states

SENT, UNCERTAIN, FAILED = PartState.SENT, PartState.UNCERTAIN, PartState.FAILED


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    async with Play() as play:
        yield play


@pytest.mark.parametrize(
    ("faults", "expected", "verbs"),
    [
        ([Unreachable()], [SENT], ["send"] * 2),
        ([Unreachable()] * 3, [SENT], ["send"] * 4),
        ([Unreachable()] * 17, [SENT], ["send"] * 18),
        ([Unreachable()] * 99, [FAILED], ["send"] * 18),
        ([Wait(60)], [SENT], ["send"] * 2),
        ([Wait(60), Wait(50)], [SENT], ["send"] * 3),
        ([Wait(60), Wait(61)], [SENT], ["send"] * 3),
        ([Wait(900)], [SENT], ["send"] * 2),
        ([Wait(3600)], [SENT], ["send"] * 2),
        ([Wait(3601)], [FAILED], ["send"]),
        ([Wait(1800), Wait(1801)], [FAILED], ["send"] * 2),
        ([Wait(900), *[Unreachable()] * 17], [SENT], ["send"] * 19),
        ([Wait(900), *[Unreachable()] * 99], [FAILED], ["send"] * 19),
        ([Wait(0)] * 9999, [FAILED], ["send"] * 3601),
        ([Refused()], [FAILED], ["send"]),
    ],
)
async def test_T07_the_final_text_waits_as_long_as_it_is_told_and_is_patient_with_silence(
    play: Play, faults: list[Fault | None], expected: list[PartState], verbs: list[str]
) -> None:
    play.stage.faults["send"] = list(faults)
    assert states(await play.finish(play.open_reply(), "Hello")) == expected
    assert play.stage.verbs() == verbs


@pytest.mark.parametrize(
    ("faults", "seconds"), [([Wait(3601)], 3601), ([Unreachable()] * 99, 8)], ids=["too long", "silence"]
)
async def test_who_gives_a_final_text_up_says_so(play: Play, faults: list[Fault | None], seconds: int) -> None:
    play.stage.faults["send"] = list(faults)
    with capture_logs() as logs:
        await play.finish(play.open_reply(), "Hello")
    given_up = {"event": "reply.given_up", "log_level": "warning", "next_try_in_seconds": seconds}
    assert logs == [given_up]


@pytest.mark.parametrize(("seconds", "seen"), [(900, "Hello you"), (4000, "Hello" + CURSOR)])
async def test_T07_a_wait_that_began_while_the_text_grew_counts_too(play: Play, seconds: float, seen: str) -> None:
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    play.stage.faults["edit"] = [Wait(seconds)]
    await reply.update("Hello y")
    await play.clock.advance(2)
    await play.finish(reply, "Hello you")
    assert play.stage.seen == seen
    assert all(moment < 3 or moment >= seconds for moment, _, _ in play.stage.log)


async def test_repetitions_keep_growing_distances(play: Play) -> None:
    play.stage.faults["send"] = [Unreachable()] * 4
    await play.finish(play.open_reply(), "Hello")
    assert play.stage.times("send") == [0, 1, 3, 7, 15]


@pytest.mark.parametrize(
    ("faults", "expected", "shown"),
    [
        ([None, Refused(instead=["x", "y"])], [SENT, SENT, SENT], ["a" * 20, "x", "y"]),
        ([Refused(instead=["x"])], [SENT, SENT], ["x", "b"]),
        ([None, Refused(instead=["x", "y"]), Refused()], [SENT, FAILED, FAILED], ["a" * 20]),
    ],
)
async def test_T15_what_a_refusal_names_is_sent_in_place_of_what_it_refused(
    play: Play, faults: list[Fault | None], expected: list[PartState], shown: list[str]
) -> None:
    play.stage.faults["send"] = list(faults)
    assert states(await play.finish(play.open_reply(), "a" * 20 + "b")) == expected
    assert list(play.stage.messages.values()) == shown


async def test_T15_so_is_what_a_refused_edit_was_to_show(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    play.stage.faults["edit"] = [Refused(instead=["x", "y"])]
    play.stage.faults["send"] = [Refused(instead=["x", "y"])]
    assert states(await play.finish(reply, "Hello you")) == [SENT, SENT]
    assert list(play.stage.messages.values()) == ["x", "y"]


async def test_T14_an_uncertain_part_is_never_sent_again_and_the_rest_follows(play: Play) -> None:
    play.stage.faults["send"] = [None, Uncertain()]
    parts = await play.finish(play.open_reply(), "a" * 20 + "b" * 20 + "c")
    assert states(parts) == [SENT, UNCERTAIN, SENT]
    assert [part.message_id for part in parts] == ["m0", None, "m2"]
    assert list(play.stage.messages.values()) == ["a" * 20, "b" * 20, "c"]


async def test_T14_an_uncertain_update_that_showed_the_final_part_is_left_alone(play: Play) -> None:
    play.stage.faults["send"] = [Uncertain()]
    reply = play.open_reply()
    await reply.update("a" * 20 + "b")
    await play.clock.advance(1)
    parts = await play.finish(reply, "a" * 20 + "bb")
    assert states(parts) == [UNCERTAIN, SENT]
    assert play.stage.seen == "a" * 20 + "bb"


async def test_an_uncertain_final_edit_is_uncertain(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    play.stage.faults["edit"] = [Uncertain()]
    parts = await play.finish(reply, "Hello you")
    assert parts == (SentPart(ordinal=0, message_id="m0", state=UNCERTAIN),)


async def test_parts_behind_a_failed_one_are_not_tried_and_what_was_shown_stays(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("a" * 19)
    await play.clock.advance(1)
    play.stage.faults = {"edit": [Refused()], "send": [Refused()]}
    parts = await play.finish(reply, "a" * 20 + "b" * 20 + "c")
    assert states(parts) == [FAILED, FAILED, FAILED]
    assert play.stage.verbs() == ["send", "edit", "send"]
    assert play.stage.seen == "a" * 19 + CURSOR


@pytest.mark.parametrize("blank", ["", "\n \n"])
async def test_D12_a_blank_text_sends_nothing(play: Play, blank: str) -> None:
    reply = play.open_reply()
    await reply.update(blank)
    await play.clock.advance(2)
    assert await play.finish(reply, blank) == ()
    assert play.stage.verbs() == []


async def test_a_request_under_way_is_awaited_before_the_final_one(play: Play) -> None:
    play.stage.gate = asyncio.Event()
    reply = play.open_reply()
    await reply.update("Hello")
    await play.clock.advance(1)
    finishing = asyncio.ensure_future(reply.finish(Outbound(text="Hello you")))
    await settle()
    assert play.stage.verbs() == ["send"]
    play.stage.gate.set()
    assert states(await finishing) == [SENT]
    assert play.stage.messages == {"m0": "Hello you"}


async def test_updates_after_the_end_are_ignored(play: Play) -> None:
    reply = play.open_reply()
    await play.finish(reply, "Hello")
    await reply.update("Hello again")
    await play.clock.advance(5)
    assert play.stage.seen == "Hello"


# --- Other ends


async def test_a_failure_before_anything_was_shown_is_told_alone(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hel")
    assert states(await play.ended(reply.fail(Outbound(text="It failed.")))) == [SENT]
    assert play.stage.messages == {"m0": "It failed."}


@pytest.mark.parametrize("drafts", [False, True])
async def test_a_failure_keeps_what_was_shown_and_is_told_after_it(play: Play, drafts: bool) -> None:
    play.stage.drafts = drafts
    reply = play.open_reply()
    await reply.update("Hel")
    await play.clock.advance(1)
    parts = await play.ended(reply.fail(Outbound(text="It failed.")))
    assert states(parts) == [SENT, SENT]
    assert play.stage.messages == {"m0": "Hel", "m1": "It failed."}


async def test_a_discarded_reply_sends_nothing_more(play: Play) -> None:
    reply = play.open_reply()
    await reply.update("Hel")
    await reply.discard()
    await play.clock.advance(30)
    assert play.stage.log == []


@pytest.mark.parametrize("shows_updates", [False, True])
@pytest.mark.parametrize("drafts", [False, True])
async def test_S16_the_core_is_told_once_and_before_anything_is_visible(
    play: Play, shows_updates: bool, drafts: bool
) -> None:
    play.stage.drafts = drafts
    told: list[list[str]] = []

    async def before_send() -> None:
        told.append(play.stage.verbs())

    reply = play.open_reply(before_send=before_send)
    if shows_updates:
        await reply.update("Hel")
        await play.clock.advance(1)
        await reply.update("Hello " * 9)
        await play.clock.advance(1)
    await play.finish(reply, "Hello " * 9)
    assert told == [[]]


async def test_nothing_is_sent_when_the_core_cannot_be_told(play: Play) -> None:
    async def before_send() -> None:
        raise OSError("disk full")

    reply = play.open_reply(before_send=before_send)
    await reply.update("Hel")
    await play.clock.advance(1)
    with pytest.raises(OSError, match="disk full"):
        await reply.finish(Outbound(text="Hello"))
    assert play.stage.verbs() == []


async def test_a_reply_can_be_discarded_while_the_core_holds_it_back(play: Play) -> None:
    async def before_send() -> None:
        await asyncio.Event().wait()

    reply = play.open_reply(before_send=before_send)
    await reply.update("Hel")
    await play.clock.advance(1)
    await reply.discard()
    assert play.stage.verbs() == []


@pytest.mark.parametrize("moment", ["request under way", "waiting for the platform"])
async def test_a_cancelled_finish_leaves_no_task(play: Play, moment: str) -> None:
    if moment == "request under way":
        play.stage.gate = asyncio.Event()
    else:
        play.stage.faults["edit"] = [Wait(100)]
    reply = play.open_reply()
    await reply.update("Hel")
    await play.clock.advance(1)
    finishing = asyncio.ensure_future(reply.finish(Outbound(text="Hello")))
    await settle()
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing


@pytest.mark.parametrize("ending", ["finish", "fail", "discard"])
async def test_an_ended_reply_and_the_turn_behind_it_are_freed_at_once(play: Play, ending: str) -> None:
    async def before_send() -> None:  # stands for the turn, which it holds
        pass

    turn = weakref.ref(before_send)
    reply = play.open_reply(before_send=before_send)
    del before_send
    await reply.update("Hel")
    await play.clock.advance(0.5)
    await reply.update("Hello")
    gc.disable()
    try:
        await (reply.discard() if ending == "discard" else getattr(reply, ending)(Outbound(text="Hello")))
        del reply
        await settle()
        assert turn() is None
    finally:
        gc.enable()
