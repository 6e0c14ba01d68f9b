"""An extension that stands in for the summary model: what of its delta is kept, and what its faults cannot do."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from bot.env import SettingsError
from bot.guard import Guard
from bot.hooks import SummaryRequest
from bot.memory.delta import LONGEST_GIST, LONGEST_TEXT, BadDelta, Citable, Line
from bot.memory.items import Add, Category, Delta, FollowUpState, Item, ItemKind, NewItem, Retire
from bot.memory.snapshot import EVERYTHING
from bot.memory.stand_in import borne_out
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database
from bot.testing import ScriptedModel
from tests.conftest import Extend, MakeApp
from tests.folding import GIST, Fold, pasts
from tests.talking import open_chat

DAY = date(2026, 11, 1)
LINES = {
    11: Line(message_id=11, author_key="fake:alice", day=DAY),
    12: Line(message_id=12, author_key=None, day=DAY),
}
OLD = NewItem(kind=ItemKind.FACT, text="Alice: lives in Oslo", subject="fake:alice", subject_name="Alice")
ITEMS = {
    1: Item(id=71, new=OLD, tokens=5),
    2: Item(
        id=72, new=NewItem(kind=ItemKind.FACT, text="Alice: is Alice", subject="fake:alice", pinned=True), tokens=5
    ),
}
CITABLE = Citable(lines=dict(enumerate(LINES.values(), 1)), people={"fake:alice": "Alice"}, items=ITEMS)


def new(
    kind: ItemKind = ItemKind.FACT, text: str = "lives in Bergen", sources: tuple[int, ...] = (11,), **more: Any
) -> Add:
    replaces = more.pop("replaces", None)
    if kind is ItemKind.FACT:
        more.setdefault("subject", "fake:alice")
    return Add(item=NewItem(kind=kind, text=text, sources=sources, **more), replaces=replaces)


def kept(*adds: Add, retires: tuple[Retire, ...] = (), gist: str | None = "They talked.") -> Delta:
    return borne_out(Delta(adds=adds, retires=retires, gist=gist), CITABLE, LINES)


def test_what_is_borne_out_is_completed_by_what_the_code_knows() -> None:
    delta = kept(
        new(replaces=71, subject_name="Mallory", sources=(11, 12), category=Category.PLACE, pinned=True),
        new(ItemKind.EVENT, "sailed", sources=(12,)),
        new(ItemKind.FOLLOW_UP, "mend the sail"),
        new(ItemKind.CONSENSUS, "to sail", people=("fake:alice",)),
    )
    fact, event, follow_up, consensus = (add.item for add in delta.adds)
    assert (fact.text, fact.subject_name, fact.sources, fact.pinned) == (
        "Alice: lives in Bergen",
        "Alice",
        (11,),
        False,
    )
    assert delta.adds[0].replaces == 71
    assert (event.day, follow_up.state, consensus.people) == (DAY, FollowUpState.OPEN, ("fake:alice",))
    assert delta.refused == ()


@pytest.mark.parametrize(
    ("add", "why"),
    [
        (new(sources=()), "cites no message"),
        (new(sources=(99,)), "cites no message"),
        (new(sources=(12,)), "no person said that"),
        (new(ItemKind.CONSENSUS, sources=(12,)), "no person said that"),
        (new(subject="fake:mallory"), "'fake:mallory' is nobody here"),
        (new(ItemKind.CONSENSUS, people=("fake:mallory",)), "'fake:mallory' is nobody here"),
        (new(subject=None), "about nobody"),
        (new(text=" \n\0"), "it has 0 characters"),
        (new(text="x" * (LONGEST_TEXT + 1)), f"{LONGEST_TEXT} at most"),
        (new(replaces=72), "item 72 is pinned"),
        (new(replaces=1), "no such item 1"),
        (new(ItemKind.EVENT, replaces=71), "no such item 71"),
    ],
)
def test_what_refers_to_anything_else_is_left_out_and_told(add: Add, why: str) -> None:
    delta = kept(add)
    assert delta.adds == ()
    assert why in delta.refused[0]


def test_items_are_retired_by_what_was_said_and_never_when_pinned() -> None:
    said, unsaid, pinned = Retire(item=71, sources=(11,)), Retire(item=71), Retire(item=72, sources=(11,))
    delta = kept(retires=(said, unsaid, pinned))
    assert delta.retires == (said,)
    assert [why.partition(":")[0] for why in delta.refused] == ["retire 71", "retire 72"]


def test_a_gist_is_bounded_and_nothing_at_all_is_refused() -> None:
    assert len(kept(gist="x" * 9_999).gist or "") == LONGEST_GIST
    assert kept(gist="They\0 talked.").gist == "They talked."
    with pytest.raises(BadDelta, match="it holds nothing"):
        kept(gist=" ")
    with pytest.raises(BadDelta, match="no such item 5"):
        kept(retires=(Retire(item=5, sources=(11,)),), gist=None)


# --- What comes back is kept as it can be


async def test_M01_what_the_store_does_not_take_is_on_record_and_waits_as_well(db: Database) -> None:
    async def half_a_character(_request: SummaryRequest) -> Delta:
        return Delta(gist="half \ud83d")

    fold = Fold(db)
    await fold.talk(*pasts(20))
    guard = Guard(extension="one", what="summarise", run=half_a_character, seconds=0, expects=(Delta,))
    compactor, subject = replace(fold.compactor, stand_in=guard), await fold.subject()
    result = await compactor.compact(subject, Reason.SOFT, up_to=EVERYTHING)
    assert (result.outcome, result.problem) == (Outcome.FAILED, "model-failed")
    assert (await compactor.compact(subject, Reason.SOFT, up_to=EVERYTHING)).outcome is None
    assert await fold.watermark() < 0
    assert (await fold.memory()).is_empty


async def test_M02_half_a_character_that_a_model_spells_is_no_reason_to_fail(db: Database) -> None:
    fold = Fold(db, summaries=['{"gist": "They met \\ud83d."}'])
    await fold.talk(*pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    assert (await fold.memory()).gist == "They met \ufffd."


async def test_two_summarisers_stop_the_start(make_app: MakeApp, extend: Extend) -> None:
    code = "from bot.hooks import Hooks\nasync def summarise(request): ...\nHOOKS = Hooks(summarise=summarise)"
    names = [extend(name, code) for name in ("first_one", "second_one")]
    with pytest.raises(SettingsError, match="second_one brings the summariser, which first_one has already"):
        await open_chat(make_app, extensions=names)


async def test_a_summariser_that_fails_folds_nothing_and_says_so(make_app: MakeApp, extend: Extend) -> None:
    code = (
        "from bot.hooks import Hooks\nasync def summarise(request): raise OSError\nHOOKS = Hooks(summarise=summarise)"
    )
    model = ScriptedModel(summaries=[GIST])
    names = [extend("absent_minded", code)]
    chat = await open_chat(make_app, extensions=names, model=model, summary={"keep_recent": 2})
    for text in "abcde":
        await chat.say(text)
    await chat.say("/compact")
    assert "summarise of the extension absent_minded failed" in (await chat.adapter.wait_for(7))[-1]
    assert model.summaries == []
    await chat.say("f")
    assert ("user", "a") in chat.last_prompt


async def test_what_a_summariser_makes_up_is_left_out(make_app: MakeApp, extend: Extend) -> None:
    code = """
