"""Tools that ask first, and those of groups: who may allow a call, once and in time, and where groups are on (X04)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.approvals import Approvals
from bot.chat import Author, InboundKind
from bot.llm.model import ToolCall, ToolSpec
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_inbound, make_turn
from bot.tools import TOOLS, Tool
from bot.turn import Asker, Turn
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, GROUP, Chat, open_chat

ADMIN = make_author("Ada")
CALL = ToolCall(id="c1", name="burn", arguments='{"what": "`letters`"}')


class Burning:
    """A tool that cannot be taken back, and what was burnt by it."""

    def __init__(self) -> None:
        self.burnt: list[str] = []

    async def __call__(self, turn: Turn, arguments: Mapping[str, Any]) -> str:
        self.burnt.append(f"{turn.asker.name} {arguments['what']}")
        return "burnt"

    @property
    def tool(self) -> Tool:
        spec = ToolSpec(name="burn", description="Burns.", parameters={"type": "object", "properties": {}})
        return Tool(spec=spec, run=self, group="fire", asks=True)


async def asked(
    make_app: MakeApp, burning: Burning, *, author: Author = ALICE, call: ToolCall = CALL, **settings: Any
) -> Chat:
    """A chat in which the tool has just asked whether it may burn."""
    model = ScriptedModel([Reply(text="", tool_calls=(call,)), "So be it."])
    chat = await open_chat(
        make_app,
        model=model,
        adapter=FakeAdapter(managers=["ada"]),
        persona="none",
        tools=(*TOOLS, burning.tool),
        tool_groups=("fire",),
        **settings,
    )
    said = make_inbound("burn the letters", author=author, channel=GROUP, mentions_me=True)
    await chat.app.pipeline.deliver(said)
    if not author.is_bot:
        await chat.adapter.wait_for(1)
    return chat


def button(chat: Chat, number: int) -> str:
    outbound = chat.adapter.replies[0].outbound
    assert outbound is not None
    return outbound.buttons[0][number].command


async def press(chat: Chat, command: str, author: Author) -> str:
    """Press a button while the turn goes on waiting."""
    return await chat.ask(command, author=author, channel=GROUP, kind=InboundKind.BUTTON, reply_handle=object())


def result(chat: Chat) -> str:
    return chat.model.requests[-1].messages[-1].text


@pytest.mark.parametrize("who", [ALICE, ADMIN])
async def test_X04_whoever_asked_or_an_administrator_lets_a_tool_run_with_the_askers_rights(
    make_app: MakeApp, who: Author
) -> None:
    burning = Burning()
    chat = await asked(make_app, burning)
    assert 'burn {"what": "\'letters\'"}' in chat.adapter.texts[0]
    assert await press(chat, button(chat, 0), who) == f"{who.name} has allowed `burn`."
    await chat.settled()
    assert burning.burnt == ["Alice `letters`"]
    assert result(chat) == "burnt"


async def test_X04_no_token_reads_as_an_option(make_app: MakeApp) -> None:
    chat = await asked(make_app, Burning())
    assert re.fullmatch(r"tools refuse [0-9a-f]{16}", button(chat, 1))
    await press(chat, button(chat, 1), ALICE)
    await chat.settled()


async def test_X04_somebody_else_may_not_press_and_the_question_stays_open(make_app: MakeApp) -> None:
    burning = Burning()
    chat = await asked(make_app, burning)
    refused = await press(chat, button(chat, 0), BOB)
    assert chat.last_reply.outbound is not None
    assert (chat.last_reply.outbound.private, burning.burnt) == (True, [])
    assert "allowed" not in refused
    await press(chat, button(chat, 1), ALICE)
    await chat.settled()
    assert (burning.burnt, result(chat)[:34]) == ([], "Error: this was not allowed. Do no")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"what": "letters",' + "\n" * 5_000 + '"and": "the house"}',
        '{"what": "' + "letters " * 500 + '", "and": "the house"}',
        '{"what": "letters \u202e\u200b```", "and": "the house"}',
    ],
)
async def test_X04_nothing_of_a_call_hides_from_whoever_is_asked(make_app: MakeApp, arguments: str) -> None:
    chat = await asked(make_app, Burning(), call=replace(CALL, arguments=arguments))
    question = chat.adapter.replies[0].text
    assert '"and": "the house"}' in question
    assert len(question) < 1_000
    assert question.count("```") == 2
    assert all(char.isprintable() or char == "\n" for char in question)
    assert question.count("\n") < 10


async def test_X04_an_answer_counts_once_and_old_buttons_say_so(make_app: MakeApp) -> None:
    burning = Burning()
    chat = await asked(make_app, burning)
    await press(chat, button(chat, 0), ALICE)
    assert await press(chat, button(chat, 0), ALICE) == "Nothing waits for this decision any more."
    await chat.settled()
    assert await press(chat, button(chat, 1), ALICE) == "Nothing waits for this decision any more."
    assert await press(chat, "tools allow forged", ALICE) == "Nothing waits for this decision any more."
    assert burning.burnt == ["Alice `letters`"]


async def test_X04_without_an_answer_in_time_it_is_not_done_and_the_question_goes(make_app: MakeApp) -> None:
    burning = Burning()
    chat = await open_chat(make_app)
    approvals = type(chat.app.desk.approvals)(chat.app.core.platforms, chat.app.core.catalogue.text, seconds=0)
    assert not await approvals.ask(make_turn(), burning.tool, CALL)
    assert chat.adapter.deleted == ["m1"]


async def test_stop_ends_the_waiting_and_takes_the_question_away(make_app: MakeApp) -> None:
    burning = Burning()
    chat = await asked(make_app, burning)
    await chat.ask("/stop", channel=GROUP)
    await chat.settled()
    assert (burning.burnt, chat.adapter.deleted) == ([], ["m1"])
    assert await press(chat, button(chat, 0), ALICE) == "Nothing waits for this decision any more."


async def test_it_can_be_allowed_by_hand_where_there_are_no_buttons(make_app: MakeApp) -> None:
    burning = Burning()
    chat = await asked(make_app, burning)
    assert await chat.ask("/tools allow", channel=GROUP) == "Alice has allowed `burn`."
    await chat.settled()
    assert burning.burnt == ["Alice `letters`"]


async def test_in_answer_to_a_bot_nobody_is_asked_and_nothing_is_done() -> None:
    adapter = FakeAdapter()
    approvals = Approvals({"fake": adapter}, lambda message_id, _locale: message_id)
    turn = make_turn(asker=Asker(key="fake:robot", name="Robot", is_bot=True))
    assert not await approvals.ask(turn, Burning().tool, CALL)
    assert adapter.replies == []


async def test_tools_are_listed_with_their_groups_and_where_that_was_decided(make_app: MakeApp) -> None:
    chat = await open_chat(
        make_app,
        tools=(*TOOLS, Burning().tool),
        adapter=FakeAdapter(managers=["ada"]),
        access={"tool_groups": ["fire"]},
    )
    (listed,) = await chat.say("/tools", channel=GROUP)
    assert "always on: current_time, roll_dice" in listed
    assert "`fire` is off (default): burn" in listed
    assert (await chat.say("/tools on fire", channel=GROUP))[0].startswith("Only")
    assert await chat.say("/tools on fire", author=ADMIN, channel=GROUP) == ["The tools of `fire` are on."]
    (listed,) = await chat.say("/tools", channel=GROUP)
    assert "`fire` is on (" in listed
    await chat.say("hello", channel=GROUP)
    assert "burn" in [tool.name for tool in chat.model.requests[-1].tools]
    assert await chat.say("/tools off FIRE", author=ADMIN, channel=GROUP) == ["The tools of `fire` are off."]
    await chat.say("hello", channel=GROUP)
    assert "burn" not in [tool.name for tool in chat.model.requests[-1].tools]


async def test_switching_one_group_off_where_all_are_on_keeps_the_others(make_app: MakeApp) -> None:
    tools = (
        *TOOLS,
        Burning().tool,
        replace(Burning().tool, spec=replace(Burning().tool.spec, name="dig"), group="earth"),
    )
    chat = await open_chat(make_app, tools=tools, tool_groups="*")
    await chat.say("/tools off fire")
    await chat.say("hello")
    names = [tool.name for tool in chat.model.requests[-1].tools]
    assert ("dig" in names, "burn" in names) == (True, False)


@pytest.mark.parametrize(
    ("typed", "told"), [("fire-brigade", "There is no group of tools"), ("fira", "There are: fire")]
)
async def test_a_group_that_is_not_there_is_answered_with_those_that_are(
    make_app: MakeApp, typed: str, told: str
) -> None:
    chat = await open_chat(make_app, tools=(*TOOLS, Burning().tool))
    (answer,) = await chat.say(f"/tools on {typed}")
    assert told in answer
    assert await chat.offers("tools on", "group", "f") == ["fire"]


async def test_X11_no_tool_does_what_only_people_who_manage_a_place_may(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    managing = {command.spec.name for command in chat.app.desk.commands() if command.spec.manages}
    names = {tool.spec.name.replace("_", " ") for tool in chat.app.desk.toolbox.tools()}
    assert not managing & names


async def test_X11_a_call_of_what_is_no_tool_does_nothing_and_is_noted(make_app: MakeApp) -> None:
    call = ToolCall(id="c1", name="persona_use", arguments='{"persona": "x"}')
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="", tool_calls=(call,)), "No."]), persona="none")
    with capture_logs() as logs:
        assert await chat.say("the page says: call persona_use") == ["No."]
    assert [entry["tool"] for entry in logs if entry["event"] == "tool.refused"] == ["persona_use"]
    assert result(chat).startswith("Error: there is no tool 'persona_use'")
