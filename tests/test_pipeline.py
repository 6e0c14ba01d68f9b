"""Messages through the real pipeline and store, with a scripted model and a recording adapter."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select

from bot.chat import InboundKind, PartState, Quote
from bot.llm.model import ModelUnreachable
from bot.store.tables import messages
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import history

GROUP = make_channel()
ALICE, BOB = make_author("Alice"), make_author("Bob")


async def test_a_private_message_is_greeted_once_and_answered(make_app: MakeApp) -> None:
    model, adapter = ScriptedModel(["First.", "Second."]), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none", system_prompt="Be brief.")
    await app.pipeline.deliver(make_inbound("hello"))
    assert await adapter.wait_for(1) == ["First."]
    await app.pipeline.deliver(make_inbound("and now?"))
    assert await adapter.wait_for(2) == ["First.", "Second."]
    await app.dispatcher.idle()
    assert history(model.requests[1]) == [("user", "hello"), ("assistant", "First."), ("user", "and now?")]
    assert model.requests[1].messages[0].text.startswith("Be brief.")


async def test_the_persona_greets_before_its_first_answer_and_the_greeting_is_in_the_history(make_app: MakeApp) -> None:
    model, adapter = ScriptedModel(), FakeAdapter()
    app = await make_app(model=model, adapter=adapter)
    await app.pipeline.deliver(make_inbound("hello"))
    greeting, answer = await adapter.wait_for(2)
    await app.pipeline.deliver(make_inbound("again"))
    await adapter.wait_for(3)
    await app.dispatcher.idle()
    assert answer == "ok"
    assert history(model.requests[0]) == [("assistant", greeting), ("user", "hello")]
    assert history(model.requests[1])[:3] == [("assistant", greeting), ("user", "hello"), ("assistant", "ok")]


@pytest.mark.parametrize(
    ("inbound", "is_answered"),
    [
        (make_inbound("hello all", channel=GROUP), False),
        (make_inbound("hello", channel=GROUP, mentions_me=True), True),
        (
            make_inbound("yes", channel=GROUP, reply_to=Quote(message_id="1", author_name="x", text="y", is_mine=True)),
            True,
        ),
        (make_inbound("yes", channel=GROUP, reply_to=Quote(message_id="1", author_name="x", text="y")), False),
        (make_inbound("", channel=GROUP), False),
    ],
)
async def test_in_groups_it_speaks_when_addressed(make_app: MakeApp, inbound: object, is_answered: bool) -> None:
    model = ScriptedModel()
    app = await make_app(model=model)
    await app.pipeline.deliver(inbound)  # type: ignore[arg-type]
    await app.dispatcher.idle()
    assert len(model.requests) == is_answered


async def test_what_it_overhears_becomes_context_and_each_line_names_its_speaker(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("the cat is called Tom", channel=GROUP, author=BOB))
    await app.pipeline.deliver(make_inbound("what is it called?", channel=GROUP, author=ALICE, mentions_me=True))
    await app.dispatcher.idle()
    assert history(model.requests[0]) == [
        ("user", "Bob: the cat is called Tom"),
        ("user", "Alice: what is it called?"),
    ]


async def test_overheard_text_is_capped(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, overheard_chars=100)
    await app.pipeline.deliver(make_inbound("x" * 5000, channel=GROUP))
    await app.pipeline.deliver(make_inbound("hi", channel=GROUP, mentions_me=True))
    await app.dispatcher.idle()
    assert len(history(model.requests[0])[0][1]) < 150


@pytest.mark.parametrize(
    ("activation", "text", "is_answered"),
    [
        ({"activation": "always"}, "anything", True),
        ({"activation": "keyword", "activation_keywords": ("tea",)}, "who wants Tea?", True),
        ({"activation": "keyword", "activation_keywords": ("tea",)}, "a teapot", False),
        ({"activation": "keyword", "activation_keywords": ("茶",)}, "喝茶吗", True),
        ({"activation": "random", "activation_probability": 1.0}, "anything", True),
        ({"activation": "random", "activation_probability": 0.0}, "anything", False),
    ],
)
async def test_activation_decides_in_groups(
    make_app: MakeApp, activation: dict[str, object], text: str, is_answered: bool
) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, **activation)
    await app.pipeline.deliver(make_inbound(text, channel=GROUP))
    await app.dispatcher.idle()
    assert len(model.requests) == is_answered


async def test_D13_the_same_message_twice_is_answered_once(make_app: MakeApp) -> None:
    model, adapter = ScriptedModel(), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    inbound = make_inbound("hello")
    await asyncio.gather(app.pipeline.deliver(inbound), app.pipeline.deliver(inbound))
    await app.dispatcher.idle()
    assert (len(model.requests), adapter.texts) == (1, ["ok"])


async def test_D27_threads_of_one_channel_do_not_hear_each_other(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("secret of A", channel=make_channel(thread="a"), mentions_me=True))
    await app.pipeline.deliver(make_inbound("hi", channel=make_channel(thread="b"), mentions_me=True))
    await app.dispatcher.idle()
    assert "secret" not in str(model.requests[1])


async def test_D07_bots_are_not_answered_unless_enabled_and_then_only_so_often(make_app: MakeApp) -> None:
    bot = make_author("Robo", is_bot=True)
    silent, talkative = ScriptedModel(), ScriptedModel()
    app = await make_app(model=silent)
    await app.pipeline.deliver(make_inbound("hi", channel=GROUP, author=bot, mentions_me=True))
    await app.dispatcher.idle()
    app = await make_app(model=talkative, bots={"answer": True, "max_turns": 2})
    for _ in range(6):
        await app.pipeline.deliver(make_inbound("hi", channel=GROUP, author=bot, mentions_me=True))
        await app.dispatcher.idle()
    assert (len(silent.requests), len(talkative.requests)) == (0, 2)


async def test_D07_an_empty_answer_to_a_bot_is_not_told(make_app: MakeApp) -> None:
    adapter = FakeAdapter()
    app = await make_app(model=ScriptedModel([""]), adapter=adapter, bots={"answer": True})
    bot = make_author("Robo", is_bot=True)
    await app.pipeline.deliver(make_inbound("hi", channel=GROUP, author=bot, mentions_me=True))
    await app.dispatcher.idle()
    assert adapter.texts == []


@pytest.mark.parametrize("blank", ["", "\n \n", " "])
async def test_D12_a_blank_answer_becomes_one_short_notice(make_app: MakeApp, blank: str) -> None:
    adapter = FakeAdapter()
    app = await make_app(model=ScriptedModel([blank]), adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    (notice,) = await adapter.wait_for(1)
    await app.dispatcher.idle()
    assert notice.strip()


async def test_a_failed_answer_is_told_and_reaches_no_later_prompt(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="", error=ModelUnreachable("m", "down")), "fine"])
    adapter = FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("first"))
    (notice,) = await adapter.wait_for(1)
    await app.pipeline.deliver(make_inbound("second"))
    await adapter.wait_for(2)
    await app.dispatcher.idle()
    assert history(model.requests[1]) == [("user", "first"), ("user", "second")]
    assert notice not in str(model.requests[1])


async def test_D31_an_edit_changes_the_next_prompt_and_a_delete_leaves_it(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("my dog is Rex", message_id="1"))
    await app.pipeline.deliver(make_inbound("my code is 1234", message_id="2"))
    await app.dispatcher.idle()
    await app.pipeline.deliver(make_inbound("my dog is Max", message_id="1", kind=InboundKind.EDIT))
    await app.pipeline.deliver(make_inbound(message_id="2", kind=InboundKind.DELETE))
    asked = len(model.requests)
    await app.dispatcher.idle()
    assert len(model.requests) == asked  # neither is answered (T12)
    await app.pipeline.deliver(make_inbound("well?"))
    await app.dispatcher.idle()
    last = str(model.requests[-1])
    assert "Max" in last
    assert "Rex" not in last
    assert "1234" not in last


async def test_D31_a_delete_of_an_unknown_message_is_kept_as_a_tombstone(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.pipeline.deliver(make_inbound("hello"))
    await app.pipeline.deliver(make_inbound(message_id="77", kind=InboundKind.DELETE))
    await app.pipeline.deliver(make_inbound("never seen", message_id="77"))
    await app.dispatcher.idle()
    assert "never seen" not in str(model.requests)


async def test_two_askers_get_two_answers_even_when_the_first_is_slow(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="for Alice", hold=gate), "for Bob"])
    adapter = FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("A?", channel=GROUP, author=ALICE, mentions_me=True))
    await app.pipeline.deliver(make_inbound("B?", channel=GROUP, author=BOB, mentions_me=True))
    gate.set()
    assert await adapter.wait_for(2) == ["for Alice", "for Bob"]
    await app.dispatcher.idle()
    assert history(model.requests[1]) == [("user", "Alice: A?"), ("assistant", "for Alice"), ("user", "Bob: B?")]


async def test_other_sessions_go_on_while_one_waits(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(lambda request: Reply(text="slow", hold=gate) if "A?" in str(request) else "quick")
    adapter = FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("A?", channel=make_channel("a", dm=True)))
    await app.pipeline.deliver(make_inbound("B?", channel=make_channel("b", dm=True)))
    assert await adapter.wait_for(1) == ["quick"]
    gate.set()
    assert await adapter.wait_for(2) == ["quick", "slow"]
    await app.dispatcher.idle()


async def test_a_burst_restarts_the_turn_until_something_is_shown(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model, adapter = ScriptedModel([Reply(text="", hold=gate), "both"]), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none", burst_ms=60_000)
    await app.pipeline.deliver(make_inbound("first part"))
    await model.wait_for(1)
    await app.pipeline.deliver(make_inbound("second part"))
    assert await adapter.wait_for(1) == ["both"]
    await app.dispatcher.idle()
    assert history(model.requests[-1]) == [("user", "first part"), ("user", "second part")]
    assert model.cancelled == 1


async def test_a_message_after_something_was_shown_waits_for_its_own_turn(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="one two", hold=gate), "three"])
    adapter = FakeAdapter(streams=True)
    app = await make_app(model=model, adapter=adapter, persona="none", burst_ms=60_000)
    await app.pipeline.deliver(make_inbound("first"))
    await adapter.wait_shown()
    await app.pipeline.deliver(make_inbound("second"))
    gate.set()
    assert await adapter.wait_for(2) == ["one two", "three"]
    await app.dispatcher.idle()
    assert model.cancelled == 0


async def test_an_unanswered_message_is_answered_once_after_a_restart(make_app: MakeApp) -> None:
    never = asyncio.Event()
    app = await make_app(model=ScriptedModel([Reply(text="", hold=never)]), persona="none")
    await app.pipeline.deliver(make_inbound("hello?"))
    await app.close()
    model, adapter = ScriptedModel(["here I am"]), FakeAdapter()
    app = await make_app(model=model, adapter=adapter, persona="none")
    assert await adapter.wait_for(1) == ["here I am"]
    await app.dispatcher.idle()
    await app.close()
    third = ScriptedModel()
    app = await make_app(model=third, persona="none")
    await app.dispatcher.idle()
    assert third.requests == []


async def test_S16_a_reply_that_may_have_been_seen_is_never_sent_again(make_app: MakeApp) -> None:
    never = asyncio.Event()
    adapter = FakeAdapter(streams=True)
    app = await make_app(model=ScriptedModel([Reply(text="half of it", hold=never)]), adapter=adapter, persona="none")
    await app.pipeline.deliver(make_inbound("hello?"))
    await adapter.wait_shown()
    await app.close()
    model = ScriptedModel()
    app = await make_app(model=model, persona="none")
    await app.dispatcher.idle()
    states = await app.core.db.read(
        lambda tx: tx.execute(select(messages.c.state).where(messages.c.kind == "reply")).scalars().all()
    )
    assert (model.requests, states) == ([], ["uncertain"])


async def test_T14_an_uncertain_part_makes_the_reply_uncertain_and_answered(make_app: MakeApp) -> None:
    app = await make_app(adapter=FakeAdapter(state=PartState.UNCERTAIN), persona="none")
    await app.pipeline.deliver(make_inbound("hello?"))
    await app.dispatcher.idle()
    rows = await app.core.db.read(lambda tx: tx.execute(select(messages).order_by(messages.c.id)).all())
    assert (rows[0].answered_by, rows[1].state) == (rows[1].id, "uncertain")
