"""What is told of compactions: to extensions, to people, and on the record."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from sqlalchemy import Engine, event

from bot.hook_calls import HookCalls
from bot.hooks import CompactionNews, Hooks, Phase
from bot.memory.snapshot import EVERYTHING
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database
from bot.testing import Reply, ScriptedModel
from tests.conftest import MakeApp
from tests.folding import GIST, Fold, fact, pasts
from tests.remembering import SMALL, talk
from tests.talking import open_chat


async def news_of(fold: Fold) -> list[CompactionNews]:
    """What an extension hears while a conversation is folded."""
    heard: list[CompactionNews] = []

    async def hear(news: CompactionNews) -> None:
        heard.append(news)

    compactor = replace(fold.compactor, hooks=HookCalls([("one", Hooks(on_compaction=hear))]))
    await compactor.compact(await fold.subject(), Reason.MANUAL, up_to=EVERYTHING)
    return heard


async def test_a_compaction_of_many_calls_is_told_as_one_with_all_its_tokens(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(150), tokens=100)
    start, end = await news_of(fold)
    assert len(fold.model.summaries) > 3
    assert (start.phase, end.phase) == (Phase.START, Phase.DONE)
    assert start.tokens_before == end.tokens_before == sum(row.tokens_before for row in await fold.attempts())
    assert end.tokens_after == 2  # words of the gist that is left, however often it was written


@pytest.mark.parametrize(("summaries", "end"), [(["x"], Phase.ERROR), ([GIST, "x"], Phase.DONE)])
async def test_a_compaction_that_fails_midway_is_told_as_far_as_it_came(
    db: Database, summaries: list[str], end: Phase
) -> None:
    fold = Fold(db, summaries)
    await fold.talk(*pasts(150), tokens=100)
    news = await news_of(fold)
    assert [one.phase for one in news] == [Phase.START, end]
    done = sum(row.tokens_before for row in await fold.attempts() if row.outcome is Outcome.DONE)
    assert news[0].tokens_before > done
    assert end is Phase.ERROR or news[1].tokens_before == done


async def test_status_tells_how_many_notes_of_the_last_compaction_were_refused_and_why(make_app: MakeApp) -> None:
    facts = [fact("fake:alice", f"Alice {does}", 1) for does in ("sings", "knits", "sails")]
    facts += [fact("fake:mallory", "Mallory *rules*", 1), fact("fake:alice", "Alice flies", 99)]
    summaries = [json.dumps({"facts": facts, "gist": "One."}), GIST]
    chat = await open_chat(make_app, model=ScriptedModel(summaries=summaries), **SMALL)
    told = []
    for _ in summaries:
        await talk(chat, 5)
        await chat.say("/compact")
        told.append(await chat.ask("/status"))
    why = "“Mallory \\*rules\\*”: 'fake:mallory' is nobody here."
    assert f"2 notes were refused then, the first one because of this: fact {why}" in told[0]
    assert "In my memory: 3 facts" in told[0]
    assert "refused" not in told[1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/memory clear summary", "the notes that were being taken just now are dropped"),
        ("/memory clear facts -y", "the notes that were being taken just now are dropped"),
        ("/memory add fact likes tea", "likes tea"),
    ],
)
async def test_no_first_compaction_outlives_a_change_of_memory_by_hand(make_app: MakeApp, line: str, told: str) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[Reply(text=GIST, hold=gate), GIST]), **SMALL)
    await talk(chat, 5)
    await chat.ask("/compact")
    async with asyncio.timeout(10):
        await chat.model.asked.wait()
    assert told in await chat.ask(line)
    gate.set()
    await chat.settled()
    assert "Something changed here meanwhile" in (await chat.adapter.wait_for(7))[-1]
    assert "They talked" not in await chat.ask("/memory list")
    await chat.say("/compact")
    assert "They talked" in await chat.ask("/memory list")


async def test_a_pause_after_a_failure_costs_no_reading_of_the_conversation(db: Database) -> None:
    fold, asked = Fold(db), list[str]()
    await fold.talk(*pasts(20))
    fold.model = ScriptedModel(summaries=["no notes"])

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert (await fold.fold(Reason.SOFT)).outcome is Outcome.FAILED
        read_by_one_that_tries, asked[:] = "\n".join(asked), []
        assert (await fold.fold(Reason.SOFT)).outcome is None
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert "message.text" in read_by_one_that_tries
    assert "message.text" not in "\n".join(asked)
