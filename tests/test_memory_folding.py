"""Old messages move into memory through the real pipeline and store, and nothing is ever lost on the way."""

from __future__ import annotations

import asyncio
import itertools
import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from bot.llm.model import Finish, ModelRequest, ModelUnreachable, Role
from bot.memory import keeper
from bot.memory.summariser import Subject
from bot.store import sessions
from bot.store.compactions import Outcome, Reason
from bot.store.database import Database
from bot.store.ledger_tables import model_calls
from bot.store.memory_tables import compactions, memory_items
from bot.store.people import set_privacy
from bot.testing import NOW, Reply, ScriptedModel, make_inbound
from tests.conftest import MakeApp
from tests.folding import (
    GIST,
    SMALL,
    Fold,
    everything,
    fact,
    pasts,
    remembers_bob,
    rows_of,
    system_text,
    talk,
    transcript,
)
from tests.stories import Story
from tests.talking import ALICE, DM, Chat, history, open_chat


async def test_what_was_said_long_ago_is_in_the_prompt_as_memory(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=remembers_bob), **SMALL)
    await chat.say("I am Bob")
    await talk(chat, 40)
    await chat.say("what is my name?")
    assert "Her name is Bob" in system_text(chat.model.requests[-1])
    assert "## Summary\nThey got to know each other." in system_text(chat.model.requests[-1])
    assert ("user", "I am Bob") not in history(chat.model.requests[-1])
    assert {row.purpose for row in await rows_of(chat, model_calls)} == {"chat", "summary"}


# --- Summaries that fail

FAILURES: list[tuple[Reply, str]] = [
    (Reply(text="I would rather not."), "JSON"),
    (Reply(text=""), "JSON"),
    (Reply(text=json.dumps({"gist": ""})), "holds nothing"),
    (Reply(text=GIST, finish=Finish.LENGTH), "not finished (length)"),
    (Reply(text=GIST, finish=Finish.FILTERED), "not finished (filtered)"),
    (Reply(text=json.dumps({"gist": "word " * 280})), "gist has 280 tokens, 256 at most"),
    (Reply(text="", error=ModelUnreachable("test/scripted", "429")), "model-unreachable"),
]


@pytest.mark.parametrize(("reply", "problem"), FAILURES)
async def test_M01_M02_a_summary_that_fails_changes_nothing_and_waits_longer_each_time(
    db: Database, reply: Reply, problem: str
) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(10))
    await fold.fold()
    known, watermark = await fold.memory(), await fold.watermark()
    await fold.talk(*pasts(20, 10))
    verbatim = await fold.verbatim()
    fold.model = ScriptedModel(summaries=[reply])
    for pause in (1, 2, 4, 8):
        assert (await fold.fold(Reason.SOFT)).outcome is Outcome.FAILED
        assert (await fold.memory(), await fold.watermark(), await fold.verbatim()) == (known, watermark, verbatim)
        asked = len(fold.model.summaries)
        fold.later(minutes=pause, seconds=-1)
        assert (await fold.fold(Reason.SOFT)).outcome is None
        assert len(fold.model.summaries) == asked
        fold.later(seconds=1)
    newest = (await fold.attempts())[0]
    assert problem in newest.problem
    fold.later(minutes=-5)
    assert (await fold.fold(Reason.MANUAL)).outcome is Outcome.FAILED, "/compact does not wait"
    fold.model = ScriptedModel(summaries=[GIST])
    assert (await fold.fold(Reason.MANUAL)).outcome is Outcome.DONE
    await fold.talk(*pasts(20, 30))
    assert (await fold.fold(Reason.SOFT)).outcome is Outcome.DONE, "a success ends the pauses"


async def test_M01_with_a_summary_that_fails_every_message_still_counts_and_answers_go_on(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[Reply(text="I would rather not.")]), **SMALL)
    await chat.say("I am Bob")
    for number in range(40):
        assert await chat.say(f"number {number} " + "word " * 60) == ["ok"]
    kept = await rows_of(chat)
    assert [row.outcome for row in kept] == ["failed"], "one attempt, then a pause"
    assert len(chat.model.summaries) == 2
    await chat.app.close()
    later = await open_chat(make_app, model=ScriptedModel(summaries=remembers_bob), **SMALL)
    await later.say("hello again")
    assert later.model.summaries == [], "a restart does not forget the pause"
    assert len(later.last_prompt) > 10


async def test_M01_a_fault_of_our_own_is_on_record_and_waits_as_well(db: Database) -> None:
    def broken(_request: ModelRequest) -> str:
        raise RuntimeError("a fault")

    fold = Fold(db, summaries=broken)
    await fold.talk(*pasts(20))
    assert (await fold.fold(Reason.SOFT)).problem == "model-failed"
    assert (await fold.fold(Reason.SOFT)).outcome is None
    assert len(fold.model.summaries) == 1
    assert await fold.watermark() < 0


