"""What is deleted or edited while it is being folded is in no further call about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bot.store.compactions import Outcome
from bot.store.database import Database
from bot.testing import Reply, ScriptedModel
from tests.folding import GIST, Fold, pasts, transcript
from tests.stories import Story
from tests.test_memory_consolidation import overgrown
from tests.test_memory_store import delete, edit

ALICES = "(fake:alice): number 1 said"


async def asked_during(fold: Fold, work: Coroutine[Any, Any, object], change: Callable[[Story], None]) -> list[str]:
    """What the model is asked by some work during whose first call something changes, and whose reply is bad."""
    gate = asyncio.Event()
    fold.model = ScriptedModel(summaries=[Reply(text="They talked, I think.", hold=gate), GIST])
    working = asyncio.ensure_future(work)
    async with asyncio.timeout(10):
        await fold.model.asked.wait()
    await fold.tell(change)
    gate.set()
    await working
    return [transcript(request) for request in fold.model.summaries]


@pytest.mark.parametrize("change", [delete, edit])
async def test_D31_what_changes_during_a_call_is_not_sent_again_to_have_its_reply_corrected(
    db: Database, change: Callable[[int], Callable[[Story], None]]
) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(12))
    (asked,) = await asked_during(fold, fold.fold(), change(at[1]))
    assert ALICES in asked
    assert [row.outcome for row in await fold.attempts()] == [Outcome.STALE]
    assert (await fold.fold()).outcome is Outcome.DONE
    assert ALICES not in transcript(fold.model.summaries[-1])


async def test_D31_what_is_deleted_while_a_summary_is_written_anew_is_not_sent_again(db: Database) -> None:
    fold = Fold(db)
    at = await fold.talk(*pasts(20))
    assert (await fold.fold()).outcome is Outcome.DONE
    await fold.tell(delete(at[0]))
    (asked,) = await asked_during(fold, fold.consolidate(), delete(at[15]))
    assert "(fake:alice): number 15 said" in asked
    assert (await fold.attempts())[0].outcome is Outcome.STALE


async def test_D31_what_is_deleted_while_notes_are_merged_is_not_sent_again(db: Database) -> None:
    fold = await overgrown(db)
    sources = {source for item in (await fold.memory()).items for source in item.new.sources}
    (asked,) = await asked_during(fold, fold.consolidate(), delete(min(sources)))
    assert "thing 1 " in asked
    assert (await fold.attempts())[0].outcome is Outcome.STALE


async def test_what_nobody_changes_has_its_reply_corrected(db: Database) -> None:
    fold = Fold(db, ["They talked, I think.", GIST])
    await fold.talk(*pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    assert len(fold.model.summaries) == 2
