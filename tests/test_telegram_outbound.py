"""The one way out to Telegram: plain text with entities, where it stands, and what is edited, drafted or deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.pacing import Refused, Unreachable
from adapters.telegram.inbound import Pressed
from adapters.telegram.options import Timeouts
from adapters.telegram.outbound import MESSAGE_LENGTH
from adapters.telegram.request import TelegramRequest
from bot.chat import Button, Outbound
from tests.emulators.telegram import After, TelegramEmulator
from tests.emulators.telegram.entities import find_entities, utf16_length
from tests.emulators.telegram.rig import Rig
from tests.emulators.telegram.world import Json


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with TelegramEmulator() as telegram:
        addresses = {"base_url": telegram.base_url, "base_file_url": telegram.base_file_url}
        async with TelegramRequest(telegram.token, **addresses, timeouts=Timeouts(read=0.25)) as request:
            yield Rig(telegram, request)


# Text


@pytest.mark.parametrize(
    ("markdown", "shown", "entities"),
    [
        ("*   **标题**：说明", None, [("bold", "标题")]),
        ("use parse_mode here", "use parse_mode here", []),
        ("2*3 is 6", "2*3 is 6", []),
        ("some_text - description", "some_text - description", []),
        ("<b>bold</b> & </i>", "<b>bold</b> & </i>", []),
        ("Here is **bo", None, []),
        ("*bold _it ~st~_*", None, [("italic", None)]),
        ("😀 **fat**", "😀 fat", [("bold", "fat")]),
        ("see [docs](https://example.org/a)", "see docs", [("text_link", "docs")]),
        ("```python\nx = 1\n```", None, [("pre", "x = 1")]),
    ],
)
async def test_T01_T02_T03_T04_any_markdown_is_sent_as_text_and_entities(
    rig: Rig, markdown: str, shown: str | None, entities: list[tuple[str, str | None]]
) -> None:
    (message,) = await rig.say(rig.group, markdown)
    units = message["text"].encode("utf-16-le")
    found = {
        (entity["type"], units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le"))
        for entity in message.get("entities", [])
    }
    assert shown is None or message["text"] == shown
    for kind, text in entities:
        assert (kind, text) in found if text else kind in {kind for kind, _ in found}
    assert len(rig.telegram.calls_of("sendMessage")) == 1
    assert not any("parse_mode" in call.values for call in rig.telegram.calls)


async def test_T05_length_counts_in_utf16_units(rig: Rig) -> None:
    messages = await rig.say(rig.private, "😀" * 2049)
    assert len(messages) == 2
    assert "".join(message["text"] for message in messages) == "😀" * 2049
    assert max(utf16_length(message["text"]) for message in messages) <= MESSAGE_LENGTH


async def test_previews_of_addresses_are_off(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "https://example.org")
    await rig.to(rig.group).edit(str(message["message_id"]), rig.part("https://example.com"), 0)
    assert rig.group.previews == [False, False]


@pytest.mark.parametrize("text", ["", " \n "])
async def test_a_blank_text_has_no_parts(rig: Rig, text: str) -> None:
    assert rig.to(rig.group).render(Outbound(text=text), final=True) == []


async def test_beyond_the_allowed_messages_the_whole_answer_comes_as_a_file(rig: Rig) -> None:
    answer = "\n\n".join(f"**{number}** " + "word " * 700 for number in range(6))
    transport = rig.to(rig.group, max_parts=2)
    parts = transport.render(Outbound(text=answer, buttons=((Button(label="Go", command="help"),),)), final=True)
    assert len(transport.render(Outbound(text=answer), final=False)) == 2, "no file while it is being written"
    for ordinal, part in enumerate(parts):
        await transport.send(part, ordinal)
    *_, last = messages = rig.telegram.bot_messages(rig.group)
    assert len(messages) == 3
    assert last["document"]["file_name"] == "answer.md"
    assert rig.telegram.files[last["document"]["file_id"]][1].decode() == answer
    assert ["reply_markup" in message for message in messages] == [False, False, True]


async def test_half_characters_are_joined_or_replaced(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "one \ud83d\ude00 two \ud83d three")
    assert message["text"] == "one 😀 two \ufffd three"


def called(message: Json) -> list[str]:
    """Whom the server mentions in a message: it looks for names everywhere but in code."""
    text, sent = message["text"], message.get("entities", [])
    code = {unit for it in sent if it["type"] == "code" for unit in range(it["offset"], it["offset"] + it["length"])}
    found = [it for it in find_entities(text) if it["type"] == "mention" and it["offset"] not in code]
    return [text[it["offset"] : it["offset"] + it["length"]] for it in found]


CALLS = "@alice, [Bob](tg://user?id=123), `@alice` and @FamiliarBot"


async def test_D04_D28_no_message_draft_or_edit_calls_anybody_but_ourselves(rig: Rig) -> None:
    (sent,) = await rig.say(rig.group, CALLS)
    await rig.to(rig.group).edit(str(sent["message_id"]), rig.part(f"now {CALLS}"), 0)
    await rig.to(rig.private).draft(rig.part(CALLS))
    (draft,) = rig.private.drafts
    (edited,) = rig.telegram.bot_messages(rig.group)
    for text in (sent["text"], edited["text"], draft.text):
        assert text.removeprefix("now ") == "@\u2060alice, Bob, @alice and @FamiliarBot"
    for message in (sent, edited):
        assert [entity["type"] for entity in message["entities"]] == ["code"]
        assert called(message) == ["@FamiliarBot"]


async def test_D04_neither_a_cut_nor_code_that_loses_its_format_makes_a_name(rig: Rig) -> None:
    messages = await rig.say(rig.private, "x" * MESSAGE_LENGTH + "@alice")
    rig.telegram.fail("sendMessage", 400, "Bad Request: can't parse entities: unknown reason")
    await rig.say(rig.group, "`@alice`")
    many = await rig.say(rig.telegram.group("Many", rig.alice), "`@abc` " * 120 + "word " * 700)
    texts = [message["text"] for message in (*messages, *rig.telegram.bot_messages(rig.group))]
    assert texts == ["x" * MESSAGE_LENGTH, "＠alice", "＠alice"]
    assert [called(message) for message in many] == [[]] * len(many)
    assert any("＠abc" in message["text"] for message in many), "some code had to lose its format"
    assert max(utf16_length(message["text"]) for message in many) <= MESSAGE_LENGTH


# Where


async def test_the_first_part_answers_and_all_stand_in_the_topic(rig: Rig) -> None:
    topic = rig.telegram.topic(rig.group, "Roses")
    question = rig.telegram.say(rig.alice, rig.group, "?", topic=topic)
    messages = await rig.say(rig.group, "a " * 3000, thread=topic, reply_to=question["message_id"])
    assert [message["message_thread_id"] for message in messages] == [topic, topic]
    assert [message.get("reply_to_message", {}).get("text") for message in messages] == ["?", None]


async def test_a_reply_target_that_is_gone_is_left_out(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "hello", reply_to=999)
    assert "reply_to_message" not in message


async def test_a_server_that_insists_on_the_reply_target_is_asked_once_more_without(rig: Rig) -> None:
    rig.telegram.fail("sendMessage", 400, "Bad Request: message to be replied not found")
    (message,) = await rig.say(rig.group, "hello", reply_to=999)
    assert message["text"] == "hello"
    assert ["reply_parameters" in call.values for call in rig.telegram.calls_of("sendMessage")] == [True, False]


async def test_T08_a_thread_that_is_not_found_is_left_out_in_the_same_chat(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "hello", thread=777)
    assert "message_thread_id" not in message
    assert rig.telegram.bot_messages(rig.private) == []
    assert [call.status for call in rig.telegram.calls_of("sendMessage")] == [400, 200]


async def test_T08_further_parts_do_not_ask_for_a_lost_thread_again(rig: Rig) -> None:
    messages = await rig.say(rig.group, "word " * 2000, thread=777)
    assert len(messages) == 3
    assert [call.status for call in rig.telegram.calls_of("sendMessage")] == [400, 200, 200, 200]


async def test_T09_what_is_sent_to_a_group_that_moved_arrives_at_its_new_id(rig: Rig) -> None:
    old = rig.telegram.group("Club", rig.alice, kind="group")
    new = rig.telegram.migrate(old)
    await rig.say(old, "one")
    await rig.say(old, "two")
    assert rig.telegram.bot_texts(new) == ["one", "two"]
    assert [call.status for call in rig.telegram.calls_of("sendMessage")] == [400, 200, 200]
    assert rig.moves == [(old.id, new.id)], "told once"


async def test_T23_a_migration_known_from_a_service_message_is_not_told_again(rig: Rig) -> None:
    old = rig.telegram.group("Club", rig.alice, kind="group")
    new = rig.telegram.migrate(old)
    assert rig.outbox.learn(old.id, new.id)
    assert not rig.outbox.learn(old.id, new.id)
    await rig.say(old, "one")
    assert (rig.telegram.bot_texts(new), rig.moves) == (["one"], [])


# Edits, deletions, presses, drafts


async def test_T06_an_edit_that_changes_nothing_is_a_success(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "**same**")
    await rig.to(rig.group).edit(str(message["message_id"]), rig.part("**same**"), 0)
    assert rig.telegram.bot_texts(rig.group) == ["same"]
    assert [call.status for call in rig.telegram.calls_of("editMessageText")] == [400]


async def test_an_edit_of_a_message_that_is_gone_is_refused(rig: Rig) -> None:
    with pytest.raises(Refused):
        await rig.to(rig.group).edit("999", rig.part("hello"), 0)


async def test_an_edit_whose_answer_is_lost_may_be_repeated(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "one")
    rig.telegram.fail("editMessageText", after=After.CUT)
    with pytest.raises(Unreachable):
        await rig.to(rig.group).edit(str(message["message_id"]), rig.part("two"), 0)


async def test_deleting_what_is_gone_is_fine(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "one")
    for _ in range(2):
        await rig.to(rig.group).delete(str(message["message_id"]))
    assert rig.telegram.bot_messages(rig.group) == []


async def test_the_answer_to_a_press_takes_the_place_of_its_message(rig: Rig) -> None:
    (message,) = await rig.say(rig.group, "page 1")
    transport = rig.to(rig.group, pressed=Pressed(message_id=message["message_id"]))
    (part,) = transport.render(Outbound(text="page 2"), final=True)
    assert await transport.send(part, 0) == str(message["message_id"])
    assert rig.telegram.bot_texts(rig.group) == ["page 2"]


async def test_the_answer_to_a_press_under_a_deleted_message_is_a_new_one(rig: Rig) -> None:
    transport = rig.to(rig.group, pressed=Pressed(message_id=999))
    (part,) = transport.render(Outbound(text="page 2"), final=True)
    await transport.send(part, 0)
    assert rig.telegram.bot_texts(rig.group) == ["page 2"]


async def test_private_chats_stream_by_drafts_and_groups_do_not(rig: Rig) -> None:
    transport = rig.to(rig.private)
    assert (transport.drafts, rig.to(rig.group).drafts) == (True, False)
    for text in ("Hel", "Hello **wor"):
        (part,) = transport.render(Outbound(text=text), final=False)
        await transport.draft(part)
    assert [draft.text for draft in rig.private.drafts] == ["Hel", "Hello **wor"]
    assert len({draft.draft_id for draft in rig.private.drafts}) == 1


@pytest.mark.parametrize(("status", "description"), [(404, "Not Found"), (400, "Bad Request: TEXTDRAFT_PEER_INVALID")])
async def test_a_server_without_drafts_is_asked_once(rig: Rig, status: int, description: str) -> None:
    rig.telegram.fail("sendMessageDraft", status, description)
    transport = rig.to(rig.private)
    (part,) = transport.render(Outbound(text="Hel"), final=False)
    await transport.draft(part)
    assert not transport.drafts
    assert not rig.to(rig.private).drafts, "nor by later replies"
