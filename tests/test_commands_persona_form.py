"""/persona edit without a field: by a form where there are forms, by questions elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat import ChannelRef, CommandCall, Form, Inbound, InboundKind
from bot.chat.forms import MAX_FIELDS
from bot.interviews import LIFE, Interview, Interviews
from bot.store.sessions import find_session
from bot.testing import NOW, FakeAdapter, make_author, make_inbound
from bot.testing.made import make_channel
from tests.conftest import MakeApp
from tests.talking import ALICE, BOB, DM, GROUP, Chat, open_chat
from tests.test_commands_personas import answered, bring, plain, upload


def opening(text: str, channel: ChannelRef = DM, author: object = ALICE) -> Inbound:
    return replace(
        make_inbound(text, channel=channel, kind=InboundKind.BUTTON, reply_handle=object()),
        author=author,  # type: ignore[arg-type]  # an author
    )


async def form_of(chat: Chat, text: str, **where: object) -> Form:
    form = await chat.app.menu.ask_form(opening(text, **where))  # type: ignore[arg-type]  # as above
    assert form
    return form


async def fill(chat: Chat, form: Form, **values: str) -> str:
    """Send the form with some fields changed; they are named with underscores."""
    written = {
        field.key: values.get(field.key.partition(":")[0].replace("-", "_"), field.value) for field in form.fields
    }
    before = len(chat.adapter.replies)
    await chat.app.pipeline.deliver(replace(opening(form.command), filled=written))
    return "\n".join(reply.text for reply in chat.adapter.replies[before:])


def commands(chat: Chat) -> list[str]:
    return [button.command for row in answered(chat).buttons for button in row]


def card_of(chat: Chat, persona_id: str) -> object:
    persona = chat.app.core.library.get(persona_id)
    assert persona
    return persona.card


async def test_a_form_shows_what_a_card_says_and_changes_it_by_one_version(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain("Mira", scenario="A harbour."))
    form = await form_of(chat, f"persona edit -p {persona_id}")
    assert form.title == "Edit Mira"
    assert [(field.label, field.value, field.is_long) for field in form.fields] == [
        ("name", "Mira", False),
        ("nickname", "", False),
        ("description", "Mira is somebody.", True),
        ("personality", "", True),
        ("scenario", "A harbour.", True),
    ]
    assert all(len(field.key) <= 100 for field in form.fields)
    told = await fill(chat, form, personality="Kind.", scenario="An island.\r\nRain.")
    assert told == "personality, scenario of **Mira** is changed (version 2)."
    assert commands(chat) == [f"persona revert 1 -p {persona_id}", f"persona edit more -p {persona_id}"]
    assert answered(chat).buttons[0][1].opens_form
    assert card_of(chat, persona_id).personality == "Kind."  # type: ignore[attr-defined]  # a card
    more = await form_of(chat, commands(chat)[1])
    assert [field.label for field in more.fields][-1] == "tags"
    assert len(more.fields) == MAX_FIELDS
    await fill(chat, more, tags="calm, wise")
    assert card_of(chat, persona_id).tags == ("calm", "wise")  # type: ignore[attr-defined]  # a card


async def test_only_what_was_touched_changes_so_that_nobody_takes_back_what_another_has_written(
    make_app: MakeApp,
) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain("Mira"))
    form = await form_of(chat, f"persona edit -p {persona_id}")
    await chat.ask(f"/persona edit description Changed meanwhile. -p {persona_id}")
    await fill(chat, form, scenario="Here.")
    assert card_of(chat, persona_id).description == "Changed meanwhile."  # type: ignore[attr-defined]  # a card
    assert await fill(chat, form) == "Nothing of **Mira** was changed."
    assert "needs a name" in await fill(chat, form, name="  ")


async def test_a_text_too_long_for_a_form_is_in_none(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(
        chat, plain("Mira", description="x" * 4_001, scenario="🙂" * 2_001, personality="y" * 4_000)
    )
    form = await form_of(chat, f"persona edit -p {persona_id}")
    assert [field.label for field in form.fields] == [
        "name",
        "nickname",
        "personality",
        "first-message",
        "example-messages",
    ]


async def test_no_form_is_opened_where_the_command_would_be_refused_or_names_a_field(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]), access={"deny_users": ["fake:carol"]})
    persona_id = await bring(chat, plain("Mira"), channel=GROUP)
    line = f"persona edit -p {persona_id}"
    ask_form = chat.app.menu.ask_form
    assert await ask_form(opening(line, GROUP))
    for refused in (
        opening(line, GROUP, BOB),
        opening(line, GROUP, make_author("Carol")),
        opening(line, make_channel("elsewhere", dm=True)),
        opening("persona edit scenario -p mira", GROUP),
        opening("persona edit -p familiar", GROUP),
        opening("persona edit -p nobody", GROUP),
        opening("persona list", GROUP),
        opening("no command", GROUP),
    ):
        assert await ask_form(refused) is None
    by_menu = CommandCall(path=("persona", "edit"), options={"persona": "mira"})
    assert await ask_form(replace(opening("", GROUP), kind=InboundKind.COMMAND, command=by_menu))


async def test_a_form_is_opened_where_nobody_has_spoken_yet(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, access={"admins": ["fake:alice"]})
    await chat.ask("/persona import -y -e", attachments=upload(plain("Mira")))
    elsewhere = make_channel("elsewhere")
    assert await form_of(chat, "persona edit -p mira", channel=elsewhere)
    assert await chat.app.core.db.read(find_session, elsewhere) is None


async def test_rights_are_asked_again_when_a_form_comes_back(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice"]))
    persona_id = await bring(chat, plain("Mira"), channel=GROUP)
    form = await form_of(chat, f"persona edit -p {persona_id}", channel=GROUP)
    forged = replace(opening(form.command, GROUP, BOB), filled={"name:x": "Mine"})
    await chat.app.pipeline.deliver(forged)
    assert chat.last_reply.text == "Only people who manage this chat can change that."
    strange = replace(opening(form.command, GROUP), filled={"extensions:x": "{}", "creator:x": "me", "": ""})
    await chat.app.pipeline.deliver(strange)
    assert chat.last_reply.text == "Nothing of **Mira** was changed."


async def test_elsewhere_the_fields_are_asked_one_after_another(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain("Mira", personality="Cold."))
    told = await chat.ask(f"/persona edit -p {persona_id}")
    assert told == "**Mira**: name (1 of 10)\n\n> Mira\n\nSend the new text as your next message, or press a button."
    assert commands(chat) == ["persona answer keep", "persona answer cancel"]
    for number in (2, 3, 4):
        (told,) = await chat.press("persona answer keep")
        assert f"({number} of 10)" in told
    assert "> Cold." in told
    (told,) = await chat.press("persona answer clear")
    assert "scenario (5 of 10)" in told
    (told,) = await chat.say("A lighthouse\non a rock.")
    assert "first-message (6 of 10)" in told
    assert "persona answer save" in commands(chat)
    (told,) = await chat.press("persona answer save")
    assert told == "personality, scenario of **Mira** is changed (version 2)."
    card = card_of(chat, persona_id)
    assert (card.personality, card.scenario) == ("", "A lighthouse\non a rock.")  # type: ignore[attr-defined]  # a card
    assert chat.model.requests == []
    await chat.say("hello")
    assert "lighthouse" not in str(chat.last_prompt)


async def test_questions_end_when_all_are_answered_or_by_cancelling(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain("Mira"))
    await chat.ask(f"/persona edit -p {persona_id}")
    for _ in range(9):
        await chat.press("persona answer keep")
    assert (await chat.say("calm, wise")) == ["tags of **Mira** is changed (version 2)."]
    await chat.ask(f"/persona edit more -p {persona_id}")
    assert "(1 of 5)" in chat.last_reply.text
    await chat.say("Something")
    assert await chat.press("persona answer cancel") == ["**Mira** stays as it was."]
    assert await chat.press("persona answer keep") == [
        "Nothing is being asked here any more. `/persona edit` begins again."
    ]
    assert (await chat.say("hello"))[-1] == "ok"


@pytest.mark.parametrize(
    "line",
    ["/persona", "/persona edit description X -p mira", "/persona edit nope", "/reset", "/persona use none", "/help"],
)
async def test_another_command_ends_the_questions_so_that_what_follows_is_talk(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app)
    persona_id = await bring(chat, plain("Mira"))
    await chat.ask(f"/persona edit -p {persona_id}")
    await chat.ask(line.replace("mira", persona_id))
    assert (await chat.say("hello"))[-1] == "ok"
    assert "hello" in str(chat.last_prompt)
    assert "hello" not in str(card_of(chat, persona_id))


async def test_who_loses_answers_by_another_command_is_told(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask(f"/persona edit -p {await bring(chat, plain('Mira'))}")
    await chat.say("Mirabel")
    told = await chat.ask("/persona")
    assert told.startswith("The open questions have ended; what you answered is not saved.")
    assert "Personas" in told
    assert "questions" not in await chat.ask("/persona")


@pytest.mark.parametrize("line", ["/reset", "/persona use none"])
async def test_a_switch_or_a_reset_by_anybody_ends_everybodys_questions(make_app: MakeApp, line: str) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice", "bob"]))
    await chat.ask(f"/persona edit -p {await bring(chat, plain('Mira'), channel=GROUP)}", channel=GROUP)
    await chat.ask(line, channel=GROUP, author=BOB)
    assert (await chat.say("hello", channel=GROUP))[-1] == "ok"


async def test_T18_in_a_group_only_a_reply_of_who_was_asked_is_an_answer(make_app: MakeApp) -> None:
    chat = await open_chat(make_app, adapter=FakeAdapter(managers=["alice", "bob"]))
    persona_id = await bring(chat, plain("Mira"), channel=GROUP)
    told = await chat.ask(f"/persona edit -p {persona_id}", channel=GROUP)
    assert "Reply to this message" in told
    assert await chat.say("among ourselves", channel=GROUP, mentions_me=False) == []
    assert await chat.say("and I?", channel=GROUP, author=BOB) == ["ok"]
    await chat.press("persona answer write", channel=GROUP)
    asked = answered(chat)
    assert (asked.mention and asked.mention.user_key, asked.awaits_reply, asked.buttons) == ("fake:alice", True, ())
    assert "nickname (2 of 10)" in (await chat.say("Mirabel", channel=GROUP))[0]


async def test_a_restart_ends_the_questions_politely(make_app: MakeApp) -> None:
    chat = await open_chat(make_app)
    await chat.ask(f"/persona edit -p {await bring(chat, plain('Mira'))}")
    await chat.app.close()
    chat = await open_chat(make_app)
    assert "begins again" in (await chat.press("persona answer keep"))[0]
    assert (await chat.say("hello"))[-1] == "ok"


@pytest.mark.parametrize(("minutes", "is_open"), [(9, True), (10, False)])
def test_a_question_waits_for_ten_minutes(minutes: int, is_open: bool) -> None:
    now = NOW
    interviews = Interviews(lambda: now)
    interviews.put("room", "alice", Interview(persona_id="mira", waiting=("name",), count=1))
    now += LIFE * minutes / 10
    assert (interviews.find("room", "alice") is not None) is is_open
    assert interviews.find("room", "bob") is None