async def test_L14_a_bad_reply_is_corrected_once_in_words(db: Database) -> None:
    fold = Fold(db, summaries=["Here are my notes!", GIST])
    await fold.talk(*pasts(12))
    assert (await fold.fold()).outcome is Outcome.DONE
    first, second = fold.model.summaries
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role for message in second.messages[-2:]] == [Role.ASSISTANT, Role.USER]
    assert second.messages[-2].text == "Here are my notes!"
    assert "JSON" in second.messages[-1].text


async def test_a_result_that_is_not_smaller_than_what_it_replaces_is_refused(db: Database) -> None:
    def lengthy(request: ModelRequest) -> str:
        facts = [fact("fake:alice", f"Alice {number} " + "says this and that " * 12, 1) for number in range(20)]
        return json.dumps({"facts": facts})

    fold = Fold(db, summaries=lengthy)
    await fold.talk(*pasts(12), tokens=5)
    result = await fold.fold()
    assert result.outcome is Outcome.FAILED
    assert "not smaller" in result.problem


async def test_M02_with_nothing_to_fold_or_nothing_to_read_nobody_is_asked(db: Database) -> None:
    fold = Fold(db)
    assert (await fold.fold()).outcome is None
    await fold.talk("hello")
    assert (await fold.fold()).outcome is None
    await fold.talk(*pasts(12))
    await fold.fold()
    known = await fold.memory()
    assert (await fold.fold()).outcome is None
    assert len(fold.model.summaries) == 1
    assert await fold.memory() == known


async def test_M02_people_who_want_privacy_by_now_are_not_folded(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    await talk(chat, 8)
    await chat.say("/privacy on")
    await talk(chat, 8)
    await chat.say("/privacy off")
    await chat.say("/privacy on")
    result = await chat.app.keeper.fold(await subject_of(chat), Reason.MANUAL, up_to=2**62)
    assert (result.outcome, result.messages > 0) == (Outcome.DONE, True)
    assert chat.model.summaries == []
    assert await rows_of(chat, memory_items) == []
    await chat.say("hello again")
    assert "number 0" not in everything(chat.model.requests[-1]), "it stands behind the watermark"


async def test_M02_what_somebody_private_said_holds_up_nobody_behind_it(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(60), tokens=80)
    await fold.tell(lambda story: set_privacy(story.tx, "fake:alice", NOW))

    def later(story: Story) -> None:
        for text in pasts(20, start=60):
            story.answer(f"re: {text}", story.say(text, addressed=True, author="Bob", tokens=40))

    await fold.tell(later)
    result = await fold.fold()
    assert (result.outcome, result.messages) == (Outcome.DONE, 156)
    asked = "\n".join(map(transcript, fold.model.summaries))
    assert "Bob (fake:bob): number 60 said" in asked
    assert "Alice (fake:alice)" not in asked
    assert await fold.verbatim() == [line for text in pasts(2, start=78) for line in (text, f"re: {text}")]


async def subject_of(chat: Chat) -> Subject:
    """The one conversation there is."""
    session = await chat.app.core.db.read(sessions.session_by_id, 1)
    assert session.conversation_id is not None
    return Subject(
        session=session,
        conversation_id=session.conversation_id,
        persona_name="Familiar",
        settings=chat.app.core.settings,
        model="test/scripted",
        window=4_000,
    )


# --- When


async def test_M03_one_message_larger_than_everything_costs_one_call_and_no_more(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    await chat.say("look at this:\n" + "lorem ipsum dolor sit amet " * 2_000)
    assert len(chat.model.summaries) == 0, "it is the last burst, and stays"
    await chat.say("and?")
    assert len(chat.model.summaries) == 1
    (asked,) = chat.model.summaries
    assert "characters left out" in transcript(asked)
    assert len(transcript(asked)) < 6_000
    for _ in range(5):
        await chat.say("well?")
    assert len(chat.model.summaries) == 1


async def test_M03_a_window_that_its_persona_keeps_full_does_not_cost_a_call_for_every_message(
    make_app: MakeApp,
) -> None:
    settings = {**SMALL, "system_prompt": "be kind " * 1_000, "persona": "none"}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **settings)
    for number in range(40):
        await chat.say(f"number {number}")
    assert len(chat.model.summaries) < 8


async def test_what_a_limit_left_out_is_folded_also_when_that_failed_at_first(make_app: MakeApp) -> None:
    failed = Reply(text="", error=ModelUnreachable("test/scripted", "down"))
    kept = {"history_limit": 12, "summary": {"keep_recent": 2, "keep_tokens": 0, "trigger": {"type": "off"}}}
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[failed, GIST, GIST]), **{**SMALL, **kept})
    while not chat.model.summaries:
        await talk(chat, 1)
    long_ago = update(compactions).values(began_at=NOW - timedelta(days=1))
    await chat.app.core.db.run(lambda tx: tx.execute(long_ago))
    await chat.say("nothing more has to go for this")
    assert [row.outcome for row in await rows_of(chat)] == [Outcome.FAILED, Outcome.DONE]


