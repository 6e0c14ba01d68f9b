"""What is told of compactions: to extensions, to people, and on the record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.hook_calls import HookCalls
from bot.hooks import CompactionNews, Hooks, Phase
from bot.memory.snapshot import EVERYTHING
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database
from tests.folding import GIST, Fold, pasts


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
