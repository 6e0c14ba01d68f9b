"""Between compactions a request begins with its predecessor, and whatever breaks that is counted with its reason."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.chat import InboundKind
from bot.llm.model import ModelMessage, ModelRequest, Role, ToolCall, ToolSpec
from bot.memory.items import Written
from bot.personas.card import PersonaCard
from bot.personas.library import Persona
from bot.prompt.build import PromptBuilder
from bot.prompt.sections import SECTIONS
from bot.prompt.usage import PrefixBreak
from bot.store.ledger_tables import model_calls
from bot.store.tables import MessageKind
from bot.testing import Reply, ScriptedModel, make_row, make_turn
from bot.turn import Turn
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

RULES = "Be kind."
FOLDED = json.dumps({"gist": "They talked."})


async def breaks(chat: Chat) -> list[str | None]:
    """Why each request of the chat model did not begin with the one before, in order."""
    asked = select(model_calls.c.prefix_break).where(model_calls.c.purpose == "chat").order_by(model_calls.c.id)
    return list(await chat.app.core.db.read(lambda tx: tx.execute(asked).scalars().all()))


def begins_with(request: ModelRequest, before: ModelRequest) -> bool:
    """Whether a request has another one, whole as it was, at its beginning; there is no tail in these chats."""
    same = (request.tools, request.thinking, request.max_output_tokens, request.model) == (
        before.tools, before.thinking, before.max_output_tokens, before.model,
    )  # fmt: skip
    return same and request.messages[: len(before.messages)] == before.messages


async def demand_every_break_is_counted(chat: Chat) -> None:
    """What the ledger says of each request is what the requests themselves show."""
    shown = [begins_with(request, before) for before, request in pairwise(chat.model.requests)]
    counted = await breaks(chat)
    assert [why is None for why in counted[1:]] == shown
    assert PrefixBreak.UNKNOWN not in counted


async def test_a_growing_talk_of_several_people_with_tools_is_never_sent_anew(make_app: MakeApp) -> None:
    def script(request: ModelRequest) -> Reply | str:
        last = request.messages[-1]
        roll = ToolCall(id=f"c{len(request.messages)}", name="roll_dice", arguments='{"dice":"d6"}')
        return Reply(text="", tool_calls=(roll,)) if "roll" in last.text and last.role is Role.USER else "as you say"

    chat = await open_chat(make_app, model=ScriptedModel(script), persona="none", system_prompt=RULES)
    for number in range(12):
        await chat.say(f"overheard {number}", author=BOB, channel=GROUP, mentions_me=False)
        await chat.say(f"roll {number}" if number % 3 == 0 else f"well {number}", author=ALICE, channel=GROUP)
    await chat.say("/retry", channel=GROUP)
    await chat.say("/continue", channel=GROUP)
    assert set(await breaks(chat)) == {None}
    assert all(begins_with(request, before) for before, request in pairwise(chat.model.requests))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("/session set system_prompt 'Be rude.'", "override"),
        ("/session set thinking on", "override"),
        ("/undo", "edit"),
        ("/session set language zh", None),
    ],
)
async def test_a_change_of_what_was_sent_is_counted_by_its_reason(
    make_app: MakeApp, change: str, why: str | None
) -> None:
    chat = await open_chat(make_app, persona="none", system_prompt=RULES)
    for text in ("one", "two", change, "three"):
        await chat.say(text)
    assert await breaks(chat) == [None, None, why]
    await demand_every_break_is_counted(chat)


@pytest.mark.parametrize("kind", [InboundKind.EDIT, InboundKind.DELETE])
async def test_what_somebody_edits_or_deletes_breaks_the_prefix_as_an_edit(
    make_app: MakeApp, kind: InboundKind
) -> None:
    chat = await open_chat(make_app, persona="none", system_prompt=RULES)
    await chat.say("one", message_id="m1")
    await chat.say("two")
    await chat.say("changed", message_id="m1", kind=kind)
    await chat.say("three")
    assert await breaks(chat) == [None, None, "edit"]


async def test_what_was_said_in_privacy_is_gone_and_counted_as_an_edit(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", system_prompt=RULES)
    for text in ("one", "/privacy on", "a secret", "three"):
        await chat.say(text)
    assert (await breaks(chat))[-1] == "edit"
    assert PrefixBreak.UNKNOWN not in await breaks(chat)


SMALL: dict[str, Any] = {"persona": "none", "system_prompt": RULES, "context_tokens": 4_000, "max_output_tokens": 200}


@pytest.mark.parametrize(
    ("summaries", "allowed"), [([FOLDED], {"compaction"}), (["no JSON"], {"pruning"})], ids=["folding", "pruning"]
)
async def test_a_long_talk_is_sent_anew_at_compactions_or_cuts_alone(
    make_app: MakeApp, summaries: list[str], allowed: set[str]
) -> None:
    kept = {"keep_recent": 4, "keep_tokens": 100}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=summaries), summary=kept, **SMALL)
    for number in range(60):
        await chat.say(f"number {number} " + "word " * 60)
    await demand_every_break_is_counted(chat)
    counted = await breaks(chat)
    assert set(counted) == {None} | allowed
    assert sum(why is not None for why in counted) <= 8  # each makes room for several turns


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_people_do_every_break_is_an_allowed_one(make_app: MakeApp, seed: int) -> None:
    dice = random.Random(seed)
    kept = {"keep_recent": 4, "keep_tokens": 100}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[FOLDED]), summary=kept, **SMALL)
    said: list[str] = []
    for number in range(40):
        await act(chat, dice, said, number)
    await demand_every_break_is_counted(chat)


async def act(chat: Chat, dice: random.Random, said: list[str], number: int) -> None:
    """One thing that somebody in the group does."""
    who = dice.choice([ALICE, BOB])
    match dice.choice(["say"] * 5 + ["hear"] * 2 + ["edit", "delete", "retry", "undo", "rules"]):
        case "say":
            await chat.say(
                f"q{number} " + "word " * dice.randrange(80), author=who, channel=GROUP, message_id=f"q{number}"
            )
            said.append(f"q{number}")
        case "hear":
            await chat.say(f"h{number}", author=who, channel=GROUP, mentions_me=False, message_id=f"h{number}")
            said.append(f"h{number}")
        case "edit" | "delete" as what if said:
            kind = InboundKind.EDIT if what == "edit" else InboundKind.DELETE
            await chat.say(f"e{number}", author=who, channel=GROUP, kind=kind, message_id=dice.choice(said))
        case "retry" | "undo" as what:
            await chat.say(f"/{what}", author=who, channel=GROUP)
        case "rules":
            await chat.say(f"/session set system_prompt 'rule {number}'", author=who, channel=GROUP)


MIRA = Persona(
    id="mira",
    card=PersonaCard(name="Mira", example_messages="<START>\n{{char}}: Aye.", post_history_instructions="Stay calm."),
    source_path=Path("mira"),
)
MIRA_ENDED = replace(MIRA, card=MIRA.card.model_copy(update={"description": "Retired."}))
FIRST = make_row("hello")
REPLY = make_row("Aye.", position=FIRST.position, kind=MessageKind.REPLY, conversation_id=1, persona_id="mira")
TURN = make_turn(FIRST, persona=MIRA, persona_id="mira", persona_name="Mira")
TOOL = ToolSpec(name="t", description="d", parameters={})


@pytest.mark.parametrize(
    ("changes", "tools", "why"),
    [
        ({}, (), None),
        ({"generation": 1}, (), None),
        ({"persona": MIRA_ENDED}, (), PrefixBreak.CARD),
        ({"memory": Written(text="Bob likes tea.")}, (), PrefixBreak.MEMORY),
        ({"memory": Written(text="Bob likes tea."), "generation": 1}, (), PrefixBreak.MEMORY),
        ({"memory": Written(text="Bob likes tea."), "watermark": 1}, (), PrefixBreak.COMPACTION),
        ({"reserve": 900}, (), PrefixBreak.OVERRIDE),
        ({"model": "test/other"}, (), PrefixBreak.OVERRIDE),
        ({}, (TOOL,), PrefixBreak.TOOLS),
        ({"cuts": replace(TURN.cuts, without_examples=True)}, (), PrefixBreak.PRUNING),
        ({"persona_name": "Bo"}, (), PrefixBreak.CARD),
    ],
)
async def test_the_next_request_without_the_tail_begins_with_the_one_before_or_tells_why_not(
    changes: dict[str, Any], tools: tuple[ToolSpec, ...], why: PrefixBreak | None
) -> None:
    builder = PromptBuilder(sections=SECTIONS, count=len, section_timeout_ms=0)
    before = await builder.build(TURN, factor=1)
    assert before.messages[-1].text == "hello\n\nStay calm."
    turn: Turn = replace(TURN, history=(FIRST, REPLY, make_row("and?")), sent=before.sent, **changes)
    turn = replace(turn, burst=(turn.history[-1].id,), position=turn.history[-1].position)
    after = await builder.build(turn, factor=1, tools=tools)
    assert after.usage.prefix_break is why
    stable = (before.messages[0], ModelMessage(role=Role.USER, text="hello"))
    frame = turn.reserve == TURN.reserve and turn.model == TURN.model and not tools
    assert (frame and after.messages[:2] == stable) is (why is None)
