"""Functions of extensions: whatever they do, whoever called goes on, and the operator hears it once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import Inbound, Outbound
from bot.guard import MOST_LATE, ExtensionFailed, Faults, Guard
from bot.hook_calls import ANSWERS, HookCalls
from bot.hooks import DROP, Answered, Drop, Hooks
from bot.llm.model import ModelMessage, Role
from bot.testing import make_channel, make_inbound, make_turn


async def raise_it(*_: Any) -> Any:
    raise ZeroDivisionError("what somebody said")


async def hang(*_: Any) -> Any:
    await asyncio.Event().wait()


async def lose_a_task(*_: Any) -> Any:
    raise asyncio.CancelledError


def forget_async(*_: Any) -> Any:
    return None


async def take_nothing() -> Any:
    return None


async def answer_a_number(*_: Any) -> Any:
    return 42


async def answer_half_an_inbound(inbound: Inbound) -> Any:
    return replace(inbound, text=None)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    "run", [raise_it, hang, lose_a_task, forget_async, take_nothing, answer_a_number, answer_half_an_inbound]
)
async def test_a_function_that_goes_wrong_counts_as_having_said_nothing_and_is_told_once(run: Any) -> None:
    kept: list[tuple[str, str]] = []
    guard = Guard(
        extension="weather",
        what="on_inbound",
        run=run,
        seconds=0.01,
        faults=Faults(lambda *fault: kept.append(fault)),
        expects=(Inbound, Drop),
    )
    with capture_logs() as logs:
        assert [await guard.try_call(make_inbound()) for _ in range(2)] == [None, None]
    with pytest.raises(ExtensionFailed, match="on_inbound of the extension weather failed"):
        await guard.call(make_inbound())
    told = [log for log in logs if log["event"] == "extension.failed"]
    assert [(log["extension"], log["what"]) for log in told] == [("weather", "on_inbound")]
    assert len(kept) == 1
    assert kept[0][0] == "weather"
    assert "said" not in kept[0][1]


async def test_one_that_hangs_again_and_again_is_not_called_any_more() -> None:
    called: list[object] = []

    async def hang_after_noting(value: object) -> None:
        called.append(value)
        await asyncio.Event().wait()

    guard = Guard(extension="weather", what="after_turn", run=hang_after_noting, seconds=0.01)
    with capture_logs() as logs:
        for value in range(MOST_LATE + 2):
            assert await guard.try_call(value) is None
    assert called == list(range(MOST_LATE))
    assert [log["event"] for log in logs] == ["extension.failed", "extension.given_up"]


async def test_one_that_was_slow_once_is_called_again() -> None:
    answers = iter([asyncio.Event().wait(), *(asyncio.sleep(0, "there") for _ in range(2 * MOST_LATE))])

    async def answer() -> Any:
        return await next(answers)

    guard = Guard(extension="weather", what="before_reply", run=answer, seconds=0.01, expects=(str,))
    said = [await guard.try_call() for _ in range(2 * MOST_LATE)]
    assert said == [None, *["there"] * (2 * MOST_LATE - 1)]
    await next(answers)


async def test_whoever_waits_for_it_can_be_cancelled_as_ever() -> None:
    guard = Guard(extension="weather", what="before_reply", run=hang, seconds=0)
    waiting = asyncio.ensure_future(guard.try_call())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_every_hook_is_called_from_somewhere_and_has_its_answers_told() -> None:
    hooks = {name for name in Hooks.__slots__ if name not in ("seconds", "summarise")}
    assert hooks == ANSWERS.keys()
    called = (hooks - {"wants_reply"}) | {"holds_reply"}  # what wants a reply is asked for all hooks at once
    assert all(hasattr(HookCalls, name) for name in called)


async def test_hooks_run_in_order_each_with_what_the_one_before_made() -> None:
    async def louder(inbound: Inbound) -> Inbound:
        return replace(inbound, text=inbound.text.upper())

    async def longer(inbound: Inbound) -> Inbound:
        return replace(inbound, text=inbound.text + "!")

    async def leave(_inbound: Inbound) -> None:
        return None

    hooks = [("a", Hooks(on_inbound=louder)), ("b", Hooks(on_inbound=leave)), ("c", Hooks(on_inbound=longer))]
    heard = await HookCalls(hooks).on_inbound(make_inbound("hello"))
    assert heard is not None
    assert heard.text == "HELLO!"


async def test_what_one_drops_no_other_sees() -> None:
    seen: list[Outbound] = []

    async def drop(_channel: object, _outbound: Outbound) -> Drop:
        return DROP

    async def see(_channel: object, outbound: Outbound) -> None:
        seen.append(outbound)

    calls = HookCalls([("a", Hooks(on_outbound=drop)), ("b", Hooks(on_outbound=see))])
    assert await calls.on_outbound(make_channel(), Outbound(text="hello")) is None
    assert seen == []


async def test_an_empty_text_is_an_answer_like_any_other() -> None:
    async def silence(_turn: object, _text: str) -> str:
        return ""

    assert await HookCalls([("a", Hooks(before_reply=silence))]).before_reply(make_turn(), "hello") == ""


async def test_an_observer_that_answers_is_told_to_be_wrong() -> None:
    async def answer(_turn: object, answered: Answered) -> Any:
        return ModelMessage(role=Role.USER, text=answered.text)

    with capture_logs() as logs:
        answered = Answered(text="hello", is_cut=False, parts=())
        await HookCalls([("a", Hooks(after_turn=answer))]).after_turn(make_turn(), answered)
    assert "it returned ModelMessage in place of None" in logs[0]["error"]
