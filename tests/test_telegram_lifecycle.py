"""How the Telegram adapter starts, waits out trouble and stops, at any moment."""

from __future__ import annotations

import asyncio
import gc
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from adapters.telegram.options import BackOff, Timeouts
from bot.errors import AdapterError
from tests.emulators.telegram import TelegramEmulator
from tests.emulators.telegram.stage import QUICK, Ears, Stage, channel
from tests.emulators.telegram.updates import Webhook

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with TelegramEmulator() as telegram:
        yield Stage(telegram)


# Starting


async def test_T25_a_webhook_of_an_earlier_deployment_is_removed_and_what_waits_is_kept(stage: Stage) -> None:
    stage.telegram.updates.webhook = Webhook(url="https://old.example.org/hook", secret="")
    stage.telegram.say(stage.alice, stage.private, "are you there?")
    adapter, ears = stage.adapter(), Ears()
    run = asyncio.ensure_future(adapter.run(ears))
    await ears.hear(1)
    (removal,) = stage.telegram.calls_of("deleteWebhook")
    assert (removal.status, removal.values) == (200, {})
    await adapter.close()
    await run


async def test_T25_a_webhook_that_cannot_be_removed_is_said_clearly(stage: Stage) -> None:
    stage.telegram.fail("deleteWebhook", 400, "Bad Request: no")
    with pytest.raises(AdapterError, match=r"webhook of an earlier deployment cannot be removed.*TELEGRAM__WEBHOOK"):
        await stage.adapter().run(Ears())


async def test_S12_a_wrong_token_ends_this_adapter_with_a_remedy_and_without_the_token(stage: Stage) -> None:
    wrong = stage.telegram.token + "x"
    with pytest.raises(AdapterError) as refused:
        await stage.adapter(token=wrong).run(Ears())
    assert "BotFather" in refused.value.remedy
    assert wrong.partition(":")[2] not in "".join(traceback.format_exception(refused.value))


async def test_the_start_waits_for_a_server_that_is_down(stage: Stage) -> None:
    stage.telegram.fail("getMe", 502, body=b"<html>bad gateway</html>", times=3)
    with capture_logs() as logs:
        async with stage.running() as (_, ears):
            stage.telegram.say(stage.alice, stage.private, "hello")
            await ears.hear(1)
    events = [entry["event"] for entry in logs]
    assert events[:3] == ["telegram.trouble", "telegram.trouble_over", "telegram.logged_in"]


async def test_the_menu_is_published_at_the_start(stage: Stage) -> None:
    async with stage.running():
        await stage.telegram.wait_for(lambda: len(stage.telegram.commands) == 4)


async def test_T18_privacy_mode_is_told_at_the_start_and_commands_and_replies_arrive() -> None:
    async with TelegramEmulator(privacy=True) as telegram:
        stage = Stage(telegram)
        with capture_logs() as logs:
            async with stage.running() as (_, ears):
                ours = telegram.post(stage.group, telegram.bot.as_json(), text="mine")
                telegram.say(stage.alice, stage.group, "nobody in particular")
                telegram.say(stage.alice, stage.group, "/help")
                telegram.say(stage.alice, stage.group, "and you?", reply_to=ours)
                await ears.hear(2)
        assert ears.texts == ["/help", "and you?"]
        (told,) = [entry for entry in logs if entry["event"] == "telegram.privacy_mode_on"]
        assert "/setprivacy" in told["remedy"]


async def test_S11_S12_two_bots_share_one_loop_and_fail_and_stop_by_themselves(stage: Stage) -> None:
    async with TelegramEmulator(token="777:" + "o" * 35) as telegram:
        other = Stage(telegram)
        broken = asyncio.ensure_future(other.adapter(token="777:wrong").run(Ears()))
        async with stage.running() as (_, ears), other.running() as (_, other_ears):
            with pytest.raises(AdapterError):
                await broken
            stage.telegram.say(stage.alice, stage.private, "here")
            telegram.say(other.alice, other.private, "there")
            await ears.hear(1)
            await other_ears.hear(1)
        assert (ears.texts, other_ears.texts) == (["here"], ["there"])


