"""What is deleted or edited while it is being folded is in no further call about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bot.store.compactions import Outcome
from bot.store.database import Database
from bot.testing import Reply, ScriptedModel
from tests.folding import GIST, Fold, pasts, transcript
from tests.stories import Story
from tests.test_memory_store import delete, edit

ALICES = "(fake:alice): number 1 said"


@pytest.mark.parametrize("change", [delete, edit])
async def test_D31_what_changes_during_a_call_is_not_sent_again_to_have_its_reply_corrected(
    db: Database, change: Callable[[int], Callable[[Story], None]]
) -> None:
    gate, fold = asyncio.Event(), Fold(db)
    fold.model = ScriptedModel(summaries=[Reply(text="They talked, I think.", hold=gate), GIST])
    at = await fold.talk(*pasts(12))
    folding = asyncio.ensure_future(fold.fold())
    async with asyncio.timeout(10):
        await fold.model.asked.wait()
    assert ALICES in transcript(fold.model.summaries[0])
    await fold.tell(change(at[1]))
    gate.set()
    assert (await folding).outcome is Outcome.STALE
    assert len(fold.model.summaries) == 1
    assert [row.outcome for row in await fold.attempts()] == [Outcome.STALE]
    assert (await fold.fold()).outcome is Outcome.DONE
    assert ALICES not in transcript(fold.model.summaries[1])


async def test_what_nobody_changes_has_its_reply_corrected(db: Database) -> None:
    fold = Fold(db, ["They talked, I think.", GIST])
    await fold.talk(*pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    assert len(fold.model.summaries) == 2
