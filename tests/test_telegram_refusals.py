"""What becomes of a refusal, a flood and a lost answer: the four words of pacing, and what is tried otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from structlog.testing import capture_logs
from telegram.error import RetryAfter

from adapters.pacing import Refused, Uncertain, Unreachable, Wait
from adapters.telegram.faults import seconds_of, translated
from adapters.telegram.options import Timeouts
from adapters.telegram.request import TelegramRequest
from tests.emulators.telegram import After, Pace, TelegramEmulator
from tests.emulators.telegram.rig import Rig

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with TelegramEmulator() as telegram:
        addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
        async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts(read=0.25)) as request:
            yield Rig(telegram, request)


async def test_T21_entities_that_are_refused_are_left_out_once(rig: Rig) -> None:
    refusal = "Bad Request: can't parse entities: byte offset 930"
    rig.telegram.fail("sendMessage", 400, refusal)
    (message,) = await rig.say(rig.group, "**fat**")
    assert message["text"] == "fat"
    assert "entities" not in message
    rig.telegram.fail("sendMessage", 400, refusal, times=2)
    with pytest.raises(Refused):
        await rig.say(rig.group, "**fat**")
    assert len(rig.telegram.calls_of("sendMessage")) == 4


@pytest.mark.parametrize(
    ("status", "description"),
    [
        (400, "Bad Request: chat not found"),
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (400, "Bad Request: TOPIC_CLOSED"),
    ],
)
async def test_T21_a_chat_that_refuses_is_not_asked_again_and_logged_once(
    rig: Rig, status: int, description: str
) -> None:
    rig.telegram.fail("sendMessage", status, description, times=2)
    with capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(Refused):
                await rig.say(rig.group, "**hello**")
    assert len(rig.telegram.calls_of("sendMessage")) == 2
    assert [entry["event"] for entry in logs] == ["telegram.chat_refuses"]


async def test_T07_a_chat_that_asked_to_wait_is_left_alone_by_all_replies(rig: Rig) -> None:
    rig.telegram.clock = lambda: rig.now
    rig.telegram.pace = Pace(messages=1, seconds=35)
    (message,) = await rig.say(rig.group, "one")
    with pytest.raises(Wait) as asked:
        await rig.to(rig.group).edit(str(message["message_id"]), rig.part("two"), 0)
    assert asked.value.seconds == 35
    before = len(rig.telegram.calls)
    rig.now += 10
    for attempt in (rig.say(rig.group, "three"), rig.to(rig.group).typing()):
        with pytest.raises(Wait) as asked:
            await attempt
        assert asked.value.seconds == 25
    assert len(rig.telegram.calls) == before, "not one request to that chat"
    await rig.say(rig.private, "other chats go on")
    rig.now += 25
    await rig.say(rig.group, "three")
    assert rig.telegram.bot_texts(rig.group) == ["one", "three"]


@pytest.mark.parametrize("as_timedelta", ["false", "true"])
async def test_T22_a_flood_wait_is_a_number_or_a_timedelta(
    rig: Rig, as_timedelta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", as_timedelta)
    rig.telegram.fail("sendMessage", 429, "Too Many Requests: retry after 35", parameters={"retry_after": 35})
    with pytest.raises(Wait) as asked:
        await rig.say(rig.group, "hello")
    assert asked.value.seconds == 35


async def test_a_flood_without_a_time_waits_a_second(rig: Rig) -> None:
    rig.telegram.fail("sendMessage", 429, body=b"<html>slow down</html>")
    with pytest.raises(Wait) as asked:
        await rig.say(rig.group, "hello")
    assert asked.value.seconds == 1


@pytest.mark.parametrize("after", [After.CUT, After.SILENCE])
async def test_T14_T24_a_lost_answer_is_uncertain_and_not_sent_again(rig: Rig, after: After) -> None:
    rig.telegram.fail("sendMessage", after=after)
    with pytest.raises(Uncertain):
        await rig.say(rig.group, "hello")
    assert rig.telegram.bot_texts(rig.group) == ["hello"]


@pytest.mark.parametrize("status", [500, 504])
async def test_T14_a_server_error_is_uncertain(rig: Rig, status: int) -> None:
    rig.telegram.fail("sendMessage", status, "Internal Server Error")
    with pytest.raises(Uncertain):
        await rig.say(rig.group, "hello")


@pytest.mark.parametrize("status", [502, 503])
async def test_a_gateway_that_does_not_reach_the_server_may_be_asked_again(rig: Rig, status: int) -> None:
    rig.telegram.fail("sendMessage", status, body=b"<html>bad gateway</html>")
    with pytest.raises(Unreachable):
        await rig.say(rig.group, "hello")


async def test_T24_a_refused_connection_may_be_tried_again(rig: Rig) -> None:
    await rig.telegram.go_away()
    with pytest.raises(Unreachable):
        await rig.say(rig.group, "hello")
    await rig.telegram.come_back()
    (message,) = await rig.say(rig.group, "hello")
    assert message["text"] == "hello"


async def test_a_kept_connection_that_the_server_closed_may_be_tried_again(rig: Rig) -> None:
    await rig.say(rig.group, "one")
    await rig.telegram.go_away()
    with pytest.raises(Unreachable):
        await rig.say(rig.group, "two")
    await rig.telegram.come_back()


@pytest.mark.parametrize(
    "body", [b"<html>welcome to this hotel's network</html>", b'{"ok": true, "result": {"message_id": 5}}']
)
async def test_an_answer_that_cannot_be_read_is_uncertain(rig: Rig, body: bytes) -> None:
    rig.telegram.fail("sendMessage", 200, body=body)
    with pytest.raises(Uncertain):
        await rig.say(rig.group, "hello")


def test_T22_seconds_are_exact() -> None:
    assert seconds_of(RetryAfter(timedelta(seconds=35))) == 35
    fault = translated(RetryAfter(7), repeatable=False)
    assert isinstance(fault, Wait)
    assert fault.seconds == 7
