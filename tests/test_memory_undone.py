"""What stays when a compaction is taken back: that which people pinned or edited by hand."""

from __future__ import annotations

import json

import pytest

from bot.llm.model import ModelRequest
from bot.testing import ScriptedModel
from tests.conftest import MakeApp
from tests.folding import fact, number_of
from tests.remembering import SMALL, talk
from tests.talking import open_chat

ALICE = "fake:alice"
GONE = "and the notes made of them are gone."
STAYS = f"{GONE} 1 of them stays, because somebody pinned or changed it since."


def moving(request: ModelRequest) -> str:
    """Alice lives in Oslo; once that is known, she has moved to Bergen and got a dog."""
    if "lives in Oslo" not in request.messages[-1].text:
        return json.dumps(
            {"facts": [fact(ALICE, "Alice lives in Oslo", number_of(request, "to Oslo"))], "gist": "One."}
        )
    line = number_of(request, "to Bergen")
    facts = [fact(ALICE, "Alice lives in Bergen", line, item=1), fact(ALICE, "Alice has a dog", line)]
    return json.dumps({"facts": facts, "gist": "Two."})


@pytest.mark.parametrize(
    ("by_hand", "left", "told"),
    [
        ("/memory list", ["lives in Oslo"], GONE),
        ("/memory pin 3", ["lives in Bergen"], STAYS),
        ("/memory edit 3 Alice lives in Voss", ["lives in Voss"], STAYS),
        ("/memory pin 4", ["lives in Oslo", "has a dog"], STAYS),
        ("/memory edit 4 Alice has a cat", ["lives in Oslo", "has a cat"], STAYS),
    ],
)
async def test_what_is_pinned_or_edited_stays_and_what_it_took_the_place_of_does_not_return(
    make_app: MakeApp, by_hand: str, left: list[str], told: str
) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=moving), **SMALL)
    for place in ("Oslo", "Bergen"):
        await chat.say(f"I have moved to {place}")
        await talk(chat, 5)
        await chat.say("/compact")
    await chat.ask(by_hand)
    assert (await chat.ask("/memory undo")).endswith(told)
    await chat.ask("/memory export json")
    outbound = chat.last_reply.outbound
    assert outbound
    assert outbound.file
    kept = json.loads(outbound.file.text)
    assert [item["text"].removeprefix("Alice ") for item in kept["items"]] == left
    assert kept["summary"] == "One."
