"""A memory that outgrows its room is merged into a coarser one, which keeps every source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from bot.llm.model import Finish, ModelRequest, ModelUnreachable
from bot.store.compactions import Outcome, Reason, undo_compaction
from bot.store.database import Database
from bot.store.memories import set_pinned
from bot.testing import NOW, Reply, ScriptedModel
from tests.folding import (
    GIST,
    Fold,
    pasts,
    transcript,
)


def merging(request: ModelRequest) -> str:
    """Three events a round, and all that are to be merged become one."""
    text = transcript(request)
    if "outgrown" in request.messages[0].text:
        numbers = [int(number) for number in re.findall(r"^(\d+)\. ", text, re.M)]
        return json.dumps({"merged": [{"items": numbers, "text": f"{len(numbers)} things happened"}]})
    lines = re.findall(r"^(\d+) · .*\): number (\d+) said$", text, re.M)[:3]
    things = [{"day": None, "text": f"thing {said} of " + "very " * 40, "lines": [int(line)]} for line, said in lines]
    return json.dumps({"events": things, "gist": "Things happen."})


async def test_M18_a_hundred_rounds_stay_below_the_cap_and_keep_every_source(db: Database) -> None:
    fold = Fold(db, summaries=merging)
    cited: set[int] = set()
    for number in range(100):
        await fold.talk(*pasts(8, 8 * number), tokens=60)
        assert (await fold.fold()).outcome is Outcome.DONE
        cited |= {source for item in (await fold.memory()).items for source in item.new.sources}
        await fold.consolidate()
        memory = await fold.memory()
        assert sum(item.tokens for item in memory.items) + len(memory.gist.split()) < 512
        assert {source for item in memory.items for source in item.new.sources} == cited
    assert len(cited) >= 300


def items_of(count: int, **facts: Any) -> Iterable[dict[str, Any]]:
    return ({"day": "2026-11-01", "text": f"thing {n} " + "very " * 40, "lines": [1], **facts} for n in range(count))


async def overgrown(db: Database, *replies: str | Reply) -> Fold:
    """A memory over its cap: 14 events, one of them pinned, an open and a closed follow-up."""
    todo = {"who": None, "due": None, "lines": [1]}
    reply = json.dumps(
        {
            "events": [*items_of(14)],
            "open": [{**todo, "text": "bring the tent", "state": "open"}, {**todo, "text": "buy it", "state": "done"}],
            "gist": "About things.",
        }
    )
    fold = Fold(db, summaries=[reply, *replies])
    await fold.talk(*pasts(7), tokens=200)
    assert (await fold.fold()).outcome is Outcome.DONE
    return fold


BAD_MERGES: list[str | Reply] = [
    "no",
    json.dumps({"merged": []}),
    json.dumps({"merged": [{"items": [1], "text": "one"}]}),
    json.dumps({"merged": [{"items": [1, 99], "text": "one"}]}),
    json.dumps({"merged": [{"items": [True, 2], "text": "one"}]}),
    json.dumps({"merged": [{"items": [1, 2], "text": "m " * 140}]}),
    json.dumps({"merged": [{"items": [1, 2], "text": "w " * 200}]}),
    Reply(text="", error=ModelUnreachable("test/scripted", "down")),
    Reply(text='{"merged": [{"items": [1, 2], "text": "short"}]}', finish=Finish.LENGTH),
]


@pytest.mark.parametrize("reply", BAD_MERGES)
async def test_a_consolidation_that_fails_leaves_all_but_what_is_closed(db: Database, reply: str | Reply) -> None:
    fold = await overgrown(db, reply)
    before = await fold.memory()
    await fold.consolidate()
    after = await fold.memory()
    closed = [item.new.text for item in before.items if item not in after.items]
    assert after.gist == before.gist
    assert closed in (["buy it"], [])
    assert len(after.items) in (15, 16)
    assert (await fold.fold(Reason.SOFT)).outcome is None
    await fold.talk(*pasts(20, 7), tokens=60)
    fold.model = ScriptedModel(summaries=[GIST])
    assert (await fold.fold(Reason.SOFT)).outcome is Outcome.DONE, "it is no reason to pause"


async def test_what_is_pinned_or_open_is_never_merged(db: Database) -> None:
    fold = await overgrown(db, json.dumps({"merged": [{"items": [1, 2, 3, 4, 5], "text": "thing 0 to 5"}]}))
    first = (await fold.memory()).items[0]
    await fold.tell(lambda story: set_pinned(story.tx, story.conversation, first.id, pinned=True))
    await fold.consolidate()
    request = fold.model.summaries[-1]
    assert "thing 0" not in transcript(request)
    assert "tent" not in transcript(request)
    texts = [item.new.text for item in (await fold.memory()).items]
    assert "bring the tent" in texts
    assert "buy it" not in texts
    assert any(text.startswith("thing 0 very") for text in texts)
    assert "thing 0 to 5" in texts


async def test_an_undo_of_the_last_compaction_takes_back_what_made_the_memory_shorter_since(db: Database) -> None:
    fold = await overgrown(db, json.dumps({"merged": [{"items": [1, 2, 3, 4, 5], "text": "thing 0 to 5"}]}))
    await fold.consolidate()
    assert [row.messages > 0 for row in await fold.attempts()] == [False, True]
    undone = await fold.tell(lambda story: undo_compaction(story.tx, story.conversation, NOW))
    assert undone is not None
    assert undone.messages > 0
    assert (await fold.memory()).is_empty
    assert (await fold.verbatim())[0] == "number 0 said"
