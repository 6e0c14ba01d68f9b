"""What a request fills: parts that sum up, kept with each call, told in the log, to the model and without a call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from structlog.testing import capture_logs

from bot.gauge import Gauge
from bot.llm.model import ModelRequest, Role, ToolCall, ToolSpec
from bot.memory.items import Written
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import PromptBuilder
from bot.prompt.meter import Meter
from bot.prompt.sections import SECTIONS
from bot.prompt.usage import PARTS, Bucket, PromptUsage
from bot.store.ledger_tables import model_calls
from bot.store.sessions import SessionRow, session_by_id
from bot.store.tables import MessageKind
from bot.testing import Reply, ScriptedModel, make_row, make_turn
from bot.tools.context_usage import tell_usage
from bot.tools.tool import ToolError
from bot.turn import Asker
from tests.conftest import MakeApp
from tests.prompts import injected, words
from tests.talking import Chat, open_chat

MIRA = Persona(
    id="mira",
    card=PersonaCard(name="Mira", description="d " * 10, example_messages="e " * 20, post_history_instructions="p p"),
    source_path=Path("mira"),
)
ALICE_ASKS = Asker(key="fake:alice", name="Alice", locale="en")


EXTRA = (injected("lore", "l " * 30), injected("recall", "r " * 40), injected("weather", "w " * 5))
TOOL = ToolSpec(name="t", description="a b c", parameters={})


async def usage_of(*, factor: float = 1.0, **changes: Any) -> PromptUsage:
    asked = make_row("q " * 7)
    facts: dict[str, Any] = {"position": asked.position, "conversation_id": 1, "persona_id": "mira"}
    call = make_row("", kind=MessageKind.TOOL, tool_calls=({"id": "c", "name": "t", "arguments": ""},), **facts)
    result = make_row("x " * 50, kind=MessageKind.TOOL, tool_call_id="c", tool_name="t", **facts)
    reply = make_row("a", kind=MessageKind.REPLY, **facts)
    known: dict[str, Any] = {"persona": MIRA, "persona_id": "mira", "persona_name": "Mira", **changes}
    turn = make_turn(asked, call, result, reply, make_row("and?"), memory=Written(text="m " * 60), **known)
    builder = PromptBuilder(sections=(*SECTIONS, *EXTRA), count=words, section_timeout_ms=0)
    return (await builder.build(turn, factor=factor, tools=[TOOL])).usage


async def test_every_part_is_told_under_its_name() -> None:
    usage = await usage_of()
    assert tuple(usage.parts)[: len(PARTS) - 1] == PARTS[:-1]
    told = {name: usage.parts[name] for name in ("memory", "recall", "lore", "weather", "reserve")}
    assert told == {"memory": 60, "recall": 40, "lore": 30, "weather": 5, "reserve": 1024}
    assert usage.parts["persona"] == 3 + 10 + (5 + 20) + 2
    assert usage.parts["tool_results"] == 50 + 6
    assert usage.parts["history"] == (7 + 6) + 6 + (1 + 6) + (1 + 6)
    assert usage.parts["tool_definitions"] == words("{}a b c") + 6
    assert (usage.window, usage.max_tokens, usage.budget, usage.messages) == (8192, 1024, 6656, 5)
    assert usage.ratio == usage.used / 8192


@settings(deadline=None)
@given(st.floats(0.25, 4.0), st.integers(200, 8_000), st.integers(0, 2_000))
async def test_the_parts_sum_to_what_is_used_whatever_the_model_counts(
    factor: float, budget: int, reserve: int
) -> None:
    usage = await usage_of(factor=factor, budget=int(budget * factor) + 900, reserve=reserve)
    assert sum(usage.parts.values()) == usage.used
    assert usage.used <= int(budget * factor) + 900 + reserve
    assert min(usage.parts.values()) >= 0


@pytest.mark.parametrize(
    ("used", "bucket"),
    [(0, "OK"), (499, "OK"), (500, "INFO"), (699, "INFO"), (700, "WARN"), (849, "WARN"), (850, "CRITICAL"),
     (1_200, "CRITICAL")],
)  # fmt: skip
def test_a_fill_has_a_word(used: int, bucket: str) -> None:
    assert usage_filling(used).bucket == Bucket(bucket)


def usage_filling(used: int, **more: Any) -> PromptUsage:
    return PromptUsage(window=1_000, max_tokens=100, budget=800, parts={"history": used}, **more)


def test_the_log_tells_the_first_turn_each_change_of_the_bucket_and_every_tenth_turn() -> None:
    meter, turn, other = Meter(), make_turn(), make_turn(conversation_id=2)
    fills = [100, 200, 600, 600, 750, 900, 300, 300, 300, 300, 300] + [300] * 9
    with capture_logs() as logs:
        for used in fills:
            meter.note(turn, usage_filling(used))
        meter.note(other, usage_filling(100))
    told = [(entry["turn"], entry["bucket"], entry["fill"], entry["percent"]) for entry in logs]
    assert told == [
        (1, "OK", "100/1000", 10), (3, "INFO", "600/1000", 60), (5, "WARN", "750/1000", 75),
        (6, "CRITICAL", "900/1000", 90), (7, "OK", "300/1000", 30), (10, "OK", "300/1000", 30),
        (20, "OK", "300/1000", 30), (1, "OK", "100/1000", 10),
    ]  # fmt: skip
    assert logs[0]["parts"] == {"history": 100}
    assert {entry["event"] for entry in logs} == {"prompt.usage"}


async def ledger(chat: Chat) -> list[dict[str, Any]]:
    """What each chat call filled, as it is kept."""
    asked = select(model_calls.c.prompt_usage).where(model_calls.c.prompt_usage.is_not(None)).order_by(model_calls.c.id)
    kept = await chat.app.core.db.read(lambda tx: tx.execute(asked).scalars().all())
    return [json.loads(usage) for usage in kept]


def asks_once(request: ModelRequest) -> Reply | str:
    call = ToolCall(id="c1", name="context_usage", arguments="{}")
    return "So much." if request.messages[-1].role is Role.TOOL else Reply(text="", tool_calls=(call,))


async def test_every_request_of_a_turn_is_measured_and_the_model_can_ask_for_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(asks_once), persona="none")
    await chat.say("how full are you?")
    first, second = await ledger(chat)
    assert (first["parts"]["tool_results"], first["messages"]) == (0, 1)
    assert second["parts"]["tool_results"] > 0
    assert second["used"] > first["used"] == sum(first["parts"].values())
    told = chat.model.requests[1].messages[-1].text
    assert told.startswith(
        f"{first['used']:,} of {first['window']:,} tokens are used ({first['used'] / 8192:.0%}, OK):"
    )
    assert "reserve 1,024" in told


async def test_a_tool_that_runs_outside_a_request_says_that_nothing_is_known() -> None:
    with pytest.raises(ToolError):
        await tell_usage(make_turn(), {})


async def session_of(chat: Chat) -> SessionRow:
    return await chat.app.core.db.read(lambda tx: session_by_id(tx, 1))


async def test_a_snapshot_needs_no_call_and_tells_what_the_next_request_will_fill(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    gauge: Gauge = chat.app.desk.gauge
    await chat.say("hello")
    snapshot = await gauge.snapshot((await session_of(chat)).id, ALICE_ASKS)
    assert len(chat.model.requests) == 1
    assert snapshot is not None
    await chat.say("x")
    assert (await ledger(chat))[-1]["used"] - snapshot.used < 12  # the message itself


async def test_after_a_compaction_the_meter_counts_from_what_is_left_and_not_what_is_gone(make_app: MakeApp) -> None:
    model = ScriptedModel(summaries=[json.dumps({"gist": "They talked."})])
    small: dict[str, Any] = {"context_tokens": 4_000, "max_output_tokens": 200, "persona": "none"}
    chat = await open_chat(make_app, model=model, summary={"keep_recent": 4, "keep_tokens": 100}, **small)
    for number in range(30):
        await chat.say(f"number {number} " + "word " * 60)
    figures = await ledger(chat)
    falls = [at for at in range(1, 30) if figures[at]["used"] < figures[at - 1]["used"]]
    assert falls
    for before, at in zip([0, *falls], [*falls, 30], strict=True):
        assert {figure["baseline"] for figure in figures[before:at]} == {figures[before]["used"]}
