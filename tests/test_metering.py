"""Every call is priced, its ledger rows are written after the answer is out, and places take turns at a busy server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from bot.chat import BeforeSend
from bot.llm.model import Attempt, Bill, Completion, ModelEvent, ModelRequest, Usage
from bot.llm.tariffs import FREE, Stated, Tariff, Tariffs, vendor_tariff
from bot.metering import MeteredModel
from bot.quota import Queue
from bot.store.database import Tx
from bot.store.ledger_tables import model_calls
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import Chat, open_chat

# --- Prices


@pytest.mark.parametrize(
    ("model", "per_million"),
    [
        ("openai/gpt-5-mini", (0.25, 0.025, 2)),
        ("openai/gpt-5-2025-08-07", (1.25, 0.125, 10)),
        ("openrouter/anthropic/claude-sonnet-4.5", (3, 0.3, 15)),
        ("mine/claude-sonnet-4-20250514", (3, 0.3, 15)),
        ("gemini/gemini-2.5-flash", (0.3, 0.03, 2.5)),
        ("groq/llama-3.3-70b-versatile", (0.59, 0.59, 0.79)),
        ("openrouter/deepseek/deepseek-chat:free", (0, 0, 0)),
    ],
)
def test_what_a_vendor_asks_is_known_by_the_models_name(model: str, per_million: tuple[float, float, float]) -> None:
    tariff = vendor_tariff(model)
    assert tariff is not None
    assert (tariff.input, tariff.cached, tariff.output) == pytest.approx([price * 1_000 for price in per_million])


@pytest.mark.parametrize("model", ["other/llama-3.3-70b-versatile", "openai/gpt-5-mini-of-mine", "openai/gpt-9", "x"])
def test_what_nobody_has_a_price_for_is_unknown_and_not_free(model: str) -> None:
    assert vendor_tariff(model) is None


@pytest.mark.parametrize(
    ("stated", "model", "tariff"),
    [
        ({}, "home/any", FREE),
        ({"home": Stated(input=1, output=2)}, "home/any", Tariff(input=1e3, cached=1e3, output=2e3, currency="USD")),
        ({"a": Stated(input=1)}, "a/unknown", None),
        (
            {"a": Stated(input=8, output=16, cached=0.25, currency="CNY")},
            "a/unknown",
            Tariff(input=8e3, cached=2e3, output=16e3, currency="CNY"),
        ),
        (
            {"openai": Stated(output=4), "openai/gpt-5-mini": Stated(input=1)},
            "openai/gpt-5-mini",
            Tariff(input=1e3, cached=100, output=4e3, currency="USD"),
        ),
    ],
)
def test_the_operators_word_counts_before_the_vendors(
    stated: dict[str, Stated], model: str, tariff: Tariff | None
) -> None:
    assert Tariffs(stated=stated, at_home={"home"}).of(model) == tariff


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=30)
def test_a_cost_is_the_sum_of_its_parts_to_the_billionth(read: int, written: int, cached_share: float) -> None:
    cached = int(read * cached_share)
    tariff = Tariff(input=250, cached=25, output=2_000, currency="USD")
    cost = tariff.cost_of(input_tokens=read, cached_tokens=cached, output_tokens=written)
    assert cost == (read - cached) * 250 + cached * 25 + written * 2_000
    assert tariff.cost_of(input_tokens=cached, cached_tokens=read + 1, output_tokens=0) > 0, "no odd count earns money"


async def events_of(model: MeteredModel, request: ModelRequest) -> list[ModelEvent]:
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events]


def asks(model: str = "openai/gpt-5-mini", place: str = "") -> ModelRequest:
    return ModelRequest(model=model, messages=(), max_output_tokens=100, bill=Bill(place_key=place))


async def test_every_usage_comes_with_its_cost_also_of_what_was_asked_in_vain() -> None:
    used = Usage(input_tokens=1_000, cached_tokens=400, output_tokens=10)
    scripted = ScriptedModel([Reply(text="ok", usage=used, attempts=(Attempt(outcome="length", usage=used),))])
    tariffs = Tariffs(stated={}, at_home=())
    events = await events_of(MeteredModel(scripted, tariff_of=tariffs.of), asks())
    usages = [event.usage for event in events if isinstance(event, Attempt | Completion)]
    assert [(usage.cost, usage.currency) for usage in usages if usage] == [
        (600 * 250 + 400 * 25 + 10 * 2_000, "USD")
    ] * 2


async def test_a_server_that_names_the_cost_is_believed() -> None:
    scripted = ScriptedModel([Reply(usage=Usage(input_tokens=1_000, cost=42, currency="USD"))])
    *_, last = await events_of(MeteredModel(scripted, tariff_of=Tariffs(stated={}, at_home=()).of), asks())
    assert isinstance(last, Completion)
    assert last.usage is not None
    assert last.usage.cost == 42


async def test_a_cost_in_another_currency_than_the_stated_one_is_ours_to_tell() -> None:
    scripted = ScriptedModel([Reply(usage=Usage(input_tokens=1_000, cost=42, currency="USD"))])
    tariffs = Tariffs(stated={"openai": Stated(input=8, output=16, currency="CNY")}, at_home=())
    *_, last = await events_of(MeteredModel(scripted, tariff_of=tariffs.of), asks())
    assert isinstance(last, Completion)
    assert last.usage is not None
    assert (last.usage.cost, last.usage.currency) == (8_000_000, "CNY")


# --- The ledger


async def test_an_answer_waits_for_no_row_of_the_ledger(make_app: MakeApp) -> None:
    held, free = threading.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        held.set()
        free.wait(10)

    class Blocking(FakeAdapter):
        """Once the reply has its row, the database takes nothing more until `free` is set."""

        async def open_reply(self, *args: Any, before_send: BeforeSend | None = None, **more: Any) -> Any:
            async def block() -> None:
                assert before_send is not None
                await before_send()
                chat.app.core.tasks.spawn("hold", chat.app.core.db.run(hold))
                await asyncio.to_thread(held.wait, 10)

            return await super().open_reply(*args, before_send=block if before_send else None, **more)

    chat = await open_chat(make_app, adapter=(adapter := Blocking()), persona="none")
    await chat.app.pipeline.deliver(make_inbound("hello"))
    assert await adapter.wait_for(1) == ["ok"], "it is out"
    assert await calls_in_ledger(chat) == 0
    free.set()
    await chat.settled()
    assert await calls_in_ledger(chat) == 1


async def calls_in_ledger(chat: Chat) -> int:
    return len(await chat.app.core.db.read(lambda tx: tx.execute(select(model_calls.c.id)).all()))


# --- Whose turn it is


class Busy:
    """A server that takes one call at a time, and calls that wait for it."""

    def __init__(self, at_once: int = 1) -> None:
        self.queue = Queue({"openai": at_once})
        self.served: list[str] = []
        self.ends: list[asyncio.Event] = []

    async def call(self, place: str, *, end: asyncio.Event) -> None:
        async with self.queue.turn(asks(place=place)):
            self.served.append(place)
            await end.wait()


async def calls_of(busy: Busy, places: str) -> tuple[list[asyncio.Task[None]], list[asyncio.Event]]:
    """Calls of these places, one letter each, in the order of their coming."""
    ends = [asyncio.Event() for _ in places]
    tasks = []
    for place, end in zip(places, ends, strict=True):
        tasks.append(asyncio.create_task(busy.call(place, end=end)))
        await asyncio.sleep(0)
    return tasks, ends


@pytest.mark.parametrize(
    ("coming", "served"), [("AAAAAB", "AABAAA"), ("AABBCC", "AABCBC"), ("ABCABC", "ABCABC"), ("AAAA", "AAAA")]
)
async def test_X10_a_place_that_is_flooded_keeps_no_other_waiting(coming: str, served: str) -> None:
    busy = Busy()
    tasks, ends = await calls_of(busy, coming)
    for end in ends:
        end.set()
    await asyncio.gather(*tasks)
    assert "".join(busy.served) == served


async def test_only_so_many_calls_run_at_once_and_those_who_leave_make_room() -> None:
    busy = Busy(at_once=2)
    tasks, ends = await calls_of(busy, "ABCD")
    assert busy.served == ["A", "B"]
    tasks[2].cancel()  # it waited
    tasks[0].cancel()  # it was served
    await asyncio.wait([tasks[0], tasks[2]])
    await asyncio.sleep(0)
    assert busy.served == ["A", "B", "D"]
    for end in ends:
        end.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    again, ends = await calls_of(busy, "EF")
    assert busy.served[3:] == ["E", "F"], "both places are free again"
    for end in ends:
        end.set()
    await asyncio.gather(*again)


async def test_servers_without_a_number_take_any_number_of_calls() -> None:
    queue = Queue({"openai": 1})
    async with queue.turn(asks("other/model")), queue.turn(asks("other/model")), queue.turn(asks()):
        pass


class Crowded(ScriptedModel):
    """Notes how many requests were under way at most, each of which lasts a moment."""

    most = running = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            async for event in super().stream(request):
                yield event
        finally:
            self.running -= 1


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (3, 3)])
async def test_a_server_is_asked_no_more_at_once_than_it_takes(make_app: MakeApp, at_once: int, most: int) -> None:
    lab = {"test": {"base_url": "http://127.0.0.1:9/v1", "at_once": at_once}}
    chat = await open_chat(make_app, model=(model := Crowded()), persona="none", providers=lab)
    rooms = [make_channel(f"room{number}", dm=True) for number in range(12)]
    await asyncio.gather(*(chat.app.pipeline.deliver(make_inbound("hello", channel=room)) for room in rooms))
    await chat.settled()
    assert len(model.requests) == 12, "all are answered"
    assert model.most <= most
