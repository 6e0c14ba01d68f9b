"""Another model answers where the server of the one that was asked does not, and that server is left alone a while."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import SecretStr

from bot.llm.catalogue import LimitsOverride, ModelCatalogue
from bot.llm.client import OpenAIModel
from bot.llm.endpoints import Provider
from bot.llm.model import (
    Attempt,
    Bill,
    Completion,
    ContextTooLong,
    Handover,
    ModelError,
    ModelEvent,
    ModelExhausted,
    ModelHeldBack,
    ModelRefused,
    ModelRequest,
    ModelUnreachable,
    Role,
    TextDelta,
)
from bot.llm.quirks import Quirks
from bot.llm.router import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LONGEST_WISH_SECONDS, Router
from bot.llm.wire import IMAGE_NOTE
from bot.testing import Reply, ScriptedModel
from tests.emulators.openai import OpenAIEmulator, Refuse, Reset, Say, Stall, Stream, errors
from tests.emulators.openai import Reply as WireReply
from tests.emulators.openai.harness import CALL, PICTURE, TOOL, asks, assistant, system, tool, user

ONE, TWO, THREE = "one/a", "two/b", "three/c"


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Stage:
    """A router before models that answer with their names, except those in `faults`."""

    faults: dict[str, ModelError] = field(default_factory=dict)
    text_before_fault: str = ""
    limits: Mapping[str, LimitsOverride] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    holds: asyncio.Event | None = None
    """What the first model waits for."""

    def __post_init__(self) -> None:
        self.model = ScriptedModel(self.answer)
        self.router = Router(self.model, ModelCatalogue(self.limits).limits, clock=self.clock)

    def answer(self, request: ModelRequest) -> Reply:
        fault, holds = self.faults.get(request.model), self.holds if request.model == ONE else None
        return Reply(text=self.text_before_fault if fault else request.model, error=fault, hold=holds)

    async def ask(self, *fallbacks: str, model: str = ONE, **more: Any) -> list[ModelEvent]:
        return [event async for event in self.router.stream(asks(model=model, fallbacks=fallbacks, **more))]

    async def asked(self, *fallbacks: str, model: str = ONE) -> list[str]:
        """Which models one request reaches, whatever comes of it."""
        before = len(self.model.requests)
        with suppress(ModelError):
            await self.ask(*fallbacks, model=model)
        return [request.model for request in self.model.requests[before:]]


def unreachable(model: str = ONE, **more: Any) -> ModelUnreachable:
    return ModelUnreachable(model, "no answer.", **more)


@pytest.mark.parametrize("fault", [unreachable(), ModelExhausted(ONE, "no credit left.")], ids=lambda it: it.kind)
async def test_where_a_server_does_not_answer_the_next_model_does_and_each_is_told(fault: ModelError) -> None:
    stage = Stage({ONE: fault})
    attempt, handover, said, completion = await stage.ask(TWO, THREE)
    assert isinstance(attempt, Attempt)
    assert (attempt.model, attempt.outcome) == (ONE, fault.kind)
    assert handover == Handover(model=TWO)
    assert said == TextDelta(text=TWO)
    assert isinstance(completion, Completion)


@pytest.mark.parametrize(
    "fault",
    [ModelRefused(ONE, "no such parameter."), ContextTooLong(ONE, "too long."), ModelError(ONE, "what is this?")],
    ids=lambda it: it.kind,
)
async def test_what_is_wrong_with_the_request_is_no_case_for_another_model(fault: ModelError) -> None:
    stage = Stage({ONE: fault})
    with pytest.raises(type(fault)):
        await stage.ask(TWO)
    assert [request.model for request in stage.model.requests] == [ONE]
    assert stage.router.health() == []


async def test_nobody_else_is_asked_once_something_was_said() -> None:
    stage = Stage({ONE: unreachable()}, text_before_fault="Well")
    with pytest.raises(ModelUnreachable):
        await stage.ask(TWO)
    assert [request.model for request in stage.model.requests] == [ONE]


async def test_without_a_fallback_a_server_is_asked_each_time() -> None:
    stage = Stage({ONE: unreachable()})
    assert [await stage.asked() for _ in range(3)] == [[ONE], [ONE], [ONE]]


async def test_a_fallback_that_refuses_is_passed_over_and_the_last_fault_is_told() -> None:
    stage = Stage({ONE: unreachable(), TWO: ModelRefused(TWO, "which key?")})
    *_, completion = await stage.ask(TWO, THREE)
    assert isinstance(completion, Completion)
    assert completion.text == THREE
    with pytest.raises(ModelUnreachable) as told:
        await Stage({ONE: unreachable(), THREE: unreachable(THREE)}).ask(THREE)
    assert told.value.model == THREE


async def test_what_is_too_long_for_a_fallback_is_told_so_that_it_is_made_shorter() -> None:
    stage = Stage({ONE: unreachable(), TWO: ContextTooLong(TWO, "too long.", limit=10)})
    with pytest.raises(ContextTooLong) as told:
        await stage.ask(TWO, THREE)
    assert told.value.model == TWO


async def test_L20_what_a_fallback_is_known_to_have_no_room_for_is_not_left_to_its_server_to_cut() -> None:
    stage = Stage({ONE: unreachable()}, limits={TWO: LimitsOverride(context_window=4_096)})
    with pytest.raises(ContextTooLong) as told:
        await stage.ask(TWO, bill=Bill(place_key="p", input_tokens=4_000))
    assert (told.value.model, told.value.limit) == (TWO, 4_096)
    assert [request.model for request in stage.model.requests] == [ONE]
    said = TextDelta(text=TWO)
    assert said in await stage.ask(TWO, bill=Bill(place_key="p", input_tokens=3_000))


async def test_a_server_that_failed_is_asked_last_for_a_while_that_doubles_and_first_again_once_it_answers() -> None:
    stage = Stage({ONE: unreachable()})
    assert await stage.asked(TWO) == [ONE, TWO]
    for pause in (30, 60, 120, 240, 480, 600, 600):
        stage.clock.now += pause - 1
        assert await stage.asked(TWO) == [TWO]
        stage.clock.now += 1
        assert await stage.asked(TWO) == [ONE, TWO]
    del stage.faults[ONE]
    stage.clock.now += LONGEST_PAUSE_SECONDS
    assert await stage.asked(TWO) == await stage.asked(TWO) == [ONE]
    assert stage.router.health() == []


async def test_of_many_requests_that_fail_at_once_one_counts() -> None:
    stage = Stage({ONE: unreachable()}, holds=asyncio.Event())
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(stage.asked(TWO))
        await stage.model.wait_for(5)
        stage.clock.now += 1
        stage.holds.set()  # type: ignore[union-attr]  # just given
    (health,) = stage.router.health()
    assert health.seconds_left == FIRST_PAUSE_SECONDS


async def test_the_model_that_was_meant_is_told_of_when_it_answers_after_all() -> None:
    stage = Stage({ONE: unreachable()})
    await stage.ask(TWO)
    stage.faults = {TWO: unreachable(TWO)}
    events = await stage.ask(TWO)
    assert [event.model for event in events if isinstance(event, Handover)] == [TWO, ONE]


@pytest.mark.parametrize(
    ("patience", "seconds"), [(90.0, 90), (5.0, FIRST_PAUSE_SECONDS), (86_400.0, LONGEST_WISH_SECONDS)]
)
async def test_a_server_gets_the_patience_it_asks_for(patience: float, seconds: float) -> None:
    stage = Stage({ONE: unreachable(patience=patience)})
    await stage.ask(TWO)
    (health,) = stage.router.health()
    assert (health.name, health.problem, health.seconds_left) == (ONE, "no answer.", seconds)


async def test_where_all_are_left_alone_all_are_asked_in_their_order() -> None:
    stage = Stage({ONE: unreachable(), TWO: unreachable(TWO)})
    assert await stage.asked(TWO) == await stage.asked(TWO) == [ONE, TWO]
    del stage.faults[TWO]
    assert await stage.asked(TWO) == [ONE, TWO]
    assert await stage.asked(TWO) == [TWO]


async def test_a_server_without_connection_takes_all_its_models_along_and_a_failing_model_only_itself() -> None:
    stage = Stage({ONE: unreachable(is_of_server=True)})
    await stage.ask(TWO)
    assert await stage.asked("one/other", TWO) == [TWO]
    assert [one.name for one in stage.router.health()] == ["one"]
    stage = Stage({ONE: unreachable()})
    assert await stage.asked("one/other", TWO) == [ONE, "one/other"]


async def test_one_request_tries_a_server_again_while_the_others_go_round_it() -> None:
    stage, back = Stage({ONE: unreachable()}), asyncio.Event()
    await stage.ask(TWO)
    stage.clock.now += FIRST_PAUSE_SECONDS
    stage.holds = back
    async with asyncio.TaskGroup() as group:
        trying = group.create_task(stage.asked(TWO))
        await stage.model.wait_for(3)
        assert await stage.asked(TWO) == [TWO]
        back.set()
    assert trying.result()[0] == ONE


async def test_a_fallback_gets_the_request_as_it_can_take_it() -> None:
    stage = Stage({ONE: unreachable()}, limits={TWO: LimitsOverride(vision=False, tools=False)})
    talk = (system("You are Luna."), user("Look", None, PICTURE), assistant("", CALL), tool("noon", "c1"))
    await stage.ask(TWO, messages=talk, tools=(TOOL,))
    first, second = stage.model.requests
    assert (first.messages, first.tools) == (talk, (TOOL,))
    assert second.tools == ()
    assert [(one.role, one.text, one.images) for one in second.messages[1:]] == [
        (Role.USER, f"Look\n{IMAGE_NOTE}", ()),
        (Role.USER, "[result of clock: noon]", ()),
    ]


async def test_who_stops_listening_is_no_fault_of_the_server() -> None:
    stage = Stage()
    async with aclosing(stage.router.stream(asks(model=ONE, fallbacks=(TWO,)))) as events:
        await anext(events)
    assert stage.model.cancelled == 1
    assert stage.router.health() == []


SILENT: WireReply = Stream([Stall()])


@pytest.mark.parametrize(
    ("reply", "is_of_server"),
    [
        (Reset(), True),
        (Refuse(status=503, body="<html>"), False),
        (errors.rate_limited(60), False),
        (errors.openai_error(429, "You exceeded your current quota", code="insufficient_quota"), True),
        (SILENT, False),
    ],
    ids=["reset", "503", "long wait", "no credit", "silence"],
)
async def test_the_faults_of_real_servers_are_told_apart(reply: WireReply, is_of_server: bool) -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(OpenAIEmulator(reply))
        two = await stack.enter_async_context(OpenAIEmulator(Say(text="Here I am.")))
        providers = {
            name: Provider(name=name, base_url=it.base_url, api_key=SecretStr(""), first_token_timeout=0.2)
            for name, it in (("one", one), ("two", two))
        }
        client = OpenAIModel(providers, Quirks(), ModelCatalogue(), sleep=no_wait)
        router = Router(client, ModelCatalogue().limits)
        stack.push_async_callback(router.close)
        events = [event async for event in router.stream(asks(model=ONE, fallbacks=(TWO,)))]
        assert isinstance(events[-1], Completion)
        assert (events[-1].text, events[-1].model) == ("Here I am.", TWO)
        assert [health.name for health in router.health()] == ["one" if is_of_server else ONE]


async def test_where_the_others_are_left_alone_a_server_has_all_its_time() -> None:
    stage = Stage({TWO: unreachable(TWO)})
    await stage.asked(TWO, model=TWO)
    await stage.ask(TWO)
    assert stage.model.requests[-1].is_last


async def test_a_model_that_is_left_alone_is_asked_where_a_limit_has_no_room_for_the_others() -> None:
    stage = Stage({THREE: unreachable(THREE)})
    await stage.asked(THREE, model=THREE)
    stage.faults = {name: ModelHeldBack(name, "no room.", may_stand_in=True) for name in (ONE, TWO)}
    assert await stage.asked(TWO, THREE) == [ONE, TWO, THREE]
    assert [request.fallbacks for request in stage.model.requests[-3:]] == [(TWO, THREE), (THREE,), ()]
    assert [request.is_last for request in stage.model.requests[-3:]] == [False, True, True]


async def test_what_is_heard_or_spoken_goes_through_a_chain_by_the_same_rule() -> None:
    stage, asked = Stage(), list[tuple[str, tuple[str, ...], bool]]()

    async def ask(*given: Any) -> str:
        asked.append(given)
        if given[0] == ONE:
            raise unreachable(ONE)
        return str(given[0])

    assert [await stage.router.first_of((ONE, TWO, THREE), ask) for _ in range(2)] == [TWO, TWO]
    assert asked == [(ONE, (TWO, THREE), False), (TWO, (THREE,), False), (TWO, (THREE, ONE), False)]


async def no_wait(_seconds: float) -> None:
    return