# Trouble


async def test_T13_polling_goes_on_after_ten_conflicts_and_says_so_once(stage: Stage) -> None:
    conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    with capture_logs() as logs:
        async with stage.running() as (_, ears):
            stage.telegram.fail("getUpdates", 409, conflict, times=10)
            stage.telegram.say(stage.alice, stage.private, "one")
            await stage.telegram.wait_for(lambda: sum(call.status == 409 for call in stage.telegram.calls) == 10)
            stage.telegram.say(stage.alice, stage.private, "two")
            await ears.hear(2)
    troubles = [entry for entry in logs if entry["event"] == "telegram.trouble"]
    assert len(troubles) == 1
    assert "another program uses this token" in troubles[0]["remedy"]
    assert ears.texts == ["one", "two"]


async def test_polling_goes_on_after_every_fault_and_loses_nothing(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        stage.telegram.fail("getUpdates", 502, body=b"<html>bad gateway</html>")
        stage.telegram.fail("getUpdates", 500, "Internal Server Error")
        stage.telegram.fail("getUpdates", reset=True)
        stage.telegram.fail("getUpdates", 429, "Too Many Requests", parameters={"retry_after": 0})
        for number in range(3):
            stage.telegram.say(stage.alice, stage.private, str(number))
        await ears.hear(3)
        await stage.telegram.go_away()
        await stage.telegram.come_back()
        stage.telegram.say(stage.alice, stage.private, "back")
        await ears.hear(4)
    assert ears.texts == ["0", "1", "2", "back"]


async def test_a_token_that_is_revoked_while_polling_ends_the_adapter(stage: Stage) -> None:
    run = asyncio.ensure_future(stage.adapter().run(Ears()))
    await stage.telegram.wait_for(lambda: stage.telegram.polling)
    stage.telegram.fail("getUpdates", 401, "Unauthorized")
    stage.telegram.say(stage.alice, stage.private, "hi")
    with pytest.raises(AdapterError, match="does not accept the token"):
        await asyncio.wait_for(run, 5)


def test_waits_grow_from_half_a_second_to_thirty() -> None:
    waits = BackOff().waits()
    assert [next(waits) for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


async def test_T19_only_what_is_delivered_is_confirmed_and_other_chats_do_not_wait(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        gate = ears.hold["slow"] = asyncio.Event()
        stage.telegram.say(stage.alice, stage.private, "slow")
        stage.telegram.say(stage.bob, stage.group, "quick")
        await ears.hear(1)
        stage.telegram.say(stage.bob, stage.group, "later")
        await ears.hear(2)
        assert len(stage.telegram.updates.pending) == 3, "everything from the slow one on comes again after a crash"
        gate.set()
        await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)
    assert ears.texts == ["quick", "later", "slow"], "what is brought twice meanwhile is taken once"


async def test_T19_what_cannot_be_read_or_delivered_is_confirmed_like_the_rest(stage: Stage) -> None:
    async with stage.running() as (_, ears):
        ears.refused.add("poison")
        stage.telegram.updates.inject({"message": {"message_id": "nonsense"}})
        stage.telegram.updates.inject({"my_chat_member": {}})
        stage.telegram.say(stage.alice, stage.private, "poison")
        await stage.telegram.wait_for(lambda: not stage.telegram.updates.pending)


# Stopping


async def test_S13_a_stop_gives_up_a_download_and_the_next_start_gets_it(stage: Stage) -> None:
    patient = replace(QUICK, timeouts=Timeouts(read=60), files=replace(QUICK.files, timeout=timedelta(minutes=1)))
    async with stage.running(options=patient) as (adapter, ears):
        slow = stage.telegram.fail("getFile", delay_s=60)
        stage.telegram.say(stage.bob, stage.group, "before")
        stage.telegram.say(stage.alice, stage.private, **stage.telegram.document(b"notes", "notes.txt", "text/plain"))
        await stage.telegram.wait_for(lambda: slow.times == 0)
        async with asyncio.timeout(5):
            await adapter.stop_listening()
        assert ears.texts == ["before"]
        assert len(stage.telegram.updates.pending) == 1
    async with stage.running() as (_, ears):
        (heard,) = await ears.hear(1)
    assert [file.text for file in heard.attachments] == ["notes"]


async def test_T19_a_graceful_stop_delivers_and_confirms_what_it_took(stage: Stage) -> None:
    slow_to_poll = replace(QUICK, back_off=BackOff(first=timedelta(minutes=1)))
    async with stage.running(options=slow_to_poll) as (adapter, ears):
        gate = ears.hold["slow"] = asyncio.Event()
        fault = stage.telegram.fail("getUpdates", 502)
        stage.telegram.say(stage.alice, stage.private, "slow")
        await stage.telegram.wait_for(lambda: fault.times == 0)
        assert len(stage.telegram.updates.pending) == 1, "taken, not confirmed"
        stop = asyncio.ensure_future(adapter.stop_listening())
        gate.set()
        await stop
        assert ears.texts == ["slow"]
        assert stage.telegram.updates.pending == []
        stage.telegram.say(stage.alice, stage.private, "too late")
        await adapter.delete(channel(stage.private), ["1"])
        assert ears.texts == ["slow"], "replies go on, hearing does not"
    async with stage.running() as (_, ears):
        await ears.hear(1)
    assert ears.texts == ["too late"], "it waits for the next start"


@asynccontextmanager
async def no_complaints(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """Nothing is left open or unawaited, and the event loop has nothing to say."""
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))
    yield
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


Moment = Callable[[Stage], Awaitable[object]]


async def _at_once(_: Stage) -> None:
    return None


async def _after_one_step(_: Stage) -> None:
    await asyncio.sleep(0)


async def _while_the_login_hangs(stage: Stage) -> None:
    stage.telegram.fail("getMe", delay_s=60)
    await stage.telegram.wait_for(lambda: "getMe" in stage.telegram.begun)


async def _while_the_server_is_down(stage: Stage) -> None:
    stage.telegram.fail("getMe", 502, times=1000)
    await stage.telegram.wait_for(lambda: stage.telegram.calls_of("getMe"))


async def _while_polling(stage: Stage) -> None:
    await stage.telegram.wait_for(lambda: stage.telegram.polling)


async def _while_something_is_delivered(stage: Stage) -> None:
    stage.telegram.say(stage.alice, stage.private, "slow")
    await stage.telegram.wait_for(lambda: stage.telegram.begun.count("getUpdates") >= 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("graceful", [False, True])
@pytest.mark.parametrize(
    "moment",
    [
        _at_once,
        _after_one_step,
        _while_the_login_hangs,
        _while_the_server_is_down,
        _while_polling,
        _while_something_is_delivered,
    ],
)
async def test_S18_closing_is_safe_at_any_moment(
    stage: Stage, moment: Moment, graceful: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with no_complaints(caplog):
        adapter, ears = stage.adapter(), Ears()
        if not graceful:
            ears.hold["slow"] = asyncio.Event()
        run = asyncio.ensure_future(adapter.run(ears))
        await moment(stage)
        if graceful:
            await adapter.stop_listening()
        await adapter.close()
        await adapter.close()
        await asyncio.wait_for(run, 5)
        await stage.tasks.close()


async def test_S18_an_adapter_that_never_ran_closes(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async with no_complaints(caplog):
        adapter = stage.adapter()
        await adapter.stop_listening()
        await adapter.close()
        await adapter.run(Ears())
    assert stage.telegram.calls == []


async def test_S18_a_run_that_is_cancelled_releases_its_session(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async with no_complaints(caplog):
        run = asyncio.ensure_future(stage.adapter().run(Ears()))
        await _while_polling(stage)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await stage.tasks.close()
