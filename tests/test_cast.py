"""Several personas in one place: whom a message calls, in what order they answer, and what each of them heard."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from bot.cast import Cast, Member, profile_of, read_cast, whom_it_calls
from bot.chat import InboundKind, Quote
from bot.llm.model import ModelRequest, Role
from bot.personas.card import PersonaCard
from bot.personas.library import Persona, PersonaLibrary
from bot.settings import PlaceSettings
from bot.testing import FakeAdapter, Reply, ScriptedModel, make_author, make_inbound
from tests.conftest import MakeApp
from tests.talking import BOB, DM, GROUP, Chat, open_chat

CAST = ("thrupp", "familiar: lamp")
"""Beside Bryony, who is the default."""


def speaker(request: ModelRequest) -> str:
    """Whom a request makes speak, by its system message."""
    system = next(message.text for message in request.messages if message.role is Role.SYSTEM)
    found = re.match(r"You are (\w+)\.", system)
    assert found, system
    return found[1]


def by_name(request: ModelRequest) -> str:
    """Everybody says who they are, in letters that call nobody."""
    return f"this is {speaker(request).lower()}"


async def open_cast(make_app: MakeApp, *, model: ScriptedModel | None = None, **settings: Any) -> Chat:
    given = {"cast": CAST, "access": {"admins": ["fake:alice"]}, **settings}
    return await open_chat(make_app, model=model or ScriptedModel(by_name), **given)


def persona(name: str, **card: Any) -> Persona:
    return Persona(id=name.lower(), card=PersonaCard(name=name, **card))


def cast_of(*members: Member) -> Cast:
    return Cast(main_id=members[0].persona.id, members=members)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("Thrupp, are you there?", ["thrupp"]),
        ("ask Familiar and then Thrupp", ["familiar", "thrupp"]),
        ("the LAMP went out, says Bryony", ["familiar", "bryony"]),
        ("Thrupp Thrupp Thrupp", ["thrupp"]),
        ("that sounds familiar", []),
        ("thrupp and bryony, hello", ["thrupp", "bryony"]),
        ("thrupp, bryony: who is older?", ["thrupp", "bryony"]),
        ("familiar & THRUPP", ["familiar", "thrupp"]),
        ("thrupp，bryony和familiar：你好", ["thrupp", "bryony", "familiar"]),
        ("bryony, familiar faces everywhere", ["bryony"]),
        ("thrupp and familiar faces", []),
    ],
)
async def test_whoever_is_named_answers_and_several_in_the_order_of_naming(
    make_app: MakeApp, text: str, called: list[str]
) -> None:
    chat = await open_cast(make_app)
    assert await chat.say(text, channel=GROUP, mentions_me=False) == [f"this is {name}" for name in called]


async def test_the_mention_of_the_bot_itself_reaches_the_main_persona(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    assert await chat.say("hello", channel=GROUP) == ["this is bryony"]
    assert await chat.say("hello Thrupp", channel=GROUP) == ["this is thrupp"], "a name is nearer than the mention"
    assert (await chat.say("hello", channel=DM))[-1] == "this is bryony"


async def test_a_reply_reaches_the_persona_whose_message_it_replies_to(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("Thrupp and Familiar?", channel=GROUP, mentions_me=False)
    for number, name in ((1, "thrupp"), (2, "familiar")):
        quote = Quote(message_id=f"m{number}", author_name="Familiar", text="this is", is_mine=True)
        assert await chat.say("go on", channel=GROUP, mentions_me=False, reply_to=quote) == [f"this is {name}"]


async def test_each_of_a_cast_has_its_own_story_and_hears_the_others_by_name(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("Thrupp?", channel=GROUP, mentions_me=False)
    await chat.say("and Bryony?", channel=GROUP, mentions_me=False, author=BOB)
    heard = [text for _, text in chat.last_prompt]
    assert heard[:3] == ["Alice: Thrupp?", "Thrupp: this is thrupp", "Bob: and Bryony?"]
    await chat.say("Thrupp again", channel=GROUP, mentions_me=False)
    said = [text for role, text in chat.last_prompt if role == "assistant"]
    assert said == ["this is thrupp"]
    assert any("Bryony: this is bryony" in text for role, text in chat.last_prompt if role == "user")


async def test_one_who_is_shared_a_conversation_with_tells_its_own_words_from_the_others(make_app: MakeApp) -> None:
    chat = await open_cast(make_app, persona_switch="shared")
    await chat.say("Thrupp and Bryony?", channel=GROUP, mentions_me=False)
    await chat.say("Thrupp again", channel=GROUP, mentions_me=False)
    assert [text for role, text in chat.last_prompt if role == "assistant"] == ["this is thrupp"]
    rows = await chat.app.core.db.read(lambda tx: tx.exec_driver_sql("SELECT count(*) FROM conversation").scalar())
    assert rows == 1


async def test_they_know_one_another_by_name_and_one_line(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("Thrupp?", channel=GROUP, mentions_me=False)
    system = chat.model.requests[-1].messages[0].text
    assert re.search(r"^- Bryony: Bryony Tuck, 41, clerk of the lost property office", system, re.MULTILINE)
    assert "- Thrupp" not in system
    alone = await open_chat(make_app)
    await alone.say("hello", channel=GROUP)
    assert "- Thrupp" not in alone.model.requests[-1].messages[0].text


async def test_one_who_joins_later_knows_nothing_of_before_and_one_who_left_nothing_of_meanwhile(
    make_app: MakeApp,
) -> None:
    chat = await open_cast(make_app, cast=())
    await chat.say("the secret is blue", channel=GROUP, mentions_me=False)
    await chat.choose("cast add", channel=GROUP, persona="thrupp")
    await chat.say("the door is red", channel=GROUP, mentions_me=False)
    await chat.say("Thrupp?", channel=GROUP, mentions_me=False)
    await chat.choose("cast remove", channel=GROUP, persona="thrupp")
    assert await chat.say("Thrupp? the cat is grey", channel=GROUP, mentions_me=False) == []
    await chat.choose("cast add", channel=GROUP, persona="thrupp")
    await chat.say("Thrupp, back?", channel=GROUP, mentions_me=False)
    told = "\n".join(text for _, text in chat.last_prompt)
    assert ("red" in told, "blue" in told, "grey" in told) == (True, False, False)


@pytest.mark.parametrize(("cap", "answers"), [(0, 1), (1, 2), (3, 4)])
async def test_personas_answer_one_another_only_so_often(make_app: MakeApp, cap: int, answers: int) -> None:
    def chatter(request: ModelRequest) -> str:
        return "Bryony, what do you say?" if speaker(request) == "Thrupp" else "Thrupp, and you?"

    chat = await open_cast(make_app, model=ScriptedModel(chatter), cast_cascade=cap)
    shown = await chat.say("Thrupp?", channel=GROUP, mentions_me=False)
    assert len(shown) == answers
    assert len(set(shown)) == min(answers, 2)


async def test_nobody_answers_itself_nor_twice_where_a_human_has_called_it_as_well(make_app: MakeApp) -> None:
    def chatter(request: ModelRequest) -> str:
        return "I am Thrupp. Bryony is here, too" if speaker(request) == "Thrupp" else "yes"

    chat = await open_cast(make_app, model=ScriptedModel(chatter))
    shown = await chat.say("Thrupp and Bryony?", channel=GROUP, mentions_me=False)
    assert shown == ["I am Thrupp. Bryony is here, too", "yes"]


async def test_what_one_persona_says_to_another_goes_when_what_it_answers_is_taken_back(make_app: MakeApp) -> None:
    def chatter(request: ModelRequest) -> str:
        return "Bryony?" if speaker(request) == "Thrupp" else "yes"

    chat = await open_cast(make_app, model=ScriptedModel(chatter))
    assert await chat.say("Thrupp?", channel=GROUP, mentions_me=False) == ["Bryony?", "yes"]
    assert await chat.choose("undo", channel=GROUP) == ["Taken back: what Thrupp said no longer counts."]
    assert sorted(chat.adapter.deleted) == ["m1", "m2"]
    await chat.say("Bryony!", channel=GROUP, mentions_me=False)
    assert [text for _, text in chat.last_prompt if "Thrupp" in text or text == "yes"] == []


async def test_undo_and_retry_take_the_newest_answer_and_leave_the_others(make_app: MakeApp) -> None:
    answers = iter(["first", "second", "third"])
    chat = await open_cast(make_app, model=ScriptedModel(lambda _: next(answers)))
    await chat.say("Thrupp and Bryony?", channel=GROUP, mentions_me=False)
    assert await chat.choose("retry", channel=GROUP) == ["third"]
    assert speaker(chat.model.requests[-1]) == "Bryony"
    assert chat.adapter.deleted == ["m2"]
    assert await chat.choose("undo", channel=GROUP) == ["Taken back: what Bryony said no longer counts."]
    preview = await chat.choose("undo", channel=GROUP)
    assert preview == ["Taken back: what Thrupp said no longer counts."]
    assert await chat.choose("undo", channel=GROUP) == [chat.app.core.catalogue.text("nothing-to-undo", "en")]


async def test_continue_goes_on_with_whoever_spoke_last(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("Bryony and Thrupp?", channel=GROUP, mentions_me=False)
    assert await chat.choose("continue", channel=GROUP) == ["this is thrupp"]


async def test_stop_says_who_was_stopped_and_the_others_answer(make_app: MakeApp) -> None:
    hold = asyncio.Event()

    def script(request: ModelRequest) -> Reply:
        name = speaker(request)
        return Reply(text=f"this is {name.lower()}", hold=hold if name == "Thrupp" else None)

    chat = await open_cast(make_app, model=ScriptedModel(script))
    await chat.ask("Thrupp and Familiar?", channel=GROUP)
    async with asyncio.timeout(5):
        await chat.model.asked.wait()
    assert await chat.ask("/stop", channel=GROUP, mentions_me=True) == "Thrupp has stopped."
    await chat.settled()
    assert chat.adapter.texts[-1] == "this is familiar"


async def test_a_reset_begins_a_new_story_for_each(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("Thrupp and Bryony, the door is crimson", channel=GROUP, mentions_me=False)
    await chat.choose("reset", channel=GROUP)
    for name in ("Thrupp", "Bryony"):
        await chat.say(f"{name}?", channel=GROUP, mentions_me=False)
        assert "crimson" not in str(chat.last_prompt)


async def test_after_a_restart_each_who_was_called_answers_once(make_app: MakeApp) -> None:
    hold, begun = asyncio.Event(), asyncio.Event()

    def first_only(request: ModelRequest) -> Reply:
        is_second = speaker(request) == "Familiar"
        if is_second:
            begun.set()
        return Reply(text=f"this is {speaker(request).lower()}", hold=hold if is_second else None)

    chat = await open_cast(make_app, model=ScriptedModel(first_only), stop_grace=0)
    await chat.ask("Thrupp, Familiar and Bryony?", channel=GROUP, mentions_me=False)
    assert await chat.adapter.wait_for(1) == ["this is thrupp"]
    await asyncio.wait_for(begun.wait(), 5)
    await chat.app.dispatcher.drain(0)
    await chat.app.close()
    adapter = FakeAdapter()
    again = await open_chat(make_app, model=ScriptedModel(by_name), adapter=adapter, cast=CAST)
    assert await adapter.wait_for(2) == ["this is familiar", "this is bryony"]
    await again.settled()
    assert await again.app.core.db.read(_unanswered) == 0


def _unanswered(tx: Any) -> int:
    open_calls = tx.exec_driver_sql("SELECT count(*) FROM calling WHERE answered_by IS NULL").scalar()
    asked = tx.exec_driver_sql("SELECT count(*) FROM message WHERE addressed AND answered_by IS NULL").scalar()
    return int(open_calls + asked)


async def test_in_privacy_what_was_asked_is_forgotten_when_the_last_has_answered(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    await chat.say("/privacy on")
    shown = await chat.say("Thrupp and Familiar, my cat is called Tom")
    assert [text for text in shown if text.startswith("this is")] == ["this is thrupp", "this is familiar"]
    rows = await chat.app.core.db.read(
        lambda tx: tx.exec_driver_sql("SELECT text FROM message WHERE text LIKE '%Tom%' OR text LIKE 'this is%'").all()
    )
    assert [row for (row,) in rows if "thrupp" in row or "familiar" in row or "Tom" in row] == []


@pytest.mark.parametrize(
    ("activation", "chance", "is_heard"), [("mention", 1.0, False), ("random", 0.0, False), ("random", 1.0, True)]
)
async def test_talkativeness_counts_only_where_the_bot_may_speak_unasked(
    make_app: MakeApp, activation: str, chance: float, is_heard: bool
) -> None:
    chat = await open_cast(make_app, activation=activation, activation_probability=chance)
    assert bool(await chat.say("nice weather", channel=GROUP, mentions_me=False)) == is_heard


def test_the_talkative_speak_unasked_more_often_and_the_silent_never() -> None:
    loud, shy = persona("Loud", extensions={"talkativeness": 0.8}), persona("Shy", extensions={"talkativeness": 0})
    cast = cast_of(
        Member(persona=persona("Main", extensions={"talkativeness": 0.2})), Member(persona=loud), Member(persona=shy)
    )
    rng, settings, said = random.Random(7), PlaceSettings(activation="always"), make_inbound(channel=GROUP)
    chosen = [whom_it_calls(cast, said, settings, rng, spoken_to=None, by_chance=True) for _ in range(1000)]
    spoke = {name: sum(name in who for who in chosen) for name in ("main", "loud", "shy")}
    assert 750 < spoke["loud"] < 850
    assert spoke["shy"] == 0
    assert all(chosen), "somebody answers where everything is to be answered"
    private = whom_it_calls(cast, said, settings, rng, spoken_to=None, by_chance=False)
    assert private == ("main",)


@pytest.mark.parametrize(
    ("card", "profile"),
    [
        ({"description": "{{char}} keeps bees. And more."}, "Mira keeps bees."),
        ({"description": "You are a bee keeper! You sting."}, "a bee keeper!"),
        ({"description": "你是养蜂人。你很忙。"}, "养蜂人。"),
        ({"description": ""}, ""),
        ({"description": "x" * 500}, "x" * 160 + "…"),
        ({"description": "no", "extensions": {"familiar": {"profile": "keeps\nbees"}}}, "keeps bees"),
    ],
)
def test_a_persona_is_known_to_the_others_by_one_line(card: dict[str, Any], profile: str) -> None:
    assert profile_of(persona("Mira", **card)) == profile


def test_a_card_that_is_gone_or_named_twice_is_no_member() -> None:
    settings = PlaceSettings(cast=("thrupp", "nobody", "thrupp: moss", "bryony: tuck"))
    cast = read_cast(PersonaLibrary(), settings, "bryony")
    assert [(member.persona.id, member.words) for member in cast.members] == [("bryony", ("tuck",)), ("thrupp", ())]


def test_a_word_that_settings_give_to_two_calls_the_first_and_never_one_by_anothers_name() -> None:
    settings = PlaceSettings(cast=("bryony: moss thrupp", "thrupp: MOSS lichen"))
    cast = read_cast(PersonaLibrary(), settings, "bryony")
    assert [(member.persona.id, member.words) for member in cast.members] == [
        ("bryony", ("moss",)),
        ("thrupp", ("lichen",)),
    ]
    assert [cast.named(text) for text in ("moss?", "Thrupp?", "lichen?")] == [("bryony",), ("thrupp",), ("thrupp",)]


@pytest.mark.parametrize("is_deleted_first", [True, False])
async def test_D08_a_message_that_a_proxy_bot_posts_again_is_answered_once_by_each_whom_it_calls(
    make_app: MakeApp, is_deleted_first: bool
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(lambda request: Reply(text=by_name(request), hold=gate))
    chat = await open_cast(make_app, model=model)
    said = make_inbound("J: Thrupp and Familiar, where is it?", channel=GROUP, message_id="1")
    gone = make_inbound(channel=GROUP, message_id="1", kind=InboundKind.DELETE)
    face = make_author("Juniper", is_bot=True)
    again = make_inbound("Thrupp and Familiar, where is it?", channel=GROUP, message_id="2", author=face)
    posted = [gone, replace(again, may_be_repost=True)]
    await chat.app.pipeline.deliver(said)
    await model.wait_for(1)
    for inbound in posted if is_deleted_first else reversed(posted):
        await chat.app.pipeline.deliver(inbound)
    gate.set()
    await chat.settled()
    assert chat.adapter.texts == ["this is thrupp", "this is familiar"]
    assert await chat.app.core.db.read(_unanswered) == 0


async def test_nobody_of_a_cast_speaks_for_another(make_app: MakeApp) -> None:
    chat = await open_cast(make_app, model=ScriptedModel(["well\nThrupp: I say so, too"]), cast_cascade=0)
    assert await chat.say("Bryony?", channel=GROUP, mentions_me=False) == ["well"]


async def test_context_calls_what_is_told_of_the_others_by_a_word(make_app: MakeApp) -> None:
    chat = await open_cast(make_app)
    told = await chat.ask("/context", channel=GROUP)
    assert "- The others who speak here: " in told
    assert "cast:" not in told