from bot.hooks import Hooks
from bot.memory.items import Add, Delta, ItemKind, NewItem, Retire

async def summarise(request):
    said = next(row for row in request.rows if row.text == "I sail")
    own = next(row for row in request.rows if not row.author_key)
    fact = dict(kind=ItemKind.FACT, subject=said.author_key)
    adds = (
        NewItem(text="sails", sources=(said.id,), **fact),
        NewItem(text="flies", sources=(999,), **fact),
        NewItem(text="dives", sources=(own.id,), **fact),
        NewItem(text="swims", kind=ItemKind.FACT, subject="fake:mallory", sources=(said.id,)),
        NewItem(text="walks", kind=ItemKind.EVENT, sources=(said.id,)),
        NewItem(text="cooks", kind=ItemKind.FOLLOW_UP, sources=(own.id,), pinned=True),
        NewItem(text="", kind=ItemKind.CONSENSUS, sources=(said.id,)),
    )
    return Delta(adds=tuple(Add(item=new) for new in adds), retires=(Retire(item=77, sources=(said.id,)),))

HOOKS = Hooks(summarise=summarise)
"""
    chat = await open_chat(make_app, extensions=[extend("liar", code)], summary={"keep_recent": 2})
    await chat.say("I sail")
    for _ in range(6):
        await chat.say("and so on, and so forth, as people do when they talk")
    await chat.say("/compact")
    await chat.settled()
    told = "\n".join(await chat.say("/memory"))
    assert "Alice: sails" in told
    assert "2026-11-01: walks" in told
    assert "cooks" in told
    assert "📌" not in told
    assert not any(word in told for word in ("flies", "dives", "swims"))
