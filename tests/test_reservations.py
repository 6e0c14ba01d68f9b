"""Nobody overspends: what calls may cost is held before they are made, and what they did cost is counted after them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.llm.model import Bill, Completion, ModelRequest, ModelUnreachable, ToolCall, Usage
from bot.quota import NANOS
from bot.store.database import Tx
from bot.store.ledger_tables import reservations
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.spending import PRICED, RESERVE, USED, ask, open_limited, quota, reserved, settle, spent
from tests.talking import GROUP


def honest(request: ModelRequest) -> Reply:
    """Reads what it was sent, and writes as much as it may."""
    assert request.bill is not None
    read = Usage(input_tokens=request.bill.input_tokens, output_tokens=request.max_output_tokens)
    return Reply(text="ok", usage=read)


async def test_X10_limits_hold_with_fifty_people_writing_at_once(make_app: MakeApp) -> None:
    most = 10_000
    chat = await open_limited(make_app, ScriptedModel(honest), quota=quota(total={"tokens_per_day": most}))
    people = [make_author(f"Person{number}") for number in range(50)]
    rooms = [make_channel(f"room{number}", dm=True) for number in range(50)]
    deliver = chat.app.pipeline.deliver
    for _ in range(2):
        inbounds = [make_inbound("hello", author=one, channel=room) for one, room in zip(people, rooms, strict=True)]
        await asyncio.gather(*map(deliver, inbounds))
    await settle(chat)
    used = (await spent(chat))["total", "2026-11-01", "tokens"]
    largest = max(request.bill.input_tokens + RESERVE for request in chat.model.requests if request.bill)
    assert most - largest < used <= most, "as much as there is, and no token more"
    told = Counter(reply.channel for reply in chat.adapter.replies if "all that I may spend" in reply.text)
    assert set(told.values()) == {1}, "each place hears of it once"
    assert await reserved(chat) == 0


async def test_X10_a_places_limit_in_money_holds_with_fifty_people_writing_at_once_in_its_channels(
    make_app: MakeApp,
) -> None:
    limits, model = quota(place={"money_per_day": 10}), ScriptedModel(honest)
    chat = await open_limited(make_app, model, quota=limits, providers=PRICED)
    people = [make_author(f"Person{number}") for number in range(50)]
    rooms = [replace(GROUP, channel=f"room{number}") for number in range(50)]
    asked = [
        make_inbound("hello", author=one, channel=room, mentions_me=True)
        for one, room in zip(people, rooms, strict=True)
    ]
    await asyncio.gather(*map(chat.app.pipeline.deliver, asked))
    await settle(chat)
    used = (await spent(chat))["place", "2026-11-01", "USD"]
    largest = max(request.bill.input_tokens + RESERVE for request in model.requests if request.bill)
    assert 10 * NANOS - largest * NANOS // 1_000 < used <= 10 * NANOS
    assert len([reply for reply in chat.adapter.replies if "10.00 USD" in reply.text]) == 1, "a place hears it once"


async def test_each_round_of_tools_is_reserved_for_and_ends_where_the_limit_does(make_app: MakeApp) -> None:
    call = ToolCall(id="1", name="roll_dice", arguments='{"dice": "d6"}')
    model = ScriptedModel(lambda _request: Reply(text="", tool_calls=(call,), usage=USED))
    chat = await open_limited(make_app, model, tools=None, quota=quota(person={"tokens_per_day": 3_000}))
    (told,) = await chat.say("roll till you drop")
    assert len(model.requests) == 3
    assert told.startswith("What you may use until")


async def test_what_is_broken_off_counts_by_what_was_sent_and_written(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="It begins well and", hold=asyncio.Event())])
    chat = await open_limited(
        make_app, model, adapter=FakeAdapter(streams=True), quota=quota(total={"tokens_per_day": 9_000})
    )
    await chat.app.pipeline.deliver(make_inbound("tell me"))
    await model.wait_for(1)
    await chat.say("/stop")
    await settle(chat)
    sent = model.requests[0].bill
    assert sent is not None
    assert sent.input_tokens < (await spent(chat))["total", "2026-11-01", "tokens"] <= sent.input_tokens + 10


@pytest.mark.parametrize("told", [None, Usage(), Usage(output_tokens=8)])
async def test_what_a_server_does_not_count_counts_by_what_was_sent_and_written(
    make_app: MakeApp, told: Usage | None
) -> None:
    model = ScriptedModel([Reply(text="Four words, no more.", usage=told)])
    chat = await open_limited(make_app, model, quota=quota(total={"tokens_per_day": 9_000}))
    await ask(chat, 1)
    sent = model.requests[0].bill
    assert sent is not None
    assert sent.input_tokens < (await spent(chat))["total", "2026-11-01", "tokens"] <= sent.input_tokens + 10


async def test_a_call_that_failed_costs_nothing(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", error=ModelUnreachable("m", "gone"))])
    chat = await open_limited(make_app, model, quota=quota(total={"tokens_per_day": 9_000}))
    await ask(chat, 1)
    assert await spent(chat) == {("total", "2026-11-01", "tokens"): 0}


async def test_whoever_is_stopped_while_it_is_reserved_leaves_nothing_reserved(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(total={"tokens_per_day": 9_000}))
    held, free = threading.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        held.set()
        free.wait(10)

    spawn = chat.app.core.tasks.spawn
    holding = spawn("hold", chat.app.core.db.run(hold))
    await asyncio.to_thread(held.wait, 10)
    request = ModelRequest(
        model="test/scripted", messages=(), max_output_tokens=RESERVE, bill=Bill(place_key="p", input_tokens=5)
    )
    asking = spawn("ask", anext(chat.app.models.model.stream(request)))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    free.set()
    await asyncio.wait([holding])
    await settle(chat)
    assert chat.model.requests == []
    assert await reserved(chat) == 0


async def test_whenever_somebody_is_stopped_nothing_stays_reserved(make_app: MakeApp) -> None:
    chat = await open_limited(make_app, quota=quota(total={"tokens_per_day": 9_000}))
    bill = Bill(place_key="p", input_tokens=5)
    request = ModelRequest(model="test/scripted", messages=(), max_output_tokens=RESERVE, bill=bill)
    for pauses in range(12):
        stream = chat.app.models.model.stream(request)
        asking = chat.app.core.tasks.spawn("ask", anext(stream))
        for _ in range(pauses):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await stream.aclose()
    await settle(chat)
    assert await reserved(chat) == 0


async def test_S16_what_was_asked_last_before_the_end_is_counted(make_app: MakeApp) -> None:
    limits = quota(total={"tokens_per_day": 9_000})
    chat, free = await open_limited(make_app, quota=limits), threading.Event()

    def hold(_tx: Tx) -> None:
        free.wait(10)

    bill = Bill(place_key="p", input_tokens=5)
    request = ModelRequest(model="test/scripted", messages=(), max_output_tokens=RESERVE, bill=bill)
    async for event in chat.app.models.model.stream(request):
        if isinstance(event, Completion):
            chat.app.core.db.post(hold)
    closing = asyncio.ensure_future(chat.app.close())
    for _ in range(50):
        await asyncio.sleep(0)
    free.set()
    await closing
    again = await open_limited(make_app, quota=limits)
    assert (await spent(again))["total", "2026-11-01", "tokens"] == 1_000
    assert await reserved(again) == 0


async def test_an_answer_that_broke_off_in_its_middle_is_paid_for(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="It begins well and", error=ModelUnreachable("m", "gone"))])
    chat = await open_limited(make_app, model, quota=quota(total={"tokens_per_day": 9_000}))
    await ask(chat, 1)
    assert (await spent(chat))["total", "2026-11-01", "tokens"] > 50


async def test_S16_what_a_crash_left_reserved_expires(make_app: MakeApp) -> None:
    limits = quota(total={"tokens_per_day": 1_000})
    chat = await open_limited(make_app, quota=limits)

    def reserve(expires_at: datetime) -> Callable[[Any], None]:
        held = {"place_key": "", "tokens": 900, "cost": 0, "expires_at": expires_at}
        return lambda tx: tx.execute(reservations.insert().values(held))

    await chat.app.core.db.run(reserve(NOW + timedelta(minutes=1)))
    (refused,) = await ask(chat, 1)
    assert "all that I may spend" in refused[0], "a call under way may still need it"
    await chat.app.core.db.run(
        lambda tx: tx.execute(reservations.update().values(expires_at=NOW - timedelta(seconds=1)))
    )
    assert await ask(chat, 1) == [["ok"]]
