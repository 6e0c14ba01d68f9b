"""People who speak through proxy bots: their message is deleted and posted again in another face."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.chat import Attachment, AttachmentKind, Inbound, InboundKind, Quote
from bot.llm.model import Role
from bot.store.reposts import repeats
from bot.testing import NOW, FakeAdapter, Reply, ScriptedModel, make_author, make_channel, make_inbound
from tests.conftest import MakeApp
from tests.talking import BOB, Chat, open_chat
from tests.test_privacy import kept

GROUP = make_channel()
QUESTION = make_inbound("J: where is the key?", channel=GROUP, message_id="1", mentions_me=True)
DELETE = make_inbound(channel=GROUP, message_id="1", kind=InboundKind.DELETE)
FACE = make_author("Juniper", is_bot=True)
REPOST = replace(
    make_inbound("where is the key?", channel=GROUP, message_id="2", author=FACE, mentions_me=True), may_be_repost=True
)


def history(chat: Chat) -> list[str]:
    return [message.text for message in chat.model.requests[-1].messages if message.role is not Role.SYSTEM]


async def hear(chat: Chat, *inbounds: Inbound) -> None:
    for inbound in inbounds:
        await chat.app.pipeline.deliver(inbound)


@pytest.mark.parametrize(
    "inbounds", [(QUESTION, DELETE, REPOST), (QUESTION, REPOST, DELETE)], ids=["deleted first", "posted again first"]
)
@pytest.mark.parametrize("is_answered_at_once", [True, False])
async def test_D08_a_message_that_a_proxy_bot_posts_again_gets_one_answer_and_stands_once_in_the_history(
    make_app: MakeApp, inbounds: tuple[Inbound, ...], is_answered_at_once: bool
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(lambda _: Reply(text="Under the mat.", hold=gate))
    chat = await open_chat(make_app, model=model, persona="none")
    if is_answered_at_once:
        gate.set()
    await hear(chat, inbounds[0])
    if is_answered_at_once:
        await chat.app.dispatcher.idle()
    else:
        await model.wait_for(1)
    await hear(chat, *inbounds[1:])
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies] == ["Under the mat."]
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == ["Juniper: where is the key?", "Under the mat.", "Alice: thanks"]


async def test_D05_a_question_that_is_deleted_while_the_model_thinks_is_answered(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Reply(text="Under the mat.", hold=gate), "ok"])
    chat = await open_chat(make_app, model=model, persona="none")
    await hear(chat, QUESTION)
    await model.wait_for(1)
    await hear(chat, DELETE)
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies if reply.text] == ["Under the mat."]


async def test_D08_an_answer_that_people_are_reading_goes_on_though_its_question_is_deleted(make_app: MakeApp) -> None:
    gate = asyncio.Event()
    adapter, model = FakeAdapter(streams=True), ScriptedModel([Reply(text="Under the mat.", hold=gate)])
    chat = await open_chat(make_app, model=model, adapter=adapter, persona="none")
    await hear(chat, QUESTION)
    await adapter.wait_shown()
    await hear(chat, DELETE)
    gate.set()
    await chat.app.dispatcher.idle()
    assert [reply.text for reply in chat.adapter.replies] == ["Under the mat."]


@pytest.mark.parametrize(
    "posted",
    [
        replace(REPOST, text="where is the car?"),
        replace(REPOST, sent_at=NOW + timedelta(seconds=11)),
        replace(REPOST, text="key?"),
        replace(REPOST, may_be_repost=False),
    ],
    ids=["other words", "much later", "a piece of it", "an ordinary bot"],
)
@pytest.mark.parametrize(("bots", "answers"), [({}, 1), ({"answer": True}, 2)])
async def test_D08_whatever_else_webhooks_post_is_answered_only_where_bots_are(
    make_app: MakeApp, posted: Inbound, bots: dict[str, bool], answers: int
) -> None:
    long = replace(QUESTION, text="where is the key? " + "I have looked everywhere I could think of.")
    chat = await open_chat(make_app, persona="none", bots=bots)
    await hear(chat, long if posted.text == "key?" else QUESTION)
    await chat.app.dispatcher.idle()
    await hear(chat, posted)
    await chat.app.dispatcher.idle()
    assert len(chat.adapter.replies) == answers


async def test_D08_the_answer_to_a_message_that_was_posted_again_is_one_to_whoever_wrote_it(make_app: MakeApp) -> None:
    model = ScriptedModel([Reply(text="never", hold=asyncio.Event()), ""])
    chat = await open_chat(make_app, model=model, persona="none")
    await hear(chat, QUESTION)
    await model.wait_for(1)
    await hear(chat, DELETE, REPOST)
    await chat.app.dispatcher.idle()
    assert chat.last_reply.text.startswith("The model came back empty-handed.")  # bots are spared notices (D07)


@pytest.mark.parametrize(
    ("posted", "said", "is_one"),
    [
        ("text", "J: text", True),
        ("text", "text -j", True),
        ("text", "[text]", True),
        ("a longer text", f"{'x' * 12}a longer text", True),
        ("the same", "the same", True),
        ("ok", "ok", True),
        ("ok", "J: ok", False),
        ("ok", "ok, where is the key?", False),
        ("key?", "where is the key?", False),
        ("where", "where is the key?", False),
        ("a longer text", f"{'x' * 13}a longer text", False),
        (f"{'y' * 40}", f"{'x' * 33}{'y' * 40}", False),
        (f"{'y' * 40}", f"{'x' * 16}{'y' * 40}{'x' * 16}", True),
        ("where is it", "where it is", False),
        ("J: text", "text", False),
        ("", "J: ", False),
        ("  ", "  ", False),
    ],
)
def test_D08_what_a_proxy_bot_posts_is_the_larger_part_of_what_was_said_without_a_mark(
    posted: str, said: str, is_one: bool
) -> None:
    assert repeats(posted, said) is is_one


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_D08_a_piece_of_a_question_that_a_webhook_posts_changes_nothing(
    make_app: MakeApp, is_deleted: bool
) -> None:
    chat = await open_chat(make_app, persona="none")
    await hear(chat, replace(QUESTION, text="ok, where is the key?"))
    await chat.settled()
    piece = replace(REPOST, text="ok", author=make_author("CI", is_bot=True))
    await hear(chat, *([DELETE] if is_deleted else []), piece)
    await chat.say("thanks", channel=GROUP)
    asked = [] if is_deleted else ["Alice: ok, where is the key?"]
    assert history(chat) == [*asked, "ok", "CI: ok", "Alice: thanks"]


async def test_D08_what_a_webhook_repeats_of_a_message_that_stands_takes_nothing_from_it(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none", bots={"answer": True})
    await hear(chat, replace(QUESTION, text="no, delete the old key"))
    await chat.settled()
    await hear(chat, replace(REPOST, text="delete the old key", author=make_author("CI", is_bot=True)))
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == ["Alice: no, delete the old key", "ok", "CI: delete the old key", "Alice: thanks"]


@pytest.mark.parametrize("deleted", ["1", "3"])
async def test_D08_of_two_who_say_the_same_it_is_the_one_whose_message_is_gone(make_app: MakeApp, deleted: str) -> None:
    chat = await open_chat(make_app, persona="none")
    for message_id, author in (("1", make_author("Alice")), ("3", BOB)):
        await chat.say("ok", channel=GROUP, message_id=message_id, author=author)
    await hear(chat, replace(DELETE, message_id=deleted), replace(REPOST, text="ok"))
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == (
        ["Juniper: ok", "ok", "Bob: ok", "ok", "Alice: thanks"]
        if deleted == "1"
        else ["Alice: ok", "ok", "Juniper: ok", "ok", "Alice: thanks"]
    )


@pytest.mark.parametrize("is_repost_first", [False, True])
async def test_D08_a_question_that_waits_for_another_turn_is_answered_once_as_it_was_posted_again(
    make_app: MakeApp, is_repost_first: bool
) -> None:
    gate = asyncio.Event()
    chat = await open_chat(make_app, model=ScriptedModel([Reply(text="to Bob", hold=gate), "to J"]), persona="none")
    bob = asyncio.ensure_future(chat.say("first", channel=GROUP, author=BOB))
    await chat.model.wait_for(1)
    await hear(chat, QUESTION, *([REPOST, DELETE] if is_repost_first else [DELETE, REPOST]))
    gate.set()
    await bob
    assert [reply.text for reply in chat.adapter.replies] == ["to Bob", "to J"]
    assert history(chat) == ["Bob: first", "to Bob", "Juniper: where is the key?"]


async def test_D08_a_face_keeps_its_name_however_often_it_is_posted_before_the_delete(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    for number in range(3):
        first, second = f"a{number}", f"b{number}"
        await chat.say("J: again", channel=GROUP, message_id=first)
        posted = replace(REPOST, text="again", message_id=second)
        await hear(chat, posted, replace(DELETE, message_id=first))
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == [*["Juniper: again", "ok"] * 3, "Alice: thanks"]


async def test_D31_a_repost_that_is_deleted_as_well_leaves_nothing(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await hear(chat, QUESTION)
    await chat.settled()
    await hear(chat, REPOST, replace(DELETE, message_id="2"), DELETE)
    await chat.say("thanks", channel=GROUP)
    assert history(chat) == ["ok", "Alice: thanks"]


SECRET = "where is sesame?"
SAID = replace(QUESTION, text=f"J: {SECRET}")
POSTED = replace(REPOST, text=SECRET)


@pytest.mark.parametrize("events", [(DELETE, POSTED), (POSTED, DELETE)], ids=["deleted first", "posted again first"])
@pytest.mark.parametrize("state", ["waiting", "running", "answered"])
async def test_D08_what_a_proxy_posts_for_somebody_in_privacy_is_answered_once_and_forgotten(
    make_app: MakeApp, database_url: str, events: tuple[Inbound, ...], state: str
) -> None:
    gates = {"to Bob": asyncio.Event(), "to Alice": asyncio.Event()}
    model = ScriptedModel(lambda request: _held(request.messages[-1].text, gates))
    chat = await open_chat(make_app, model=model, persona="none")
    await chat.say("/privacy on")
    if state != "waiting":
        gates["to Bob"].set()
    if state == "answered":
        gates["to Alice"].set()
    await hear(chat, make_inbound("first", channel=GROUP, author=BOB, mentions_me=True))
    await (chat.model.wait_for(1) if state == "waiting" else chat.settled())
    await hear(chat, SAID)
    if state == "running":
        await chat.model.wait_for(2)
    elif state == "answered":
        await chat.settled()
    await hear(chat, *events)
    for gate in gates.values():
        gate.set()
    await chat.settled()
    assert [text for text in chat.adapter.texts if text in gates] == ["to Bob", "to Alice"]
    assert kept(database_url) == []


def _held(text: str, gates: dict[str, asyncio.Event]) -> Reply:
    answer = "to Alice" if SECRET in text else "to Bob"
    return Reply(text=answer, hold=gates[answer])


@pytest.mark.parametrize("with_delete", ["before", "after", "never"])
async def test_D08_what_a_proxy_posts_for_somebody_in_privacy_who_speaks_to_others_is_not_kept(
    make_app: MakeApp, database_url: str, with_delete: str
) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("/privacy on")
    events = {"before": (DELETE, POSTED), "after": (POSTED, DELETE), "never": (POSTED,)}[with_delete]
    picture = Attachment(kind=AttachmentKind.IMAGE, name="a.png", data=SECRET.encode(), quoted=True)
    quote = Quote(message_id="2", author_name="Juniper", text=SECRET, author_key=FACE.key)
    await hear(chat, *(replace(event, mentions_me=False) for event in (SAID, *events)))
    assert kept(database_url) == []
    await hear(chat, replace(POSTED, kind=InboundKind.EDIT, text=f"so, {SECRET}", mentions_me=False))
    await chat.say("what was that?", channel=GROUP, author=BOB, reply_to=quote, attachments=(picture,))
    assert kept(database_url) == []
    assert chat.last_prompt == [("user", "Bob: what was that?")]


async def test_D08_what_others_webhooks_post_beside_somebody_in_privacy_is_heard(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, persona="none")
    await chat.say("/privacy on")
    await hear(chat, replace(SAID, mentions_me=False))
    for number, later in enumerate((0, 11)):
        text = "the build is green" if later == 0 else SECRET
        posted = replace(POSTED, text=text, message_id=f"b{number}", mentions_me=False)
        await hear(chat, replace(posted, sent_at=NOW + timedelta(seconds=later)))
    await chat.say("so?", channel=GROUP, author=BOB)
    assert chat.last_prompt == [
        ("user", "Juniper: the build is green"),
        ("user", f"Juniper: {SECRET}"),
        ("user", "Bob: so?"),
    ]
