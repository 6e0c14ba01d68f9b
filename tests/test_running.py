"""The running whole: what an adapter's end means for the others and for the exit code, and how long a stop may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.app import App, build_app
from bot.chat import Deliver, Inbound
from bot.errors import AdapterError
from bot.prompt.tokens import TokenCounter
from bot.settings import Settings
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_channel, make_inbound

MakeIdle = Callable[..., App]


class Failing(FakeAdapter):
    """An adapter whose connection ends with a fault."""

    def __init__(self, fault: Exception, platform: str = "failing") -> None:
        super().__init__(platform)
        self.ended = asyncio.Event()
        self._fault = fault

    async def run(self, deliver: Deliver) -> None:
        """Fail at once."""
        self.ended.set()
        raise self._fault


@pytest.fixture
def make_idle(database_url: str, counter: TokenCounter) -> MakeIdle:
    """`make_idle(*adapters, **settings)`: an app that has not been started."""

    def make(*adapters: FakeAdapter, model: ScriptedModel | None = None, **given: Any) -> App:
        values = {"database_url": database_url, "model": "test/scripted", **given}
        settings = Settings(providers={"test": {"base_url": "http://127.0.0.1:9/v1"}}, **values)
        platforms = {adapter.platform: adapter for adapter in adapters}
        return build_app(settings, model=model or ScriptedModel(), adapters=platforms, counter=counter)

    return make


FAULTS = [AdapterError("failing", "The token is refused.", "Make a new one."), RuntimeError("unforeseen")]


@pytest.mark.parametrize("fault", FAULTS)
async def test_S12_when_the_only_platform_fails_the_process_ends_with_1(make_idle: MakeIdle, fault: Exception) -> None:
    app = make_idle(Failing(fault))
    assert await asyncio.wait_for(app.run(asyncio.Event()), 20) == 1


async def test_the_bot_is_ready_once_every_platform_is_or_has_said_why_not(make_idle: MakeIdle) -> None:
    class Late(FakeAdapter):
        logged_in = asyncio.Event()

        async def ready(self) -> None:
            await self.logged_in.wait()

    def watch(_logger: object, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if line["event"] == "app.ready":
            told.set()
        return line

    late, failing, told, stop = Late("late"), Failing(FAULTS[0]), asyncio.Event(), asyncio.Event()
    app = make_idle(FakeAdapter("quick"), late, failing)
    with capture_logs([watch]) as logs:
        running = asyncio.ensure_future(app.run(stop))
        await asyncio.wait_for(failing.ended.wait(), 20)
        assert not told.is_set()
        late.logged_in.set()
        await asyncio.wait_for(told.wait(), 20)
        stop.set()
        assert await running == 0
    (line,) = [line for line in logs if line["event"] == "app.ready"]
    assert (line["platforms"], line["failed"]) == (["quick", "late"], ["failing"])


@pytest.mark.parametrize("fault", FAULTS)
async def test_S12_with_exit_the_fault_of_one_platform_stops_all(make_idle: MakeIdle, fault: Exception) -> None:
    app = make_idle(Failing(fault), FakeAdapter(), on_adapter_failure="exit")
    assert await asyncio.wait_for(app.run(asyncio.Event()), 20) == 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_S12_otherwise_the_others_go_on_and_a_stop_is_a_success(make_idle: MakeIdle, fault: Exception) -> None:
    stop = asyncio.Event()
    failing = Failing(fault)
    app = make_idle(failing, FakeAdapter())
    running = asyncio.ensure_future(app.run(stop))
    async with asyncio.timeout(20):
        await failing.ended.wait()
        for _ in range(20):  # rounds of the loop, more than its end needs to be heard of
            await asyncio.sleep(0)
        assert not running.done()
        stop.set()
        assert await running == 0


class Slow(FakeAdapter):
    """An adapter that never gets done with what it is asked at a stop."""

    def __init__(self, what: str) -> None:
        super().__init__("slow")
        self._what = what

    async def stop_listening(self) -> None:
        """Wait for a download, say."""
        if self._what == "stop_listening":
            await asyncio.Event().wait()

    async def close(self) -> None:
        """Wait for a connection to be closed, say."""
        if self._what == "close":
            await asyncio.Event().wait()
        await super().close()


class Hearing(FakeAdapter):
    """An adapter that hands on what people say while it listens."""

    def __init__(self) -> None:
        super().__init__()
        self._deliver: asyncio.Future[Deliver] = asyncio.get_running_loop().create_future()
        self._is_listening = True

    async def run(self, deliver: Deliver) -> None:
        """Listen until it is told not to."""
        self._deliver.set_result(deliver)
        await super().run(deliver)

    async def stop_listening(self) -> None:
        """Hear nothing more."""
        self._is_listening = False

    async def hears(self, inbound: Inbound) -> None:
        """Somebody says something."""
        deliver = await self._deliver
        if self._is_listening:
            await deliver(inbound)


@pytest.mark.parametrize("what", ["stop_listening", "close"])
async def test_S13_no_platform_holds_a_stop_up(make_idle: MakeIdle, what: str) -> None:
    app = make_idle(Slow(what), stop_grace=0.1)
    stop = asyncio.Event()
    stop.set()
    assert await asyncio.wait_for(app.run(stop), 20) == 0


async def test_S13_what_is_said_while_answers_end_is_answered_after_the_restart(make_idle: MakeIdle) -> None:
    adapter, hold, stop = Hearing(), asyncio.Event(), asyncio.Event()
    app = make_idle(adapter, model=ScriptedModel([Reply(text="at last", hold=hold)]), persona="none")
    running = asyncio.ensure_future(app.run(stop))
    async with asyncio.timeout(20):
        await adapter.hears(make_inbound("first"))
        stop.set()
        for _ in range(20):  # rounds of the loop, more than the stop needs to begin
            await asyncio.sleep(0)
        await adapter.hears(make_inbound("second", channel=make_channel("other", dm=True), sent_at=datetime.now(UTC)))
        hold.set()
        assert await running == 0
    assert adapter.texts == ["at last"]
    after = FakeAdapter()
    app = make_idle(after, model=ScriptedModel(lambda request: request.messages[-1].text), persona="none")
    await app.start()
    assert await after.wait_for(1) == ["second"]
    await app.close()


async def test_S13_a_platform_that_fails_while_it_stops_does_not_keep_the_others_from_it(make_idle: MakeIdle) -> None:
    class Breaking(FakeAdapter):
        async def stop_listening(self) -> None:
            raise RuntimeError("unforeseen")

        async def close(self) -> None:
            raise RuntimeError("unforeseen")

    stop, other = asyncio.Event(), FakeAdapter()
    app = make_idle(Breaking("breaking"), other)
    stop.set()
    assert await asyncio.wait_for(app.run(stop), 20) == 0
    await asyncio.wait_for(other.run(app.pipeline.deliver), 5)


async def test_S18_an_adapter_that_trips_over_its_closed_connection_is_no_failure(make_idle: MakeIdle) -> None:
    class Tripping(FakeAdapter):
        async def run(self, deliver: Deliver) -> None:
            await super().run(deliver)
            raise RuntimeError("Session is closed")

    stop = asyncio.Event()
    stop.set()
    with capture_logs() as logs:
        assert await asyncio.wait_for(make_idle(Tripping()).run(stop), 20) == 0
    assert {entry["log_level"] for entry in logs} == {"info"}