async def test_there_is_at_most_one_compaction_for_each_turn(make_app: MakeApp) -> None:
    calls: list[int] = []
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[GIST]), **SMALL)
    for number in range(40):
        before = len(chat.model.summaries)
        await chat.say(f"number {number} " + "word " * (200 if number % 3 else 900))
        calls.append(len(chat.model.summaries) - before)
    assert set(calls) == {0, 1}


async def test_M05_four_requests_at_once_are_one_call(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel(summaries=[Reply(text=GIST, hold=gate)]), **SMALL)
    await talk(chat, 5)
    subject = await subject_of(chat)
    folding = [chat.app.keeper.fold(subject, Reason.MANUAL, up_to=2**62) for _ in range(4)]
    gate.set()
    results = await asyncio.gather(*folding)
    assert {result.outcome for result in results} == {Outcome.DONE}
    assert len(chat.model.summaries) == 1
    assert len(await rows_of(chat)) == 1


async def test_when_no_room_is_made_in_time_the_answer_comes_without_what_does_not_fit(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "BLOCKING_SECONDS", 0.05)
    gate = asyncio.Event()
    settings = {**SMALL, "summary": {**SMALL["summary"], "trigger": {"type": "off"}, "hard_ratio": 0.5}}
    model = ScriptedModel(summaries=[Reply(text=GIST, hold=gate)])
    chat = await open_chat(make_app, model=model, **settings)
    for number in range(14):
        await chat.app.pipeline.deliver(make_inbound(f"number {number} " + "word " * 100, author=ALICE, channel=DM))
        await chat.app.dispatcher.idle()
    assert model.summaries, "it was tried"
    assert [reply.text for reply in chat.adapter.replies[-14:]] == ["ok"] * 14
    gate.set()
    await chat.settled()
    assert {row.outcome for row in await rows_of(chat)} == {"done"}, "it went on in the background"


async def test_after_a_turn_that_failed_or_was_stopped_nothing_is_folded(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    endings: list[Reply] = [Reply(text="", error=ModelUnreachable("test/scripted", "down")), Reply(text="")]
    script = iter([*endings, Reply(text="never ends", hold=gate)])
    settings = {**SMALL, "summary": {**SMALL["summary"], "trigger": {"type": "tokens", "value": 1}}}
    chat = await open_chat(make_app, model=ScriptedModel(lambda _: next(script), summaries=[GIST]), **settings)
    for _ in range(2):
        await chat.say("word " * 400)
    await chat.app.pipeline.deliver(make_inbound("word " * 400, author=ALICE, channel=DM))
    await chat.adapter.wait_shown()
    await chat.ask("/stop")
    await chat.settled()
    assert chat.model.summaries == []


async def test_a_long_backlog_is_folded_chunk_by_chunk_and_each_message_is_read_once(db: Database) -> None:
    fold = Fold(db)
    await fold.talk(*pasts(150), tokens=100)
    result = await fold.fold()
    asked = [transcript(request) for request in fold.model.summaries]
    assert len(asked) > 3
    assert result.messages == 296
    for number in range(148):
        assert sum(f"): number {number} said\n" in text for text in asked) == 1
    assert all("gist: They talked." in text for text in asked[1:])
    done = sorted((row.from_position, row.to_position) for row in await fold.attempts())
    assert all(before[1] < after[0] for before, after in itertools.pairwise(done))


async def test_manual_folding_needs_more_than_what_is_kept_and_no_tokens(db: Database) -> None:
    fold = Fold(db, given={"summary": {"keep_recent": 4, "keep_tokens": 100_000}})
    await fold.talk(*pasts(2))
    assert (await fold.fold()).outcome is None
    await fold.talk(*pasts(4, 2))
    assert (await fold.fold(Reason.SOFT)).outcome is None
    assert (await fold.fold(focus="the numbers")).messages == 8
    assert "Above all, keep what concerns: the numbers" in transcript(fold.model.summaries[-1])


@pytest.mark.parametrize(
    ("summary", "folds"),
    [
        ({"trigger": {"type": "messages_to_refine", "value": 6}}, True),
        ({"trigger": {"type": "messages_to_refine", "value": 9}}, False),
        ({"threshold": 10}, True),
        ({"threshold": 13}, False),
        ({}, False),
    ],
)
async def test_little_is_folded_by_itself_only_where_messages_are_what_counts(
    db: Database, summary: dict[str, Any], folds: bool
) -> None:
    fold = Fold(db, given={"summary": {"keep_recent": 4, "keep_tokens": 1, **summary}})
    await fold.talk(*pasts(6), tokens=10)
    assert ((await fold.fold(Reason.SOFT)).outcome is Outcome.DONE) is folds
